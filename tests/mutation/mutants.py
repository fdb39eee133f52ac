"""Every mutant of a module: mutmut's operators, on all of the code.

Mutmut's own runner leaves out what it cannot reach through a function call: module constants, class bodies, defaults
and everything decorated, which here are all properties. So only its operators are used.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import libcst as cst
import libcst.matchers as m
from mutmut.mutation import file_mutation


class _Everywhere(file_mutation.MutationVisitor):
    """Mutates decorated functions too; their decorators are still left alone, and so is ``__all__``: lint checks it."""

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Assign) and m.matches(node.targets[0].target, m.Name("__all__")):
            return True
        decorated = isinstance(node, cst.FunctionDef) and bool(node.decorators)
        return not decorated and super()._skip_node_and_children(node)


file_mutation.MutationVisitor = _Everywhere


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    name: str
    path: Path
    number: int
    module: cst.Module
    mutation: file_mutation.Mutation

    @cached_property
    def source(self) -> str:
        return self.module.deep_replace(self.mutation.original_node, self.mutation.mutated_node).code

    @cached_property
    def line(self) -> int:
        """The first line that differs."""
        pairs = zip(self.module.code.splitlines(), self.source.splitlines(), strict=False)
        return next((i for i, (old, new) in enumerate(pairs, 1) if old != new), 1)

    @property
    def shown(self) -> str:
        """The old line and the new one."""
        old, new = self.module.code.splitlines()[self.line - 1], self.source.splitlines()[self.line - 1]
        return f"{self.name}:{self.line} (mutant {self.number})\n    - {old.strip()}\n    + {new.strip()}"


def mutants_of(path: Path, name: str) -> list[Mutant]:
    """All mutants of one file, in the order of its nodes; those that are the original again are left out."""
    module, mutations, _, _ = file_mutation.create_mutations(str(path), path.read_text())
    return [Mutant(name, path, number, module, mutation) for number, mutation in enumerate(mutations)]


class Statements:
    """Which lines of a module a change of one line matters to."""

    def __init__(self, source: str) -> None:
        self._lines = source.splitlines()
        self._of: dict[int, ast.stmt | ast.ExceptHandler] = {}
        for node in ast.walk(ast.parse(source)):  # outer ones come first
            if isinstance(node, ast.stmt | ast.ExceptHandler):
                self._of.update(dict.fromkeys(_head(node), node))

    def around(self, line: int) -> set[int]:
        """The statement, or the head of a compound one."""
        return set(_head(self._of[line])) if line in self._of else {line}

    def using(self, line: int) -> set[int]:
        """For what runs at import: the function whose defaults it holds, or the lines where the names appear."""
        node = self._of.get(line)
        if isinstance(node, ast.FunctionDef):
            return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)]
        users = [i for i, text in enumerate(self._lines, 1) if set(names) & set(re.findall(r"\w+", text))]
        return set().union(*(self.around(i) for i in users))


def _head(node: ast.stmt | ast.ExceptHandler) -> range:
    body = getattr(node, "body", None)
    last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
    return range(node.lineno, last + 1)

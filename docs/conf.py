"""Sphinx reads this: ``sphinx-build -W --keep-going -b html docs build/docs`` (in CI: ``bash .ci/run docs``)."""

from __future__ import annotations

import contextlib
import io
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole

import exactnoise
from exactnoise import cli

project = "exactnoise"
release = version = exactnoise.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["pictures"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"exactnoise {version}"
html_show_copyright = False

default_role = "public"
autodoc_default_options = {"members": True, "inherited-members": "BaseException"}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what each parameter is, in words
napoleon_google_docstring = False
napoleon_use_param = napoleon_use_rtype = False
napoleon_custom_sections = [
    (section, "params_style") for section in ("Attributes", "Parameters of every release", "Groups and people")
]


def download_what_is_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """Let a link to a file outside of docs/ be a download, so that page and file are of one version."""

    def link(match: re.Match[str]) -> str:
        outside = not (Path(app.srcdir, page).parent / match[1]).resolve().is_relative_to(app.srcdir)
        return f"](path:{match[1]})" if outside else match[0]

    source[0] = re.sub(r"\]\((\.\./[^)#]+)(#[^)]*)?\)", link, source[0])


def keep_sentences_whole(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Napoleon takes what is before a colon in the first line of a property's docstring for its type."""
    if what in ("property", "attribute", "data"):
        lines.insert(0, "")


class Public(PyXRefRole):
    """`Name` in a docstring: a link where it is a public name, and code where it is a parameter or anything else."""

    names = frozenset(
        name
        for module in ("", ".mechanisms.response", ".aggregates", ".accounting", ".ledger", ".publish", ".errors")
        for name in import_module(f"exactnoise{module}").__all__
        if name != name.lower()
    )

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if self.target not in self.names:
            return [nodes.literal(self.rawtext, self.text)], []
        self.name, self.target = "py:obj", f".{self.target}"
        return super().run()


class CommandHelp(Directive):
    """What ``exactnoise COMMAND --help`` prints, of the version that is documented."""

    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        text = io.StringIO()
        with (
            mock.patch.dict(os.environ, COLUMNS="88", NO_COLOR="1"),
            contextlib.redirect_stdout(text),
            contextlib.suppress(SystemExit),  # what --help ends with
        ):
            cli.main([*self.arguments, "--help"])
        return [nodes.literal_block(text.getvalue(), text.getvalue(), language="none")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", download_what_is_outside)
    app.connect("autodoc-process-docstring", keep_sentences_whole, priority=400)  # before napoleon
    app.add_role("public", Public())
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}

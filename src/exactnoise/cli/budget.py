"""``exactnoise budget``: how many queries a total pays for, by each composition rule."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Any

from exactnoise.accounting import Capacity, largest_query_epsilon, queries_that_fit
from exactnoise.accounting.amount import approximately, decimal_context, exact, text
from exactnoise.accounting.capacity import MECHANISMS
from exactnoise.cli.console import say
from exactnoise.cli.errors import UsageError

__all__ = ["add_command"]

Results = Mapping[str, Sequence[Capacity]]  # by the value that was typed

_WIDTH = 100
_NARROWEST = 7
_KINDS = {"any": "any pure mechanism", "laplace": "Laplace noise", "exponential": "the exponential mechanism"}

_DESCRIPTION = """\
Show how many queries fit under a total privacy loss, or how large the epsilon
of each may be, by each composition rule. Nothing is spent, and no data is read.

Small losses add up in a plain sum, the rule called basic. With a delta, a small
probability that the loss is larger, other rules let many small queries through
where the sum lets few. No rule is best everywhere: compare them here, then
choose the method= of a PrivacyBudget.
"""

_EPILOG = """\
example: totals of epsilon 1 and delta 1e-6, queries of three sizes
  $ exactnoise budget --epsilon 1 --delta 1e-6 --query-epsilon 0.01,0.1,0.5

                                           epsilon of a query
  rule             valid               0.01      0.1      0.5
  basic            as you go            100       10        2
  zCDP             as you go            487        4        0
  advanced filter  as you go            349        3        0
  advanced         fixed plan only      337       10        2
  optimal          fixed plan only      562       10        2

  best as you go                       zCDP    basic    basic
  best fixed plan                   optimal    basic    basic

  Of the small queries, a PrivacyBudget with method="zcdp" lets 487 through, and
  one with method="basic" 100. For queries of 0.1 and more the plain sum is better.

example: the largest epsilon of each of 10, 100 or 1000 queries of Laplace noise
  $ exactnoise budget --epsilon 1 --delta 1e-6 --queries 10,100,1000 --mechanism laplace

The JSON object holds the amounts as typed and, for each rule, its source:
  {"epsilon": "1", "delta": "1e-6", "mechanism": "any", "rules":
    [{"rule": "basic", "adaptive": true, "method": "basic", "source": "...",
      "queries": {"0.01": 100, "0.1": 10, "0.5": 2}}, ...]}
With --queries, "query_epsilon": {"10": "0.1", ...} takes the place of "queries",
rounded down to 12 digits. "adaptive" is "valid as you go"; "method" is null for
a rule that no PrivacyBudget enforces; an amount is null if it is not computed.
"""

_AS_YOU_GO = """\
As you go: the next query and its epsilon may depend on earlier answers. A PrivacyBudget with
method="basic" enforces the first rule, one with method="zcdp" the second; the method is settled
before the first answer. The advanced filter is for comparison: zCDP admits at least as many.
"""
_FIXED_PLAN = """\
Fixed plan only: the number of queries and the epsilon of each are settled before the first
answer. Such a plan is priced with optimal_epsilon and spent as one item of a budget with
method="basic"; its queries are then asked with budget=None.
"""
_WITHOUT_DELTA = """\
Without a delta only basic composition applies. PrivacyBudget(epsilon=...) enforces it, as you go:
the next query and its epsilon may depend on earlier answers. Try a --delta well below 1 divided
by the number of people, such as 1e-6, to see what the other rules allow.
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``budget`` to the command line."""
    parser = commands.add_parser(
        "budget",
        help="how many queries fit under a total, by each composition rule",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    group = parser.add_argument_group("the total (exact decimals or fractions: 0.1, 1e-6, 1/3)")
    group.add_argument("--epsilon", metavar="E", required=True, help="privacy loss of all queries together")
    group.add_argument(
        "--delta", metavar="D", help="leave it out for pure differential privacy, where only basic applies"
    )
    group = parser.add_argument_group("the queries (one of the first two, several values with commas)")
    either = group.add_mutually_exclusive_group(required=True)
    either.add_argument("--query-epsilon", metavar="E,..", help="epsilon of each query: how many fit?")
    either.add_argument("--queries", metavar="N,..", help="how many queries: how large may the epsilon of each be?")
    group.add_argument(
        "--mechanism",
        choices=MECHANISMS,
        default="any",
        help="what answers them, which matters to zCDP only: any mechanism with a pure epsilon (the default, "
        "also for discrete-laplace), laplace noise on real numbers, or the exponential mechanism",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@dataclass(frozen=True)
class _Question:
    """What is asked about the rules: how many queries, or how large."""

    key: str
    title: str
    caption: str
    shown: Callable[[Fraction], str]
    stored: Callable[[Fraction], int | str]


def _six_digits(value: Fraction) -> str:
    down = decimal_context(6, ROUND_DOWN)
    return text(Fraction(down.divide(Decimal(value.numerator), Decimal(value.denominator))))


_HOW_MANY = _Question("queries", "How many queries fit in {}", "epsilon of a query", approximately, int)
_HOW_LARGE = _Question(
    "query_epsilon",
    "The largest epsilon of queries that fit in {}, rounded down",
    "number of queries",
    _six_digits,
    text,
)


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise budget``."""
    epsilon = _number(args.epsilon, "--epsilon")
    delta = None if args.delta is None else _number(args.delta, "--delta", below=1)
    results: Results
    if args.query_epsilon is not None:
        question = _HOW_MANY
        sizes = {typed: _number(typed, "--query-epsilon") for typed in _items(args.query_epsilon)}
        results = {
            typed: queries_that_fit(size, epsilon=epsilon, delta=delta, mechanism=args.mechanism)
            for typed, size in sizes.items()
        }
    else:
        question = _HOW_LARGE
        numbers = {typed: _whole(typed, "--queries") for typed in _items(args.queries)}
        results = {
            typed: largest_query_epsilon(number, epsilon=epsilon, delta=delta, mechanism=args.mechanism)
            for typed, number in numbers.items()
        }
    if args.json:
        say(json.dumps(_document(args, question, results)))
        return
    lines = [_title(args, question), *_tables(question, results), "", *_advice(question, results, args.delta)]
    say("\n".join(lines))


def _items(typed: str) -> list[str]:
    return [item.strip() for item in typed.split(",")]


def _number(typed: str, option: str, below: int | None = None) -> Fraction:
    try:
        return exact(typed, option, below=below)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _whole(typed: str, option: str) -> int:
    number = _number(typed, option)
    if number.denominator != 1:
        raise UsageError(f"{option} must be whole numbers, got {typed!r}")
    return int(number)


def _document(args: argparse.Namespace, question: _Question, results: Results) -> dict[str, Any]:
    def stored(capacity: Capacity) -> int | str | None:
        return None if capacity.amount is None else question.stored(Fraction(capacity.amount))

    rules = [
        {
            "rule": row[0].rule,
            "adaptive": row[0].adaptive,
            "method": row[0].method,
            "source": row[0].source,
            question.key: dict(zip(results, map(stored, row), strict=True)),
        }
        for row in zip(*results.values(), strict=True)
    ]
    return {"epsilon": args.epsilon, "delta": args.delta, "mechanism": args.mechanism, "rules": rules}


def _title(args: argparse.Namespace, question: _Question) -> str:
    total = f"epsilon {approximately(exact(args.epsilon, 'epsilon'))}"
    if args.delta is not None:
        total += f", delta {approximately(exact(args.delta, 'delta'))}"
    return f"{question.title.format(total)}\nThey are answered by {_KINDS[args.mechanism]}."


def _tables(question: _Question, results: Results) -> Iterator[str]:
    """One table, or as many as it takes for all columns."""
    rules = next(iter(results.values()))
    names = _padded(["rule", *(c.rule for c in rules), "best as you go", "best fixed plan"], str.ljust)
    valid = _padded(["valid", *("as you go" if c.adaptive else "fixed plan only" for c in rules), "", ""], str.ljust)
    left = [f"{name}  {when}" for name, when in zip(names, valid, strict=True)]
    table = left
    for typed, capacities in results.items():
        amounts = ["-" if c.amount is None else question.shown(Fraction(c.amount)) for c in capacities]
        best = [_best([c for c in capacities if c.adaptive]), _best(capacities)]
        column = _padded([_heading(typed), *amounts, *best], str.rjust)
        if table is not left and len(table[0]) + 2 + len(column[0]) > _WIDTH:
            yield from _ruled(question, table)
            table = left
        table = [f"{row}  {cell}" for row, cell in zip(table, column, strict=True)]
    yield from _ruled(question, table)


def _ruled(question: _Question, table: Sequence[str]) -> list[str]:
    caption = question.caption.rjust(len(table[0]))
    return ["", caption, *(row.rstrip() for row in [*table[:-2], "", *table[-2:]])]


def _padded(cells: Sequence[str], pad: Callable[[str, int], str]) -> list[str]:
    width = max(_NARROWEST, *map(len, cells))
    return [pad(cell, width) for cell in cells]


def _heading(typed: str) -> str:
    return approximately(exact(typed, "column"))


def _best(capacities: Sequence[Capacity]) -> str:
    """The first of the best rules: those listed first are simpler."""
    best = max(capacities, key=lambda c: c.amount or 0)
    return best.rule if best.amount else "none"


def _advice(question: _Question, results: Results, delta: str | None) -> list[str]:
    if delta is None:
        return [_wrapped(_WITHOUT_DELTA)]
    lines = [_wrapped(_AS_YOU_GO), _wrapped(_FIXED_PLAN), *_example_of_a_plan(question, results, delta)]
    if any(c.amount is None for capacities in results.values() for c in capacities):
        lines.append("-  Not computed: the optimum for more than 100 million queries.")
    return lines


def _example_of_a_plan(question: _Question, results: Results, delta: str) -> list[str]:
    """How to spend the first plan that is better than any rule as you go."""
    for typed, capacities in results.items():
        best = max(capacities, key=lambda c: c.amount or 0)
        if best.rule == "optimal" and best.amount:
            asked, answer, small = exact(typed, "asked"), Fraction(best.amount), text(exact(delta, "delta"))
            each, times = (asked, answer) if question is _HOW_MANY else (answer, asked)
            lines = [
                f'  price = optimal_epsilon("{text(each)}", times={int(times)}, delta="{small}")',
                f'  budget.spend(PrivacyCost(epsilon=price, delta="{small}"))',
            ]
            return lines if max(map(len, lines)) <= _WIDTH else []
    return []


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, _WIDTH, subsequent_indent="  ")

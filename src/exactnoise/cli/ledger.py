"""``exactnoise ledger``: budgets that are kept in a file, and what was spent of them."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.amount import from_text, text
from exactnoise.accounting.cost import in_words
from exactnoise.cli.console import say
from exactnoise.cli.errors import UsageError, refuse_missing
from exactnoise.cli.ledger_file import opened
from exactnoise.errors import ExactNoiseError
from exactnoise.ledger import Ledger, LedgerBudget, Reservation

__all__ = ["add_command"]

_DESCRIPTION = """\
Budgets that are kept in a file: how much privacy loss there may be in all, and what
each release took of it. Every process that publishes from the same data shares one
ledger, on a local disk. Entries are only added, each sealed with the digest of the
one before.
"""

_EPILOG = """\
examples:
  exactnoise ledger create privacy.db --budget visits --epsilon 30 \\
      --neighbors add-remove --unit person
  exactnoise ledger show privacy.db
  exactnoise ledger verify privacy.db
  exactnoise ledger export privacy.db > privacy.jsonl
  exactnoise ledger raise-cap privacy.db --budget visits --epsilon 60 --reason "second year"
  exactnoise ledger recover privacy.db --all --policy void --reason "the machine lost power"
  exactnoise ledger recover --help
"""

_STATES = {"reserved": "open", "committed": "committed", "charged": "charged", "voided": "void"}

_RECOVER = """\
Close reservations whose process is gone. They stay spent in any case until they are
closed; publishing the same under the same id takes one up by itself, at no new
charge, so this is for what will never be published. exactnoise ledger show lists
them. Unfinished files that a closed one left are removed.

policies:
  charge   it stays spent; nothing can be published under the id (the default)
  void     it is no longer spent. Right only if nobody saw any output: say why
  resume   for a process on another host that is gone: the same can take it up
"""

_EXAMPLES = {
    "create": """\
  exactnoise ledger create privacy.db --budget visits --epsilon 30 \\
      --neighbors add-remove --unit person
  exactnoise ledger create privacy.db --budget sales --epsilon 4 --delta 1e-6 \\
      --method zcdp --neighbors replace-one --unit household
""",
    "show": """\
  exactnoise ledger show privacy.db
  exactnoise ledger show privacy.db --budget visits --json
""",
    "verify": """\
  exactnoise ledger verify privacy.db
""",
    "export": """\
  exactnoise ledger export privacy.db > privacy.jsonl
  exactnoise ledger export privacy.db -o privacy-2026.jsonl
""",
    "raise-cap": """\
  exactnoise ledger raise-cap privacy.db --budget visits --epsilon 60 \\
      --reason "second year"
""",
    "recover": """\
  exactnoise ledger recover privacy.db --all
  exactnoise ledger recover privacy.db --id visits-2026-11-30 --policy void \\
      --reason "the machine lost power before anybody saw it"
""",
}


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``ledger`` and its own commands to the command line."""
    parser = commands.add_parser(
        "ledger",
        help="budgets that are kept in a file",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    summary = "make a ledger, or a budget in it; the same again changes nothing, other terms are refused"
    create = _action(actions, "create", summary, _create)
    create.add_argument("--budget", metavar="NAME", required=True, help="what the budget shall be called")
    _add_amounts(create, "the cap of all releases together")
    create.add_argument("--method", choices=["basic", "zcdp"], help="how prices add up; needed with --delta")
    create.add_argument(
        "--neighbors",
        choices=["add-remove", "replace-one"],
        required=True,
        help="what two tables that must look alike differ in: one unit more, or one that is another",
    )
    create.add_argument("--unit", metavar="NAME", required=True, help="whom it protects: person, household, row")

    show = _action(actions, "show", "what each budget has left, and what became of each release", _show)
    show.add_argument("--budget", metavar="NAME", help="only this one")

    verify = _action(actions, "verify", "check every entry, and that the caps held at every moment", _verify)
    verify.add_argument(
        "--known", metavar="DIGEST", help="a digest that this command printed earlier: is it still in the chain?"
    )

    export = _action(actions, "export", "all entries, a JSON object a line", _export)
    export.add_argument("-o", "--output", metavar="OUT", type=_export_file, help="a file instead of standard output")

    cap = _action(actions, "raise-cap", "promise less privacy than before, for a reason that is kept", _raise_cap)
    cap.add_argument("--budget", metavar="NAME", required=True, help="which budget")
    _add_amounts(cap, "the new cap")
    cap.add_argument("--reason", metavar="TEXT", required=True, help="why, for whoever reads the ledger later")

    recover = _action(actions, "recover", "close reservations whose process is gone", _recover, _RECOVER)
    which = recover.add_mutually_exclusive_group()
    which.add_argument("--id", metavar="ID", action="append", help="which; may be given again")
    which.add_argument("--all", action="store_true", help="every one whose process is known to be gone")
    recover.add_argument(
        "--policy", choices=["charge", "void", "resume"], default="charge", help="what becomes of them, as above"
    )
    recover.add_argument("--reason", metavar="TEXT", help="why; needed to void")


def _action(
    actions: argparse._SubParsersAction[Any],
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], None],
    description: str | None = None,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name,
        help=summary,
        description=description or f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n{_EXAMPLES[name]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=lambda args: _told(run, args))
    parser.add_argument("ledger", metavar="LEDGER", type=Path, help="the file")
    if name != "export":  # which prints JSON in any case
        parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _add_amounts(parser: argparse.ArgumentParser, what: str) -> None:
    for name, metavar in (("--epsilon", "E"), ("--delta", "D"), ("--rho", "R")):
        parser.add_argument(name, metavar=metavar, help=f"{what} (exact decimals or fractions)")


def _told(run: Callable[[argparse.Namespace], None], args: argparse.Namespace) -> None:
    """What is wrong with the options is said by the ledger itself."""
    try:
        run(args)
    except ExactNoiseError:
        raise
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def _create(args: argparse.Namespace) -> None:
    terms = {"neighbors": args.neighbors, "unit": args.unit, **_given(args, "epsilon", "delta", "rho", "method")}
    missing = _missing_cap(args)
    if args.delta is not None and args.rho is None and args.method is None:
        missing["--method"] = "basic or zcdp: how prices with a delta add up"
    refuse_missing(missing)
    PrivacyBudget(**terms)  # before a file is made
    budget = Ledger(args.ledger).create(args.budget, **terms)
    _say_budgets(args, [budget])


def _show(args: argparse.Namespace) -> None:
    ledger = opened(args.ledger)
    _say_budgets(args, ledger.budgets() if args.budget is None else [ledger.budget(args.budget)], releases=True)


def _verify(args: argparse.Namespace) -> None:
    digest = opened(args.ledger).verify(args.known)
    if args.json:
        say(json.dumps({"ledger": str(args.ledger), "digest": digest}))
    else:
        say(
            f"{args.ledger}: every entry is as it was written, and no cap was exceeded\n"
            f"digest of the last entry: {digest}\n"
            "keep it elsewhere; --known DIGEST tells later whether entries were removed"
        )


def _export(args: argparse.Namespace) -> None:
    entries = io.StringIO()
    opened(args.ledger).export(entries)
    if args.output is None:
        say(entries.getvalue().removesuffix("\n"))
        return
    with args.output.open("x", encoding="utf-8", newline="") as file:
        file.write(entries.getvalue())


def _export_file(typed: str) -> Path:
    if typed == "-":
        raise argparse.ArgumentTypeError("for standard output leave it out (./- is a file of that name)")
    return Path(typed)


def _missing_cap(args: argparse.Namespace) -> dict[str, str]:
    cap = {"--epsilon": "the cap of all releases together, with or without --delta; or say --rho instead"}
    return cap if args.epsilon is None and args.rho is None else {}


def _raise_cap(args: argparse.Namespace) -> None:
    refuse_missing(_missing_cap(args))
    budget = opened(args.ledger).raise_cap(args.budget, reason=args.reason, **_given(args, "epsilon", "delta", "rho"))
    _say_budgets(args, [budget])


def _recover(args: argparse.Namespace) -> None:
    ledger = opened(args.ledger)
    if not args.all and not args.id:
        pending = ", ".join(reservation.id for reservation in ledger.pending()) or "none"
        raise UsageError(f"recover which? --id ID, or --all whose process is gone; open are: {pending}")
    closed = ledger.recover(args.policy, ids=args.id, reason=args.reason)
    for one in closed:
        if one.state != "reserved":
            _remove_leftovers(ledger.id, one)
    if args.json:
        say(
            json.dumps(
                {"closed": [{"id": one.id, "budget": one.budget, "state": _STATES[one.state]} for one in closed]}
            )
        )
        return
    words = {"charged": "stays charged", "voided": "is void", "reserved": "waits to be taken up"}
    lines = [f"{one.id}: {words[one.state]}, {in_words(_cost(one))} of {one.budget}" for one in closed]
    say("\n".join(lines) or "nothing to recover: no reservation is open whose process is known to be gone")


def _remove_leftovers(ledger: str, closed: Reservation) -> None:
    from exactnoise.publish.staging import remove_leftovers  # with all of NumPy, which other actions need not wait for

    for path in closed.paths:
        with contextlib.suppress(OSError):
            remove_leftovers(Path(path), ledger, closed.id)


def _given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def _say_budgets(args: argparse.Namespace, budgets: Sequence[LedgerBudget], *, releases: bool = False) -> None:
    if args.json:
        say(json.dumps({"ledger": str(args.ledger), "budgets": [_document(budget) for budget in budgets]}))
        return
    lines, some_open = [], False
    for budget in budgets:
        lines += [
            f"{budget.name}: {in_words(budget.remaining)} remains of {in_words(budget.total)}",
            f"  protects each {budget.unit} under {budget.neighbors}; promises {in_words(budget.guarantee)}, "
            f"composed by the rule {budget.method}",
        ]
        if releases:
            for one in budget.ledger.reservations(budget.name):
                some_open = some_open or one.state == "reserved"
                lines.append(f"  {one.id}: {in_words(_cost(one))}, {_what_became_of(one)}")
    if some_open:
        lines.append("open ones are spent: the same again takes one up for free, exactnoise ledger recover closes it")
    say("\n".join(lines) or f"{args.ledger}: no budgets yet; exactnoise ledger create makes one")


def _what_became_of(one: Reservation) -> str:
    reason = f" ({one.outcome['reason']})" if one.outcome.get("reason") else ""
    when = one.outcome.get("time", one.time)
    if one.state == "committed":
        return f"committed {when} as {one.outcome['path']}"
    if one.state == "charged":
        return f"charged {when}, nothing published{reason}"
    if one.state == "voided":
        return f"void since {when}, not counted{reason}"
    if one.holder is None:
        return f"open since {one.time}, waits to be taken up{reason}"
    life = {True: "at work", False: "gone", None: "which cannot be seen from here"}[one.holder.alive()]
    return f"open since {one.time}, {one.holder}, {life}"


def _document(budget: LedgerBudget) -> dict[str, Any]:
    return {
        "name": budget.name,
        "neighbors": budget.neighbors,
        "unit": budget.unit,
        "method": budget.method,
        "guarantee": _texts(budget.guarantee),
        "total": _texts(budget.total),
        "spent": _texts(budget.spent),
        "remaining": _texts(budget.remaining),
        "history": [_history(one) for one in budget.ledger.reservations(budget.name)],
    }


def _history(one: Reservation) -> dict[str, Any]:
    alive = one.holder.alive() if one.holder is not None and one.state == "reserved" else False
    return {
        "id": one.id,
        "state": _STATES[one.state],
        **_texts(_cost(one)),
        "reserved": one.time,
        "ended": None if one.state == "reserved" else one.outcome["time"],
        "path": one.outcome.get("path"),
        "reason": one.outcome.get("reason"),
        **({"holder": str(one.holder) if one.holder else None, "alive": alive} if one.state == "reserved" else {}),
    }


def _cost(one: Reservation) -> PrivacyCost:
    return PrivacyCost.from_exact(**{name: from_text(amount, name) for name, amount in one.spend["cost"].items()})


def _texts(cost: PrivacyCost) -> dict[str, str]:
    amounts = {"epsilon": cost.epsilon, "delta": cost.delta or None, "rho": cost.rho}
    return {name: text(amount) for name, amount in amounts.items() if amount is not None}

"""``exactnoise utility``: how far a release is off, for each epsilon."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from exactnoise.cli.console import say
from exactnoise.cli.errors import SENSITIVITY, UsageError, refuse_missing
from exactnoise.cli.progress import Progress

if TYPE_CHECKING:
    from exactnoise.utility import Row

__all__ = ["add_command"]

T = TypeVar("T")

_NAMES = ("laplace", "discrete-laplace", "gaussian", "discrete-gaussian", "snapping", "exponential", "permute-and-flip")
_STATISTICS = ("count", "sum", "mean", "variance", "quantile", "histogram", "vector-sum")
#: Which statistics an option is for, and what it says of them.
_OPTIONS_OF = {
    "q": (("quantile",), "the level, such as 0.5"),
    "bounds": (("sum", "mean", "variance", "quantile"), "what values are clipped to, such as 0,60"),
    "edges": (("histogram",), "the bins' edges, such as 0,10,20,60"),
    "norm": (("vector-sum",), "which norm is bounded, l2 or l1"),
    "bound": (("vector-sum",), "what no vector's norm exceeds"),
    "dimensions": (("vector-sum",), "how many numbers a vector has"),
}
_SELECTIONS = ("exponential", "permute-and-flip")
_FORMATS = (".png", ".svg", ".pdf")
_MEASURES = ("half-width", "std", "mean-error")
_MOST_NUMBERS = 10**7  # of made-up data

_DESCRIPTION = """\
Show how far a release is off at each epsilon, by closed form and by simulated
releases beside it, or which epsilon an error takes. Nothing is spent, and no
data is read: simulated releases are of numbers you type, or of made-up rows.

Type public or made-up numbers only. Planning on private ones would tell them.
"""

_EPILOG = """\
examples:
  counts, where one person changes one count by one
    exactnoise utility --mechanism discrete-laplace --sensitivity 1 \\
        --epsilon 0.1,0.5,1,2

  the same, with the share of last year's published counts that would drown
    exactnoise utility --mechanism discrete-laplace --sensitivity 1 \\
        --epsilon 0.1,0.5,1,2 --exact 5200,310,87,24,6

  the epsilon for counts that are within 10 at least 19 times in 20
    exactnoise utility --mechanism discrete-laplace --sensitivity 1 --target-error 10

  the mean of 10000 values between 0 and 60, with two pictures
    exactnoise utility --statistic mean --bounds 0,60 --rows 10000 \\
        --neighbors add-remove --epsilon 0.1,0.5,1,2,5 --unit minutes \\
        --plot error.png --band band.png

  the favourite of four candidates
    exactnoise utility --mechanism exponential --sensitivity 1 --epsilon 0.1,0.5 \\
        --exact 52,31,60,44

how to read the table:
  std           root mean square error       mean error    mean absolute error
  95 % within   no farther off than that, 19 times in 20 (see --alpha)
  95 % promised the same of a selection, whatever the scores: with these it may
                be far less; std and mean error are those of these scores
  simulated     the column before it, from simulated releases, +- standard error;
                without one where the draws that tell it are all equal, as they
                often are in whole numbers
  relative      mean error over the mean exact value
  below noise   share of exact values smaller than the "within" column
Groups, and functions of your own: exactnoise.utility in Python. The closed forms of
means and variances are of first order: good while there are many more rows than the
noise in their number.

The JSON object: {"what": "...", "rows": [{"epsilon": "0.1", "std": 14.1,
"simulated_std": 14.3, "simulated_std_se": 0.5, ...}, ...]}; with --target-error
also "target": {"error": "10", "measure": "half-width", "epsilon": "0.2844"}.
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``utility`` to the command line."""
    parser = commands.add_parser(
        "utility",
        help="error against epsilon, as a table and as pictures",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    group = parser.add_argument_group("what is released (one of the two)")
    either = group.add_mutually_exclusive_group(required=True)
    either.add_argument("--mechanism", choices=_NAMES, help="noise on numbers, or the selection of a candidate")
    either.add_argument("--statistic", choices=_STATISTICS, help="a statistic of rows, which are made up")

    group = parser.add_argument_group("at which price (exact decimals or fractions: 0.1, 1e-6, 1/3)")
    add = group.add_argument
    add("--epsilon", metavar="E,..", help="one row of the table each")
    add("--target-error", metavar="T", help="show the least epsilon whose error is at most T, as a row of its own")
    add("--measure", choices=_MEASURES, default="half-width", help="which error T is about (default: half-width)")
    add("--delta", metavar="D", help="needed by gaussian and discrete-gaussian; allows a statistic Gaussian noise")

    group = parser.add_argument_group("for --mechanism")
    add = group.add_argument
    add("--sensitivity", metavar="S", help="how much one person can change the numbers in total")
    add("--exact", metavar="X,..", help="public or made-up numbers that get the noise, or scores of candidates")
    add("--monotonic", action="store_true", help="one person changes all scores in the same direction")

    group = parser.add_argument_group("for --statistic")
    add = group.add_argument
    add("--rows", metavar="N", help="how many made-up rows, spread evenly over the bounds")
    add("--q", metavar="Q", help="the level of a quantile, such as 0.5 for the median")
    add("--edges", metavar="E,..", help="the edges of a histogram's bins")
    add("--norm", choices=["l2", "l1"], help="which norm of the vectors of a vector-sum is bounded")
    add("--bound", metavar="C", help="what no vector's norm exceeds")
    add("--dimensions", metavar="D", help="how many numbers a vector has")
    add("--neighbors", choices=["add-remove", "replace-one"], help="the neighbouring relation; always needed")
    add("--rows-per-person", metavar="N", help="how many rows one person has at most; default: the unit is a row")

    group = parser.add_argument_group("for --statistic, and for snapping")
    group.add_argument("--bounds", metavar="LOW,HIGH", help="what values are clipped to")

    group = parser.add_argument_group("the table")
    add = group.add_argument
    add("--alpha", metavar="A", default="0.05", help="1 - A is the confidence of half widths (default: 0.05)")
    add("--trials", metavar="N", default="1000", help="simulated releases for each epsilon, or 0 (default: 1000)")
    add("--plot", metavar="OUT", type=Path, help="draw error against epsilon: .png, .svg or .pdf")
    add("--band", metavar="OUT", type=Path, help="draw simulated releases and the promised band")
    add("--unit", metavar="NAME", help="what errors are counted in, for the pictures")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--json", action="store_true", help="print one JSON object")
    either.add_argument("--csv", action="store_true", help="print CSV, numbers in full")


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise utility``."""
    for option, path in (("--plot", args.plot), ("--band", args.band)):
        if path is not None and path.suffix.lower() not in _FORMATS:
            raise UsageError(f"{option}: the file's name must end in {', '.join(_FORMATS)}")
    what, given = _mechanism(args) if args.mechanism else _statistic(args)
    alpha = float(_number(args.alpha, "--alpha"))

    from exactnoise import utility  # numpy and the statistics load slowly, and not for --help

    epsilons = [] if args.epsilon is None else [_number(typed, "--epsilon") for typed in _items(args.epsilon)]
    target = None
    if args.target_error is not None:
        error = _number(args.target_error, "--target-error")
        measure: Any = args.measure.replace("-", "_")
        target = _checked(lambda: utility.epsilon_for(what, error, measure=measure, alpha=alpha, **given))
        epsilons.append(target)
    trials = _whole(args.trials, "--trials")
    with Progress("simulating", len(epsilons), steps=True) as progress:
        rows = _checked(
            lambda: utility.table(what, epsilons, trials=trials, alpha=alpha, tell=progress.update, **given)
        )
    if args.plot is not None:
        utility.plot(rows, args.plot, unit=args.unit)
    if args.band is not None:
        _checked(lambda: utility.plot_band(rows, args.band, unit=args.unit))
    say(_answer(args, rows, target))


def _mechanism(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    for option in ("rows", "neighbors", "rows_per_person", *(_OPTIONS_OF.keys() - {"bounds"})):
        if getattr(args, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')}: it is for --statistic")
    refuse_missing(_missing(args))
    given: dict[str, Any] = {"sensitivity": args.sensitivity}
    if args.delta is not None:
        if "gaussian" not in args.mechanism:
            raise UsageError(f"--delta: {args.mechanism} has no delta; it is for gaussian and discrete-gaussian")
        given["delta"] = args.delta
    if args.bounds is not None:
        if args.mechanism != "snapping":
            raise UsageError("--bounds: it is for snapping and for --statistic")
        given["bounds"] = tuple(_items(args.bounds))
    if args.monotonic:
        if args.mechanism not in _SELECTIONS:
            raise UsageError("--monotonic: it is for exponential and permute-and-flip")
        given["monotonic"] = True
    if args.exact is not None:
        numbers = [_number(typed, "--exact", signed=True) for typed in _items(args.exact)]
        whole = all(number.denominator == 1 and abs(number) < 2**63 for number in numbers)
        try:
            given["exact"] = [int(number) if whole else float(number) for number in numbers]
        except OverflowError:
            raise UsageError("--exact: a number is too large for a double") from None
    return args.mechanism, given


def _statistic(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    for option in ("sensitivity", "exact"):
        if getattr(args, option) is not None:
            raise UsageError(f"--{option}: it is for --mechanism; a statistic's follows from its bounds and rows")
    if args.monotonic:
        raise UsageError("--monotonic: it is for --mechanism exponential and permute-and-flip")
    for option, (statistics, meaning) in _OPTIONS_OF.items():
        if getattr(args, option) is not None and args.statistic not in statistics:
            raise UsageError(f"--{option}: {meaning}; --statistic {args.statistic} has none")
    refuse_missing(_missing(args))
    rows = _whole(args.rows, "--rows")
    dimensions = 1 if args.dimensions is None else _whole(args.dimensions, "--dimensions")
    if rows * dimensions > _MOST_NUMBERS:
        raise UsageError(f"--rows must be at most {_MOST_NUMBERS}, of vectors that many numbers in all")
    given: dict[str, Any] = {"neighbors": args.neighbors}
    if args.delta is not None:
        given["delta"] = args.delta
    if args.rows_per_person is not None:
        given["rows_per_person"] = _whole(args.rows_per_person, "--rows-per-person")
    if args.q is not None:
        given["q"] = args.q
    match args.statistic:
        case "count":
            return "count", {**given, "n": rows}
        case "histogram":
            edges = _items(args.edges)
            return "histogram", {**given, "edges": edges, "data": _spread_evenly(edges, rows)}
        case "vector-sum":
            vectors = _along_the_axes(args.bound, rows, dimensions)
            return "vector_sum", {**given, "norm": args.norm, "bound": args.bound, "data": vectors}
    bounds = _items(args.bounds)
    if len(bounds) != 2:
        raise UsageError("--bounds: two numbers, such as 0,60")
    return args.statistic, {**given, "bounds": tuple(bounds), "data": _spread_evenly(bounds, rows)}


def _missing(args: argparse.Namespace) -> dict[str, str]:
    needed = {}
    if args.statistic:
        needed = {f"--{name}": "--statistic needs it" for name in ("rows", "neighbors") if getattr(args, name) is None}
        for option, (statistics, meaning) in _OPTIONS_OF.items():
            if args.statistic in statistics and getattr(args, option) is None:
                needed[f"--{option}"] = f"{meaning}; --statistic {args.statistic} needs it"
    else:
        if args.sensitivity is None:
            needed["--sensitivity"] = SENSITIVITY
        if args.delta is None and "gaussian" in args.mechanism:
            needed["--delta"] = f"{args.mechanism} needs one, such as 1e-6"
        if args.bounds is None and args.mechanism == "snapping":
            needed["--bounds"] = "snapping needs bounds, which values are clipped to, such as -5,5"
        if args.exact is None and args.mechanism in _SELECTIONS:
            needed["--exact"] = "say the candidates' scores, public or made up"
    if args.epsilon is None and args.target_error is None:
        needed["--epsilon"] = "say which, such as 0.1,0.5,1,2; or give --target-error"
    return needed


def _spread_evenly(ends: list[str], rows: int) -> Any:
    """Made-up values: the middles of as many equal parts between the first and the last bound or edge."""
    import numpy as np

    low, high = (float(_number(end, "a bound or an edge", signed=True)) for end in (ends[0], ends[-1]))
    return low + (high - low) * (np.arange(rows) + 0.5) / max(rows, 1)


def _along_the_axes(bound: str, rows: int, dimensions: int) -> Any:
    """Made-up vectors: each as long as is allowed, along one axis after the other."""
    import numpy as np

    vectors = np.zeros((rows, dimensions))
    if dimensions:
        vectors[np.arange(rows), np.arange(rows) % dimensions] = float(_number(bound, "--bound"))
    return vectors


def _answer(args: argparse.Namespace, rows: list[Row], target: Fraction | None) -> str:
    from exactnoise.accounting.amount import text
    from exactnoise.utility import to_csv, to_json, to_text

    if args.csv:
        return to_csv(rows).removesuffix("\n")
    if args.json:
        document: dict[str, Any] = {"what": rows[0].what}
        if target is not None:
            document["target"] = {"error": args.target_error, "measure": args.measure, "epsilon": text(target)}
        return json.dumps({**document, "rows": json.loads(to_json(rows))})
    lines = [f"{rows[0].what}: error against epsilon", "", to_text(rows)]
    if target is not None:
        told = {"half-width": f"a {100 * (1 - rows[0].alpha):.6g} % half width", "std": "a standard deviation"}
        measure = told.get(args.measure, "a mean error")
        lines += ["", f"For {measure} of at most {args.target_error}: --epsilon {text(target)}"]
    if any(_is_far(row) for row in rows):
        lines += ["", "Where simulated errors are far from the closed forms, which are of first order, believe them."]
    lines += ["", *(f"{path}: drawn" for path in (args.plot, args.band) if path is not None)]
    return "\n".join(lines).rstrip()


def _is_far(row: Row) -> bool:
    """Whether a closed form is more than seven standard errors away from what was simulated."""
    pairs = [(row.std, row.simulated_std), (row.mean_error, row.simulated_mean_error)]
    pairs += [] if row.for_any_scores else [(row.half_width, row.simulated_half_width)]
    return any(
        closed is not None and found is not None and found.std_error and abs(found.value - closed) > 7 * found.std_error
        for closed, found in pairs
    )


def _checked(ask: Callable[[], T]) -> T:
    """What is asked is public: every complaint about it is one about the options."""
    try:
        return ask()
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def _items(typed: str) -> list[str]:
    return [item.strip() for item in typed.split(",")]


def _number(typed: str, option: str, *, signed: bool = False) -> Fraction:
    from exactnoise.accounting.amount import exact

    return _checked(lambda: exact(typed, option, signed=signed))


def _whole(typed: str, option: str) -> int:
    number = _number(typed, option, signed=True)
    if number.denominator != 1 or number < 0:
        raise UsageError(f"{option} must be a whole number, zero or more, got {typed!r}")
    return int(number)

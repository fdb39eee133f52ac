"""Any parameters raise what is documented or nothing, soon, and what is made keeps to the price that was asked for.

Two kinds of cases go to every constructor. Sound ones are within what is documented, from one end of it to the other,
so that most are accepted and what lies behind the first check is reached. In the others one or two parameters are
numbers in every accepted spelling and in many that are not, or no numbers at all.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import FIXED
from hypothesis import given, settings
from hypothesis import strategies as st

import exactnoise as en
from exactnoise import aggregates
from exactnoise.accounting.amount import exact
from exactnoise.ledger import Ledger

DOCUMENTED = (en.ExactNoiseError, TypeError, ValueError)
MOST_SECONDS = 20.0  # of a case, which takes less than one; on the slowest machine, under coverage

# Any parameters

SPELLINGS: list[Callable[[float], object]] = [
    float,
    str,
    repr,
    lambda value: f"{value:e}",
    lambda value: f" {value} ",
    lambda value: Decimal(repr(value)),
    np.float64,
    np.float16,
    lambda value: np.float32(min(max(value, -3e38), 3e38)),
    lambda value: int(value) if abs(value) < 1e300 else value,
    lambda value: Fraction(value),
    lambda value: f"{Fraction(value).numerator}/{Fraction(value).denominator}",
]
ODD = [
    None,
    True,
    np.False_,
    0,
    -1,
    10**400,
    -(10**400),
    "",
    "x",
    "nan",
    "-inf",
    "1/0",
    "1e999999999",
    "9" * 5000,
    "\u0661",
]
ODD += [1j, b"1", [1], (0, 1), [0.0, 0.5, 1.0], (1, 0), {}, object(), np.array(1.0), np.ones(2), Decimal("sNaN"), "l2"]
ODD += [
    float("nan"),
    float("inf"),
    np.float32("nan"),
    Decimal("-Infinity"),
    Fraction(1, 3),
    "row",
    "zcdp",
    "add-remove",
]


@st.composite
def numbers(draw: st.DrawFn) -> object:
    value = draw(
        st.one_of(
            st.sampled_from([0.1, 0.5, 1.0, 3.0]),
            st.floats(1e-9, 1e9),
            st.floats(allow_nan=False, allow_infinity=False),
        )
    )
    with np.errstate(all="ignore"):
        return draw(st.sampled_from(SPELLINGS))(value)


PARAMETERS = st.one_of(numbers(), numbers(), st.sampled_from(ODD))
PRICE = ("epsilon", "delta", "rho", "scale")
PRICES = [("epsilon",), ("epsilon", "delta"), ("rho",), ("scale",)]
MECHANISMS = [
    en.Laplace,
    en.Gaussian,
    en.DiscreteLaplace,
    en.DiscreteGaussian,
    en.Snapping,
    en.Exponential,
    en.PermuteAndFlip,
]
LOCAL = [en.RandomizedResponse, en.SymmetricUnaryEncoding, en.OptimizedUnaryEncoding, en.LocalHashing]
STATISTICS = [
    getattr(aggregates, name) for name in ("Count", "Sum", "Mean", "Variance", "Quantile", "Histogram", "VectorSum")
]
CONSTRUCTORS: list[Callable[..., Any]] = [
    *MECHANISMS,
    *LOCAL,
    *STATISTICS,
    *(kind.from_accuracy for kind in MECHANISMS if hasattr(kind, "from_accuracy")),
    en.PrivacyBudget,
    en.PrivacyCost,
]


# Sound parameters


def spread(low: int, high: int) -> st.SearchStrategy[str]:
    """Decimal numbers of four digits from 10^low to 10^(high + 1)."""
    return st.builds(lambda digits, e: f"{digits}e{e - 3}", st.integers(1000, 9999), st.integers(low, high))


def spelled(numbers: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    spellings = st.sampled_from([str, float, Decimal, lambda text: Fraction(Decimal(text))])
    return st.builds(lambda spelling, text: spelling(text), spellings, numbers)


def ascending(least: int, most: int) -> st.SearchStrategy[list[Any]]:
    """Numbers of any sign and size, each larger than the one before."""
    sizes = st.sampled_from([0, 0, 0, 6, -6, 200, -200])
    whole = st.lists(st.integers(-999, 999), min_size=least, max_size=most, unique=True).map(sorted)
    return st.builds(lambda size, digits: [Fraction(d) * Fraction(10) ** size for d in digits], sizes, whole)


FLAGS = st.booleans()
CATEGORIES = st.one_of(st.integers(2, 20), st.integers(2, 2**16))
SOUND: dict[str, st.SearchStrategy[Any]] = {
    "sensitivity": st.one_of(st.just(1), spelled(spread(-2, 3)), spelled(spread(-290, 290))),
    "epsilon": st.one_of(spelled(spread(-2, 1)), spelled(spread(-12, 4))),
    "delta": st.one_of(spelled(spread(-12, -2)), spelled(spread(-300, -1))),
    "rho": st.one_of(spelled(spread(-3, 1)), spelled(spread(-14, 5))),
    "scale": st.one_of(spelled(spread(-2, 3)), spelled(spread(-290, 290))),
    "granularity": st.integers(-12, 3).map(lambda e: Fraction(2) ** e),
    "half_width": st.one_of(spelled(spread(0, 3)), spelled(spread(-250, 250))),
    "alpha": st.one_of(st.just(0.05), spread(-6, -1).map(float), spread(-300, -1).map(float)),
    "candidates": st.one_of(st.integers(2, 99), st.integers(1, 2**63 - 1)),
    "monotonic": FLAGS,
    "masked": FLAGS,
    "other": FLAGS,
    "nonnegative": FLAGS,
    "n": st.one_of(st.integers(1, 10**6), st.integers(1, 2**63 - 1)),
    "categories": CATEGORIES,
    "missing": st.just(0),
    "nan": st.sampled_from([0.0, -0.0, 1, 1e300, np.float32(0.5)]),
    "bounds": ascending(2, 2).map(tuple),
    "edges": ascending(2, 30),
    "keys": st.one_of(st.none(), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9, unique=True)),
    "q": st.one_of(st.just(0.5), st.fractions(0, 1, max_denominator=1000), st.just([0.25, "0.5", 1])),
    "ddof": st.integers(0, 1),
    "norm": st.sampled_from(["l1", "l2"]),
    "bound": st.one_of(spelled(spread(-2, 3)), spelled(spread(-279, 289))),
    "size": st.one_of(st.integers(1, 9), st.integers(1, 2000)),
    "neighbors": st.sampled_from(["add-remove", "replace-one"]),
    "unit": st.sampled_from(["row", "person"]),
    "method": st.sampled_from(["basic", "zcdp"]),
}
# Where a name means something narrower.
WHOLE = {"sensitivity": st.one_of(st.just(1), st.integers(1, 99), st.integers(1, 2**40), spelled(spread(1, 4)))}
WHOLE |= {"half_width": spelled(spread(0, 9)), "scale": st.one_of(spelled(spread(-3, 3)), spelled(spread(-9, 9)))}
LABELS = st.lists(st.one_of(st.integers(-99, 99), st.just("other"), st.text(max_size=3)), min_size=1, max_size=9)
NARROWER: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "DiscreteLaplace": WHOLE | {"sensitivity": st.integers(1, 2**20)},
    "DiscreteGaussian": WHOLE,
    **{kind.__name__: {"epsilon": st.one_of(spelled(spread(-2, 0)), spelled(spread(-9, 1)))} for kind in LOCAL},
    "Histogram": {"categories": LABELS.map(lambda labels: list(dict.fromkeys(map(str, labels))))},
    **{name: {"nan": st.sampled_from([None, "drop"])} for name in ("Sum", "Mean", "Quantile")},
    "Variance": {
        "nan": st.sampled_from([None, "drop"]),
        "bounds": st.sampled_from([(0, 1), (-5, "7.5"), (Fraction(1, 3), 1e6)]),
    },
    "PrivacyCost": {"delta": st.one_of(st.just(0), SOUND["delta"])},
}
OPTIONAL = {"granularity", "nan", "alpha", "missing", "ddof", "keys", "monotonic", "masked", "other", "nonnegative"}


def class_of(function: Callable[..., Any]) -> str:
    return getattr(getattr(function, "__self__", function), "__name__", "")


def names_of(function: Callable[..., Any]) -> list[str]:
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]


def sound(draw: st.DrawFn, function: Callable[..., Any]) -> dict[str, Any]:
    """Parameters within what is documented: one price, if there is one, and what has no default."""
    names = names_of(function)
    known = SOUND | NARROWER.get(class_of(function), {})
    priced = "half_width" not in names and class_of(function) not in {kind.__name__ for kind in STATISTICS}
    gaussian = class_of(function).endswith("Gaussian")
    ways = [way for way in PRICES[gaussian:] if set(way) <= set(names)] if priced else []
    left_out = {"epsilon", "delta", "rho", "scale"} & set(names)
    if ways:
        left_out -= set(draw(st.sampled_from(ways)))
    elif gaussian:  # from_accuracy
        left_out.discard("delta")
    if {"edges", "categories"} <= set(names):
        left_out.add(draw(st.sampled_from(["edges", "categories"])))
    left_out |= {name for name in names if name in OPTIONAL and draw(st.integers(0, 3))}
    if "delta" in left_out:  # method says how deltas are added up
        left_out.add("method")
    return {name: draw(known[name]) for name in names if name in known and name not in left_out}


def arguments(draw: st.DrawFn, function: Callable[..., Any]) -> dict[str, Any]:
    """Sound parameters, and some of them anyhow."""
    anyhow = draw(st.lists(st.sampled_from(names_of(function)), min_size=1, max_size=2))
    return sound(draw, function) | {name: draw(PARAMETERS) for name in anyhow}


# What can be asked of an object


def check_price(made: Any, asked: dict[str, Any]) -> None:
    """What is made costs what was asked for, and no more."""
    cost = made.cost
    if "epsilon" in asked:
        epsilon, delta = exact(asked["epsilon"], "epsilon"), exact(asked.get("delta", 0), "delta", positive=False)
        assert (cost.epsilon, cost.delta) == (epsilon, delta)
        assert cost.delta_at(epsilon) <= delta
    if "rho" in asked:
        assert cost.rho == exact(asked["rho"], "rho")


def ask_mechanism(made: Any, asked: dict[str, Any], draw: st.DrawFn) -> None:
    check_price(made, asked)
    alpha = asked.get("alpha", 0.05) if "half_width" in asked else draw(SOUND["alpha"])
    if isinstance(made, (en.Exponential, en.PermuteAndFlip)):
        candidates = asked.get("candidates") or draw(SOUND["candidates"])
        width = made.half_width(alpha, candidates=candidates)
        assert 0 <= made.probability_within(draw(st.floats(0, 1e300)), candidates) <= 1
        assert made.probability_within(width, candidates) >= (1 - alpha) * (1 - 1e-9)
        made.probabilities([0, width, -width])
    elif isinstance(made, tuple(LOCAL)):
        assert made.std_error(asked.get("n") or draw(SOUND["n"]), draw(st.floats(0, 1))) > 0
        width = 0
    else:
        width = made.half_width(alpha)
        low, high = made.interval(draw(st.floats(-1e300, 1e300)), alpha)
        assert low <= high
        assert made.variance >= 0
        assert made.std >= 0
    if "half_width" in asked:
        assert width <= exact(asked["half_width"], "half_width")
    assert made == eval(repr(made), vars(en) | {kind.__name__: kind for kind in MECHANISMS + LOCAL})


def ask_statistic(made: Any, asked: dict[str, Any], draw: st.DrawFn) -> None:
    """An empty one, released at any price."""
    way = draw(st.sampled_from(PRICES[:3]))
    terms = {name: draw(SOUND[name]) for name in way} | {"neighbors": draw(SOUND["neighbors"])}
    if draw(FLAGS):
        terms["rows_per_person"] = draw(st.one_of(st.integers(1, 9), st.integers(1, 2**31 - 1)))
        if asked.get("keys") is not None:
            terms["groups_per_person"] = draw(st.integers(1, 9))
    repr(made.release(budget=None, **terms))


def ask_budget(made: en.PrivacyBudget, draw: st.DrawFn) -> None:
    """A mechanism that fits can be paid for as often as was asked for."""
    gaussian = made.total.rho is not None or made.total.delta > 0
    kinds = [kind for kind in MECHANISMS if gaussian or not kind.__name__.endswith("Gaussian")]
    kind, times = draw(st.sampled_from(kinds)), draw(st.integers(1, 4))
    parameters = {name: value for name, value in sound(draw, kind).items() if name not in PRICE}
    part, rest = made.split(draw(st.integers(1, 9)), draw(st.fractions(1, 9, max_denominator=99)))
    fitted = part.fit(kind, times=times, **parameters)
    for _ in range(times):
        part.spend(fitted)
    repr([part.guarantee, rest.remaining, made.remaining, made.spent])


@contextlib.contextmanager
def unless_unknown() -> Iterator[None]:
    """Of a bare (epsilon, delta) there is no curve, and no profile beyond it."""
    try:
        yield
    except (TypeError, ValueError) as refusal:
        if not re.search("nothing is known of this cost|no Renyi curve", str(refusal)):
            raise


def ask_cost(made: Any, draw: st.DrawFn) -> None:
    assert made.implied_rho is None or made.implied_rho >= 0
    with unless_unknown():
        assert 0 <= made.delta_at(draw(SOUND["epsilon"])) <= 1
    with unless_unknown():
        assert made.epsilon_at(draw(SOUND["delta"])) >= 0
    with unless_unknown():
        assert made.rdp(draw(st.integers(2, 999))) >= 0


def ask(made: Any, asked: dict[str, Any], draw: st.DrawFn) -> None:
    if isinstance(made, en.PrivacyBudget):
        ask_budget(made, draw)
    elif isinstance(made, en.PrivacyCost):
        ask_cost(made, draw)
    elif isinstance(made, tuple(STATISTICS)):
        ask_statistic(made, asked, draw)
    else:
        ask_mechanism(made, asked, draw)
        if not draw(st.integers(0, 3)):  # which takes seconds where epsilon is large
            ask_cost(made.cost, draw)


def ask_anyhow(made: Any, draw: st.DrawFn) -> None:
    """The same questions with any parameters."""
    assert isinstance(repr(made), str)
    questions = [getattr(made, name) for name in ("half_width", "delta_at", "epsilon_at", "rdp") if hasattr(made, name)]
    if isinstance(made, en.PrivacyBudget):
        questions += [
            lambda x: made.spend(en.PrivacyCost(epsilon=x)),
            lambda x: made.split(x, 1),
            lambda x: made.fit(en.Laplace, times=3, sensitivity=x),
        ]
    if isinstance(made, (en.Exponential, en.PermuteAndFlip)):
        questions += [functools.partial(made.half_width, candidates=5)]
        questions += [functools.partial(made.probability_within, candidates=5)]
    for question in questions:
        with contextlib.suppress(*DOCUMENTED):
            question(draw(PARAMETERS))


# The tests


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail after so much time of the processor, even in the middle of a loop that never ends."""
    started = time.process_time()

    def end(*_: object) -> None:
        raise AssertionError(f"it takes longer than {seconds} s")

    has_timer = hasattr(signal, "setitimer")
    if has_timer:
        previous = signal.signal(signal.SIGVTALRM, end)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        if has_timer:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, previous)
    assert time.process_time() - started < seconds


def check_any(function: Callable[..., Any], examples: int) -> None:
    @settings(max_examples=examples, **FIXED)
    @given(st.data())
    def construct(data: st.DataObject) -> None:
        asked = arguments(data.draw, function)
        with at_most(MOST_SECONDS), contextlib.suppress(*DOCUMENTED):
            ask_anyhow(function(**asked), data.draw)

    construct()


def check_sound(function: Callable[..., Any], examples: int, ask: Callable[..., None] = ask) -> float:
    """The share of cases that are accepted; a refusal says of which parameter, or of what noise, it speaks."""
    accepted = itertools.count()

    @settings(max_examples=examples, **FIXED)
    @given(st.data())
    def construct(data: st.DataObject) -> None:
        asked = sound(data.draw, function)
        with at_most(MOST_SECONDS):
            try:
                made = function(**asked)
                if isinstance(
                    made, (en.PrivacyBudget, *STATISTICS)
                ):  # what is asked of them has a price, and may not fit
                    ask(made, asked, data.draw)
            except DOCUMENTED as refusal:
                told = str(refusal)
            else:
                next(accepted)
                if not isinstance(made, (en.PrivacyBudget, *STATISTICS)):
                    ask(made, asked, data.draw)
                return
        assert REFUSED & set(re.findall(r"\w+", told)), (asked, told)

    construct()
    return next(accepted) / examples


def name_of(function: Callable[..., Any]) -> str:
    return ".".join(dict.fromkeys([class_of(function), function.__name__]))


REFUSED = {*SOUND, "noise", "price", "share", "rows"}


def accepted_at_least(function: Callable[..., Any]) -> float:
    """Half, but where most of the combinations within the ranges of each parameter are none that can be."""
    return {"DiscreteGaussian": 0.3, "Count": 0.3}.get(class_of(function), 0.5)


@pytest.mark.parametrize("function", CONSTRUCTORS, ids=name_of)
def test_sound_parameters(function: Callable[..., Any]) -> None:
    assert check_sound(function, 8) >= accepted_at_least(function)


@pytest.mark.slow
@pytest.mark.parametrize("function", CONSTRUCTORS, ids=name_of)
def test_many_sound_parameters(function: Callable[..., Any]) -> None:
    assert check_sound(function, 60) >= accepted_at_least(function)


@pytest.mark.parametrize("function", CONSTRUCTORS, ids=name_of)
def test_any_parameters(function: Callable[..., Any]) -> None:
    check_any(function, 40)


@pytest.mark.slow
@pytest.mark.parametrize("function", CONSTRUCTORS, ids=name_of)
def test_many_parameters(function: Callable[..., Any]) -> None:
    check_any(function, 1000)


@settings(max_examples=15, **FIXED)
@given(st.data())
def test_any_terms_of_a_ledger(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "privacy.db")
        try:
            ledger.create("visits", **arguments(data.draw, en.PrivacyBudget))
            ledger.raise_cap("visits", epsilon=data.draw(PARAMETERS), reason="more")
        except DOCUMENTED:
            pass
        ledger.verify()


def test_what_is_slow_refused_or_overpriced_is_found() -> None:
    """Positive controls: a search that never ends, words about no parameter, a share of none and a price above that
    asked for."""

    def slow() -> None:
        with at_most(0.05):
            for _ in range(10**8):
                pass

    with pytest.raises(AssertionError):
        slow()

    def refusing(epsilon: object) -> None:
        raise ValueError("no")

    with pytest.raises(AssertionError, match="no"):
        check_sound(refusing, 5)

    def particular(epsilon: object) -> None:
        raise ValueError("epsilon is refused")

    assert check_sound(particular, 5) == 0
    with pytest.raises(AssertionError):
        check_price(en.Laplace(sensitivity=1, epsilon=2), {"epsilon": 1})


def test_an_exception_that_is_not_documented_is_found() -> None:
    """Positive control: an overflow, which is neither a TypeError nor a ValueError."""

    def overflowing(epsilon: object) -> float:
        return 10.0 ** float(epsilon)

    with pytest.raises(OverflowError):
        check_any(overflowing, 100)

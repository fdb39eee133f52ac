"""For a fixed schema the data changes nothing but values; any options of a command end as documented.

Arrays of any bits, in every type and layout, go to every release; options, right and wrong, to every command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jobs
import numpy as np
import pytest
from fuzzing import FIXED
from hypothesis import given, settings
from hypothesis import strategies as st

import exactnoise as en
from exactnoise import aggregates
from exactnoise.cli import main
from exactnoise.cli.errors import ExitCode

DOCUMENTED = (en.ExactNoiseError, TypeError, ValueError)
LOCAL = [en.RandomizedResponse, en.SymmetricUnaryEncoding, en.OptimizedUnaryEncoding, en.LocalHashing]

# Data

DTYPES = [
    "?",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    ">i4",
    ">u8",
    ">f4",
    ">f8",
    "S3",
    "U2",
    "M8[D]",
    "c16",
]
DTYPES += ["f4", "f8", "f8", "i8"]  # more often than the others
SPECIAL = [float("nan"), float("inf"), float("-inf"), -0.0]
LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "contiguous": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "every other": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1],
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape) if x.size else x,
    "masked": lambda x: np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) % 3 == 0),
    "list": lambda x: x.tolist(),
    "object": lambda x: x.astype(object),
}


def released(function: Callable[[Any], Any], x: Any) -> object:
    """The type and shape of what comes out, or of the exception."""
    try:
        y = function(x)
    except DOCUMENTED as error:
        return type(error)
    if isinstance(y, aggregates.Release):
        return [(np.asarray(part).dtype, np.shape(part)) for part in (y.value, y.std_error)]
    return type(y), np.asarray(y).dtype, np.shape(y)


TERMS: dict[str, Any] = {"budget": None, "neighbors": "add-remove", "epsilon": "0.5"}


def releases() -> dict[str, Callable[[Any], Any]]:
    additive = [
        en.Laplace(sensitivity=1, epsilon=1),
        en.Laplace(sensitivity=4, epsilon=1, granularity=2),
        en.Gaussian(sensitivity=1, rho=1),
        en.DiscreteLaplace(sensitivity=1, epsilon=1),
        en.DiscreteGaussian(sensitivity=1, rho=1),
        en.Snapping(sensitivity=1, epsilon=1, bounds=(-5, 5)),
        *(kind(epsilon=1, categories=9) for kind in LOCAL),
    ]
    selecting = [kind(sensitivity=1, epsilon=1) for kind in (en.Exponential, en.PermuteAndFlip)]
    n = 12
    groups = {"by": np.arange(n) % 3, "keys": [0, 1, 5], "person": np.arange(n) // 2}
    groups |= {"rows_per_person": 1, "groups_per_person": 2}
    return {
        **{repr(m): lambda x, m=m: m.release(x, budget=None) for m in additive},
        **{repr(m): lambda x, m=m: m.release(x, budget=None, disjoint=True) for m in selecting},
        "clip_l1": lambda x: en.clip_l1(x, 2),
        "clip_l2": lambda x: en.clip_l2(x, 2),
        "count": lambda x: aggregates.count(x, **TERMS),
        "count of groups": lambda x: aggregates.count(by=x, keys=[1, 2], **TERMS),
        "sum": lambda x: aggregates.sum(x, bounds=(0, 9), **TERMS),
        "sum of groups": lambda x: aggregates.sum(x, bounds=(0, 9), **groups, **TERMS),
        "mean of people": lambda x: aggregates.mean(np.ones(n), bounds=(0, 9), person=x, rows_per_person=2, **TERMS),
        "variance": lambda x: aggregates.variance(x, bounds=(-3, 9), **TERMS),
        "quantile": lambda x: aggregates.quantile(x, 0.5, bounds=(0, 9), **TERMS),
        "histogram": lambda x: aggregates.histogram(x, edges=[0, 1, 5], **TERMS),
        "vector sum": lambda x: aggregates.vector_sum(x, norm="l1", bound=2, **TERMS),
    }


RELEASES = releases()


def arrays(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str]:
    """Ordinary data and any bits of one type and shape, and a layout for both."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.sampled_from([(12,), (12,), (3,), (0,), (1,), (4, 3), (2, 0), (40,)]))
    count = int(np.prod(shape))
    if dtype.kind in "USM?":  # whose values are not any bits
        values = draw(st.lists(st.integers(0, 1 if dtype.kind == "?" else 99), min_size=count, max_size=count))
        wild = np.array(list(map(str, values)) if dtype.kind in "US" else values).astype(dtype)
    elif dtype.kind == "f" and draw(st.booleans()):
        number = st.one_of(st.floats(width=8 * dtype.itemsize), st.sampled_from(SPECIAL))
        values = draw(st.lists(number, min_size=count, max_size=count))
        wild = np.array(values, dtype)
    else:
        size = dtype.itemsize * count
        wild = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype)
    return np.zeros(shape, dtype), wild.reshape(shape), draw(st.sampled_from(list(LAYOUTS)))


def check_data(names: Sequence[str], examples: int) -> None:
    @settings(max_examples=examples, **FIXED)
    @given(st.data())
    def compare(data: st.DataObject) -> None:
        tame, wild, layout = arrays(data.draw)
        with np.errstate(all="raise"):
            arranged = [LAYOUTS[layout](x) for x in (tame, wild)]
            for name in names:
                expected, got = (released(RELEASES[name], x) for x in arranged)
                assert got == expected, (name, layout, tame.dtype)

    compare()


@pytest.mark.parametrize("name", RELEASES)
def test_data_changes_values_alone(name: str) -> None:
    check_data([name], 60)


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_much_data_changes_values_alone(name: str) -> None:
    check_data([name], 2000)


def test_data_that_raises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positive control: a release that refuses what is not finite, and one whose type depends on values."""

    def refusing(x: Any) -> Any:
        if getattr(x, "dtype", None) == np.float64 and not np.isfinite(x).all():
            raise ValueError("not finite")
        return x

    for broken in (refusing, lambda x: [] if np.asarray(x).any() else 0):
        monkeypatch.setitem(RELEASES, "broken", broken)
        with pytest.raises(AssertionError):
            check_data(["broken"], 100)


# The command line

VALUES = [
    "1",
    "0.5",
    "1e-6",
    "0",
    "-1",
    "1e308",
    "nan",
    "x",
    "",
    "1,2",
    "0.1,0.5",
    "0,10",
    "1/3",
    "9" * 400,
    "a=b",
    "\0",
    "é",
]
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "noise": (
        ["in.csv", "-o", "out.csv", "--force", "--column=visits", "--sensitivity=1", "--epsilon=1"],
        ["--column", "--sensitivity", "--epsilon", "--delta", "--rho", "--mechanism", "--granularity", "--nan"],
    ),
    "budget": (
        ["--epsilon=1", "--query-epsilon=0.1"],
        ["--epsilon", "--delta", "--query-epsilon", "--queries", "--mechanism", "--json"],
    ),
    "utility": (
        ["--mechanism=laplace", "--sensitivity=1", "--epsilon=1", "--trials=0"],
        ["--mechanism", "--statistic", "--epsilon", "--target-error", "--delta", "--exact", "--bounds", "--csv"],
    ),
    "ledger": (
        ["create", "new.db", "--budget=b", "--epsilon=1", "--neighbors=add-remove", "--unit=row"],
        ["--epsilon", "--delta", "--neighbors", "--unit", "--budget", "--method", "--json"],
    ),
    "plan": (["job.toml", "--date=2024-03-01"], ["--id", "--date", "--expect", "--json"]),
    "verify": (["out.csv"], ["--ledger", "--json"]),
}  # fmt: skip


def check_command(command: str, examples: int, capsys: pytest.CaptureFixture[str]) -> None:
    base, options = COMMANDS[command]

    @settings(max_examples=examples, **FIXED)
    @given(st.lists(st.tuples(st.sampled_from(options), st.sampled_from(VALUES)), max_size=4))
    def run(chosen: list[tuple[str, str]]) -> None:
        words = [f"{option}={value}" if option not in ("--json", "--csv") else option for option, value in chosen]
        code = main([command, *base, *words])
        told = "".join(capsys.readouterr())
        assert code in set(ExitCode), (words, code)
        assert "unexpected" not in told, (words, told)
        assert "Traceback" not in told, (words, told)

    run()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("name,visits\na,3\nb,\n")
    jobs.write_job(tmp_path)
    jobs.ledger(tmp_path)
    assert main(["noise", *COMMANDS["noise"][0]]) == ExitCode.DONE


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_usual_options_are_taken(command: str) -> None:
    """Else whatever is added to them would be refused for the same reason."""
    assert main([command, *COMMANDS[command][0]]) == ExitCode.DONE


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_any_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_command(command, 40, capsys)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_many_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_command(command, 500, capsys)

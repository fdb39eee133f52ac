"""A short run of every libFuzzer target, and planted faults that the runner must report: see core.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scripts import load

core = load(Path(__file__).with_name("core.py"))

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not core.is_available(), reason="needs clang with libFuzzer (libclang-rt-*-dev)"
)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return core.build_core(tmp_path_factory.mktemp("core"))


@pytest.mark.parametrize("target", core.TARGETS)
def test_nothing_is_found(objects: list[Path], capsys: pytest.CaptureFixture[str], target: str) -> None:
    assert core.main(["--runs", "1000", "--seed", "1", target], objects) == 0, capsys.readouterr().out
    assert "number_of_executed_units: 1000" in capsys.readouterr().out


# A fault that each target has when it is compiled with PLANTED, and how its finding is known.
PLANTED = {
    ("additive", 1): "AddressSanitizer: heap-buffer-overflow",  # an output that is one byte too short
    ("additive", 2): "violated: instruction sets decide differently",  # a wrong bit in one instruction set's output
    ("aggregation", 1): "violated: a sum is not the values'",  # one too many where there are several blocks
    ("clip", 1): "violated: a norm above the bound",  # a bound that is less by a billionth
    ("responses", 1): "violated: padding is not 0",  # a bit behind the last category
    ("selection", 1): "violated: a record does not have its candidate's word",  # another one
    ("settle", 1): "violated: a word that follows opened a lane",  # the last one
}
QUICK = {"additive", "settle"}


def test_every_target_has_a_planted_fault() -> None:
    assert {target for target, _ in PLANTED} == set(core.TARGETS)


@pytest.mark.parametrize(
    ("target", "fault"),
    [pytest.param(*which, marks=[] if which[0] in QUICK else pytest.mark.slow) for which in PLANTED],
)
def test_planted_faults_are_found(
    objects: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, target: str, fault: int
) -> None:
    run = ["--runs", "1000", "--seed", "1", "--define", f"PLANTED={fault}", "--corpus", str(tmp_path), target]
    assert core.main(run, objects) == 1
    report = capsys.readouterr().out
    assert PLANTED[target, fault] in report
    assert "crash-" in report  # with the input that shows it
    assert list(tmp_path.glob(f"{target}/crash-*"))


@pytest.mark.slow
@pytest.mark.parametrize("target", core.TARGETS)
def test_nothing_is_found_in_minutes(objects: list[Path], capsys: pytest.CaptureFixture[str], target: str) -> None:
    assert core.main(["--seconds", "60", target], objects) == 0, capsys.readouterr().out

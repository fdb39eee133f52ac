"""A short run of every libFuzzer target, and planted faults that the runner must report: see core.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def module(path: Path) -> ModuleType:
    """A script as a module; this folder is not on the path of the tests."""
    spec = importlib.util.spec_from_file_location(f"fuzz_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


core = module(Path(__file__).with_name("core.py"))

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


PLANTED = {
    1: "AddressSanitizer: heap-buffer-overflow",  # an output that is one byte too short
    2: "violated: instruction sets decide differently",  # a wrong bit in one instruction set's output
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_found(
    objects: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, fault: int
) -> None:
    run = ["--runs", "1000", "--seed", "1", "--define", f"PLANTED={fault}", "--corpus", str(tmp_path), "additive"]
    assert core.main(run, objects) == 1
    report = capsys.readouterr().out
    assert PLANTED[fault] in report
    assert "crash-" in report  # with the input that shows it
    assert list(tmp_path.glob("additive/crash-*"))


@pytest.mark.slow
@pytest.mark.parametrize("target", core.TARGETS)
def test_nothing_is_found_in_minutes(objects: list[Path], capsys: pytest.CaptureFixture[str], target: str) -> None:
    assert core.main(["--seconds", "60", target], objects) == 0, capsys.readouterr().out

"""Every compiler and processor makes the same of the same words: see c/architectures.py and c/known_words.c."""

from __future__ import annotations

import sys

import compilers
import pytest

sys.path.insert(0, str(compilers.TEST_SOURCES))

import architectures
from architectures import TARGETS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the tools are those of Debian"),
]


def present(name: str) -> architectures.Target:
    missing = TARGETS[name].missing()
    if missing:
        pytest.skip(f"no {' and no '.join(missing)}")
    return TARGETS[name]


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    printed = architectures.outputs(present("gcc"), compilers.NATIVE)
    assert printed is not None
    return printed


@pytest.mark.parametrize("name", TARGETS)
def test_results_are_the_same(name: str, reference: dict[str, str]) -> None:
    printed = reference if name == "gcc" else architectures.outputs(present(name), compilers.NATIVE)
    assert not list(architectures.differences(reference, printed or reference))


def test_every_lane_is_printed(reference: dict[str, str]) -> None:
    """Else equal outputs would mean little."""
    for lines in architectures.calls(reference[architectures.LANES]).values():
        words = [word for line in lines for word in line]
        assert len(words) > 300_000
        assert words.count("-") < len(words) / 5
        assert {line[0] for line in lines} == {"keystream:", "spread:", "release", "settle", "select", "clip"}


def test_fused_operations_are_found(reference: dict[str, str]) -> None:
    """The control: what -ffp-contract=off forbids."""
    fused = architectures.outputs(present("aarch64"), compilers.NATIVE, ("-ffp-contract=fast",))
    assert fused is not None
    assert list(architectures.differences(reference, fused))


@pytest.mark.parametrize("flags", ["-mfpmath=387", "-ffast-math"])
def test_other_arithmetic_is_refused(flags: str) -> None:
    with pytest.raises(AssertionError, match="#error"):
        architectures.outputs(present("gcc"), compilers.NATIVE, (flags,))

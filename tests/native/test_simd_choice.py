"""The choice of the instruction set: by EXACTNOISE_SIMD, and without any effect on results."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from support import ON_INTEGERS, words_for

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, _native
from exactnoise._native import Plan, simd_available
from exactnoise.errors import UnsupportedInstructionSet
from exactnoise.testing import release_from_words

REFUSED_RELEASE = """
from exactnoise import Laplace, PrivacyBudget, UnsupportedInstructionSet
budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
for x in (1.0, [1.0]):
    try:
        Laplace(sensitivity=1, epsilon=1).release(x, budget=budget)
    except UnsupportedInstructionSet as error:
        print(error)
print(budget.remaining.epsilon, "left")
"""


def python(*arguments: str, simd: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "EXACTNOISE_SIMD"}
    if simd is not None:
        environment["EXACTNOISE_SIMD"] = simd
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def info(simd: str | None) -> dict[str, object]:
    done = python("-m", "exactnoise", "info", "--json", simd=simd)
    assert done.returncode == 0, done.stderr
    facts: dict[str, object] = json.loads(done.stdout)
    return facts


@pytest.mark.parametrize("simd", simd_available())
def test_a_named_instruction_set_is_used(simd: str) -> None:
    facts = info(simd)
    assert facts["instruction_set"] == simd
    assert facts["instruction_sets"] == list(simd_available())


@pytest.mark.parametrize("simd", [None, ""])
def test_the_widest_is_the_default(simd: str | None) -> None:
    assert info(simd)["instruction_set"] == simd_available()[-1]


@pytest.mark.parametrize("simd", ["sse9", "AVX2", "portable ", "avx2,avx512", "neon", "0"])
def test_another_name_is_an_error_that_lists_what_there_is(simd: str) -> None:
    command = python("-m", "exactnoise", "info", simd=simd)
    assert command.returncode != 0
    assert "Traceback" not in command.stderr
    release = python("-c", REFUSED_RELEASE, simd=simd)
    assert release.stdout.splitlines()[-1] == "1 left", release.stderr
    for message in (command.stderr, release.stdout):
        assert f"EXACTNOISE_SIMD={simd} " in message
        assert f"it has {', '.join(simd_available())}" in message


@pytest.mark.parametrize("simd", ["sse9", ""])
def test_a_plan_for_another_set_is_refused(simd: str) -> None:
    with pytest.raises(UnsupportedInstructionSet, match="this machine has portable"):
        Plan("laplace", "float64", 1.0, 0, 0.0, 0.0, simd)


def test_portable_code_is_always_there() -> None:
    assert simd_available()[0] == "portable"
    assert list(simd_available()) == [name for name in ("portable", "avx2", "avx512") if name in simd_available()]


MECHANISMS = [
    Laplace(sensitivity=1, epsilon=1),
    Laplace(sensitivity=1, scale=2**36, granularity=1),
    Laplace(sensitivity=1, scale=2.5, granularity=2, nan=1),
    Gaussian(sensitivity=1, scale=1),
    Gaussian(sensitivity=1, scale=2**36, granularity=1),
    Gaussian(sensitivity=1, scale=1e300),
    Gaussian(sensitivity=1, scale=2.5, granularity=2),
    DiscreteLaplace(sensitivity=1, epsilon="0.01"),
    DiscreteGaussian(sensitivity=1, scale=3),
    DiscreteGaussian(sensitivity=1, scale=5),
    DiscreteGaussian(sensitivity=1, scale=2**20),
]
WHOLE = [mechanism for mechanism in MECHANISMS if isinstance(mechanism, ON_INTEGERS)]
DTYPES = ["f8", "f4", "i8"]
SIZES = [1, 2, 7, 64, 1000, 1025, 3000]


def releases(simd: str | None) -> dict[tuple[str, str, int], str]:
    """A digest of the result for every mechanism, dtype and size, words fixed."""
    generator = np.random.Generator(np.random.PCG64(20))
    digests = {}
    for mechanism in MECHANISMS:
        for dtype in DTYPES:
            if isinstance(mechanism, ON_INTEGERS) and dtype != "i8":
                continue
            if mechanism.granularity > 2.0**62 and dtype != "f8":
                continue
            for size in SIZES:
                x = (generator.standard_normal(size) * 1000).astype(dtype)
                words = words_for(mechanism, size, [size, MECHANISMS.index(mechanism)], trials=9)
                words[:2] = [0, 2**64 - 1][: words.size]
                result = release_from_words(mechanism, x, words, simd=simd)
                digests[repr(mechanism), dtype, size] = hashlib.sha256(result.tobytes()).hexdigest()
    return digests


def test_every_instruction_set_gives_the_same_bytes() -> None:
    want = releases("portable")
    assert len(want) == (len(MECHANISMS) * len(DTYPES) - 2 * len(WHOLE) - 2) * len(SIZES)
    assert len(set(want.values())) == len(want)
    for simd in simd_available():
        assert releases(simd) == want
    assert releases(None) == want


def test_the_set_in_use_is_the_one_of_plans() -> None:
    mechanism = MECHANISMS[0]
    mechanism.release([1.0], budget=None)
    assert {plan.simd for plan in mechanism._plans.values()} == {_native.SIMD}


@pytest.mark.parametrize("simd", simd_available())
def test_a_process_uses_the_set_it_was_told(simd: str) -> None:
    script = (
        "from exactnoise import Laplace; m = Laplace(sensitivity=1, epsilon=1); "
        "m.release([1.0], budget=None); print({plan.simd for plan in m._plans.values()})"
    )
    assert python("-c", script, simd=simd).stdout == f"{{{simd!r}}}\n"

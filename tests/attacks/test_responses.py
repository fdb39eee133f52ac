"""The auditor on local reports: it finds nothing, and finds each mechanism's broken twin."""

from __future__ import annotations

import numpy as np
import pytest
from auditor import Claim, Event, refutations

from exactnoise import LocalHashing, OptimizedUnaryEncoding, RandomizedResponse, SymmetricUnaryEncoding
from exactnoise.mechanisms.response import LocalRandomizer

SAMPLES = 30_000
EPSILON, BROKEN = 1, 2  # the twin has the noise of twice the epsilon that is claimed
CLAIM = Claim(float(EPSILON))
KINDS = [RandomizedResponse, SymmetricUnaryEncoding, OptimizedUnaryEncoding, LocalHashing]
ON_EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
K = 6
FIRST, SECOND = 1, 4


def supported(m: LocalRandomizer, code: int) -> np.ndarray:
    """Which categories each report supports, as a row of bits."""
    reports = m.release(np.full(SAMPLES, code), budget=None)
    if m.report_shape:
        return np.unpackbits(reports, axis=1, count=K, bitorder="little").astype(bool)
    if isinstance(m, RandomizedResponse):
        return reports[:, None] == np.arange(K)
    a, b, y = (reports[name].astype(np.uint64)[:, None] for name in ("a", "b", "bucket"))
    hashes = (a * np.arange(K, dtype=np.uint64) + b) % 2**32 >> np.uint64(16)
    return hashes * np.uint64(m.buckets) >> np.uint64(16) == y


EVENTS: dict[str, Event] = {
    **{f"supports {v}": lambda bits, v=v: bits[:, v] for v in range(K)},
    "supports the first and not the second": lambda bits: bits[:, FIRST] & ~bits[:, SECOND],
    "supports the second and not the first": lambda bits: bits[:, SECOND] & ~bits[:, FIRST],
}


@ON_EVERY_KIND
def test_two_people_cannot_be_told_apart(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=EPSILON, categories=K)
    assert refutations(supported(m, FIRST), supported(m, SECOND), CLAIM, EVENTS) == []


@ON_EVERY_KIND
def test_control_half_the_noise_is_found(kind: type[LocalRandomizer]) -> None:
    twin = kind(epsilon=BROKEN, categories=K)
    assert refutations(supported(twin, FIRST), supported(twin, SECOND), CLAIM, EVENTS)


def test_control_a_symmetric_report_that_spends_epsilon_on_each_bit_is_found() -> None:
    """The well-known mistake: two bits differ, so that each may cost epsilon / 2 only."""
    twin = SymmetricUnaryEncoding(epsilon=2 * EPSILON, categories=K)
    found = refutations(supported(twin, FIRST), supported(twin, SECOND), CLAIM, EVENTS)
    assert any("and not" in event for event in found)
    assert not any(event.startswith(f"supports {v}:") for v in range(K) for event in found)


@ON_EVERY_KIND
def test_missing_values_cannot_be_told_apart(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=EPSILON, categories=K, missing=FIRST)
    unknown = -1
    assert refutations(supported(m, unknown), supported(m, SECOND), CLAIM, EVENTS) == []

"""Rows count once: in whatever order, threads and processes they come, and whatever becomes of an accumulator."""

from __future__ import annotations

import os
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

from exactnoise import aggregates
from exactnoise.testing import replay

EXACT = {"epsilon": 10**6, "budget": None, "neighbors": "add-remove"}


def filled(values=(1.0, 2.0)) -> aggregates.Sum:
    statistic = aggregates.Sum(bounds=(0, 10))
    statistic.add(np.array(values))
    return statistic


def test_a_merged_accumulator_is_used_up():
    whole, part = filled(), filled()
    assert whole.merge(part) is whole
    for action in (
        lambda: whole.merge(part),
        lambda: part.merge(whole),
        lambda: part.add([1.0]),
        lambda: part.release(**EXACT),
        lambda: filled().merge(part),
    ):
        with pytest.raises(ValueError, match="merged into another"):
            action()
    with pytest.raises(ValueError, match="itself"):
        whole.merge(whole)
    assert abs(float(whole.release(**EXACT)) - 6) < 0.01


def test_a_released_accumulator_forgets_its_rows():
    statistic = filled([3.25])
    statistic.release(**EXACT)
    assert statistic._tally is None
    for action in (lambda: statistic.add([1.0]), lambda: statistic.release(**EXACT), lambda: filled().merge(statistic)):
        with pytest.raises(ValueError, match="released"):
            action()
    assert b"3.25" not in pickle.dumps(statistic)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (aggregates.Sum(bounds=(0, 1)), aggregates.Sum(bounds=(0, 2)), "bounds"),
        (aggregates.Sum(bounds=(0, 1)), aggregates.Sum(bounds=(0, 1), nan="drop"), "nan"),
        (aggregates.Sum(bounds=(0, 1), keys=[0, 1]), aggregates.Sum(bounds=(0, 1), keys=[0, 2]), "keys"),
        (
            aggregates.Sum(bounds=(0, 1), keys=[0, 1]),
            aggregates.Sum(bounds=(0, 1), keys=[False, True]),
            "type of their",
        ),
        (aggregates.Sum(bounds=(0, 1)), aggregates.Mean(bounds=(0, 1)), "Mean"),
        (aggregates.Quantile(q=0.5, bounds=(0, 1)), aggregates.Quantile(q=0.25, bounds=(0, 1)), "q"),
        (aggregates.Histogram(edges=[0, 1]), aggregates.Histogram(edges=[0, 2]), "bins"),
        (aggregates.VectorSum(norm="l2", bound=1, size=2), aggregates.VectorSum(norm="l2", bound=1, size=3), "size"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_refused_merge_says_what_differs(one, other, message):
    with pytest.raises((TypeError, ValueError), match=message):
        one.merge(other)


def test_vectors_of_a_size_that_the_rows_tell():
    one, other = (aggregates.VectorSum(norm="l2", bound=1) for _ in range(2))
    other.add(np.eye(3))
    one.merge(other)
    assert one.release(**EXACT).value.shape == (3,)


def test_threads_may_add_to_one_accumulator():
    statistic = aggregates.Count(keys=range(4))
    codes = np.arange(1000) % 4
    threads = [
        threading.Thread(target=lambda: [statistic.add(by=codes) for _ in range(100)], daemon=True) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statistic.release(**EXACT).value.tolist() == [200_000] * 4


def test_rows_that_come_after_the_release_are_refused(monkeypatch):
    """Also those that were being counted when it was released: an exact total would be left behind."""
    statistic = filled()
    counted = aggregates.Sum._add

    def released_meanwhile(self, chunk, start, stop):
        tally = counted(self, chunk, start, stop)
        self.release(**EXACT)
        return tally

    monkeypatch.setattr(aggregates.Sum, "_add", released_meanwhile)
    with pytest.raises(ValueError, match="released"):
        statistic.add([5.0])
    assert statistic._tally is None


def test_a_forked_process_can_add():
    statistic = filled()
    with aggregates.statistic._adding:  # as if another thread was adding when the process forks
        child = os.fork()
        if child == 0:
            statistic.add([1.0])
            os._exit(0 if statistic._tally.rows == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_counts_take_no_size_beside_a_mask():
    with pytest.raises(TypeError, match="without a mask"):
        aggregates.count([True], n=1, **EXACT)
    with pytest.raises(TypeError, match="mask"):
        aggregates.Count(masked=True).add(n=3)


@pytest.mark.parametrize("bounds", [(2**60, 2**60 + 3), (-(2**62), -(2**62) + 1), (2**51, 2**51 + 1)], ids=str)
@pytest.mark.parametrize("function", [aggregates.sum, aggregates.mean])
def test_whole_bounds_that_are_closer_than_doubles(function, bounds):
    """Values of floats are between the bounds or one step of doubles outside, and the sensitivity says so."""

    def pipeline(x):
        return function(x, bounds=bounds, epsilon=1, budget=None, neighbors="add-remove").value

    for row in bounds:
        for x in (np.array([float(row)]), np.array([row])):
            replay(pipeline, x[:0], x)


def test_totals_beyond_64_bits_are_not_clamped():
    for epsilon in (1000, 2**70):
        statistic = aggregates.Sum(bounds=(0, 2**62))
        statistic.add(np.full(10, 2.0**62))
        assert statistic._tally.totals[0].fractions() == [10 * 2**62]
        assert abs(float(statistic.release(**{**EXACT, "epsilon": epsilon})) / (10.0 * 2**62) - 1) < 0.01
    whole = aggregates.Sum(bounds=(0, 2**62))
    whole.add(np.full(10, 2**62))
    assert int(whole.release(**{**EXACT, "epsilon": 2**70})) == 2**63 - 1  # int64 saturates
    tiny = aggregates.Sum(bounds=(0, 1))
    tiny.add(np.ones(10**6))
    assert abs(float(tiny.release(**{**EXACT, "epsilon": 10**18})) - 1e6) < 1e-9


def test_products_of_counts():
    counts = np.array([0, 1, 2**31, 2**40 + 7, 2**62], np.int64)
    for factor in (0, 1, -1, 3, -(2**33 + 5), 2**63 + 11, -(2**64 - 1)):
        products = aggregates.sums.Wide.products(counts, factor, -3)
        assert products.fractions() == [Fraction(n * factor, 8) for n in counts.tolist()]

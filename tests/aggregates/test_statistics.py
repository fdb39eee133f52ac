"""Each statistic is what NumPy says of the clipped data, plus noise of the size that it promises.

Noise of scale sensitivity / 10^6 is within 10^-4 sensitivity but for a chance of exp(-100).
"""

from __future__ import annotations

import itertools
import json
import math
import pickle

import numpy as np
import pyarrow
import pytest

from exactnoise import DiscreteLaplace, Laplace, PrivacyBudget, aggregates
from exactnoise.aggregates import count, histogram, mean, quantile, variance, vector_sum

EXACT = {"epsilon": 10**6, "budget": None, "neighbors": "add-remove"}
REPLACE = {**EXACT, "neighbors": "replace-one"}
PEOPLE = {"rows_per_person": 1, "groups_per_person": 1}
RNG = np.random.default_rng(5)
X = RNG.normal(20, 15, 4000)
BY = RNG.integers(0, 7, 4000)
CLIPPED = np.clip(X, 0, 50)
BY_TERMS = pytest.mark.parametrize("terms", [EXACT, REPLACE, {**EXACT, "rows_per_person": 1}], ids=str)


@BY_TERMS
def test_scalars(terms):
    options = {"bounds": (0, 50), **terms}
    assert abs(float(aggregates.sum(X, **options)) - CLIPPED.sum()) < 0.01
    assert abs(float(mean(X, **options)) - CLIPPED.mean()) < 1e-4
    for ddof in (0, 1):
        assert abs(float(variance(X, ddof=ddof, **options)) - CLIPPED.var(ddof=ddof)) < 1e-2
    assert int(count(X > 20, **terms)) == (X > 20).sum()
    ranked = np.sort(CLIPPED)
    for level, value in zip((0.1, 0.5, 0.9), quantile(X, (0.1, 0.5, 0.9), **options).value, strict=True):
        assert ranked[int(level * 4000) - 3] - 1 / 64 <= value <= ranked[int(level * 4000) + 3] + 1 / 64


@BY_TERMS
def test_groups_in_the_declared_order(terms):
    terms = {**terms, **(PEOPLE if "rows_per_person" in terms else {})}
    keys = [6, 3, 99, 0]
    options = {"by": BY, "keys": keys, **terms}
    parts = [CLIPPED[key == BY] for key in keys]
    released = aggregates.sum(X, bounds=(0, 50), **options)
    assert released.keys == (6, 3, 99, 0)
    assert np.allclose(released.value, [part.sum() for part in parts], atol=0.02)
    assert np.allclose(mean(X, bounds=(0, 50), **options).value[[0, 1, 3]], [parts[i].mean() for i in (0, 1, 3)])
    assert np.allclose(
        variance(X, bounds=(0, 50), **options).value[[0, 1, 3]], [parts[i].var() for i in (0, 1, 3)], atol=0.1
    )
    assert count(**options).to_dict() == {key: part.size for key, part in zip(keys, parts, strict=True)}
    masked = count(X > 20, **options)
    assert masked.value.tolist() == [int((part > 20).sum()) for part in parts]
    medians = quantile(X, 0.5, bounds=(0, 50), **options)
    assert medians.value.shape == (4,)
    assert np.allclose(medians.value[[0, 1, 3]], [np.median(parts[i]) for i in (0, 1, 3)], atol=0.5)
    two = quantile(X, [0.25, 0.75], bounds=(0, 50), **options)
    assert two.value.shape == (4, 2)
    assert two.keys == tuple(itertools.product(keys, (0.25, 0.75)))


def test_a_number_is_a_table_of_one_row():
    released = mean([1.0, 2.0], bounds=(0, 5), epsilon=1, neighbors="add-remove", budget=None)
    columns = released.columns()
    assert {name: column.shape for name, column in columns.items()} == {"mean": (1,), "std_error": (1,)}


def test_groups_of_several_columns():
    names = np.array(["red", "green", "blue"])[BY % 3]
    released = count(by=(BY, list(names)), keys=([0, 1], ["green", "red"]), **EXACT)
    assert released.keys == ((0, "green"), (0, "red"), (1, "green"), (1, "red"))
    assert released.value.tolist() == [((key == BY) & (names == name)).sum() for key, name in released.keys]
    assert list(released.columns()) == ["key_0", "key_1", "count", "std_error"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.uint64])
def test_histograms(dtype):
    x = np.clip(X, -100, 100).astype(dtype) if dtype != np.uint64 else np.abs(X).astype(dtype)
    edges = [-5, 0, 2.5, 10, 50]
    released = histogram(x, edges=edges, **EXACT)
    assert released.value.tolist() == np.histogram(x.astype(float), bins=edges)[0].tolist()
    assert released.keys == ((-5, 0), (0, 2.5), (2.5, 10), (10, 50))
    other = histogram(x, edges=edges, other=True, **EXACT)
    assert other.value[:-1].tolist() == released.value.tolist()
    assert other.value.sum() == x.size
    assert other.keys[-1] == "other"


def test_a_histogram_has_the_edges_of_numpy():
    edges = [0.1, 0.2, 0.30000000000000004, 1.0]
    x = np.array(
        [0.1, 0.2, np.nextafter(0.2, 0), 0.3, 0.30000000000000004, 1.0, np.nextafter(1, 2), math.nan, -math.inf]
    )
    released = histogram(x, edges=edges, **EXACT)
    assert released.value.tolist() == np.histogram(x[:-2], bins=edges)[0].tolist()
    whole = histogram(np.array([0, 1, 2, 3, 4]), edges=[0.5, 0.75, 2, 3], **EXACT)
    assert whole.value.tolist() == np.histogram([0, 1, 2, 3, 4], bins=[0.5, 0.75, 2, 3])[0].tolist()
    huge = histogram(np.array([2**63 - 1, 2**62, 2**64 - 1], np.uint64), edges=[0, 2.0**62, 2.0**64], **EXACT)
    assert huge.value.tolist() == [0, 3]


def test_histograms_of_several_axes():
    names = np.array(["a", "b", "c"])[BY % 3]
    released = histogram(
        (X, names), edges=([0, 20, 50], None), categories=(None, ["c", "a", "z"]), by=BY, keys=[1, 2], **EXACT
    )
    assert released.value.shape == (2, 2, 3)
    for i, key in enumerate([1, 2]):
        for j, (low, high) in enumerate([(0, 20), (20, 51)]):
            for k, name in enumerate("caz"):
                rows = (key == BY) & (low <= X) & (high > X) & (X <= 50) & (names == name)
                assert released.value[i, j, k] == rows.sum()
    assert released.keys[0] == (1, (0, 20), "c")
    assert list(released.columns()) == ["key_0", "key_1", "key_2", "key_3", "histogram", "std_error"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "edges"),
        ({"edges": 10}, "numpy.linspace"),
        ({"edges": [1]}, "two"),
        ({"edges": [1, 1]}, "ascend"),
        ({"edges": [1, math.nan]}, r"edges\[1\]"),
        ({"edges": "abc"}, "edges"),
        ({"edges": [0, 1], "categories": [1]}, "one axis"),
        ({"edges": [0, 1], "other": 1}, "other"),
        ({"edges": ([0, 1], [0, 1])}, "tuple of 2 columns"),
        ({"edges": ([0, 1], None)}, "axis 1 needs"),
        ({"edges": [0, 1], "nonnegative": 1}, "nonnegative"),
        ({"categories": []}, "categories"),
    ],
)
def test_bad_bins_are_refused(wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        histogram([1.0], **wrong, **EXACT)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_vector_sums(dtype, norm):
    rows = RNG.normal(0, 1, (500, 7)).astype(dtype)
    exact = rows.astype(float)
    exact[:2] = 0
    exact[1, 1] = 1.5
    rows[0], rows[1] = math.nan, exact[1]
    rows[1, 1] = math.inf
    norms = np.maximum(np.linalg.norm(exact, 1 if norm == "l1" else 2, axis=1), 1e-9)
    clipped = exact * np.minimum(1, 1.5 / norms)[:, None]
    released = vector_sum(rows, norm=norm, bound=1.5, **EXACT)
    assert np.allclose(released.value, clipped.sum(axis=0), atol=1e-3)
    assert released.mechanism.sensitivity >= 1.5
    grouped = vector_sum(rows, norm=norm, bound=1.5, by=BY[:500], keys=[2, 5], **EXACT)
    assert grouped.value.shape == (2, 7)
    assert np.allclose(grouped.value, [clipped[BY[:500] == key].sum(axis=0) for key in (2, 5)], atol=1e-3)


def test_vector_sums_merge_and_may_be_empty():
    rows = np.eye(3, dtype=np.float32)
    parts = [aggregates.VectorSum(norm="l2", bound=1, size=3) for _ in range(2)]
    parts[0].add(rows)
    assert parts[0].merge(pickle.loads(pickle.dumps(parts[1]))) is parts[0]
    assert np.allclose(parts[0].release(**EXACT).value, 1, atol=1e-3)
    assert np.allclose(vector_sum(np.zeros((0, 3)), norm="l2", bound=1, **EXACT).value, 0, atol=1e-3)
    for wrong in (np.ones(3), np.ones((2, 4)), np.ones((2, 0))):
        with pytest.raises(ValueError, match="shape"):
            aggregates.VectorSum(norm="l2", bound=1, size=3).add(wrong)
    with pytest.raises(ValueError, match="size"):
        aggregates.VectorSum(norm="l2", bound=1).release(**EXACT)


def test_no_rows_and_all_missing():
    nothing = np.array([])
    assert abs(float(aggregates.sum(nothing, bounds=(1, 5), **EXACT))) < 0.01
    assert 1 <= float(mean(nothing, bounds=(1, 5), **EXACT)) <= 5
    assert 1 <= float(mean(nothing, bounds=(1, 5), **REPLACE)) <= 5
    assert 0 <= float(variance(nothing, bounds=(1, 5), **EXACT)) <= 4
    assert 0 <= float(variance(nothing, bounds=(1, 5), **REPLACE)) <= 4
    assert int(count(np.array([], bool), **EXACT)) == 0
    assert 1 <= float(quantile(nothing, 0.5, bounds=(1, 5), **EXACT)) <= 5
    missing = np.full(10, math.nan)
    assert abs(float(aggregates.sum(missing, bounds=(1, 5), **EXACT)) - 10) < 0.01
    assert abs(float(aggregates.sum(missing, bounds=(1, 5), nan="drop", **EXACT))) < 0.01
    assert abs(float(aggregates.sum(missing, bounds=(1, 5), nan=2.5, **EXACT)) - 25) < 0.01
    assert abs(float(mean([3.0], bounds=(1, 5), **EXACT)) - 3) < 0.01


def test_a_dropped_row_makes_the_size_secret():
    x = [math.nan] * 99 + [4.0]
    dropped = mean(x, bounds=(0, 5), nan="drop", **REPLACE)
    assert abs(float(dropped) - 4) < 0.01
    assert len(dropped.mechanism) == 2
    assert isinstance(mean(x, bounds=(0, 5), **REPLACE).mechanism, Laplace)


def test_contributions_are_enforced_by_sampling():
    person = np.repeat(np.arange(50), 40)
    by = np.tile(np.arange(40) % 8, 50)
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=10**7)
    terms = {"epsilon": 10**6, "budget": budget, "person": person}
    assert int(count(rows_per_person=3, **terms)) == 150
    grouped = count(by=by, keys=range(10), rows_per_person=2, groups_per_person=3, **terms)
    assert grouped.value.sum() == 50 * 3 * 2
    assert grouped.value[8:].tolist() == [0, 0]
    assert (grouped.value[:8] > 0).all()
    total = aggregates.sum(np.ones(2000), bounds=(0, 1), rows_per_person=5, **terms)
    assert abs(float(total) - 250) < 0.01
    assert total.mechanism.sensitivity == 5


def test_signed_counts_and_named_postprocessing():
    terms = {"epsilon": "0.05", "budget": None, "neighbors": "add-remove"}
    keys = range(1000)
    signed = count(by=[0], keys=keys, **terms)
    assert (signed.value < 0).any()
    raised = count(by=[0], keys=keys, nonnegative=True, **terms)
    assert (raised.value >= 0).all()
    assert isinstance(raised.mechanism, DiscreteLaplace)


def test_results_are_whole_for_whole_numbers():
    terms = {"epsilon": 1, "budget": None, "neighbors": "add-remove"}
    assert isinstance(aggregates.sum(np.array([1, 2]), bounds=(0, 10), **terms).value, int)
    assert isinstance(aggregates.sum(range(3), bounds=(0, 10), **terms).value, int)
    assert isinstance(aggregates.sum(np.array([1.0, 2]), bounds=(0, 10), **terms).value, float)
    assert isinstance(aggregates.sum(np.array([1, 2]), bounds=(0, 0.5), **terms).value, float)
    # Whether the numbers of a list are whole only the data tells.
    for numbers in ([1, 2], [1.0, 2], [], (1, None)):
        assert isinstance(aggregates.sum(numbers, bounds=(0, 10), **terms).value, float)
    assert aggregates.sum(BY, bounds=(0, 10), by=BY, keys=range(3), **terms).value.dtype == np.int64
    assert aggregates.sum(X, bounds=(0, 10), by=BY, keys=range(3), **terms).value.dtype == np.float64
    assert isinstance(count(X > 1, **terms).value, int)


def test_a_release_explains_itself():
    released = mean(X, bounds=(0, 50), by=BY, keys=range(3), epsilon=1, budget=None, neighbors="add-remove")
    assert np.asarray(released) is released.value
    assert np.asarray(released, np.float32).dtype == np.float32
    assert list(released.to_dict()) == [0, 1, 2]
    assert released.columns()["mean"].shape == released.columns()["std_error"].shape == (3,)
    facts = json.loads(json.dumps(released.metadata()))
    assert facts["statistic"] == "mean"
    assert facts["epsilon"] == "1"
    assert facts["neighbors"] == "add-remove"
    assert facts["unit"] == "row"
    assert facts["bounds"] == ["0", "50"]
    assert len(facts["mechanism"]) == 2
    again = pickle.loads(pickle.dumps(released))
    assert again.interval(0.1)[0].tolist() == released.interval(0.1)[0].tolist()
    with pytest.raises(TypeError, match="3 cells"):
        float(released)
    single = aggregates.sum(X, bounds=(0, 50), **EXACT)
    assert float(single) == single.value
    assert int(single) == int(single.value)
    with pytest.raises(TypeError, match="number without keys"):
        single.to_dict()
    with pytest.raises(TypeError, match="rank"):
        quantile(X, 0.5, bounds=(0, 50), **EXACT).interval()
    with pytest.raises(TypeError):
        single + 1
    with pytest.raises(AttributeError):
        single.value = 3
    assert "sum" in repr(single)
    assert "3 cells" in repr(released)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"q": None}, "needs q"),
        ({"q": np.array(0.5)}, "q must be a number"),
        ({"q": 1.5}, "between 0 and 1"),
        ({"q": []}, "at least one"),
        ({"q": 0.1234567}, "six decimal"),
        ({"q": 0.5, "granularity": 3}, "power of two"),
        ({"q": 0.5, "granularity": 2.0**-30}, "fewer than"),
        ({"q": 0.5, "granularity": 64}, "multiple"),
        ({"q": 0.5, "mechanism": "laplace"}, "exponential"),
    ],
)
def test_bad_quantiles_are_refused(wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        quantile(X, bounds=(1, 50), **wrong, **{**EXACT, "epsilon": 1})


def test_quantiles_of_chosen_granularity():
    released = quantile(X, [0, 0.5, 1], bounds=(1, 50), granularity=4, **EXACT)
    assert set(released.value) <= set(range(4, 52, 4))
    assert released.value[0] == 4
    assert released.value[-1] == 48
    assert (np.diff(released.value) >= 0).all()


def test_columns_are_of_one_type_and_length():
    """What pandas.DataFrame and pyarrow.table take: plain lists of one type, with None, and arrays."""
    cases = [
        count(by=BY, keys=[3, 1], **EXACT),
        mean(X, bounds=(0, 50), by=(BY, BY % 2), keys=([1, 2], [0, 1]), **EXACT),
        histogram(X, edges=[0, 10, 20.5], other=True, **EXACT),
        histogram(BY, categories=[5, 6], other=True, **EXACT),
        histogram((X, BY), edges=([0, 10], None), categories=(None, [5, 6]), other=True, by=BY, keys=[1], **EXACT),
        histogram(["a", "b"], categories=["a"], other=True, **EXACT),
        quantile(X, [0.5, 0.75], bounds=(0, 50), by=BY, keys=[1, 2], **EXACT),
        vector_sum(np.ones((3, 4)), norm="l2", bound=1, by=[1, 2, 1], keys=[1, 2], **EXACT),
        aggregates.sum(X, bounds=(0, 50), **EXACT),
    ]
    for released in cases:
        columns = released.columns()
        assert {len(column) for column in columns.values()} == {np.size(released.value)}
        for name, column in columns.items():
            if isinstance(column, list):
                kinds = {type(part) for part in column} - {type(None)}
                assert kinds <= {int, float} or len(kinds) == 1, (name, column)
        table = pyarrow.table(columns)
        assert table.num_rows == np.size(released.value)
    lower, upper = list(cases[2].columns().values())[:2]
    assert (lower, upper) == ([0, 10, None], [10, 20.5, None])
    assert cases[5].columns()["key"] == ["a", "other"]


def test_a_category_may_not_be_called_other():
    with pytest.raises(ValueError, match="other"):
        histogram(["a"], categories=["a", "other"], other=True, **EXACT)


def test_metadata_says_what_was_promised_and_how():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=10)
    declared = mean(X, bounds=(0, 50), epsilon=1, budget=budget, rows_per_person=2).metadata()
    assert declared["sensitivity"] == ["50", "2"]
    assert declared["contributions"] == "declared"
    assert "groups_per_person" not in declared
    enforced = count(person=BY, epsilon=1, budget=budget, rows_per_person=2).metadata()
    assert enforced["contributions"] == "enforced by sampling"
    median = quantile(X, 0.5, bounds=(0, 50), epsilon=1, budget=budget, rows_per_person=1).metadata()
    assert median["granularity"] == []
    assert median["step"] == "0.015625"
    assert "contributions" not in count(X > 1, **EXACT).metadata()


def test_released_arrays_cannot_be_changed():
    released = count(by=BY, keys=range(3), **EXACT)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(released)[0] = 7


def test_undeclared_codes_are_dropped_however_large():
    huge = np.array([2**62, -(2**62), 2**63 - 1, 5])
    terms = {"by": huge, "keys": range(4), **EXACT}
    assert histogram([0.5] * 4, edges=[0, 1, 2, 3, 4], **terms).value.sum() == 0
    assert quantile([0.5] * 4, 0.5, bounds=(0, 1), **{**terms, "epsilon": 1}).value.shape == (4,)
    both = histogram((huge, np.ones(4, int)), categories=(range(4), range(4)), **EXACT)
    assert both.value.sum() == 0


def test_edges_beyond_the_integers():
    for dtype in (np.int64, np.uint64):
        largest = np.array([np.iinfo(dtype).max], dtype)
        assert histogram(largest, edges=[0, 1e20, 1e30], **EXACT).value.tolist() == [1, 0]
        assert histogram(largest, edges=[1e20, 1e30], **EXACT).value.tolist() == [0]
        assert histogram(largest, edges=[-1e30, -1e20, 0], **EXACT).value.tolist() == [0, 0]


def test_the_number_of_groups_bounds_what_one_person_changes():
    terms = {"by": [0, 1], "keys": [0, 1], "rows_per_person": 1, "groups_per_person": 100, "budget": None, "epsilon": 1}
    for neighbors, change in (("add-remove", 2), ("replace-one", 2)):
        assert count(neighbors=neighbors, **terms).mechanism.sensitivity == change
        assert histogram([1, 2], edges=[0, 10], neighbors=neighbors, **terms).mechanism.sensitivity == change


def test_grouped_quantiles_pay_for_two_groups():
    """Also in rho, in which one row that stays in its group can cost more than two that come and go."""
    terms = {"by": [0] * 10, "keys": [0, 1], "bounds": (0, 10), "budget": None, "neighbors": "replace-one"}
    for price in ({"rho": "0.001"}, {"epsilon": 1}):
        released = quantile(np.arange(10.0), 0.5, **terms, **price)
        assert released.cost.rho >= 2 * released.mechanism.cost.rho
        assert released.mechanism.sensitivity == 2


@pytest.mark.filterwarnings("error")
def test_no_noise_warns():
    for _ in range(100):
        released = variance([1.0] * 5, bounds=(0, 1e149), epsilon=1, budget=None, neighbors="add-remove")
        released.interval()
    with np.errstate(all="raise"):
        variance([1.0] * 5, bounds=(0, 1e-100), epsilon=1, budget=None, neighbors="add-remove").interval()
        aggregates.sum(np.array([1e300, np.inf, np.nan]), bounds=(0, 1e290), **EXACT)


def test_a_refused_chunk_leaves_no_size():
    statistic = aggregates.VectorSum(norm="l2", bound=1, keys=["a"])
    with pytest.raises(ValueError, match="length"):
        statistic.add(np.ones((3, 2)), by=["a"])
    statistic.add(np.ones((3, 3)), by=["a"] * 3)


@pytest.mark.parametrize("bounds", [{5, 1}, {0: 1, 1: 2}, "01"], ids=str)
def test_bounds_have_an_order(bounds):
    with pytest.raises(TypeError, match="pair"):
        aggregates.sum(X, bounds=bounds, **EXACT)

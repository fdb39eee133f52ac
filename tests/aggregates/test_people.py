"""Which rows of a person count, and how far a person moves a statistic: exact, uniform, and blind to other people."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from arrow_producer import Producer, encoded, numbers, texts, views
from golden import load
from goodness import ALARM, chi_square
from hypothesis import given
from hypothesis import strategies as st

from exactnoise import _native
from exactnoise.aggregates import people
from exactnoise.aggregates.people import bounded_change, kept

NAN = float("nan")


def expected(person, codes, words, *, rows, groups):
    """The definition, row by row: groups by the second word of their first row, rows by the first, ties by place."""
    chosen = np.zeros(len(person), bool)
    of_person = defaultdict(lambda: defaultdict(list))
    for i, (who, code) in enumerate(zip(person, codes, strict=True)):
        if who is not None and code >= 0:
            of_person[who][code].append(i)
    for pairs in of_person.values():
        ranked = sorted(pairs.values(), key=lambda places: (words[-1][places[0]], places[0]))
        for places in ranked[:groups]:
            for i in sorted(places, key=lambda i: (words[0][i], i))[:rows]:
                chosen[i] = True
    return chosen.tolist()


def random_words(n, seed, distinct=2**64):
    words = np.random.PCG64(seed).random_raw(2 * n).reshape(2, n)
    return words if distinct == 2**64 else words % np.uint64(distinct)


CASES = {
    "few": (range(5), range(4)),
    "one person": ([7], range(6)),
    "one group": (range(50), [0]),
    "negative ids": (range(-20, 20, 3), range(4)),
    "ids far apart": ([-(2**63), 2**63 - 1, 0, 2**40, 5], range(4)),
    "ids of 33 bits": ([0, 2**33 - 1, 2**32, 9], [0, 1, 2**31 - 1]),
    "codes of 62 bits": ([0, 2**33 - 1, 1], [0, 1, 2**62, 2**62 + 1]),
    "ids of 56 bits of class": ([0, 2**32, 2**33 - 1], [0, 2**22, 2**22 - 1]),
}


@pytest.mark.parametrize("distinct", [1, 2, 2**64], ids=["equal words", "two words", "random words"])
@pytest.mark.parametrize("case", CASES)
def test_definition(case, distinct):
    ids, codes = (np.array(values, np.int64) for values in CASES[case])
    generator = np.random.Generator(np.random.PCG64(3))
    for n in (0, 1, 2, 30, 300, 3000):
        person, code = generator.choice(ids, n), generator.choice(np.append(codes, -1), n)
        words = random_words(n, n, distinct)
        for rows, groups in ((1, 1), (2, 3), (3, None), (1000, 1000)):
            found = kept(person, code, n, rows=rows, groups=groups, words=words)
            assert found.dtype == np.bool_
            assert found.tolist() == expected(person.tolist(), code.tolist(), words, rows=rows, groups=groups)
        found = kept(person, None, n, rows=2, groups=None, words=words[0])
        assert found.tolist() == expected(person.tolist(), [0] * n, words, rows=2, groups=None)
        assert kept(person, None, n, rows=2, groups=1, words=words).tolist() == found.tolist()


@given(data=st.data())
def test_definition_on_random_data(data):
    person = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)))
    n = len(person)
    codes = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n)), np.int64)
    words = data.draw(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 2), min_size=2 * n, max_size=2 * n))
    words = np.array(words, np.uint64).reshape(2, n)
    limits = {"rows": data.draw(st.integers(1, 3)), "groups": data.draw(st.integers(1, 3) | st.none())}
    want = expected(person, codes.tolist(), words, **limits)
    assert kept(np.array(person, np.int64), codes, n, words=words, **limits).tolist() == want
    assert kept(person, codes, n, words=words, **limits).tolist() == want


def test_equal_words_choose_by_row_order():
    person, codes = ["a", "b", "a", "a", "b", "a"], np.array([1, 0, 1, 0, 0, 2])
    found = kept(person, codes, 6, rows=1, groups=2, words=np.zeros(6, np.uint64))
    assert found.tolist() == [True, True, False, True, False, False]


def test_codes_from_bins_on_do_not_count():
    person, codes = np.zeros(4, int), np.array([5, 3, 9, 2])
    words = np.zeros(4, np.uint64)
    assert kept(person, codes, 4, rows=1, groups=2, bins=5, words=words).tolist() == [False, True, False, True]
    assert kept(person, codes, 4, rows=1, groups=2, words=words).tolist() == [True, True, False, False]


def test_words_are_left_alone():
    words = random_words(100, 1)
    before = words.copy()
    kept(np.zeros(100, int), np.arange(100), 100, rows=1, groups=3, words=words)
    assert np.array_equal(words, before)


@given(data=st.data())
def test_others_do_not_matter(data):
    """Rows of one person are added, removed or replaced: with the same words, the same rows of all others are kept."""
    rows = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2**64 - 1)), max_size=40))
    other = data.draw(st.lists(st.tuples(st.just(0), st.integers(0, 2**40), st.integers(0, 2**64 - 1)), max_size=40))
    neighbour = [row for row in rows if row[0] != 0]
    for row in other:
        neighbour.insert(data.draw(st.integers(0, len(neighbour))), row)

    def of_others(rows):
        table = np.array(rows, object).reshape(-1, 3)
        words = table[:, 2].astype(np.uint64)
        found = kept(table[:, 0].astype(int) * 2**30, table[:, 1].astype(int), len(rows), rows=1, groups=2, words=words)
        return [row for row, is_kept in zip(rows, found, strict=True) if is_kept and row[0] != 0]

    assert of_others(rows) == of_others(neighbour)


# Fresh words


def test_limits_are_kept_and_used_up():
    generator = np.random.Generator(np.random.PCG64(9))
    n = 20_000
    person, codes = generator.integers(0, 1000, n), generator.integers(-1, 8, n)
    for rows, groups in ((1, 1), (2, 3), (4, None), (1, 100)):
        found = kept(person, codes, n, rows=rows, groups=groups)
        all_pairs, pairs = (
            Counter(zip(person[mask].tolist(), codes[mask].tolist(), strict=True)) for mask in (codes >= 0, found)
        )
        assert all(count == min(rows, all_pairs[pair]) for pair, count in pairs.items())
        had, has = (Counter(who for who, _ in counter) for counter in (all_pairs, pairs))
        assert all(has[who] == min(groups or 9, had[who]) for who in had)
        assert not found[codes < 0].any()


#: Of a person with one row in the first group, two in the second, and three in the third.
CODES = np.array([0, 1, 1, 2, 2, 2])
FAIR = np.array([1 / 3, 1 / 6, 1 / 6, 1 / 9, 1 / 9, 1 / 9])


def choices(choose, repeats=30_000):
    n = 6 * repeats
    person, codes = np.repeat(np.arange(repeats), 6), np.tile(CODES, repeats)
    found = choose(person, codes, n).reshape(repeats, 6)
    assert found.sum(axis=1).tolist() == [1] * repeats
    return found.sum(axis=0)


def test_choices_are_uniform():
    """A group is as likely with one row as with three, and then each of its rows."""
    observed = choices(lambda person, codes, n: kept(person, codes, n, rows=1, groups=1))
    assert chi_square(observed, FAIR) > ALARM


def test_choices_by_rows_are_found_out():
    """Positive control: ranking groups by their smallest word favours those with many rows."""
    observed = choices(lambda person, codes, n: kept(person, None, n, rows=1, groups=None))
    assert chi_square(observed, FAIR) < ALARM


def test_groups_and_rows_are_chosen_independently():
    """Two of three groups, one row of two in each: every combination is equally likely."""
    repeats = 30_000
    person, codes = np.repeat(np.arange(repeats), 6), np.tile([0, 0, 1, 1, 2, 2], repeats)
    found = kept(person, codes, 6 * repeats, rows=1, groups=2).reshape(repeats, 6)
    patterns = Counter(map(tuple, found.tolist()))
    assert len(patterns) == 12
    assert chi_square(np.array(list(patterns.values())), np.full(12, 1 / 12)) > ALARM


def test_words_are_fresh(monkeypatch):
    keys = []
    real = _native.fill_entropy
    monkeypatch.setattr(_native, "fill_entropy", lambda buffer: (real(buffer), keys.append((bytes(buffer), buffer))))
    n = 1000
    first, second = (kept(np.zeros(n, int), None, n, rows=n // 2, groups=None) for _ in range(2))
    assert first.tolist() != second.tolist()
    assert keys[0][0] != keys[1][0]
    assert all(not any(buffer) for _, buffer in keys), "keys are wiped"


def test_words_of_several_keys(monkeypatch):
    """Each stretch has a key of its own, and they are not the same words."""
    monkeypatch.setattr(people, "_WORDS_OF_A_KEY", 1 << 10)
    words = people._random_words(2, 5000)
    assert words.shape == (2, 5000)
    assert np.unique(words).size == 10_000


# Ids


@pytest.mark.parametrize(
    "person",
    [
        ["x", "y", "x", None, "y", ""],
        np.array(["x", "y", "x", None, "y", ""], object),
        np.ma.array(["x", "y", "x", "x", "y", ""], mask=[0, 0, 0, 1, 0, 0]),
        [5, 7, 5, None, 7, -1],
        [5, 7, 5.0, NAN, np.int8(7), -1],
        [("a", 1), ("b", 1), ("a", 1), ["unhashable"], ("b", 1), 3],
        np.ma.array([5, 7, 5, 5, 7, -1], mask=[0, 0, 0, 1, 0, 0]),
        np.array(["2020", "2021", "2020", "NaT", "2021", "1970"], "M8[us]"),
        np.array(["2020", "2021", "2020", "NaT", "2021", "1970"], ">M8[D]"),
        Producer(texts(["x", "y"]), texts(["x", None, "y", ""])),
        Producer(views(["x", "y", "x"]), views([None, "y", "more than twelve letters"])),
        Producer(encoded([0, 1], texts(["x", "y"])), encoded([1, None, 0, 2], texts(["y", "x", "z"]))),
        Producer(
            encoded([0, 1], numbers([5, 6], "l", "i8")), encoded([1, 2, 0, 3], numbers([6, 5, None, 9], "l", "i8"))
        ),
        Producer(numbers([5, 7], "L", "u8"), numbers([5, None, 7, 2**64 - 1], "L", "u8")),
    ],
    ids=lambda person: type(person).__name__,
)
def test_ids_of_every_type(person):
    """The same person may be in several chunks; a row without an id is not kept."""
    words = np.zeros(6, np.uint64)
    assert kept(person, None, 6, rows=1, groups=None, words=words).tolist() == [True, True, False, False, False, True]
    assert kept(person, None, 6, rows=2, groups=None, words=words).tolist() == [True, True, True, False, True, True]


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", ">i4", "u8", ">u8", "i8", "U3"])
def test_ids_of_numpy_types(dtype):
    person = np.array([0, 1, 1, 0, 1]).astype(dtype)
    found = kept(person[::-1], None, 5, rows=1, groups=None, words=np.zeros(5, np.uint64))
    assert found.tolist() == [True, True, False, False, False]


def test_hostile_ids():
    class Hostile:
        def __eq__(self, other):
            raise RuntimeError

        __hash__ = None

    person = [Hostile(), {}, np.array([1, 2]), NAN, "a", None, type("NAType", (), {})()]
    found = kept(person, None, 7, rows=1, groups=None)
    assert found.tolist() == [False, False, False, False, True, False, False]


def test_wrong_ids():
    with pytest.raises(TypeError, match=r"^person must be one column of integers, .*; got dtype float64"):
        kept(np.array([1.0]), None, 1, rows=1, groups=None)
    with pytest.raises(ValueError, match=r"^person must have the length of the other columns: 3 rows, not 2$"):
        kept([1, 2], None, 3, rows=1, groups=None)


# How far a person moves the sums


def vectors(values, rows, groups, bins):
    """All vectors of sums of a person with at most so many rows in each of at most so many groups."""
    sums = {0}
    for count in range(1, rows + 1):
        sums |= {sum(chosen) for chosen in itertools.combinations_with_replacement(values, count)}
    return {
        vector
        for reached in itertools.combinations(range(bins), min(groups, bins))
        for vector in itertools.product(*(sums if b in reached else (0,) for b in range(bins)))
    }


def largest(differences):
    """L1, and L2 squared."""
    return np.abs(differences).sum(axis=-1).max(), (differences**2).sum(axis=-1).max()


@pytest.mark.parametrize("bounds", [(0, 1), (-2, 3), (5, 10), (-10, -5), (-4, 0), (0, 0), (-3, 3), (2, 2)], ids=str)
def test_bounded_change(bounds):
    """Equal to what enumeration finds: never less, and no more than is needed."""
    low, high = bounds
    values = sorted({low, (low + high) // 2, high})
    for rows, groups, bins in itertools.product((1, 2), (1, 2), (1, 2, 3)):
        limits = {"rows": rows, "groups": groups, "bins": bins, "low": Fraction(low), "high": Fraction(high)}
        table = np.array(sorted(vectors(values, rows, groups, bins)))
        found = bounded_change(neighbors="add-remove", always_present=False, **limits)
        assert found == largest(table)
        found = bounded_change(neighbors="replace-one", always_present=False, **limits)
        assert found == largest(table[:, None] - table)
    assert bounded_change(
        low=Fraction(low), high=Fraction(high), neighbors="replace-one", rows=1, groups=1, bins=1, always_present=True
    ) == (high - low, (high - low) ** 2)


@pytest.mark.parametrize("row", load("sensitivity")["multi_contribution"], ids=str)
def test_reference_values(row):
    limits = {"low": Fraction(-row["signed_values"]), "high": Fraction(1), "always_present": False}
    limits |= {"rows": row["linf"], "groups": row["l0"], "bins": row["bins"]}
    for neighbors, name in (("add-remove", "add_remove"), ("replace-one", "replace_user")):
        l1, l2_squared = bounded_change(neighbors=neighbors, **limits)
        assert isinstance(l1, Fraction)
        assert isinstance(l2_squared, Fraction)
        assert l1 == row[f"{name}_L1"]
        assert float(l2_squared) ** 0.5 == row[f"{name}_L2"]


def test_always_present_is_for_one_row():
    for limits in ({"rows": 2}, {"groups": 2}, {"bins": 2}):
        with pytest.raises(ValueError, match="always_present is for one row in one group"):
            bounded_change(
                low=Fraction(0),
                high=Fraction(1),
                neighbors="replace-one",
                always_present=True,
                **({"rows": 1, "groups": 1, "bins": 1} | limits),
            )

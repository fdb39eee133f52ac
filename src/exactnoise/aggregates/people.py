"""Several rows a person: which of them count, and how far a person can then move a statistic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise.accounting.cost import Neighbors
from exactnoise.aggregates._columns import BLOCK, Integers, Kind, mapped
from exactnoise.mechanisms._arrow import Text

__all__ = ["bounded_change", "kept"]

_Words = npt.NDArray[np.uint64]
_WORDS_OF_A_KEY = 1 << 20


def kept(
    person: Any,
    codes: Integers | None,
    n: int | None,
    *,
    rows: int,
    groups: int | None,
    bins: int | None = None,
    words: _Words | None = None,
) -> npt.NDArray[np.bool_]:
    """Choose which rows count, so that a person has few rows in few groups.

    Of each person at most `groups` groups are kept, every choice of so many of the person's groups being equally
    likely; and of the person's rows in each of them at most `rows`, again uniformly. No other value is looked at. This
    bounds the rows of one call: all rows of a person must be in the same.

    Parameters
    ----------
    person : column
        Whose row it is: integers, booleans, texts, dates or times, in any kind of column that `Groups.codes` reads, or
        Python objects, which are one person where they are equal. Rows without an id are never kept: taken for one
        person they would drown each other, and taken for a person each they would let somebody whose id is lost
        contribute without bound.
    codes : ndarray of int64, shape (n,), or None
        The group of each row. Rows with a negative code, or one from `bins` on, are never kept and take nobody's place.
        None: all rows are of one group.
    n : int or None
        How many rows there are; None: as many as ids.
    rows : int
        At most so many rows of a person in a group.
    groups : int or None
        At most so many groups of a person. None: any number.
    bins : int or None
        How many groups there are.
    words : ndarray of uint64, shape (n,) or (2, n), or None
        For tests: the random words that choose rows and, in the second row, groups; equal words choose by row order.

    Returns
    -------
    ndarray of bool, shape (n,)

    Raises
    ------
    TypeError
        The ids are of a type that is not read, such as floats. No value raises.
    ValueError
        The ids have another length than n.

    Notes
    -----
    Each row has two 64-bit words of the engine's ChaCha20 stream, independent of everything else. A person's groups are
    ranked by the second word of the person's first row in each, a group's rows by their first words; equal words by row
    order. The first `groups` and `rows` are kept. (Words of 64 bits are equal so rarely that no choice among m is off
    from uniform by more than m^2 2^-65.)

    Which of a person's rows are kept is therefore a function of this person's rows, their order among themselves, and
    their words. Let D' be D with the rows of one person p added, removed or replaced. The rows of any other q are the
    same, in the same order, and their words are again independent and uniform; so what is kept of all the others has
    the same joint distribution in D and D'. Couple the two by giving these rows the same words: then the kept rows
    differ by rows of p alone, at most `rows` in each of at most `groups` groups, and `bounded_change` is what the
    statistic can move. A mechanism that is private for that change is private for D and D', by averaging over the
    words (the property that a mixture of pairs, each of them within the guarantee, is within it: both epsilon-delta
    and Renyi divergences are jointly quasi-convex).
    """
    ids = mapped(person, "person", _People())
    if n is not None and ids.size != n:
        raise ValueError(f"person must have the length of the other columns: {n} rows, not {ids.size}")
    counted = ids >= 0
    if codes is not None:
        counted &= codes >= 0 if bins is None else codes.view(np.uint64) < np.uint64(bins)
    chosen = np.flatnonzero(counted)
    limited = codes is not None and groups is not None
    own = _random_words(2 if limited else 1, chosen.size) if words is None else np.atleast_2d(words)[:, chosen]
    try:
        where = _choice(ids[chosen], None if codes is None else codes[chosen], own, rows, groups if limited else None)
    finally:
        own.fill(0)
    result = np.zeros(ids.size, np.bool_)
    result[chosen[where]] = True
    return result


def _choice(ids: Integers, codes: Integers | None, words: _Words, rows: int, groups: int | None) -> Integers:
    """Places of the rows that are kept."""
    pairs = people = ids.view(np.uint64)
    if codes is not None and codes.size:
        places = _numbered(codes, 2**31).view(np.uint64)
        pairs = people * (places.max() + np.uint64(1)) + places  # below 2^64, as people are below 2^33
    order, of_pair = _ordered(pairs, words[0])
    starts = _starts(of_pair)
    keep = _ranks(starts, order.size) < rows
    if groups is not None and order.size:
        first = np.minimum.reduceat(order, starts)  # the first row of each pair
        ranked, of_person = _ordered(people[first], words[-1][first], first)
        enters = np.empty(starts.size, np.bool_)
        enters[ranked] = _ranks(_starts(of_person), ranked.size) < groups
        keep &= np.repeat(enters, np.diff(starts, append=order.size))
    return order[keep]


def _numbered(values: Integers, limit: int) -> Integers:
    """Numbers from 0 on, equal where the values are: these less the smallest if that is below the limit, or ranks."""
    if not values.size:
        return values
    numbers: _Words = values.view(np.uint64) - values.min().view(np.uint64)
    if int(numbers.max()) >= limit:
        order = np.argsort(numbers)
        ranked = numbers[order]
        numbers[order] = np.cumsum(np.append(False, ranked[1:] != ranked[:-1]), dtype=np.uint64)
    return numbers.view(np.int64)


def _ordered(classes: _Words, words: _Words, places: Integers | None = None) -> tuple[Integers, _Words]:
    """The order by class, word and place (None: as they stand), which are all different; and the classes in it.

    One sort of numbers that hold the class, as much of the word as there is room for, and the index; without room for
    eight bits of the word, a sort of indices. What is then equal but for the index is sorted again.
    """
    class_bits = max(1, int(classes.max(initial=0)).bit_length())
    index_bits = classes.size.bit_length()
    spare = 64 - class_bits - index_bits
    if spare < 8:
        index_bits, spare = 0, 64 - class_bits
    joint = words >> np.uint64(64 - spare)  # 0 for a shift by 64
    joint |= classes << np.uint64(spare)
    if index_bits:
        joint <<= np.uint64(index_bits)
        joint |= np.arange(joint.size, dtype=np.uint64)
        joint.sort()
        order = (joint & np.uint64(2**index_bits - 1)).view(np.int64)
        joint >>= np.uint64(index_bits)
    else:
        order, unordered = np.argsort(joint), joint
        joint = joint[order]
        unordered.fill(0)
    same = joint[1:] == joint[:-1]
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        among = order[tied]
        order[tied] = among[np.lexsort((among if places is None else places[among], words[among], joint[tied]))]
    joint >>= np.uint64(spare)  # nothing of the words is left
    return order, joint


def _starts(ordered: _Words) -> Integers:
    """Where runs of equal numbers start."""
    if not ordered.size:
        return np.zeros(0, np.int64)
    return np.append(0, 1 + np.flatnonzero(ordered[1:] != ordered[:-1]))


def _ranks(starts: Integers, size: int) -> Integers:
    """The place of each element in its run."""
    return np.arange(size) - np.repeat(starts, np.diff(starts, append=size))


def _random_words(streams: int, n: int) -> _Words:
    """Words of ChaCha20 under keys of the operating system, which are wiped."""
    padded = -(-streams * n // _native.GROUP_WORDS) * _native.GROUP_WORDS
    words = np.empty(padded, np.uint64)
    keys = bytearray(_native.KEY_BYTES * -(-padded // _WORDS_OF_A_KEY))
    try:
        if keys:
            _native.fill_entropy(keys)
        for i in range(len(keys) // _native.KEY_BYTES):
            key = memoryview(keys)[_native.KEY_BYTES * i : _native.KEY_BYTES * (i + 1)]
            piece = words[_WORDS_OF_A_KEY * i : _WORDS_OF_A_KEY * (i + 1)]
            _native.chacha20_words(key, 0, piece, simd=_native.SIMD)
    finally:
        keys[:] = bytes(len(keys))
    return words[: streams * n].reshape(streams, n)


class _People:
    """Numbers for ids, from 0 on: those of `_numbered` for numbers, for others in the order in which they come."""

    def __init__(self) -> None:
        self._numbers = _Numbers()

    def check(self, name: str, kind: Kind) -> None:
        pass

    def numbers(self, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None) -> Integers:
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        if native.dtype.kind == "M":
            missing = np.isnat(native) if missing is None else missing | np.isnat(native)
        codes = _numbered((native if native.dtype.itemsize == 8 else native.astype(np.int64)).view(np.int64), 2**33)
        if missing is not None:
            codes[missing] = -1
        return codes

    def entries(self, values: npt.NDArray[Any]) -> Integers:
        return self.objects(values.tolist())

    def objects(self, values: list[Any]) -> Integers:
        found = np.empty(len(values), np.int64)
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK]
            try:
                codes = np.fromiter(map(self._numbers.__getitem__, block), np.int64, len(block))
            except Exception:  # an id that cannot be hashed or compared is none
                codes = np.array([self._numbers.of(value) for value in block], np.int64)
            found[start : start + BLOCK] = codes
        return found

    def texts(self, values: Text) -> Integers:
        return values.mapped(lambda block: map(self._numbers.__getitem__, block))


class _Numbers(dict[Any, int]):
    """A number for each id that is met; -1 for what stands for a missing one."""

    def __missing__(self, value: Any) -> int:
        if value is None or type(value).__name__ in ("NAType", "NaTType") or not bool(value == value):
            return -1
        self[value] = len(self)
        return len(self) - 1

    def of(self, value: Any) -> int:
        try:
            return self[value]
        except Exception:
            return -1


def bounded_change(
    *,
    low: Fraction,
    high: Fraction,
    neighbors: Neighbors,
    rows: int,
    groups: int,
    bins: int,
    always_present: bool,
) -> tuple[Fraction, Fraction]:
    """How far one person moves the vector of group sums: in L1, and the square of the largest change in L2.

    Parameters
    ----------
    low, high : Fraction
        What each row adds lies between them.
    neighbors : {"add-remove", "replace-one"}
        Whether the person comes or goes, or is replaced by another.
    rows, groups : int
        The person has at most `rows` rows in each of at most `groups` groups.
    bins : int
        How many groups there are.
    always_present : bool
        Whether a replaced person has exactly one row before and after; for one row, one group and one bin.

    Returns
    -------
    l1, l2_squared : Fraction

    Raises
    ------
    ValueError
        `always_present` where a person may have several rows.

    Notes
    -----
    Let M be the larger of -low and high, in magnitude, and l = min(groups, bins). A person moves a sum by at most
    rows M, and up to l of them. A person who is replaced has, before and after, in up to l groups each, sums between
    rows min(low, 0) and rows max(high, 0). A group in which both have rows moves by at most rows R, R = max(high, 0) -
    min(low, 0); one in which only one has, by at most rows M <= rows R. Of t groups of the first sort and 2 (l - t) of
    the second the change is rows (t R + 2 (l - t) M) in L1 and rows^2 (t R^2 + 2 (l - t) M^2) in L2 squared; there are
    2 l - t <= bins of them, so max(0, 2 l - bins) <= t <= l. Both are linear in t, hence largest at an end. All of
    these are reached, as every group can be at its extreme.
    """
    magnitude = max(abs(low), abs(high))
    reach = min(groups, bins)
    if neighbors == "add-remove":
        return reach * rows * magnitude, reach * (rows * magnitude) ** 2
    if always_present:
        if not rows == groups == bins == 1:
            raise ValueError("always_present is for one row in one group")
        return high - low, (high - low) ** 2
    span = max(high, Fraction(0)) - min(low, Fraction(0))
    ends = (max(0, 2 * reach - bins), reach)
    return (
        max(rows * (t * span + 2 * (reach - t) * magnitude) for t in ends),
        max(rows**2 * (t * span**2 + 2 * (reach - t) * magnitude**2) for t in ends),
    )

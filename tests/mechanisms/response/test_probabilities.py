"""The probabilities in use: within e^epsilon of each other by proof, and those of the literature."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import gmpy2
import numpy as np
import oracle_response as oracle
import pytest
from gmpy2 import mpq
from golden import load
from support import fraction, precise

from exactnoise import LocalHashing, OptimizedUnaryEncoding, RandomizedResponse, SymmetricUnaryEncoding
from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.response import randomized_response_rho
from exactnoise.mechanisms.response import LocalRandomizer

KINDS = [RandomizedResponse, SymmetricUnaryEncoding, OptimizedUnaryEncoding, LocalHashing]
ON_EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
LEAST = Fraction(1, 10**9)
EPSILONS = [
    LEAST, Fraction(1, 10**8), Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2),
    Fraction(1), Fraction("1.0986122886681098"), Fraction(2), Fraction(5), Fraction(7), Fraction(20), Fraction(44),
    Fraction("44.4"), Fraction(63), Fraction(64), Fraction(65), Fraction(1000), Fraction(10**300),
]  # fmt: skip
CATEGORIES = [2, 3, 4, 5, 10, 16, 100, 255, 256, 257, 1000, 65535, 65536]

REPORTS = load("randomized_response")
UNARY = load("unary_encoding")


def exp_below(epsilon: Fraction) -> Fraction:
    """A number just below e^epsilon; that of epsilon 100 is enough for any larger one."""
    value = precise(lambda: gmpy2.exp(gmpy2.mpfr(mpq(min(epsilon, Fraction(100))))), 600)
    return value * (1 - Fraction(1, 2**550))


def all_pairs(a: dict[object, Fraction], b: dict[object, Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    for outcome in a:
        yield a[outcome], b[outcome]
        yield b[outcome], a[outcome]


@pytest.mark.parametrize("k", CATEGORIES)
def test_no_response_is_too_likely(k: int) -> None:
    """All outcomes of two people: P against Q, Q against P."""
    for epsilon in EPSILONS:
        m = RandomizedResponse(epsilon=epsilon, categories=k)
        p, q = m.truth_probability, m.other_probability
        assert p + (k - 1) * q == 1
        assert 0 < q < p < 1
        assert p / q <= exp_below(epsilon)
        # And no more noise than that: one unit less for q would break it, or the ideal is below that unit.
        one = Fraction(1, 2**64)
        if epsilon <= 44:
            assert (1 - (k - 1) * (q - one)) / (q - one) > exp_below(epsilon)
        else:
            assert q <= 2 * one


@pytest.mark.parametrize("epsilon", EPSILONS, ids=float)
def test_no_unary_report_is_too_likely(epsilon: Fraction) -> None:
    """All outcomes of the two bits that differ between two people."""
    for kind in (SymmetricUnaryEncoding, OptimizedUnaryEncoding):
        m = kind(epsilon=epsilon, categories=9)
        p, q = m.truth_probability, m.other_probability
        assert (p * 2**64).denominator == (q * 2**64).denominator == 1
        assert 0 < q < p < 1
        first, second = {}, {}
        for bits in itertools.product((0, 1), repeat=2):
            for law, truth in ((first, 0), (second, 1)):
                chances = [p if i == truth else q for i in range(2)]
                law[bits] = Fraction(1)
                for bit, chance in zip(bits, chances, strict=True):
                    law[bits] *= chance if bit else 1 - chance
        assert sum(first.values()) == sum(second.values()) == 1
        assert max(a / b for a, b in all_pairs(first, second)) <= exp_below(epsilon)
        assert p == Fraction(1, 2) if kind is OptimizedUnaryEncoding else p == 1 - q


@pytest.mark.parametrize("epsilon", EPSILONS, ids=float)
def test_no_hashed_report_is_too_likely(epsilon: Fraction) -> None:
    """Whatever the hash function: the bucket's probabilities are P and Q among g."""
    m = LocalHashing(epsilon=epsilon, categories=9)
    g = m.buckets
    p = m.truth_probability
    other = (1 - p) / (g - 1)
    assert other * 2**64 == oracle.other_share(min(epsilon, Fraction(100)), g)
    assert 1 < p / other <= exp_below(epsilon)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "1.5", "2", "2.3", "3", "4.6", "6", "9"])
def test_how_often_a_hashed_report_supports_another_category(epsilon: str) -> None:
    """q from the definition: the sum over the buckets of both categories, counted one hash value at a time."""
    m = LocalHashing(epsilon=epsilon, categories=300)
    g, p = m.buckets, m.truth_probability
    other = (1 - p) / (g - 1)
    sizes = [0] * g
    for t in range(2**16):
        sizes[t * g // 2**16] += 1
    pi = [Fraction(size, 2**16) for size in sizes]
    reported = [share * p + (1 - share) * other for share in pi]
    assert sum(reported) == 1
    assert m.other_probability == sum(a * b for a, b in zip(pi, reported, strict=True))
    assert Fraction(1, g) <= m.other_probability <= Fraction(1, g) * (1 + Fraction(g, 2**16))


def test_pairs_of_hash_values_are_uniform() -> None:
    """The upper 16 of 32 bits, scaled down to the upper 3 of 6 bits with 3-bit categories: all a and b, all pairs."""
    m, u = 3, 3
    w = u + m  # the 32 = 16 + 16 bits of the real one
    for v, other in itertools.combinations(range(2**u), 2):
        seen = np.zeros((2**m, 2**m), int)
        for a, b in itertools.product(range(2**w), repeat=2):
            seen[(a * v + b) % 2**w >> w - m, (a * other + b) % 2**w >> w - m] += 1
        assert np.all(seen == 2 ** (2 * w - 2 * m))


@pytest.mark.parametrize("row", REPORTS, ids=lambda r: f"{r['epsilon']}-{r['categories']}")
def test_reference_values_of_responses(row: dict) -> None:
    m = RandomizedResponse(epsilon=row["epsilon"], categories=row["categories"])
    assert float(m.truth_probability) == pytest.approx(float(row["truth"]), rel=1e-14)
    assert float(m.other_probability) == pytest.approx(float(row["other"]), rel=1e-14)
    assert m.std_error(1) ** 2 == pytest.approx(float(row["absent_variance"]), rel=1e-13)
    if row["categories"] == 2:  # the same for both categories
        assert m.std_error(1, 1) ** 2 == pytest.approx(float(row["absent_variance"]), rel=1e-13)


@pytest.mark.parametrize("row", UNARY, ids=lambda r: f"{r['epsilon']}-{r['encoding']}")
def test_reference_values_of_unary_encodings(row: dict) -> None:
    kind = {"symmetric": SymmetricUnaryEncoding, "optimized": OptimizedUnaryEncoding}[row["encoding"]]
    m = kind(epsilon=row["epsilon"], categories=7)
    assert float(m.truth_probability) == pytest.approx(float(row["truth"]), rel=1e-14)
    assert float(m.other_probability) == pytest.approx(float(row["other"]), rel=1e-14)
    assert m.std_error(1) ** 2 == pytest.approx(float(row["absent_variance"]), rel=1e-13)


def test_the_optimal_protocols_agree() -> None:
    """Wang, Blocki, Li, Jha 2017, equations 8 and 10: variance 4 e^epsilon / (e^epsilon - 1)^2 for both."""
    for epsilon in ("0.5", "1", "2"):
        e = float(fraction(gmpy2.exp(gmpy2.mpfr(epsilon))))
        want = 4 * e / (e - 1) ** 2
        assert OptimizedUnaryEncoding(epsilon=epsilon, categories=9).std_error(1) ** 2 == pytest.approx(want)
        hashed = LocalHashing(epsilon=epsilon, categories=9).std_error(1) ** 2
        assert want * (1 - 1e-9) <= hashed <= want * 1.05  # g is a whole number


# Costs


@ON_EVERY_KIND
@pytest.mark.parametrize("epsilon", ["0.1", "1/3", "1", "7"])
def test_the_price_is_exactly_epsilon(kind: type[LocalRandomizer], epsilon: str) -> None:
    for k in (2, 300):
        m = kind(epsilon=epsilon, categories=k)
        assert (m.epsilon, m.delta) == (Fraction(epsilon), 0)
        assert m.cost.epsilon == Fraction(epsilon)
        assert m.rho is None or m.rho > 0


def test_costs_know_the_kind_of_loss() -> None:
    assert RandomizedResponse(epsilon=1, categories=5).rho == randomized_response_rho(1, 5)
    assert SymmetricUnaryEncoding(epsilon=1, categories=5).rho == 2 * randomized_response_rho("0.5", 2)
    assert OptimizedUnaryEncoding(epsilon=1, categories=5).cost == PrivacyCost(epsilon=1)
    hashed = LocalHashing(epsilon=1, categories=500)
    assert hashed.buckets == 4
    assert hashed.rho == randomized_response_rho(1, 4)


# Parameters


@ON_EVERY_KIND
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be a positive number, got 0"),
        ({"epsilon": -1}, ValueError, "epsilon must be a positive number, got -1"),
        ({"epsilon": "1e-10"}, ValueError, "epsilon must be at least 1e-9, got '1e-10'"),
        ({"epsilon": float("inf")}, ValueError, "epsilon must be finite"),
        ({"epsilon": True}, TypeError, "epsilon must be a number"),
        ({"epsilon": None}, TypeError, "epsilon must be a number"),
        ({"categories": 1}, ValueError, "categories must be a whole number >= 2, got 1"),
        ({"categories": 65537}, ValueError, "categories must be at most 2\\*\\*16 = 65536, got 65537"),
        ({"categories": 3.0}, TypeError, "categories must be a whole number >= 2, got 3.0"),
        ({"categories": True}, TypeError, "categories must be a whole number >= 2, got True"),
        ({"missing": 4}, ValueError, "missing must be one of the 4 categories, 0 .. 3, got 4"),
        ({"missing": -1}, ValueError, "missing must be a whole number >= 0, got -1"),
        ({"missing": None}, TypeError, "missing must be a whole number >= 0, got None"),
    ],
    ids=repr,
)
def test_refusals(kind: type[LocalRandomizer], parameters: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        kind(**{"epsilon": 1, "categories": 4, **parameters})


@ON_EVERY_KIND
def test_parameters_are_keywords_and_required(kind: type[LocalRandomizer]) -> None:
    for arguments, keywords in (((1, 4), {}), ((), {"epsilon": 1}), ((), {"categories": 4})):
        with pytest.raises(TypeError):
            kind(*arguments, **keywords)


@ON_EVERY_KIND
def test_identity(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon="0.5", categories=9)
    assert repr(m) == f"{kind.__name__}(epsilon='0.5', categories=9)"
    assert (
        repr(kind(epsilon="0.5", categories=9, missing=2)) == f"{kind.__name__}(epsilon='0.5', categories=9, missing=2)"
    )
    assert m == kind(epsilon=0.5, categories=np.int64(9), missing=0)
    assert hash(m) == hash(kind(epsilon=Fraction(1, 2), categories=9))
    assert m != kind(epsilon=0.5, categories=9, missing=1)
    assert len({kind(epsilon=1, categories=9) for kind in KINDS}) == 4
    with pytest.raises(AttributeError, match="immutable"):
        m.categories = 3

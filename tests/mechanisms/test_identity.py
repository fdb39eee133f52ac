"""A mechanism is its parameters: immutable, equal, hashable, copied and pickled by them alone."""

from __future__ import annotations

import copy
import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from support import ON_INTEGERS

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace

PRICES = {
    Laplace: [
        {"epsilon": 1},
        {"epsilon": "1/3"},
        {"scale": 0.7},
        {"epsilon": Fraction(2) ** -90, "sensitivity": "1e-27"},
    ],
    Gaussian: [{"epsilon": "0.1", "delta": 1e-6}, {"epsilon": 20, "delta": "1/7"}, {"rho": 0.005}, {"scale": "17/3"}],
    DiscreteLaplace: [{"epsilon": 1}, {"epsilon": "1/3"}, {"scale": 0.7}, {"epsilon": 0.3, "sensitivity": 10**6}],
    DiscreteGaussian: [
        {"epsilon": "0.1", "delta": 1e-6},
        {"epsilon": 20, "delta": "1/7"},
        {"rho": 0.005},
        {"scale": "17/3", "sensitivity": 1.5},
        {"scale": "7/3", "sensitivity": 10**6},
    ],
}
GRANULARITIES = (None, 2**-10, 1, "1/1024", Fraction(1, 2**30))
NANS = (0, -1.5, 1e300, 0.1)


def every_mechanism():
    for kind, prices in PRICES.items():
        options = [{}]
        if kind not in ON_INTEGERS:
            options = [{"granularity": g, "nan": nan} for g, nan in itertools.product(GRANULARITIES, NANS)]
        for price, option in itertools.product(prices, options):
            if "e-27" in str(price.get("sensitivity")) and option["granularity"] is not None:
                option = {**option, "granularity": 2**-10}
            yield kind(**{"sensitivity": 1, **price, **option})


MECHANISMS = list(every_mechanism())
SMALLEST = Laplace(sensitivity=1, scale=2.3e-308, granularity=2.0**-1057)
LARGEST = Gaussian(sensitivity="1e308", scale=1.7e308, granularity=2.0**1000, nan=-5e-324)
BY_REPR = pytest.mark.parametrize("mechanism", [*MECHANISMS, SMALLEST, LARGEST], ids=lambda m: repr(m)[:90])


def assert_same(one, other):
    assert type(one) is type(other)
    assert one == other
    assert (one != other) is False
    assert hash(one) == hash(other)
    for name in ("sensitivity", "scale", "granularity", "epsilon", "delta", "rho", "cost", "variance", "std"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.half_width() == other.half_width()
    x = np.ma.masked_all(3, dtype=int if isinstance(one, ON_INTEGERS) else float)
    assert one.release(x, budget=None).dtype == other.release(x, budget=None).dtype


@BY_REPR
def test_repr_can_be_pasted_back(mechanism):
    assert_same(eval(repr(mechanism), {kind.__name__: kind for kind in PRICES}), mechanism)


@BY_REPR
def test_pickles_and_copies(mechanism):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert_same(pickle.loads(pickle.dumps(mechanism, protocol)), mechanism)
    assert_same(copy.copy(mechanism), mechanism)
    assert_same(copy.deepcopy(mechanism), mechanism)
    assert_same(copy.deepcopy([mechanism])[0], mechanism)


@BY_REPR
def test_immutable(mechanism):
    before = repr(mechanism)
    for name in ("scale", "sensitivity", "granularity", "epsilon", "_parameters", "_cost", "new"):
        with pytest.raises(AttributeError, match=f"^{type(mechanism).__name__} is immutable"):
            setattr(mechanism, name, 1)
        with pytest.raises(AttributeError, match=f"^{type(mechanism).__name__} is immutable"):
            delattr(mechanism, name)
    assert repr(mechanism) == before


def test_all_different():
    assert len(set(MECHANISMS)) == len({repr(m) for m in MECHANISMS})
    for one, other in itertools.combinations(set(MECHANISMS), 2):
        assert one != other
        assert repr(one) != repr(other)
        assert (one == other) is False


def test_unlike_anything_else():
    laplace = Laplace(sensitivity=1, epsilon=1)
    assert laplace != Gaussian(sensitivity=1, scale=1)
    assert laplace != DiscreteLaplace(sensitivity=1, epsilon=1)
    assert Gaussian(sensitivity=1, scale=1) != DiscreteGaussian(sensitivity=1, scale=1)
    assert laplace != "Laplace(sensitivity=1, epsilon=1)"
    assert laplace != 1
    assert laplace is not None


@pytest.mark.parametrize(
    ("shown", "mechanism"),
    [
        ("Laplace(sensitivity=1, epsilon='0.5')", Laplace(sensitivity=1.0, epsilon=0.5)),
        ("Laplace(sensitivity=2, epsilon='1/3')", Laplace(sensitivity="2", epsilon="2/6")),
        ("Laplace(sensitivity=1, scale=3, granularity=1.0, nan=-0.5)",
         Laplace(sensitivity=1, scale=3, granularity=1, nan=-0.5)),
        ("Gaussian(sensitivity=1, epsilon=1, delta='1e-6')", Gaussian(sensitivity=1, epsilon=1, delta=1e-6)),
        ("Gaussian(sensitivity='0.1', rho='0.5')", Gaussian(sensitivity=0.1, rho=0.5)),
        ("DiscreteLaplace(sensitivity=1, scale='0.7')", DiscreteLaplace(sensitivity=1, scale=0.7)),
        ("DiscreteGaussian(sensitivity='1.5', rho='1/3')", DiscreteGaussian(sensitivity=1.5, rho="1/3")),
    ],
)  # fmt: skip
def test_repr(shown, mechanism):
    assert repr(mechanism) == shown


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(sensitivity=1, scale=1),
        Gaussian(sensitivity=1, scale=1),
        DiscreteLaplace(sensitivity=1, scale=100),
        DiscreteGaussian(sensitivity=1, scale=3),
        DiscreteGaussian(sensitivity=1, scale=100),
    ],
    ids=repr,
)
def test_copies_carry_no_randomness(mechanism):
    """Releasing leaves no trace in a pickle, and copies draw noise of their own."""
    before = pickle.dumps(mechanism)
    zeros = np.zeros(50, dtype=int)
    first = mechanism.release(zeros, budget=None)
    assert pickle.dumps(mechanism) == before
    assert len(before) < 500
    for other in (copy.copy(mechanism), copy.deepcopy(mechanism), pickle.loads(before), pickle.loads(before)):
        assert not np.array_equal(other.release(zeros, budget=None), first)

"""Programs may change decimal's defaults; no amount, message or guarantee depends on them."""

from __future__ import annotations

import decimal
from fractions import Fraction

import pytest

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise.accounting import PrivacyBudget, PrivacyCost, discrete_laplace_rho, laplace_rho
from exactnoise.accounting.amount import approximately, decimal_context, exact, text
from exactnoise.errors import BudgetExceeded

SETTINGS = {
    "prec": 1,
    "rounding": decimal.ROUND_UP,
    "Emin": 0,
    "Emax": 0,
    "capitals": 0,
    "clamp": 1,
}


def every_use():
    """Each way through the package that calculates in decimal."""
    results = [laplace_rho("0.3"), discrete_laplace_rho("0.3", 2), exact("1e-6", "x"), exact(0.25, "x")]
    results += [approximately(Fraction(1, 3**50)), text(Fraction(1, 10**30)), text(Fraction(22, 7))]
    results += [Laplace(sensitivity=1, epsilon="1/7").cost, DiscreteLaplace(sensitivity=3, epsilon=1).cost]
    results += [Gaussian(sensitivity=1, epsilon="0.7", delta="1e-5").cost, Gaussian(sensitivity=1, scale=3).cost]
    results += [Laplace.from_accuracy(half_width=7, sensitivity=1)]
    results += [Gaussian.from_accuracy(half_width=7, sensitivity=1, delta=1e-6)]
    budget = PrivacyBudget(neighbors="add-remove", unit="row", rho="1/3")
    results += [budget.fit(Laplace, sensitivity=1, times=7)]
    with pytest.raises(BudgetExceeded) as refusal:
        budget.spend(PrivacyCost(rho=Fraction(1, 3) + Fraction(1, 3**50)))
    return [*results, str(refusal.value)]


def make_hostile(context):
    for name, value in SETTINGS.items():
        setattr(context, name, value)
    for signal in (decimal.Inexact, decimal.Rounded, decimal.Subnormal, decimal.FloatOperation, decimal.Clamped):
        context.traps[signal] = True


@pytest.fixture
def hostile_defaults():
    defaults = decimal.DefaultContext
    saved = {name: getattr(defaults, name) for name in SETTINGS}, dict(defaults.traps)
    make_hostile(defaults)
    yield
    for name, value in saved[0].items():
        setattr(defaults, name, value)
    defaults.traps.update(saved[1])


EXPECTED = every_use()


def test_hostile_defaults_change_nothing(hostile_defaults):
    with decimal.localcontext() as context:
        make_hostile(context)
        assert every_use() == EXPECTED


def test_the_defaults_are_hostile(hostile_defaults):
    with pytest.raises((decimal.Inexact, decimal.Subnormal)):
        decimal.Context().divide(decimal.Decimal(1), decimal.Decimal(3))
    context = decimal_context(3, decimal.ROUND_DOWN)
    assert str(context.divide(decimal.Decimal(1), decimal.Decimal(3))) == "0.333"

"""How many queries fit under a total, or how large each may be: the composition rules side by side.

A rule is one line of a table: a name, whether it holds for parameters chosen as one goes, its
source, and a predicate, proved by the functions it calls. Everything else is a search for the
largest number or epsilon that the predicate lets pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, SupportsIndex, get_args

from exactnoise.accounting.amount import Number, exact, shown
from exactnoise.accounting.compose import advanced_epsilon, advanced_filter_epsilon, basic_epsilon, optimal_delta
from exactnoise.accounting.convert import checked_whole, exponential_rho, laplace_rho, pure_rho
from exactnoise.accounting.gaussian import gaussian_rho
from exactnoise.accounting.pure_losses import MOST_QUERIES
from exactnoise.accounting.search import largest_on_grid, largest_whole
from exactnoise.accounting.terms import Method
from exactnoise.accounting.zcdp import zcdp_rho

__all__ = [
    "MECHANISMS",
    "Capacity",
    "QueryKind",
    "gaussian_queries_that_fit",
    "largest_query_epsilon",
    "queries_that_fit",
]

QueryKind = Literal["any", "laplace", "exponential"]

#: The kinds of pure mechanisms that zCDP tells apart.
MECHANISMS: tuple[QueryKind, ...] = get_args(QueryKind)

_RHO: dict[QueryKind, Callable[[Number], Fraction]] = {
    "any": pure_rho,
    "laplace": laplace_rho,
    "exponential": exponential_rho,
}
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Capacity:
    """What fits by one composition rule.

    Attributes
    ----------
    rule : str
        The rule's name.
    adaptive : bool
        Whether the rule holds for parameters chosen after earlier answers. Otherwise it is for a
        plan that is fixed beforehand, and proves nothing for spending as one goes.
    method : str or None
        The ``method`` of a `PrivacyBudget` that enforces it.
    source : str
        Where it is proved.
    amount : int or Fraction or None
        How many queries, or the largest epsilon of each. None where it is not computed: that of the
        optimum, for 10^8 queries or more.
    """

    rule: str
    adaptive: bool
    method: Method | None
    source: str
    amount: int | Fraction | None


def queries_that_fit(
    query_epsilon: Number, *, epsilon: Number, delta: Number | None = None, mechanism: QueryKind = "any"
) -> tuple[Capacity, ...]:
    """Return how many queries of one epsilon fit under a total, by each composition rule.

    Parameters
    ----------
    query_epsilon : number
        The pure epsilon of each query.
    epsilon : number
        Of all queries together.
    delta : number, optional
        Between 0 and 1: of all queries together. Without one, only basic composition applies.
    mechanism : {"any", "laplace", "exponential"}
        What answers the queries: `pure_rho`, `laplace_rho` or `exponential_rho` is what each costs
        in zCDP. The other rules hold for any pure mechanism and make no difference.

    Returns
    -------
    tuple of Capacity
        Those that hold for parameters chosen as one goes come first. So many queries are proved to
        fit. One more does not, by the same rule, or meets the total within a 10^15th of it.

    Raises
    ------
    TypeError, ValueError
        An amount is not a positive number, `delta` is not below 1, or the mechanism is unknown.

    Notes
    -----
    The theorems are named in the results. Which one stops a budget is to be settled before its
    first answer.

    Examples
    --------
    >>> for capacity in queries_that_fit("0.01", epsilon=1, delta=1e-6):
    ...     print(capacity.rule, capacity.adaptive, capacity.amount)
    basic True 100
    zCDP True 487
    advanced filter True 349
    advanced False 337
    optimal False 562
    """
    each = exact(query_epsilon, "query_epsilon", price=True)
    return tuple(rule.capacity(_most_queries(rule, each)) for rule in _rules(epsilon, delta, mechanism))


def largest_query_epsilon(
    times: SupportsIndex, *, epsilon: Number, delta: Number | None = None, mechanism: QueryKind = "any"
) -> tuple[Capacity, ...]:
    """Return the largest epsilon of each of several queries under a total, by each composition rule.

    Parameters
    ----------
    times : int
        How many queries.
    epsilon, delta, mechanism
        As in `queries_that_fit`.

    Returns
    -------
    tuple of Capacity
        In the same order; the amounts are rounded down to 12 significant digits.

    Raises
    ------
    TypeError, ValueError
        As `queries_that_fit`, or `times` is not a whole number >= 1.

    Notes
    -----
    As `queries_that_fit`.

    Examples
    --------
    >>> for capacity in largest_query_epsilon(100, epsilon=1, delta=1e-6):
    ...     print(capacity.rule, capacity.adaptive, float(capacity.amount))
    basic True 0.01
    zCDP True 0.0220712297258
    advanced filter True 0.0186916584438
    advanced False 0.0183756741036
    optimal False 0.0240110803971
    """
    number = checked_whole(times, "times")
    guess = exact(epsilon, "epsilon", price=True) / number
    rules = _rules(epsilon, delta, mechanism)
    return tuple(rule.capacity(_largest_epsilon(rule, number, guess)) for rule in rules)


def gaussian_queries_that_fit(query_rho: Number, *, epsilon: Number, delta: Number) -> tuple[Capacity, ...]:
    """Return how many Gaussian releases of one rho fit under a total.

    Parameters
    ----------
    query_rho : number
        sensitivity^2 / (2 sigma^2) of each release, with the L2 sensitivity.
    epsilon : number
        Of all releases together.
    delta : number
        Between 0 and 1: of all releases together.

    Returns
    -------
    tuple of Capacity
        zCDP, in which releases of other kinds can be counted as well, and the exact rule for
        Gaussian noise and nothing else.

    Raises
    ------
    TypeError, ValueError
        An amount is not a positive number, or `delta` is not below 1.

    Notes
    -----
    Both count up to a largest sum of rho, `zcdp_rho` and `gaussian_rho`, and both hold for rhos
    chosen as one goes. The second is for Gaussian noise on real numbers, also where the sum is
    rounded once, and not for discrete Gaussian noise.

    Examples
    --------
    >>> [(c.rule, c.amount) for c in gaussian_queries_that_fit("0.00005", epsilon=1, delta=1e-6)]
    [('zCDP', 487), ('Gaussian', 560)]
    """
    rho = exact(query_rho, "query_rho", price=True)
    of_all, of_gaussians = zcdp_rho(epsilon, delta), gaussian_rho(epsilon, delta)
    return (
        Capacity("zCDP", True, "zcdp", _ZCDP_SOURCE, int(of_all // rho)),
        Capacity("Gaussian", True, None, "Smith & Thakurta 2022, arXiv 2210.17520", int(of_gaussians // rho)),
    )


_ZCDP_SOURCE = "Feldman & Zrnic 2021, arXiv 2008.11193, Remark 4.4"


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule for one total: whether so many queries of one epsilon are proved to fit."""

    name: str
    adaptive: bool
    method: Method | None
    source: str
    fits: Callable[[Fraction, int], bool]
    #: For how many queries the predicate can be evaluated, if not for any number.
    most: int | None = None

    def capacity(self, amount: int | Fraction | None) -> Capacity:
        return Capacity(self.name, self.adaptive, self.method, self.source, amount)


def _rules(epsilon: Number, delta: Number | None, mechanism: QueryKind) -> tuple[_Rule, ...]:
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {', '.join(map(repr, MECHANISMS))}, got {shown(mechanism)}")
    total = exact(epsilon, "epsilon", price=True)
    basic = _Rule(
        "basic",
        True,
        "basic",
        "Rogers, Roth, Ullman & Vadhan 2016, arXiv 1605.08294",
        lambda each, times: basic_epsilon(each, times=times) <= total,
    )
    if delta is None:
        return (basic,)
    small = exact(delta, "delta", below=1, price=True)
    cap, rho, rho_of_any = zcdp_rho(total, small), lru_cache(1)(_RHO[mechanism]), lru_cache(1)(pure_rho)

    def optimal(each: Fraction, times: int) -> bool:
        # What zCDP proves for any pure mechanism, the optimum proves as well, but takes far longer.
        return rho_of_any(each) * times <= cap or optimal_delta(each, times=times, epsilon=total) <= small

    return (
        basic,
        _Rule("zCDP", True, "zcdp", _ZCDP_SOURCE, lambda each, times: rho(each) * times <= cap),
        _Rule(
            "advanced filter",
            True,
            None,
            "Whitehouse, Ramdas, Rogers & Wu 2023, arXiv 2203.05481",
            lambda each, times: advanced_filter_epsilon(each, times=times, delta=small) <= total,
        ),
        _Rule(
            "advanced",
            False,
            None,
            "Dwork, Rothblum & Vadhan 2010; Dwork & Roth 2014, Theorem 3.20",
            lambda each, times: advanced_epsilon(each, times=times, delta=small) <= total,
        ),
        _Rule(
            "optimal",
            False,
            None,
            "Kairouz, Oh & Viswanath 2015, arXiv 1311.0776, Theorem 3.3; "
            "Murtagh & Vadhan 2016, arXiv 1507.03113, Theorem 1.5",
            optimal,
            MOST_QUERIES,
        ),
    )


def _most_queries(rule: _Rule, each: Fraction) -> int | None:
    most = rule.most
    if most is None:
        return largest_whole(lambda times: rule.fits(each, times))
    number = largest_whole(lambda times: times <= most and rule.fits(each, times))
    return number if number < most else None


def _largest_epsilon(rule: _Rule, times: int, guess: Fraction) -> Fraction | None:
    if rule.most is not None and times > rule.most:
        return None
    return largest_on_grid(lambda each: rule.fits(each, times), guess, _DIGITS)

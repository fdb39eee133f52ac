"""Make filters.json: how many queries fit under a total, by each composition rule (python filters.py).

Needs mpmath. Nothing here is shared with the package. The largest sums that a rule lets pass are
found by bisection on its bound: zCDP's on a bound minimised over the order by golden section, that
of Gaussian noise on Balle & Wang's formula with the normal distribution itself. The rho of a query
is the Kullback-Leibler divergence of its outputs, summed or integrated; counts are then quotients,
refused if they come too close to a whole number to be told. The optimum's delta is the sum over
all numbers of true responses, term by term.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path

from mpmath import mp, mpf

TOTALS = (("1", "1e-6"), ("3", "1e-6"), ("1", "1e-9"), ("10", "1e-6"))
EPSILONS = ("0.001", "0.01", "0.05", "0.1", "0.5")
SIGMAS = ("5", "10", "20", "50", "100")
# Beyond so many queries the optimum's sum is too long for this script.
MOST_TERMS = 10**5


def largest(fits: Callable[[mpf], bool]) -> mpf:
    high = mpf(1)
    while fits(high):
        high *= 2
    low = mpf(0)
    for _ in range(170):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def largest_whole(fits: Callable[[int], bool]) -> int:
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def whole(quotient: mpf) -> int:
    assert abs(quotient - mp.nint(quotient)) > mpf(10) ** -20, quotient
    return int(mp.floor(quotient))


def least_over_orders(bound: Callable[[mpf], mpf]) -> mpf:
    """The minimum over orders a > 1, by golden section on ln(a - 1)."""
    golden = (mp.sqrt(5) - 1) / 2
    left, right = mpf(-20), mpf(20)
    for _ in range(160):
        inner = right - golden * (right - left), left + golden * (right - left)
        values = [bound(1 + mp.exp(x)) for x in inner]
        left, right = (left, inner[1]) if values[0] < values[1] else (inner[0], right)
    return bound(1 + mp.exp((left + right) / 2))


@cache
def rho_total(epsilon: mpf, delta: mpf) -> mpf:
    """The largest rho whose Canonne-Kamath-Steinke epsilon is at most epsilon."""

    def excess(rho: mpf) -> mpf:

        def at_order(a: mpf) -> mpf:
            return rho * a + mp.log1p(-1 / a) - mp.log(a * delta) / (a - 1)

        return least_over_orders(at_order) - epsilon

    return mp.findroot(excess, (epsilon**2 / 100, epsilon), solver="anderson", tol=mpf(10) ** -40)


@cache
def mu_total(epsilon: mpf, delta: mpf) -> mpf:
    def fits(mu: mpf) -> bool:
        own, neighbour = mp.ncdf(mu / 2 - epsilon / mu), mp.ncdf(-mu / 2 - epsilon / mu)
        return own - mp.exp(epsilon) * neighbour <= delta

    return largest(fits)


@cache
def squares_of_filter(epsilon: mpf, delta: mpf) -> mpf:
    return largest(lambda squares: squares / 2 + mp.sqrt(2 * mp.log(1 / delta) * squares) <= epsilon)


def rho_of_randomised_response(epsilon: mpf) -> mpf:
    p = [1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))]
    return mp.fsum(a * mp.log(a / b) for a, b in zip(p, reversed(p), strict=True))


def rho_of_laplace(epsilon: mpf) -> mpf:
    """Noise of scale 1 around 0 and epsilon: the tails' losses are constant, between them by quadrature."""
    middle = mp.quad(lambda x: mp.exp(-x) / 2 * (epsilon - 2 * x), [0, epsilon])
    return epsilon / 2 + middle - epsilon * mp.exp(-epsilon) / 2


def optimal_delta(each: mpf, times: int, epsilon: mpf) -> mpf:
    """The sum of P(i) - exp(epsilon) Q(i), where positive, over i true responses of `times`."""
    p, q = 1 / (1 + mp.exp(-each)), 1 / (1 + mp.exp(each))
    scale, total = mp.exp(epsilon), mpf(0)
    on_one, on_other = p**times, q**times
    for i in range(times, -1, -1):
        difference = on_one - scale * on_other
        if difference <= 0:
            break
        total += difference
        step = mpf(i) / (times - i + 1)
        on_one, on_other = on_one * step * q / p, on_other * step * p / q
    return total


def drv(each: mpf, times: int, delta: mpf) -> mpf:
    return mp.sqrt(2 * times * mp.log(1 / delta)) * each + times * each * (mp.exp(each) - 1)


def of_pure_queries(total: tuple[str, str], each: str) -> dict[str, object]:
    epsilon, delta, size = mpf(total[0]), mpf(total[1]), mpf(each)
    basic = Fraction(total[0]) // Fraction(each)

    def fits_basic(n: int) -> bool:
        return n * Fraction(each) <= Fraction(total[0])

    rho, squares = rho_total(epsilon, delta), squares_of_filter(epsilon, delta)
    zcdp = whole(rho / rho_of_randomised_response(size))
    optimal = None
    if zcdp < MOST_TERMS / 2:
        optimal = largest_whole(lambda n: fits_basic(n) or optimal_delta(size, n, epsilon) <= delta)
    return {
        "epsilon": total[0],
        "delta": total[1],
        "query_epsilon": each,
        "squares_total": mp.nstr(squares, 25),
        "rho_total": mp.nstr(rho, 25),
        "mu_total": mp.nstr(mu_total(epsilon, delta), 25),
        "basic": basic,
        "zcdp": zcdp,
        "zcdp_laplace": whole(rho / rho_of_laplace(size)),
        "zcdp_half_square": whole(rho / (size**2 / 2)),
        "advanced_filter": whole(squares / size**2),
        "advanced": largest_whole(lambda n: fits_basic(n) or drv(size, n, delta) <= epsilon),
        "optimal": optimal,
    }


def of_gaussian_queries(total: tuple[str, str], sigma: str) -> dict[str, object]:
    epsilon, delta, width = mpf(total[0]), mpf(total[1]), mpf(sigma)
    return {
        "epsilon": total[0],
        "delta": total[1],
        "sigma": sigma,
        "zcdp": whole(rho_total(epsilon, delta) * 2 * width**2),
        "gaussian": whole(mu_total(epsilon, delta) ** 2 * width**2),
    }


def of_a_hundred_queries(epsilon: str) -> dict[str, object]:
    each = largest(lambda size: optimal_delta(size, 100, mpf(epsilon)) <= mpf("1e-6"))
    return {"epsilon": epsilon, "delta": "1e-6", "queries": 100, "optimal": mp.nstr(each, 25)}


def main() -> None:
    mp.dps = 50
    rows = {
        "pure": [of_pure_queries(total, each) for total in TOTALS for each in EPSILONS],
        "gaussian": [of_gaussian_queries(total, sigma) for total in TOTALS for sigma in SIGMAS],
        "largest": [of_a_hundred_queries(epsilon) for epsilon in ("0.5", "1", "3")],
    }
    tables = (f'"{name}": [\n' + ",\n".join(map(json.dumps, table)) + "\n]" for name, table in rows.items())
    Path(__file__).with_suffix(".json").write_text("{\n" + ",\n".join(tables) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

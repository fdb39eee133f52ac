"""Print the polynomial coefficients of negative_log.h and sincos.h as hexadecimal doubles.

Each polynomial is the best approximation in the largest weighted error (Remez exchange) whose
coefficients are doubles: the coefficients are rounded one at a time, lowest degree first, and the
ones that remain are fitted again, so that they take up the error of the rounding.
The output is deterministic. The bounds are proved by bounds.py from the headers themselves; this
script is where the numbers come from, not why they are right.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import mpmath
from mpmath import mp, mpf

Function = Callable[[mpf], mpf]

GRID = 600  # points of the search for the extrema of the error
ROUNDS = 12  # exchanges; the iteration converges in about five


def _chebyshev_points(low: mpf, high: mpf, count: int) -> list[mpf]:
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mpmath.cos(mp.pi * i / (count - 1)) for i in range(count)]


def _polynomial(coefficients: list[mpf], z: mpf) -> mpf:
    return mpmath.polyval(coefficients[::-1], z)


def _alternating_extrema(points: list[mpf], errors: list[mpf], count: int) -> list[mpf]:
    """Largest error of each run of one sign, reduced to the best `count` neighbouring ones."""
    extrema: list[tuple[mpf, mpf]] = []
    for point, error in zip(points, errors, strict=True):
        if extrema and (error > 0) == (extrema[-1][1] > 0):
            if abs(error) > abs(extrema[-1][1]):
                extrema[-1] = (point, error)
        else:
            extrema.append((point, error))
    while len(extrema) > count:
        extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
    return [point for point, _ in extrema]


def remez(target: Function, weight: Function, high: mpf, fixed: list[mpf], degree: int) -> list[mpf]:
    """Coefficients fixed + free, minimising the largest |weight (target - p)| on (0, high]."""
    first = len(fixed)
    unknowns = degree + 1 - first
    low = high * mpf(2) ** -16
    grid = _chebyshev_points(low, high, GRID)
    nodes = _chebyshev_points(low, high, unknowns + 1)
    wanted = {z: target(z) - _polynomial(fixed, z) if fixed else target(z) for z in grid}
    free: list[mpf] = []
    for _ in range(ROUNDS):
        rows = [[z ** (first + j) for j in range(unknowns)] + [(-1) ** i / weight(z)] for i, z in enumerate(nodes)]
        right = [target(z) - (_polynomial(fixed, z) if fixed else 0) for z in nodes]
        free = list(mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(right)))[:-1]
        errors = [weight(z) * (wanted[z] - z**first * _polynomial(free, z)) for z in grid]
        extrema = _alternating_extrema(grid, errors, unknowns + 1)
        if len(extrema) <= unknowns:
            break  # rounded coefficients can leave fewer alternations: the last fit stands
        nodes = extrema
    return fixed + free


def rounded_minimax(target: Function, weight: Function, high: mpf, degree: int) -> list[float]:
    """Minimax polynomial with double coefficients, rounded from the lowest degree up."""
    fixed: list[mpf] = []
    for index in range(degree + 1):
        fixed.append(mpf(float(remez(target, weight, high, fixed, degree)[index])))
    return [float(c) for c in fixed]


def largest_error(target: Function, weight: Function, high: mpf, coefficients: list[float]) -> mpf:
    exact = [mpf(c) for c in coefficients]
    grid = _chebyshev_points(high * mpf(2) ** -16, high, 4 * GRID)
    return max(abs(weight(z) * (target(z) - _polynomial(exact, z))) for z in grid)


def logarithm() -> tuple[Function, Function, mpf]:
    """-(4 atanh(s)/s - 4)/z in z = s^2, for s = f/(2+f), sqrt(1/2) <= 1+f <= sqrt(2).

    The error counts as z s times it, or relative to the logarithm as z times it: between the two.
    """

    def target(z: mpf) -> mpf:
        s = mpmath.sqrt(z)
        return -(4 * mpmath.atanh(s) / s - 4) / z

    reach = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)
    return target, lambda z: z ** mpf("1.25"), reach**2


def sine() -> tuple[Function, Function, mpf]:
    """sin(pi/2 f)/f in z = f^2, for |f| <= 1/2; the error counts as f times it."""

    def target(z: mpf) -> mpf:
        f = mpmath.sqrt(z)
        return mpmath.sin(mp.pi * f / 2) / f

    return target, mpmath.sqrt, mpf(1) / 4


def cosine() -> tuple[Function, Function, mpf]:
    """(cos(pi/2 f) - 1)/z in z = f^2, for |f| <= 1/2; the error counts as z times it."""

    def target(z: mpf) -> mpf:
        return (mpmath.cos(mp.pi * mpmath.sqrt(z) / 2) - 1) / z

    return target, lambda z: z, mpf(1) / 4


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    mp.prec = 200
    for function, degree in ((logarithm, 5), (sine, 6), (cosine, 5)):
        target, weight, high = function()
        coefficients = rounded_minimax(target, weight, high, degree)
        error = largest_error(target, weight, high, coefficients)
        print(f"{function.__name__}: largest weighted error 2^{float(mpmath.log(error, 2)):.2f}")
        for index, coefficient in enumerate(coefficients):
            print(f"    [{index}] {coefficient.hex()}")
    ln4 = 2 * mpmath.ln(2)
    shift = 2**45  # 46 bits, so that its multiples by 0..64 are exact
    high = mpmath.floor(ln4 * shift) / shift
    print(f"ln 4: {float(ln4).hex()}, high {float(high).hex()}, low {float(ln4 - high).hex()}")


if __name__ == "__main__":
    main()

"""Prove the error bounds that negative_log.h, sincos.h, fixed_point.h and settle.h claim.

    python native/proofs/bounds.py [--quick]

The domain is cut into pieces. On each one forward_error.py bounds what rounding does, and the
distance of the polynomial from the true function, itself enclosed by a Taylor series with
remainder, is added. Both orders of EN_FMA are proved. Coefficients and claims are read from the
headers. Exits with 1 if a claim is not proved; --quick cuts fewer pieces, which is as rigorous but
leaves less room.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

import fixed_point
import gmpy2
from elementary import coefficients, constants, negative_log, sincos_quarter
from forward_error import DOWN, UP, ZERO, ErrorMachine, Interval, exact, point
from gmpy2 import mpfr
from results import Result

TWO = point(2.0)
LN4 = Interval(DOWN.const_log2(), UP.const_log2()) * TWO
HALF_PI = Interval(DOWN.div(DOWN.const_pi(), mpfr(2)), UP.div(UP.const_pi(), mpfr(2)))
ONE = point(1.0)
SQRT_HALF = 0.7071067811865476  # the double where the reduction starts a new exponent
LARGEST_MINUS_E = 58
LARGEST_S = 0.17158
FMA_ORDERS = (True, False)


class Largest:
    """The largest of many bounds and where it was."""

    def __init__(self) -> None:
        self.value = ZERO
        self.where = "-"

    def see(self, value: mpfr, where: str) -> None:
        if value > self.value:
            self.value, self.where = value, where


# --- pieces of the domain -------------------------------------------------------------------


def binade_pieces(smallest: int, end: float, count: int) -> Iterator[Interval]:
    """Cover [2^smallest, end] with pieces that never cross a power of two, `count` a binade."""
    start = gmpy2.exp2(smallest)
    while start < end:
        step = DOWN.div(start, mpfr(count))
        edges = [DOWN.add(start, DOWN.mul(step, mpfr(i))) for i in range(count)]
        for low, high in pairwise([*edges, DOWN.mul(start, mpfr(2))]):
            if low < end:
                yield Interval(low, min(high, mpfr(end)))
        start = DOWN.mul(start, mpfr(2))


def mirrored(pieces: Iterable[Interval]) -> Iterator[Interval]:
    return (-piece for piece in pieces)


# --- distance of a polynomial from its function ---------------------------------------------


def _enclose(series: list[Interval], z: Interval) -> Interval:
    result = series[-1]
    for coefficient in series[-2::-1]:
        result = result * z + coefficient
    return result


def approximation_error(
    polynomial: list[float],
    series: list[Interval],
    remainder: mpfr,
    high: float,
    weight: Callable[[mpfr], mpfr],
) -> mpfr:
    """Bound weight(z) |polynomial(z) - function(z)| on [0, high], for an increasing weight.

    The function is the power series plus at most `remainder`. Mean value form on each piece.
    """
    difference = [-c for c in series]
    for index, coefficient in enumerate(polynomial):
        difference[index] = difference[index] + point(coefficient)
    derivative = [point(float(k)) * c for k, c in enumerate(difference)][1:]
    largest = Largest()
    smallest = -24
    for piece in [Interval(ZERO, gmpy2.exp2(smallest)), *binade_pieces(smallest, high, 256)]:
        middle = DOWN.div(DOWN.add(piece.low, piece.high), mpfr(2))
        slope = _enclose(derivative, piece).magnitude
        bound = UP.add(
            UP.add(_enclose(difference, point(middle)).magnitude, remainder),
            UP.mul(slope, UP.sub(piece.high, piece.low)),
        )
        largest.see(UP.mul(weight(piece.high), bound), str(piece))
    return largest.value


def _factorial_series(sign: int, first_power: int, count: int) -> tuple[list[Interval], mpfr]:
    """sum of sign (-1)^k h^n z^k / n!, h = pi/2, n = first_power + 2k, and a bound on the rest."""
    terms: list[Interval] = []
    term = ONE
    for n in range(1, first_power + 2 * count + 1):
        term = term * HALF_PI / point(float(n))
        if n >= first_power and (n - first_power) % 2 == 0:
            terms.append(term)
    # For z <= 1/4 each further term is below a quarter of the one before it.
    *kept, dropped = terms
    return (
        [-t if (sign < 0) != (k % 2 == 1) else t for k, t in enumerate(kept)],
        UP.mul(mpfr(2), dropped.high),
    )


def log_polynomial_error(defined: Mapping[str, float]) -> mpfr:
    """|R - polynomial| for R(z) = 4 atanh(s)/s - 4, z = s^2, |s| <= LARGEST_S."""
    count = 40
    series = [point(-4.0) / point(float(2 * k + 3)) for k in range(count)]
    return approximation_error(
        coefficients(defined, "EN_LOG_C"), series, gmpy2.exp2(-5 * count), LARGEST_S**2, lambda z: z
    )


def sine_polynomial_error(defined: Mapping[str, float]) -> mpfr:
    series, remainder = _factorial_series(1, 1, 20)
    return approximation_error(coefficients(defined, "EN_SIN_C"), series, remainder, 0.25, lambda z: UP.sqrt(z))


def cosine_polynomial_error(defined: Mapping[str, float]) -> mpfr:
    series, remainder = _factorial_series(-1, 2, 20)
    return approximation_error(coefficients(defined, "EN_COS_C"), series, remainder, 0.25, lambda z: z)


# --- the logarithm --------------------------------------------------------------------------


def _log_pieces(minus_e: int, count: int) -> Iterator[Interval]:
    """Cover every g: from sqrt(2) - 2 up to -2^-51 for e = 0, as u < 1, else to 2 sqrt(2) - 2.

    Fine pieces are needed where |g| is large and -ln u small.
    """
    margin = 1 + 2**-50
    lowest, highest = 2 - 2 * SQRT_HALF / margin, 4 * SQRT_HALF * margin - 2
    middle = -5
    if minus_e == 0:
        yield from mirrored(binade_pieces(-51, 2.0**middle, 8))
    else:
        yield Interval(DOWN.minus(gmpy2.exp2(middle)), gmpy2.exp2(middle))
        count = count if minus_e == 1 else max(8, count // 8)
        yield from binade_pieces(middle, highest * margin, count)
    yield from mirrored(binade_pieces(middle, lowest * margin, count))


def _log_piece(
    defined: Mapping[str, float], minus_e: int, g: Interval, r_error: mpfr, *, fma: bool
) -> tuple[mpfr, Interval]:
    """Bound |result + 2 ln u| and enclose -2 ln u, for u = 2^e (1 + g/2), g in the piece."""
    result = negative_log(ErrorMachine(fma=fma), defined, minus_e, exact(g), exact(-g))
    if result.values.low <= 0:
        raise ArithmeticError(f"the result can be {result.values.low} for g in {g}")

    error = result.error
    # the polynomial instead of R, times s
    ends = (point(g.low), point(g.high))
    s = max((end / (point(4.0) + end)).magnitude for end in ends)  # g/(4 + g) is monotonic
    if s > LARGEST_S:
        raise ArithmeticError(f"s reaches {s}, beyond the polynomial's domain")
    error = UP.add(error, UP.mul(s, r_error))
    # a double, or high + low, instead of ln 4
    ln4 = point(defined["EN_LN4"])
    if not fma:
        ln4 = point(defined["EN_LN4_HIGH"]) + point(defined["EN_LN4_LOW"])
    error = UP.add(error, UP.mul(mpfr(minus_e), (ln4 - LN4).magnitude))

    half = g / TWO
    ln = Interval(DOWN.log1p(half.low), UP.log1p(half.high)) * TWO
    return error, point(float(minus_e)) * LN4 - ln


def prove_log(defined: Mapping[str, float], *, count: int) -> list[Result]:
    relative_claim = mpfr(defined["EN_LOG_RELATIVE_ERROR"])
    a_claim, b_claim = mpfr(defined["EN_LOG_ABSOLUTE_A"]), mpfr(defined["EN_LOG_ABSOLUTE_B"])
    half_b = DOWN.div(b_claim, mpfr(2))
    r_error = log_polynomial_error(defined)
    relative, absolute, root = Largest(), Largest(), Largest()
    for minus_e in range(LARGEST_MINUS_E + 1):
        for g in _log_pieces(minus_e, count):
            for fma in FMA_ORDERS:
                error, ln = _log_piece(defined, minus_e, g, r_error, fma=fma)
                where = f"e = {-minus_e}, g = {float(g.low):.6g}, fma = {fma}"
                least = ln.least_magnitude
                relative.see(UP.div(error, least), where)
                absolute.see(UP.sub(error, DOWN.mul(b_claim, least)), where)
                # |sqrt y - sqrt t| = |y - t| / (sqrt y + sqrt t), y the result for t = -2 ln u
                radius = DOWN.sqrt(least)
                computed = DOWN.sqrt(DOWN.sub(least, error))
                root_error = UP.div(error, DOWN.add(radius, computed))
                root.see(UP.sub(root_error, DOWN.mul(half_b, radius)), where)
    return [
        Result("EN_LOG_RELATIVE_ERROR", relative_claim, relative.value, relative.where),
        Result("EN_LOG_ABSOLUTE_A", a_claim, absolute.value, absolute.where),
        Result("EN_LOG_ROOT_A", mpfr(defined["EN_LOG_ROOT_A"]), root.value, root.where),
    ]


# --- sine and cosine ------------------------------------------------------------------------


def prove_sincos(defined: Mapping[str, float], *, count: int) -> list[Result]:
    """For f >= 0: every step is odd or even in f, and so is rounding to nearest."""
    sine_polynomial = sine_polynomial_error(defined)
    cosine_polynomial = cosine_polynomial_error(defined)
    sine_error, cosine_error = Largest(), Largest()
    small = -12
    for f in [Interval(ZERO, gmpy2.exp2(small)), *binade_pieces(small, 0.5, count)]:
        for fma in FMA_ORDERS:
            sine, cosine = sincos_quarter(ErrorMachine(fma=fma), defined, exact(f))
            where = f"f = {float(f.low):.6g}, fma = {fma}"
            sine_error.see(UP.add(sine.error, sine_polynomial), where)
            cosine_error.see(UP.add(cosine.error, cosine_polynomial), where)
    both = max(sine_error, cosine_error, key=lambda largest: largest.value)
    return [
        Result(claim, mpfr(defined[claim]), largest.value, largest.where)
        for claim, largest in (
            ("EN_SIN_ABSOLUTE_ERROR", sine_error),
            ("EN_COS_ABSOLUTE_ERROR", cosine_error),
            ("EN_SINCOS_ABSOLUTE_ERROR", both),
        )
    ]


def prove(defined: Mapping[str, float], *, quick: bool) -> list[Result]:
    return [
        *prove_log(defined, count=64 if quick else 512),
        *prove_sincos(defined, count=64 if quick else 1024),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer pieces")
    results = [
        *prove(constants(), quick=parser.parse_args().quick),
        *fixed_point.prove(fixed_point.constants()),
    ]
    for result in results:
        print(result)
    return 0 if all(result.holds for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

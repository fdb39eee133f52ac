"""The exact value of a statistic of public data, and the law of its error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from exactnoise import aggregates
from exactnoise.aggregates import Count, Histogram, Mean, Quantile, Sum, Variance, VectorSum
from exactnoise.aggregates.chunks import Tally
from exactnoise.aggregates.noise import Noise
from exactnoise.aggregates.quantile import _scores
from exactnoise.aggregates.statistic import Statistic
from exactnoise.aggregates.terms import Terms
from exactnoise.mechanisms._wide import Wide
from exactnoise.utility.laws import CutLaw, FiniteLaw, Law, MixedLaw, NoiseLaw, SumLaw

__all__ = ["STATISTICS", "exact_cells", "law_of", "repeated"]

T = TypeVar("T")
Doubles = npt.NDArray[np.float64]

_MOST_LAWS = 256  # each takes about a millisecond

STATISTICS: Mapping[Callable[..., Any], type[Statistic]] = {
    aggregates.count: Count,
    aggregates.sum: Sum,
    aggregates.mean: Mean,
    aggregates.variance: Variance,
    aggregates.quantile: Quantile,
    aggregates.histogram: Histogram,
    aggregates.vector_sum: VectorSum,
}


def repeated(tally: Tally, times: int) -> Tally:
    """The same totals as those of as many groups."""
    totals = tuple(Wide(np.tile(t.low, times), np.tile(t.high, times), t.exponent) for t in tally.totals)
    return tally._replace(counts=np.tile(tally.counts, times), totals=totals)


def exact_cells(statistic: Statistic, tally: Tally) -> Doubles:
    """The values without noise, of the data as it was clipped; cells in the order of the release."""
    match statistic:
        case Count() | Histogram():
            return tally.counts.astype(np.float64)
        case Mean():
            centre, sums = _centred(statistic, tally)
            return centre + sums / _sizes(tally)
        case Variance():
            _, means, squares = _moments(statistic, tally)
            size = _sizes(tally)
            return (squares - means**2) * size / np.maximum(size - statistic._ddof, 1)
        case Quantile():
            return np.stack([values for values, _ in _candidates(statistic, tally)], axis=-1).ravel()
        case _:
            return _floats(tally.totals[0])


def law_of(statistic: Statistic, terms: Terms, noise: Noise[Any], tally: Tally) -> Law:
    """The law of the error of a cell, to first order in the noise; before anything is cut to what is possible."""
    if isinstance(statistic, Quantile):
        return _law_of_quantiles(statistic, noise, tally)
    sizes = _sizes(tally)
    if len(noise.mechanisms) == 1:
        (mechanism,) = noise.mechanisms
        law = NoiseLaw(mechanism, 1 / _public_divisor(statistic, tally))
        if not isinstance(statistic, (Mean, Variance)):
            return law
        return _mixed([CutLaw(law, most) for most in _spread_out(sorted(_farthest(statistic, tally)))])
    # The partial derivatives of the statistic by each of its noisy parts.
    if isinstance(statistic, Mean):
        _, sums = _centred(statistic, tally)
        slopes = np.stack([1 / sizes, -sums / sizes**2])
    else:
        assert isinstance(statistic, Variance)
        shift, means, squares = _moments(statistic, tally)
        correction = sizes / np.maximum(sizes - statistic._ddof, 1)
        slopes = np.stack([-2 * means, np.ones_like(means), 2 * means**2 - (squares - shift)]) * correction / sizes
    laws: dict[tuple[float, ...], Law] = {}
    farthest = _farthest(statistic, tally)
    cells = _spread_out(sorted((*factors, most) for factors, most in zip(slopes.T.tolist(), farthest, strict=True)))
    for *factors, most in set(cells):
        noises = [NoiseLaw(mechanism, factor) for mechanism, factor in zip(noise.mechanisms, factors, strict=True)]
        laws[*factors, most] = CutLaw(SumLaw(noises), most)
    return _mixed([laws[cell] for cell in cells])


def _spread_out(cells: list[T]) -> list[T]:
    """All cells, or as many of them as there is time for, evenly spread over their order."""
    if len(cells) <= _MOST_LAWS:
        return cells
    return [cells[(2 * i + 1) * len(cells) // (2 * _MOST_LAWS)] for i in range(_MOST_LAWS)]


def _farthest(statistic: Mean | Variance, tally: Tally) -> list[float]:
    """How far off each cell can be at most."""
    low, high = statistic._possible()
    return [max(value - low, high - value) for value in exact_cells(statistic, tally).tolist()]


def _public_divisor(statistic: Statistic, tally: Tally) -> float:
    rows = max(tally.rows, 1)
    match statistic:
        case Mean():
            return float(rows)
        case Variance():
            return float(rows) * max(rows - statistic._ddof, 1)
        case _:
            return 1.0


def _law_of_quantiles(statistic: Quantile, noise: Noise[Any], tally: Tally) -> Law:
    """The exact probabilities of the exponential mechanism."""
    candidates = np.ldexp(np.arange(statistic._cells) + float(statistic._grid.low), statistic._grid.exponent)
    laws: list[Law] = []
    for mechanism, (values, scores) in zip(noise.mechanisms, _candidates(statistic, tally), strict=True):
        odds = mechanism.probabilities(scores)
        laws += [FiniteLaw(candidates - value, row) for value, row in zip(values, odds, strict=True)]
    return _mixed(laws)


def _mixed(laws: list[Law]) -> Law:
    return laws[0] if len(laws) == 1 else MixedLaw(laws)


def _candidates(statistic: Quantile, tally: Tally) -> list[tuple[Doubles, npt.NDArray[np.int64]]]:
    """For each level the best candidate of each group, the middle one where several are best, and all scores."""
    counts = tally.counts.reshape(-1, statistic._cells)
    found = []
    for level in statistic._q:
        scores = _scores(counts, level)
        best = scores == scores.max(axis=1, keepdims=True)
        middle = (best.argmax(axis=1) + (best.shape[1] - 1 - best[:, ::-1].argmax(axis=1))) // 2
        found.append((np.ldexp((middle + statistic._grid.low).astype(np.float64), statistic._grid.exponent), scores))
    return found


def _sizes(tally: Tally) -> Doubles:
    return np.maximum(tally.counts.astype(np.float64), 1.0)


def _floats(totals: Wide) -> Doubles:
    return np.array([float(value) for value in totals.fractions()])


def _centred(statistic: Mean, tally: Tally) -> tuple[float, Doubles]:
    """The middle of the bounds, and the sums of what the values are above it."""
    centre = (statistic._lower + statistic._upper) / 2
    values = zip(tally.totals[0].fractions(), tally.counts.tolist(), strict=True)
    return float(centre), np.array([float(total - n * centre) for total, n in values])


def _moments(statistic: Variance, tally: Tally) -> tuple[float, Doubles, Doubles]:
    """What each square is shifted by before the noise; means and mean squares of deviations from the middle."""
    sums, squares = statistic._deviations(tally)
    sizes = _sizes(tally)
    width = float(statistic._grid.upper - statistic._grid.lower)
    return width * width / 8, _floats(sums) / sizes, _floats(squares) / sizes

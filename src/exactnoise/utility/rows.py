"""A row of a table: what is known about an error at one epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from exactnoise.utility.simulation import Simulated

__all__ = ["Row"]


@dataclass(frozen=True)
class Row:
    """How far a release is off at one epsilon: by closed form, and as simulated.

    Attributes
    ----------
    what : str
        The mechanism or statistic.
    epsilon : Fraction
    alpha : float
        1 - alpha is the confidence of the half widths.
    trials : int
        How many releases were simulated; of a mechanism, how many cells.
    scale : float or None
        The scale of the noise; of the first noisy part where there are several.
    std : float or None
        Closed form: the root mean square error. None, as the next two, where no law is known.
    half_width : float or None
        Closed form: the error is at most this with probability 1 - alpha. For a mechanism what its `half_width`
        promises.
    mean_error : float or None
        Closed form: the mean absolute error.
    simulated_std, simulated_half_width, simulated_mean_error : Simulated or None
        The same from the simulated releases, each with its standard error; None without trials.
    relative_error : float or None
        The mean absolute error over the mean absolute exact value; None where the latter is 0 or not known.
    share_below_noise : float or None
        The share of exact cells whose absolute value is below the half width; None where they are not known.
    for_any_scores : bool
        The half width is what a selection promises for any scores; for the scores at hand the error is smaller.
    sample : tuple of float
        Some of the simulated errors, for pictures.
    """

    what: str
    epsilon: Fraction
    alpha: float
    trials: int
    scale: float | None
    std: float | None
    half_width: float | None
    mean_error: float | None
    simulated_std: Simulated | None
    simulated_half_width: Simulated | None
    simulated_mean_error: Simulated | None
    relative_error: float | None
    share_below_noise: float | None
    for_any_scores: bool = False
    sample: tuple[float, ...] = field(default=(), repr=False)

    def best(self, measure: str) -> float | None:
        """The closed form of "std", "half_width" or "mean_error", or what was simulated where there is none."""
        simulated: Simulated | None = getattr(self, f"simulated_{measure}")
        closed: float | None = getattr(self, measure)
        return simulated.value if closed is None and simulated is not None else closed

    def columns(self) -> Mapping[str, float | int | str | None]:
        """The row as flat columns, as in a CSV file: simulated numbers are followed by their standard errors."""
        flat: dict[str, float | int | str | None] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name.startswith("simulated_"):
                flat[name], flat[f"{name}_se"] = (None, None) if value is None else value
            elif name not in ("sample", "for_any_scores"):
                flat[name] = float(value) if name == "epsilon" else value
        return flat

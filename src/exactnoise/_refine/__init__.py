"""Exact decisions at arbitrary precision: lanes that the fast path declined, and calibrations."""

from exactnoise._refine.additive import Family, Form, Ideal, grid_value, refine
from exactnoise._refine.calibration import (
    discrete_gaussian_epsilon,
    discrete_gaussian_sigma,
    gaussian_epsilon,
    gaussian_sigma,
)
from exactnoise._refine.discrete_gaussian import discrete_gaussian_tail, discrete_gaussian_thresholds
from exactnoise._refine.noise import discrete_offset, discrete_shortfall
from exactnoise._refine.settle import settle
from exactnoise._refine.words import Extension, fresh_extension

__all__ = [
    "Extension",
    "Family",
    "Form",
    "Ideal",
    "discrete_gaussian_epsilon",
    "discrete_gaussian_sigma",
    "discrete_gaussian_tail",
    "discrete_gaussian_thresholds",
    "discrete_offset",
    "discrete_shortfall",
    "fresh_extension",
    "gaussian_epsilon",
    "gaussian_sigma",
    "grid_value",
    "refine",
    "settle",
]

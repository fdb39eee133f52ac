"""Closed forms against reference values, which vectors/utility.py computes by quadrature and by sums."""

from __future__ import annotations

import math
from typing import Any

import golden
import pytest

from exactnoise import Gaussian, Laplace
from exactnoise.aggregates import histogram, mean, quantile
from exactnoise.utility import Row, table

VECTORS = golden.load("utility")
DELTA = VECTORS["delta"]
SUBJECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "laplace_count": ("laplace", {"sensitivity": 1}),
    "geometric_count": ("discrete-laplace", {"sensitivity": 1}),
    "gaussian_count": ("gaussian", {"sensitivity": 1, "delta": DELTA}),
    "laplace_mean": (mean, {"data": [50.0] * 1000, "bounds": (0, 100), "neighbors": "replace-one"}),
}


def only_row(what: Any, epsilon: str, **params: Any) -> Row:
    (row,) = table(what, [epsilon], trials=0, **params)
    return row


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("expected", VECTORS["rows"], ids=lambda row: row["epsilon"])
def test_rows(name: str, expected: dict[str, Any]) -> None:
    what, params = SUBJECTS[name]
    row, reference = only_row(what, expected["epsilon"], **params), expected[name]
    assert row.std == pytest.approx(float(reference["rmse"]), rel=1e-12)
    assert row.mean_error == pytest.approx(float(reference["mae"]), rel=1e-12)
    assert row.half_width is not None
    assert row.scale is not None
    if name == "geometric_count":
        assert row.half_width == reference["p95"]
        return
    # A promised half width has half a step of the grid for the rounding: 2^-21 to 2^-20 of the scale.
    steps = {"laplace_count": Laplace(sensitivity=1, epsilon=expected["epsilon"])}
    if name == "gaussian_count":
        steps[name] = Gaussian(sensitivity=1, epsilon=expected["epsilon"], delta=DELTA)
    step = steps[name].granularity if name in steps else 2.0 ** (math.frexp(row.scale)[1] - 20) / 1000
    assert row.half_width - step / 2 == pytest.approx(float(reference["p95"]), rel=1e-12)


@pytest.mark.parametrize("expected", VECTORS["vector_l0"], ids=lambda row: f"{row['epsilon']}-{row['l0']}")
def test_one_person_in_many_groups(expected: dict[str, Any]) -> None:
    """Each person in l0 bins: as a mechanism, and as a histogram where the rule picks the noise."""
    epsilon, length = expected["epsilon"], expected["l0"]
    laplace, gaussian = float(expected["laplace_rmse"]), float(expected["gaussian_rmse"])
    assert only_row("laplace", epsilon, sensitivity=length).std == pytest.approx(laplace, rel=1e-12)
    # The root is not a short decimal number: of its 17 digits the scale keeps 16.
    root = only_row("gaussian", epsilon, sensitivity=math.sqrt(length), delta=DELTA)
    assert root.std == pytest.approx(gaussian, rel=1e-12)
    grouped = {"data": [0.5], "edges": [0, 1], "by": [0], "keys": range(length), "neighbors": "add-remove"}
    row = only_row(histogram, epsilon, rows_per_person=1, groups_per_person=length, delta=DELTA, **grouped)
    assert row.std is not None
    if laplace <= gaussian:
        scale = length / float(epsilon)
        variance = 2 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2
        assert row.std == pytest.approx(math.sqrt(variance), rel=1e-12)
    else:  # discrete noise of several coordinates is calibrated by rho, some per cent above
        assert gaussian <= row.std <= 1.2 * gaussian


def test_quantile_by_hand() -> None:
    """Three candidates 0, 1, 2 and the rows 0, 1, 2: scores -1, 0, -1 for the median (counted twice), sensitivity 1."""
    row = only_row(
        quantile, "1", data=[0, 1, 2], q=0.5, bounds=(0, 2), granularity=1, neighbors="add-remove", alpha=0.5
    )
    # Twice the score is -|below - above|: -2, 0, -2; one row changes it by 1, so the scale is 2.
    far = 2 * math.exp(-1) / (1 + 2 * math.exp(-1))
    assert row.mean_error == pytest.approx(far, rel=1e-12)
    assert row.std == pytest.approx(math.sqrt(far), rel=1e-12)
    assert row.half_width == 0
    assert far < 0.5

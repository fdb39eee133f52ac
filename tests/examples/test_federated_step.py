"""The federated example: its sensitivity is exact, its sums do not depend on the order, its noise is as promised."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scripts import load

from exactnoise import Gaussian, PrivacyBudget

EXAMPLE = Path(__file__).parents[2] / "examples" / "federated_step.py"


@pytest.fixture(scope="module")
def example():
    return load(EXAMPLE)


def updates(example, dtype, count=50):
    rng = np.random.default_rng(3)
    sizes = np.exp2(rng.uniform(-12, 12, (count, 1)))
    with np.errstate(over="ignore"):
        return (rng.standard_normal((count, example.DIMENSION)) * sizes).astype(dtype)


def squared(vector):
    return sum(int(value) ** 2 for value in vector)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_no_client_moves_the_sum_by_more_than_the_sensitivity(example, dtype):
    rows = [
        *updates(example, dtype),
        np.full(example.DIMENSION, np.nan, dtype),
        np.full(example.DIMENSION, np.inf, dtype),
    ]
    messages = [example.message(row) for row in rows]
    assert all(message.dtype == np.int64 for message in messages)
    everyone = example.total(messages)
    for i, message in enumerate(messages):
        without = example.total(messages[:i] + messages[i + 1 :])
        np.testing.assert_array_equal(everyone - without, message)
        assert squared(everyone - without) <= example.SENSITIVITY**2
    # Replacing one moves it by up to twice that.
    opposite = example.message(np.eye(example.DIMENSION)[0] * 9), example.message(np.eye(example.DIMENSION)[0] * -9)
    assert (
        (example.SENSITIVITY * Fraction(19, 10)) ** 2
        < squared(opposite[0] - opposite[1])
        <= (2 * example.SENSITIVITY) ** 2
    )


def test_control_rounding_to_nearest_breaks_it(example):
    clipped = [example.clip_l2(row, example.BOUND).astype("f8") for row in updates(example, "f8", 500)]
    nearest = [np.rint(row / example.GRID).astype(np.int64) for row in clipped]
    assert any(squared(row) > example.SENSITIVITY**2 for row in nearest)


def test_control_a_sum_in_floating_point_depends_on_the_order(example):
    rows = [example.clip_l2(row, example.BOUND) for row in updates(example, "f4")]
    sums = {sum(rows[i:] + rows[:i], np.zeros(example.DIMENSION, "f4")).tobytes() for i in range(20)}
    assert len(sums) > 1
    messages = [example.message(row) for row in rows]
    assert len({example.total(messages[i:] + messages[:i]).tobytes() for i in range(20)}) == 1


def test_a_round_without_clients_gets_noise(example):
    budget = PrivacyBudget(neighbors="add-remove", unit="client", rho="0.2")
    noise = Gaussian(sensitivity=example.SENSITIVITY, rho="0.1", granularity=1)
    steps = [example.private_step([], noise, budget, "") for _ in range(2)]
    assert all(step.all() for step in steps)
    assert (steps[0] != steps[1]).all()
    assert budget.remaining.rho == 0


def test_noise_of_a_step(example):
    """Mean and spread of 1000 steps of 20 coordinates, within six standard errors (chance below 1e-8)."""
    noise = Gaussian(sensitivity=example.SENSITIVITY, rho="0.1", granularity=1)
    messages = [example.message(row) for row in updates(example, "f4")]
    exact = example.total(messages) * example.GRID / example.INVITED
    errors = np.array([example.private_step(messages, noise, None, "") - exact for _ in range(1000)])
    std = noise.std * example.GRID / example.INVITED
    assert std == pytest.approx(example.BOUND / math.sqrt(0.2) / example.INVITED)
    assert abs(errors.mean()) < 6 * std / math.sqrt(errors.size)
    assert abs(errors.std() / std - 1) < 6 / math.sqrt(2 * errors.size)


def test_it_runs_and_says_what_it_costs():
    result = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["planned", *(f"round {i}" for i in range(1, 6)), "spent"]
    assert lines[-1].endswith("PrivacyCost(epsilon='1', delta='1e-6')")
    promised = float(lines[0].split()[-1])
    rounds = [line.replace(",", "").split() for line in lines[1:-1]]
    assert [int(words[2]) for words in rounds] == [500, 1000, 500, 0, 500]
    cosines, errors, left = ([float(words[words.index(name) + k]) for words in rounds] for name, k in (
        ("step", 1), ("error", 1), ("still", 1)
    ))  # fmt: skip
    assert all(error < 2.5 * promised for error in errors)  # 7 standard deviations
    assert min(cosines[:3]) > 0.5
    assert left[-1] < left[0]
    assert all(error > 0 for error in errors)  # noise in the round without clients, too

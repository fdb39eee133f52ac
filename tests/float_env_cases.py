"""Everything whose result must not depend on the floating-point environment: a name and bytes for each.

    python tests/float_env_cases.py [LIBRARY before|after]

With a library, loads it before or after exactnoise; prints a digest of each result. Keys are fixed.
"""

from __future__ import annotations

import ctypes
import hashlib
import pickle
import sys
from collections.abc import Callable

import numpy as np

Cases = dict[str, Callable[[], object]]
N = 1500
# Quotients of noisy numbers, by NumPy and so as the process rounds: only their parts are the engine's.
QUOTIENTS = {"mean", "variance"}


def fixed_entropy(buffer: bytearray) -> None:
    """Fill a buffer with bytes of its length alone."""
    buffer[:] = bytes(i * 7 % 251 for i in range(len(buffer)))


def cases() -> Cases:
    """What is computed, by name; the environment is that of the call."""
    return {**_mechanisms(), **_aggregates(), **_budgets()}


def result(case: Callable[[], object]) -> bytes:
    """A case's result as bytes: of arrays the values, of numbers every digit."""
    found = case()
    return found.tobytes() if isinstance(found, np.ndarray) else pickle.dumps(found)


def _mechanisms() -> Cases:
    import exactnoise as en

    x = np.arange(-640, N - 640) / 16  # exact, however the process rounds
    narrow = x.astype("f4")
    # Bits, since reading a number depends on the environment, too; the first is a NaN that traps by itself.
    x.view("u8")[:6] = [0x7FF0000000000001, 0x7FF8 << 48, 0x7FF << 52, 0xFFF << 52, 1, 1 << 63 | 1 << 14]
    narrow.view("u4")[:3] = [0x7F800001, 1, 0xFF800000]
    whole = np.arange(N, dtype="i8") % 97
    rows = x.reshape(-1, 15)
    codes = whole % 20
    scores = np.abs(x.reshape(-1, 10))
    additive = {
        "laplace": lambda: en.Laplace(sensitivity=1, epsilon="0.3").release(x, budget=None),
        "laplace of float32": lambda: en.Laplace(sensitivity=1, epsilon=1).release(narrow, budget=None),
        "gaussian": lambda: en.Gaussian(sensitivity=1, rho="0.07").release(x, budget=None),
        "snapping": lambda: en.Snapping(sensitivity=1, epsilon=1, bounds=(-10, 10)).release(x, budget=None),
        "discrete laplace": lambda: en.DiscreteLaplace(sensitivity=1, epsilon="0.1").release(whole, budget=None),
        "discrete gaussian": lambda: en.DiscreteGaussian(sensitivity=1, epsilon=1, delta="1e-6").release(
            whole, budget=None
        ),
    }
    choices = {
        f"{kind.__name__} {form}": lambda kind=kind, given=given: kind(sensitivity=1, epsilon=1).release(
            given, budget=None, disjoint=True
        )
        for kind in (en.Exponential, en.PermuteAndFlip)
        for form, given in (("float", scores), ("whole", whole.reshape(-1, 10)))
    }
    local = {
        f"{kind.__name__} {part}": lambda kind=kind, get=get: get(kind(epsilon="0.7", categories=20), codes)
        for kind in (en.RandomizedResponse, en.SymmetricUnaryEncoding, en.OptimizedUnaryEncoding, en.LocalHashing)
        for part, get in (("reports", _reports), ("tally", _tally))
    }
    clipped = {
        f"{norm.__name__} of {kind}": lambda norm=norm, kind=kind: norm(rows.astype(kind), 3)
        for norm in (en.clip_l1, en.clip_l2)
        for kind in ("f8", ">f8")
    }
    return {**additive, **choices, **local, **clipped}


def _law(mechanism: object) -> tuple[object, ...]:
    return mechanism.scale, mechanism.granularity, mechanism.cost


def _reports(mechanism: object, codes: np.ndarray) -> np.ndarray:
    return mechanism.release(codes, budget=None)


def _tally(mechanism: object, codes: np.ndarray) -> tuple[bytes, int]:
    tally = mechanism.tally(mechanism.release(codes, budget=None))
    return tally.supports.tobytes(), tally.n


def _aggregates() -> Cases:
    from exactnoise import aggregates

    x = np.arange(-640, N - 640) / 16  # exact, however the process rounds
    x.view("u8")[:6] = [0x7FF0000000000001, 0x7FF8 << 48, 0x7FF << 52, 0xFFF << 52, 1, 1 << 63 | 1 << 14]
    names, people = np.array(["a", "b", "c"])[np.arange(N) % 3], np.arange(N) // 4
    terms = {"budget": None, "neighbors": "add-remove", "epsilon": "0.5"}
    in_rho = {"budget": None, "neighbors": "add-remove", "rho": 1}
    groups = {"by": names, "keys": ["a", "b", "z"], "person": people, "rows_per_person": 2, "groups_per_person": 2}
    made = {
        "count": lambda: aggregates.count(people % 3 == 0, **terms),
        "count of groups": lambda: aggregates.count(**groups, **terms),
        "sum": lambda: aggregates.sum(x, bounds=(-10, "20.5"), **terms),
        "sum of groups": lambda: aggregates.sum(x, bounds=(-10, "20.5"), **groups, **terms),
        "mean": lambda: aggregates.mean(x, bounds=(-10, "20.5"), **terms),
        "variance": lambda: aggregates.variance(x, bounds=(-10, "20.5"), **terms),
        "quantile": lambda: aggregates.quantile(x, "0.5", bounds=(-10, 20), **terms),
        "histogram": lambda: aggregates.histogram(x, edges=[-10, 0, "0.1", 5, 20], **terms),
        "vector sum": lambda: aggregates.vector_sum(x.reshape(-1, 15), norm="l2", bound=3, **in_rho),
    }
    return {name: lambda function=function: np.asarray(function().value) for name, function in made.items()}


def _budgets() -> Cases:
    from exactnoise import Gaussian, PrivacyBudget, PrivacyCost

    def spent(method: str) -> object:
        budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=3, delta="1e-6", method=method)
        for _ in range(3):
            budget.spend(PrivacyCost(epsilon="0.1"))
        return budget.spent, budget.remaining, budget.to_state()

    def fitted() -> object:
        budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1, delta="1e-6", method="zcdp")
        return _law(budget.fit(Gaussian, times=10, sensitivity=1)), [part.to_state() for part in budget.split(1, "0.3")]

    gaussian = Gaussian(sensitivity=1, scale=7).cost
    return {
        "basic budget": lambda: spent("basic"),
        "zcdp budget": lambda: spent("zcdp"),
        "fitted": fitted,
        "epsilon of gaussian": lambda: gaussian.epsilon_at("1e-6"),
        "delta of gaussian": lambda: gaussian.delta_at("0.3"),
        "epsilon of ten": lambda: (10 * gaussian).epsilon_at("1e-6"),
        "epsilon of pure": lambda: (30 * PrivacyCost(epsilon="0.1")).epsilon_at("1e-6"),
        "rdp": lambda: (3 * gaussian).rdp(2.5),
    }


def fix_keys() -> None:
    """Take all randomness from keys, and these from `fixed_entropy`."""
    from exactnoise import _native
    from exactnoise._refine import words
    from exactnoise.mechanisms import _ranges

    _native.fill_entropy = words.fill_entropy = fixed_entropy
    _ranges.SYSTEM_WORDS = 0


def main() -> None:
    """Print a digest of every case."""
    if sys.argv[2:] == ["before"]:
        ctypes.CDLL(sys.argv[1])
    fix_keys()
    if sys.argv[2:] == ["after"]:
        ctypes.CDLL(sys.argv[1])
    fifth, tiny = np.array([1.0]) / 5, np.array([1], "u8").view("f8") * 1.0
    print(f"environment {fifth.tobytes().hex()} {tiny.tobytes().hex()}")
    for name, case in cases().items():
        print(name, hashlib.sha256(result(case)).hexdigest())


if __name__ == "__main__":
    main()

"""``exactnoise info``."""

import platform

import gmpy2
import numpy as np

import exactnoise
from exactnoise import _native


def test_text(run):
    outcome = run("info")
    assert (outcome.code, outcome.err) == (0, "")
    for word in (
        exactnoise.__version__, np.__version__, gmpy2.version(), platform.python_version(),
        *_native.simd_available(), "ChaCha20", "self-check", "passed",
    ):  # fmt: skip
        assert word in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_json(run):
    facts = run("info", "--json").json
    assert facts["exactnoise"] == exactnoise.__version__
    assert facts["gmpy2"] == gmpy2.version()
    assert facts["instruction_set"] in facts["instruction_sets"]
    assert facts["instruction_sets"] == list(_native.simd_available())
    assert facts["self_check"]
    assert all(facts["self_check"].values())


def test_failed_self_check(run, monkeypatch):
    monkeypatch.setattr(_native, "self_check", lambda: {"chacha20": True, "laplace": False})
    outcome = run("info")
    assert (outcome.code, outcome.out) == (1, "")
    assert "laplace" in outcome.err
    assert "chacha20" not in outcome.err
    assert run("info", "--json").json["exit_code"] == 1

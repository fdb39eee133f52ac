"""Exceptions: their bases, pickling, and the table for the C core's status codes."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from exactnoise import errors

STATUS_HEADER = Path(__file__).parents[2] / "native" / "status.h"


def test_every_status_of_the_core_has_an_exception():
    code_of = dict(re.findall(r"^\s*(EN_\w+) = (\d+)", STATUS_HEADER.read_text("utf-8"), re.M))
    assert int(code_of.pop("EN_OK")) == 0
    assert sorted(map(int, code_of.values())) == sorted(errors.STATUS)
    assert errors.STATUS[int(code_of["EN_ENTROPY_FAILED"])][0] is errors.EntropyError
    assert errors.STATUS[int(code_of["EN_SIMD_UNAVAILABLE"])][0] is errors.UnsupportedInstructionSet


def test_success_raises_nothing():
    assert errors.raise_for_status(0) is None


@pytest.mark.parametrize("code", errors.STATUS)
def test_known_codes(code):
    exception, message = errors.STATUS[code]
    with pytest.raises(exception, match=message):
        errors.raise_for_status(code)


@pytest.mark.parametrize("code", [-1, 99])
def test_unknown_codes(code):
    with pytest.raises(errors.ExactNoiseError, match=f"unknown status {code}"):
        errors.raise_for_status(code)


@pytest.mark.parametrize(
    ("exception", "builtins"),
    [
        (errors.BudgetExceeded, (ValueError, RuntimeError)),
        (errors.EntropyError, (OSError,)),
        (errors.UnsupportedInstructionSet, (RuntimeError,)),
    ],
)
def test_bases_and_pickling(exception, builtins):
    for base in (errors.ExactNoiseError, *builtins):
        assert issubclass(exception, base)
    copied = pickle.loads(pickle.dumps(exception("why")))
    assert type(copied) is exception
    assert str(copied) == "why"


def test_a_missing_extra_is_an_import_error_that_says_what_to_install():
    error = errors.MissingExtra("privacy loss distributions", "dp-accounting", "accounting")
    assert isinstance(error, errors.ExactNoiseError)
    assert isinstance(error, ImportError)
    assert str(error) == 'privacy loss distributions need dp-accounting: pip install "exactnoise[accounting]"'
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is errors.MissingExtra
    assert str(copied) == str(error)

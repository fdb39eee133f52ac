"""Bytes that anybody may have made, by splicing and damaging examples: parsers.py says what reads them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from fuzzing import FIXED
from hypothesis import given, settings
from hypothesis import strategies as st
from scripts import load

parsers = load(Path(__file__).with_name("parsers.py"))
PARSERS = parsers.PARSERS
PIECES = [
    b"",
    b"\0",
    b"\xff",
    b"\n",
    b"\r",
    b'"',
    b",",
    b"{",
    b"}",
    b"[[",
    b"]]",
    b"=",
    b"null",
    b"-1",
    b"1e999",
    b"nan",
]
PIECES += [
    b"9" * 25,
    b"{date}",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"'",
    b'"\\ud800"',
    b"[]",
    b"{}",
    b'""',
    b"true",
    b"0",
]
PIECES += [b"[" * 3000, b"9" * 5000]


@st.composite
def damaged(draw: st.DrawFn, examples: list[bytes]) -> bytes:
    """An example with some stretches replaced, by pieces, by any bytes or by stretches of an example."""
    data = draw(st.sampled_from(examples))
    for _ in range(draw(st.integers(0, 3))):
        start, length = draw(st.integers(0, len(data))), draw(st.integers(0, 12))
        other = draw(st.sampled_from(examples))
        cut = draw(st.integers(0, len(other)))
        new = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=8), st.just(other[cut : cut + 20])))
        data = data[:start] + new + data[start + length :]
    return data


def check(name: str, examples: int) -> None:
    @settings(max_examples=examples, **FIXED)
    @given(damaged(PARSERS[name].examples))
    def parse(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            PARSERS[name].parse(data, Path(folder))

    parse()


@pytest.mark.parametrize("name", PARSERS)
def test_bytes_are_taken_in_or_refused(name: str) -> None:
    check(name, 60)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_many_bytes_are_taken_in_or_refused(name: str) -> None:
    check(name, 3000)


def test_the_examples_are_what_the_parsers_are_for(tmp_path: Path) -> None:
    """Otherwise the damage would be done to bytes that are refused at once."""
    (tmp_path / "job.toml").write_bytes(parsers.JOB)
    parsers.Job.load(tmp_path / "job.toml", date="2024-03-01")
    parsers.PARSERS["snapshot"].parse(parsers.PARSERS["snapshot"].examples[0], tmp_path)
    assert list(parsers.Snapshot.open(tmp_path / "out.csv").interval()) == ["visits"]
    parsers.PARSERS["ledger"].parse(parsers.PARSERS["ledger"].examples[0], tmp_path)
    assert parsers.Ledger(tmp_path / "privacy.db").budgets()


def test_an_exception_that_is_not_documented_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positive control: a parser that forgets one kind of error."""
    monkeypatch.setattr(parsers, "JobError", KeyError)
    with pytest.raises(parsers.ExactNoiseError):
        check("job", 60)

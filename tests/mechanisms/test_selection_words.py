"""Where the words of selections come from: keystream, system, spans and threads; no two releases share any."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from keystream import keystream
from support import random_words

from exactnoise import Exponential, PermuteAndFlip, _native
from exactnoise._native import BLOCK
from exactnoise.mechanisms import _selecting
from exactnoise.testing import select_from_words

kinds = pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])


def made(kind: type, **parameters: object):
    return kind(**{"sensitivity": 1, "epsilon": 1, **parameters})


def expected_words(key: bytes, rows: int, candidates: int) -> np.ndarray:
    """Tile by tile from the keystream: native/select.h."""
    if candidates > BLOCK:
        tiles = [min(BLOCK, candidates - start) for start in range(0, candidates, BLOCK)] * rows
    else:
        most = BLOCK // candidates
        tiles = [min(most, rows - row) * candidates for row in range(0, rows, most)]
    stream = keystream(key, BLOCK * len(tiles)).reshape(-1, BLOCK)
    return np.concatenate([words[:n] for words, n in zip(stream, tiles, strict=True)])


@kinds
@pytest.mark.parametrize("shape", [(33, 1), (300, 3), (90, 16), (7, 321), (3, 530), (5, 640), (3, 641), (2, 2000)])
def test_words_come_from_the_keystream(kind, monkeypatch, shape):
    key = bytes(range(32))

    def fill(memory: bytearray) -> None:
        assert len(memory) == len(key)
        memory[:] = key

    monkeypatch.setattr(_native, "fill_entropy", fill)
    scores = np.random.default_rng(2).normal(size=shape)
    got = made(kind).release(scores, budget=None, disjoint=True)
    assert got.tolist() == select_from_words(made(kind), scores, expected_words(key, *shape)).tolist()


@kinds
@pytest.mark.parametrize("size", [2, 32, 33, 2000])
def test_words_of_the_system(kind, monkeypatch, size):
    words = random_words(3, size)

    def fill(memory: np.ndarray) -> None:
        assert memory.dtype == np.uint64
        memory[:] = words

    monkeypatch.setattr(_native, "fill_entropy", fill)
    scores = np.zeros(size)
    got = made(kind).release(scores, budget=None, randomness="chacha20" if size <= 32 else "os")
    assert got == select_from_words(made(kind), scores, words)


@kinds
@pytest.mark.parametrize("tiles", [1, 3])
@pytest.mark.parametrize("shape", [(500, 7), (2, 5000), (1, 9000)])
def test_spans_and_workers_change_nothing(kind, monkeypatch, tiles, shape):
    """From the same words: in one span or many, with rows in parts or not, by one thread or three."""
    rng = np.random.default_rng(4)
    for scores in (rng.normal(size=shape), rng.integers(0, 9, shape), rng.normal(size=shape).astype(np.float32)):
        words = random_words(5, scores.size)
        whole = select_from_words(made(kind), scores, words)
        mask = rng.random(shape) < 0.5
        mask[:, -1] = False
        masked = select_from_words(made(kind), scores, words, mask=mask)
        with monkeypatch.context() as patch:
            patch.setattr(_selecting, "_TILES", tiles)
            for workers in (1, 3):
                assert (select_from_words(made(kind), scores, words, workers=workers) == whole).all()
                assert (select_from_words(made(kind), scores, words, mask=mask, workers=workers) == masked).all()


@kinds
def test_ties_across_parts(kind, monkeypatch):
    words = np.full(2000, 1 << 62, np.uint64)
    whole = select_from_words(made(kind), np.zeros(2000), words)
    monkeypatch.setattr(_selecting, "_TILES", 1)
    assert select_from_words(made(kind), np.zeros(2000), words) == whole
    assert 0 <= made(kind).release(np.zeros(2000), budget=None, workers=2) < 2000
    parted = made(kind).release(np.full((3, 900), -math.inf), budget=None, disjoint=True)
    assert ((parted >= 0) & (parted < 900)).all()


@kinds
def test_spans_have_keys_of_their_own(kind, monkeypatch):
    monkeypatch.setattr(_selecting, "_TILES", 1)
    rows = made(kind).release(np.zeros((10 * 20, 64)), budget=None, disjoint=True).reshape(20, 10)
    assert len({row.tobytes() for row in rows}) == 20


@kinds
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint64])
def test_a_long_row_takes_little_memory(kind, dtype):
    """Scores that the kernels cannot read in place are copied a part at a time: 16 MB and more, 5 MB beside them."""
    for shape in ((4_000_000,), (400_000, 10)):
        scores = np.zeros(shape, dtype)
        mask = np.zeros(shape[-1], bool)
        tracemalloc.start()
        made(kind).release(scores, budget=None, mask=mask, disjoint=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 5e6 + 8 * math.prod(shape[:-1])


# No two releases share noise


@kinds
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_fresh_noise(kind, size):
    """Copies and pickles share nothing: 30 selections among so many are not the same twice."""
    m = made(kind, epsilon="1e-9")
    draws = [
        twin.release(np.zeros((30 * size, 16)), budget=None, disjoint=True).tobytes()
        for twin in (m, m, copy.deepcopy(m), pickle.loads(pickle.dumps(m)))
    ]
    assert len(set(draws)) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_a_fork_shares_nothing():
    program = """
import os, numpy as np, exactnoise
m = exactnoise.Exponential(sensitivity=1, epsilon=1)
m.release(np.zeros(100), budget=None)
pid = os.fork()
print(*m.release(np.zeros((40, 16)), budget=None, disjoint=True), flush=True)
if pid: os.wait()
"""
    lines = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    assert len(lines) == 3
    assert lines[0] != lines[1]

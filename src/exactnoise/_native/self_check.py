"""Known answers from the compiled core that is installed; `exactnoise info` asks for them."""

from __future__ import annotations

import numpy as np

from exactnoise._native.engine import (
    CONTENDER_BYTES,
    GROUP_WORDS,
    PENDING_BYTES,
    Coin,
    Plan,
    Response,
    Selection,
    UnaryResponse,
    chacha20_words,
    fill_entropy,
    simd_available,
)

__all__ = ["self_check"]

# RFC 8439, section 2.3.2, has a nonce; this is the first block of appendix A.1, test vector 1: key, nonce and
# counter 0.
_RFC_BLOCK = bytes.fromhex(
    "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
)
# What a scale of 16 grid steps makes of x = 10 with these words, and a table that of the discrete Gaussian of scale 1;
# worked out by the tests' oracles.
_WORDS = np.array(
    [
        0x0123456789ABCDEF,
        0xFEDCBA9876543210,
        0x7000000000000001,
        0x00000000DEADBEEF,
        0x9E3779B97F4A7C15,
        0x3C6EF372FE94F82B,
    ],
    np.uint64,
)
_ANSWERS: dict[str, list[float]] = {
    "laplace": [15.4375, 10.0, 10.8125, -12.3125, 9.5, 8.5625],
    "gaussian": [13.3125, 9.9375, 11.25, 10.0, 9.9375, 9.875],
    "discrete-laplace": [97, 10, 23, -347, 2, -13],
    "discrete-gaussian": [30, 12, 59, 10],  # a pair takes three words
    "tabulated": [13, 10, 11, 4, 10, 9],
}
# floor(2^50 P(|X| >= k)) for k = 1, 2, ..
_TABLE = (
    676730832906380.0,
    131861203432255.0,
    10284355747677.0,
    304720372791.0,
    3361496961.0,
    13702252.0,
    20580.0,
    11.0,
)
# Reports of category 7 with the same words: among 300, by a hash function, and as 60 bits.
_REPORTS = (
    "07002a0182000700b9004600",
    "efcdab896745230105001032547698badcfe030001000000000000700300",
    "90005000888ad802",
)
_DISCRETE_OFFSET = -0.007811228765283571
# Who is selected of two candidates with scores 0, 1 and 2, 3 and 0, 1 at a scale of 16.
_SELECTED = {"exponential": [1, 0, 0], "permute-and-flip": [0, 1, 1]}


def self_check() -> dict[str, bool]:
    """Run every instruction set of this machine against known answers.

    Returns
    -------
    dict
        The check's name -> whether it passed.
    """
    sets = simd_available()
    return {
        "chacha20": all(_rfc_block(simd) == _RFC_BLOCK for simd in sets),
        "entropy": _entropy_moves(),
        "local reports": all(_reported(simd) == _REPORTS for simd in sets),
        **{family: all(_released(family, simd) == answers for simd in sets) for family, answers in _ANSWERS.items()},
        **{family: all(_selected(family, simd) == answers for simd in sets) for family, answers in _SELECTED.items()},
    }


def _rfc_block(simd: str) -> bytes:
    words = np.empty(GROUP_WORDS, np.uint64)
    chacha20_words(bytes(32), 0, words, simd=simd)
    return words.view(np.uint32).reshape(16, 16)[:, 0].tobytes()


def _entropy_moves() -> bool:
    first, second = bytearray(32), bytearray(32)
    fill_entropy(first)
    fill_entropy(second)
    return first != second and any(first)


def _released(family: str, simd: str) -> list[float]:
    discrete = family not in ("laplace", "gaussian")
    exponent, dtype = (0, np.dtype("i8")) if discrete else (-4, np.dtype("f8"))
    table = _TABLE if family == "tabulated" else ()
    plan = Plan(
        family, "int64" if discrete else "float64", 16.0, exponent, 0.0, _DISCRETE_OFFSET, simd, thresholds=table
    )
    n = len(_ANSWERS[family])
    x, out = np.full(n, 10, dtype), np.empty(n, dtype)
    plan.release(x, out, 0, x.size, bytearray(PENDING_BYTES * x.size), words=_WORDS)
    return list(out.tolist())


def _selected(family: str, simd: str) -> list[int]:
    scores, out = np.arange(6.0) % 4, np.empty(3, np.int64)
    plan = Selection(family, "float64", 16.0, simd)
    plan.select(scores, None, 2, out, bytearray(CONTENDER_BYTES), words=_WORDS)
    return list(out.tolist())


def _reported(simd: str) -> tuple[str, ...]:
    others = (2**64 // 301, 2**64 // 8)
    responses = (
        (Response(300, 0, 300, others[0], False, simd), 6, 2, _WORDS),
        (Response(300, 0, 7, others[1], True, simd), 3, 10, _WORDS),
        (UnaryResponse(60, 0, 2**63, Coin(8, 0x4C, 0x500, "tail", simd)), 1, 8, np.tile(_WORDS, 2)),
    )
    reports = []
    for response, n, size, words in responses:
        out = bytearray(n * size)
        response.release(np.full(n, 7, np.int64), out, words=words)
        reports.append(out.hex())
    return tuple(reports)

"""The ChaCha20 keystream: the RFC's vectors, another implementation, and the words that a release really uses."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from keystream import CIPHER_BLOCKS, DRAWN, SPARE_BITS, keystream, spread

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise._native import (
    BLOCK,
    GROUP_WORDS,
    KEY_BYTES,
    PENDING,
    SAMPLES_PER_KEY,
    Plan,
    chacha20_words,
    simd_available,
)
from exactnoise.testing import release_from_words

# RFC 8439, appendix A.1, test vectors 1 to 4: those with a nonce of zero. (Key, counter) -> keystream block.
RFC_8439 = [
    (
        bytes(32),
        0,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        bytes(31) + b"\x01",
        1,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    (
        b"\x00\xff" + bytes(30),
        2,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
]


def core_blocks(key: bytes, counter: int, groups: int, simd: str) -> list[bytes]:
    """The core's keystream by blocks, its layout (native/chacha20.h) undone."""
    words = np.empty(groups * GROUP_WORDS, np.uint64)
    chacha20_words(key, counter, words, simd=simd)
    by_group = words.view("=u4").reshape(groups, 16, CIPHER_BLOCKS)  # group, word of the state, block
    return [block.astype("<u4").tobytes() for block in by_group.swapaxes(1, 2).reshape(-1, 16)]


def other_block(key: bytes, counter: int) -> bytes:
    """One block by the library cryptography (OpenSSL)."""
    nonce = counter.to_bytes(4, "little") + bytes(12)
    return Cipher(ChaCha20(key, nonce), None).encryptor().update(bytes(64))


@pytest.mark.parametrize("simd", simd_available())
@pytest.mark.parametrize(("key", "counter", "block"), RFC_8439)
def test_the_vectors_of_the_rfc(key: bytes, counter: int, block: str, simd: str) -> None:
    want = bytes.fromhex(block)
    assert core_blocks(key, counter, 1, simd)[0] == want
    # In every position of a group, so that every lane is checked.
    for position in range(counter + 1):
        assert core_blocks(key, counter - position, 1, simd)[position] == want


@pytest.mark.parametrize("simd", simd_available())
@pytest.mark.parametrize(
    "counter",
    [0, 1, 15, 16, 2**20 - 16, 2**31 - 5, 2**32 - 16, 2**32 - 7, 2**32 - 1],
)
@pytest.mark.parametrize("groups", [1, 2, 5])
def test_the_keystream_of_another_implementation(counter: int, groups: int, simd: str) -> None:
    for seed in range(4):
        key = np.random.PCG64(seed).random_raw(4).tobytes()
        want = [other_block(key, (counter + i) % 2**32) for i in range(CIPHER_BLOCKS * groups)]
        assert core_blocks(key, counter, groups, simd) == want


@pytest.mark.parametrize("simd", simd_available())
def test_every_bit_of_the_key_counts(simd: str) -> None:
    keys = [(1 << bit).to_bytes(32, "little") for bit in range(256)]
    blocks = [core_blocks(key, 3, 1, simd)[0] for key in keys]
    assert blocks == [other_block(key, 3) for key in keys]
    assert len(set(blocks)) == 256


@pytest.mark.parametrize("simd", simd_available())
def test_no_groups_write_nothing(simd: str) -> None:
    chacha20_words(bytes(32), 0, bytearray(), simd=simd)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_key_has_32_bytes(key: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        chacha20_words(key, 0, np.empty(GROUP_WORDS, np.uint64), simd="portable")


def test_half_a_group_is_refused() -> None:
    with pytest.raises(ValueError, match="whole number of groups"):
        chacha20_words(bytes(32), 0, np.empty(GROUP_WORDS // 2, np.uint64), simd="portable")


# What a release does with a key.

FORMS = [
    ("laplace", "float64", "f8", "f8"),
    ("laplace", "float32", "f4", "f4"),
    ("gaussian", "float64", "f8", "f8"),
    ("gaussian", "int64-float64", "i8", "f8"),
    ("discrete-laplace", "int64", "i8", "i8"),
]
SIZES = [1, 33, 127, 128, 129, DRAWN - 1, DRAWN, DRAWN + 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + DRAWN + 3]


def released(
    plan: Plan, x: np.ndarray, dtype: str, capacity: int, **source: bytes | np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Values, records of declined lanes, and the number of calls it took."""
    out = np.empty(x.size, dtype)
    pending = np.empty(capacity, PENDING)
    records, done, calls = [], 0, 0
    while done < x.size:
        before = done
        done, count = plan.release(x, out, done, x.size, pending, **source)
        assert done > before
        records.append(pending[:count].copy())
        calls += 1
    return out, np.concatenate(records), calls


def plan_for(family: str, form: str, simd: str, window_factor: float = 1.0) -> Plan:
    exponent = 0 if family == "discrete-laplace" else -10
    return Plan(family, form, 1.3 * 2**20, exponent, 0.0, -0.01, simd, window_factor)


@pytest.mark.parametrize("simd", simd_available())
@pytest.mark.parametrize(("family", "form", "x_dtype", "out_dtype"), FORMS)
def test_the_words_of_a_release_are_the_keystream(
    family: str, form: str, x_dtype: str, out_dtype: str, simd: str
) -> None:
    plan = plan_for(family, form, simd)
    for size in SIZES:
        key = np.random.PCG64(size).random_raw(4).tobytes()
        count = size + (size & 1 if family == "gaussian" else 0)
        x = np.arange(size).astype(x_dtype)
        by_key = released(plan, x, out_dtype, 2 * BLOCK, key=key)
        by_words = released(plan, x, out_dtype, 2 * BLOCK, words=keystream(key, count))
        assert by_key[0].tobytes() == by_words[0].tobytes()
        assert by_key[1].tobytes() == by_words[1].tobytes()


@pytest.mark.parametrize("simd", simd_available())
@pytest.mark.parametrize(("family", "form", "x_dtype", "out_dtype"), FORMS)
@pytest.mark.parametrize("capacity", [BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK - 1])
def test_a_release_resumed_after_a_full_list_uses_the_same_words(
    family: str, form: str, x_dtype: str, out_dtype: str, capacity: int, simd: str
) -> None:
    size = 5 * BLOCK + 77
    plan = plan_for(family, form, simd, window_factor=2.0**60)  # declines every lane
    key = bytes(range(KEY_BYTES))
    count = size + (size & 1 if family == "gaussian" else 0)
    words = keystream(key, count)
    x = np.arange(size).astype(x_dtype)
    out, records, calls = released(plan, x, out_dtype, capacity, key=key)
    assert calls == -(-6 // (capacity // BLOCK))  # six blocks, as many a call as surely fit
    assert not out.any()
    assert np.array_equal(records["index"], np.arange(size))
    first, second = expected_words(family, words, size)
    assert np.array_equal(records["word"][:, 0], first)
    assert np.array_equal(records["word"][:, 1], second)


def expected_words(family: str, words: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Each lane's words: its own, or its pair's within the block."""
    if family != "gaussian":
        return words, np.zeros(size, np.uint64)
    first, second = np.empty(size, np.uint64), np.empty(size, np.uint64)
    for start in range(0, size, BLOCK):
        lanes = min(BLOCK, size - start)
        half = (lanes + 1) // 2
        block = words[start : start + 2 * half]
        first[start : start + lanes] = np.tile(block[:half], 2)[:lanes]
        second[start : start + lanes] = np.tile(block[half:], 2)[:lanes]
    return first, second


def test_a_key_serves_a_bounded_number_of_samples() -> None:
    plan = plan_for("laplace", "float32", simd_available()[-1])
    x = np.zeros(SAMPLES_PER_KEY + 1, np.float32)
    with pytest.raises(ValueError, match="SAMPLES_PER_KEY"):
        plan.release(x, x, 0, x.size, np.empty(2 * BLOCK, PENDING), key=bytes(KEY_BYTES))


def test_a_key_makes_at_most_64_mebibytes() -> None:
    with_third_words = DRAWN + BLOCK // 2  # a discrete Gaussian sample has half a word more
    drawn = SAMPLES_PER_KEY // BLOCK * with_third_words * 8
    assert 32 << 20 < drawn <= 64 << 20
    assert drawn // 64 < 2**32  # the counter cannot wrap within a key


def test_no_drawn_bit_is_used_twice() -> None:
    """Each bit drawn reaches one bit of one word; only a bit in each fourth word, the 52nd spare one, reaches none."""
    drawn = np.zeros(DRAWN, np.uint64)
    counted = np.uint64(2**64 - 2**SPARE_BITS)
    reached = np.zeros(BLOCK, np.uint64)
    for position in range(DRAWN):
        for bit in range(64):
            drawn[position] = 1 << bit
            words = spread(drawn, BLOCK) & counted
            unused = bit == 0 and position >= DRAWN // 4 * 3
            assert sum(int(word).bit_count() for word in words[words != 0]) == (0 if unused else 1)
            assert not (reached & words).any()
            reached |= words
        drawn[position] = 0
    assert (reached == counted).all()


MECHANISMS = [
    Laplace(sensitivity=1, scale=2**20, granularity=1),
    Gaussian(sensitivity=1, scale=2**20, granularity=1),
    DiscreteLaplace(sensitivity=1, scale=2**20),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("window_factor", [1.0, 2.0**60], ids=["fast path", "refinement"])
def test_spare_bits_do_not_count(mechanism: Laplace, window_factor: float) -> None:
    words = np.random.PCG64(8).random_raw(BLOCK + 30)
    words[:2] = 0
    x = np.arange(words.size, dtype=np.int64)
    want = release_from_words(mechanism, x, words, window_factor=window_factor)
    other = words ^ np.random.PCG64(9).random_raw(words.size) & np.uint64(2**SPARE_BITS - 1)
    assert np.array_equal(release_from_words(mechanism, x, other, window_factor=window_factor), want)
    # The lowest bit that counts is the sign of the Laplace variables and the last bit of the Gaussian's cells.
    next_bit = words ^ np.uint64(1 << SPARE_BITS)
    assert not np.array_equal(release_from_words(mechanism, x, next_bit, window_factor=window_factor), want)

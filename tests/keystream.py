"""From the random bits that a release draws to its words: the definition in native/kernels.h, written again.

A block of BLOCK samples draws four words for every five it needs; the fifth is made of the 13 low bits of the four,
which their own samples do not use. A last block that needs no more than those draws every word.
"""

from __future__ import annotations

import itertools

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from exactnoise._native import BLOCK, GROUP_WORDS

DRAWN = BLOCK // 5 * 4
CIPHER_BLOCKS = 16  # ChaCha20 blocks of 64 bytes in a group of GROUP_WORDS words
SPARE_BITS = 13


def drawn_by_block(count: int) -> list[int]:
    """How many words each block draws in a release that needs `count` words."""
    return [min(DRAWN, count - start) for start in range(0, count, BLOCK)]


def spread(drawn: np.ndarray, count: int) -> np.ndarray:
    """The `count` words of a release, made of the words drawn."""
    words, position = [], 0
    for start, size in zip(range(0, count, BLOCK), drawn_by_block(count), strict=True):
        block = drawn[position : position + size]
        position += size
        words.append(block)
        needed = min(BLOCK, count - start)
        if needed > size:
            words.append(_fifths(block)[: needed - size])
    return np.concatenate([*words, np.empty(0, np.uint64)])


def _fifths(block: np.ndarray) -> np.ndarray:
    spare = block & np.uint64((1 << SPARE_BITS) - 1)
    fifths = np.zeros(DRAWN // 4, np.uint64)
    for quarter in spare.reshape(4, -1):
        fifths = fifths << np.uint64(SPARE_BITS) | quarter
    return fifths << np.uint64(64 - 4 * SPARE_BITS)


def keystream(key: bytes, count: int) -> np.ndarray:
    """The words of a release under a key, by the library cryptography."""
    return spread(_stream(key, 0, sum(drawn_by_block(count))), count)


def trial_keystream(key: bytes, samples: int, trials: int) -> np.ndarray:
    """The same for discrete Gaussian samples of scale 4 or more: the words of so many trials, native/release.c.

    A block's third words and its fresh proposals lie in parts of the keystream of their own.
    """
    words = []
    for trial, start in itertools.product(range(trials), range(0, samples, BLOCK)):
        pairs = (min(BLOCK, samples - start) + 1) // 2
        counter = start // BLOCK * DRAWN // GROUP_WORDS * CIPHER_BLOCKS
        if trial == 0:
            words += [
                spread(_stream(key, counter, min(2 * pairs, DRAWN)), 2 * pairs),
                _stream(key, (1 << 24) + counter, pairs),
            ]
        else:
            words.append(_stream(key, (1 + trial << 24) + 2 * counter, 3 * pairs))
    return np.concatenate(words)


def _stream(key: bytes, counter: int, count: int) -> np.ndarray:
    """The words from a counter of 64-byte blocks on."""
    groups = -(-count // GROUP_WORDS)
    cipher = Cipher(ChaCha20(key, counter.to_bytes(16, "little")), None)
    stream = cipher.encryptor().update(bytes(64 * CIPHER_BLOCKS * groups))
    by_block = np.frombuffer(stream, "<u4").reshape(groups, CIPHER_BLOCKS, 16)
    by_word = np.ascontiguousarray(by_block.swapaxes(1, 2)).astype("=u4")
    return by_word.reshape(-1).view(np.uint64)[:count]

"""What every benchmark releases: the same data and the same noise for all ways of doing it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise import DiscreteLaplace, Gaussian, Laplace, _native

#: One key makes 64 MiB and serves SAMPLES_PER_KEY samples: native/release.h.
KEYSTREAM_WORDS = 2**23
#: Of all mechanisms, in the data's units.
SCALE = 1.0


def mechanism(name: str) -> Any:
    """Return a fresh mechanism of noise scale SCALE."""
    return {"Laplace": Laplace, "Gaussian": Gaussian, "DiscreteLaplace": DiscreteLaplace}[name](
        sensitivity=1, scale=SCALE
    )


def data(name: str, n: int) -> npt.NDArray[Any]:
    """Return n values between 0 and 1000: int64 for the discrete mechanism, float64 for the others."""
    values = np.random.default_rng(1).random(n) * 1000
    return values.astype(np.int64) if name == "DiscreteLaplace" else values


def keystream(n: int) -> npt.NDArray[np.uint64]:
    """Return room for the words that n samples take from the keystream, in whole groups."""
    words = n * KEYSTREAM_WORDS // _native.SAMPLES_PER_KEY
    return np.empty(-(-words // _native.GROUP_WORDS) * _native.GROUP_WORDS, np.uint64)

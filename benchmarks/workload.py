"""What every benchmark releases: the same data and the same noise for all ways of doing it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, _native

#: One key makes 64 MiB and serves SAMPLES_PER_KEY samples: native/release.h.
KEYSTREAM_WORDS = 2**23
#: Of all mechanisms where no other is named, in the data's units.
SCALE = 1.0

_KINDS = {kind.__name__: kind for kind in (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian)}


def mechanism(name: str, scale: float = SCALE) -> Any:
    """Return a fresh mechanism of this noise scale."""
    return _KINDS[name](sensitivity=1, scale=scale)


def data(name: str, n: int) -> npt.NDArray[Any]:
    """Return n values between 0 and 1000: int64 for the discrete mechanisms, float64 for the others."""
    values = np.random.default_rng(1).random(n) * 1000
    return values.astype(np.int64) if name.startswith("Discrete") else values


def keystream(n: int) -> npt.NDArray[np.uint64]:
    """Return room for the words that n samples take from the keystream, in whole groups."""
    words = n * KEYSTREAM_WORDS // _native.SAMPLES_PER_KEY
    return np.empty(-(-words // _native.GROUP_WORDS) * _native.GROUP_WORDS, np.uint64)

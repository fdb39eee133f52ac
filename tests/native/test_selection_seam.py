"""The seam between selections in C and Python: records, constants, and what is refused where Python calls the core."""

from __future__ import annotations

import math

import compilers
import numpy as np
import pytest

from exactnoise import _native
from exactnoise._native import CONTENDER, Selection

PRINTER = """
#include <stddef.h>
#include <stdio.h>
#include "select.h"
#define SHOW(name, value) printf("%s %lld\\n", name, (long long)(value))
int main(void) {
    SHOW("TILES_PER_KEY", EN_TILES_PER_KEY);
    SHOW("EXCLUDED", EN_EXCLUDED);
    SHOW("MISSING", EN_MISSING);
    SHOW("size", sizeof(en_contender));
    SHOW("row", offsetof(en_contender, row));
    SHOW("candidate", offsetof(en_contender, candidate));
    SHOW("word", offsetof(en_contender, word));
    SHOW("score", offsetof(en_contender, score));
    SHOW("upper", offsetof(en_contender, upper));
    return 0;
}
"""


@pytest.mark.parametrize("compiler", compilers.COMPILERS)
def test_records_and_constants_are_those_of_the_headers(compiler, tmp_path):
    (tmp_path / "print.c").write_text(PRINTER)
    program = compilers.program([tmp_path / "print.c"], tmp_path / "print", compiler=compiler)
    seen = {name: int(value) for name, value in map(str.split, compilers.run(program).splitlines())}
    for name in ("TILES_PER_KEY", "EXCLUDED", "MISSING"):
        assert getattr(_native, name) == seen.pop(name)
    assert CONTENDER.itemsize == seen.pop("size")
    assert {name: offset for name, (_, offset) in CONTENDER.fields.items()} == seen


@pytest.mark.parametrize("scale", [0.0, -1.0, 1e-320, math.inf, math.nan])
def test_a_scale_that_is_no_normal_double_is_refused(scale):
    with pytest.raises(ValueError, match="normal positive double"):
        Selection("exponential", "float64", scale, "portable")


def test_arrays_of_another_size_are_refused():
    plan = Selection("exponential", "float64", 1.0, "portable")
    x, out, room = np.zeros(6), np.zeros(3, np.int64), np.zeros(6, CONTENDER)
    words, flags, maxima = np.zeros(6, np.uint64), np.zeros(6, np.uint8), np.zeros(2, np.int64)
    plan.select(x, flags, 2, out, room, words=words)
    many, places = np.zeros(640 * 2**14 + 1), np.zeros(640 * 2**14 + 1, np.int64)
    for wrong in (
        lambda: plan.select(x, None, 4, out, room, words=words),
        lambda: plan.select(x, None, 3, out, room, words=words),
        lambda: plan.select(x[:0], None, 0, out[:0], room, words=words[:0]),
        lambda: plan.select(x, flags[:5], 2, out, room, words=words),
        lambda: plan.select(x, flags, 2, out, room, words=words[:5]),
        lambda: plan.select(x, flags, 2, out, room, key=bytes(31)),
        lambda: plan.select(many, None, 1, places, room, key=bytes(32)),
        lambda: plan.widen_range(x, None, maxima[:1]),
        lambda: plan.widen_range(x[:0], None, maxima),
        lambda: plan.select_part(x, None, maxima[:1], room, words=words),
        lambda: plan.select_part(x, flags[:1], maxima, room, words=words),
        lambda: plan.select_part(many, None, maxima, room, key=bytes(32)),
    ):
        with pytest.raises(ValueError, match=r"must hold|32 bytes"):
            wrong()
    with pytest.raises((ValueError, BufferError)):
        plan.select(x, None, 2, bytes(24), room, words=words)


@pytest.mark.parametrize("family", ["exponential", "permute-and-flip"])
def test_a_list_too_short_says_what_it_would_take(family):
    """Equal words and scores: everybody is a contender, and nothing is written beyond the list."""
    plan = Selection(family, "int64", 1.0, "portable")
    for k in (5, 700):
        x, out, words = np.zeros(2 * k, np.int64), np.full(2, 7), np.full(2 * k, 1 << 60, np.uint64)
        room = np.zeros(3, CONTENDER)
        assert plan.select(x, None, k, out, room[:2], words=words) >= 2 * k
        assert not room[2:].view(np.uint8).any()
        room = np.zeros(2 * k, CONTENDER)
        assert plan.select(x, None, k, out, room, words=words) == 2 * k
        assert room["candidate"].tolist() == [*range(k)] * 2
        assert not out.any()

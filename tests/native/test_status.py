"""The seam between the core and Python: status codes, records, constants and declarations agree."""

from __future__ import annotations

import ctypes
import math
import re

import compilers
import numpy as np
import pytest

from exactnoise import _native, errors
from exactnoise._native import BLOCK, PENDING, Plan

# Status codes and exceptions.


def test_every_status_has_an_exception() -> None:
    assert sorted(errors.STATUS) == list(range(1, _native.STATUS_END))


@pytest.mark.parametrize("code", errors.STATUS)
def test_a_status_becomes_its_exception(code: int) -> None:
    exception, message = errors.STATUS[code]
    assert issubclass(exception, errors.ExactNoiseError)
    assert exception is not errors.ExactNoiseError
    with pytest.raises(exception) as raised:
        errors.raise_for_status(code)
    assert type(raised.value) is exception
    assert str(raised.value) == message


def test_codes_have_exceptions_of_their_own() -> None:
    assert len({exception for exception, _ in errors.STATUS.values()}) == len(errors.STATUS)


def test_success_is_silent() -> None:
    errors.raise_for_status(0)


@pytest.mark.parametrize("code", [_native.STATUS_END, -1, 10**6])
def test_an_unknown_status_is_an_error(code: int) -> None:
    with pytest.raises(errors.ExactNoiseError, match=f"unknown status {code}"):
        errors.raise_for_status(code)


# Constants and records, as a compiler sees them.

PRINTER = """
#include <stddef.h>
#include <stdio.h>
#include "kernels.h"
#include "release.h"
#define SHOW(name, value) printf("%s %lld\\n", name, (long long)(value))
int main(void) {
    SHOW("BLOCK", EN_BLOCK);
    SHOW("GROUP_WORDS", EN_GROUP_WORDS);
    SHOW("KEY_BYTES", EN_KEY_BYTES);
    SHOW("SAMPLES_PER_KEY", EN_SAMPLES_PER_KEY);
    SHOW("STATUS_END", EN_STATUS_END);
    SHOW("size", sizeof(en_pending));
    SHOW("index", offsetof(en_pending, index));
    SHOW("lane", offsetof(en_pending, lane));
    SHOW("word", offsetof(en_pending, word));
    SHOW("x", offsetof(en_pending, x));
    return 0;
}
"""


@pytest.fixture(scope="module", params=compilers.COMPILERS)
def seen_by_compiler(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    directory = tmp_path_factory.mktemp("constants")
    (directory / "print.c").write_text(PRINTER)
    program = compilers.program([directory / "print.c"], directory / "print", compiler=request.param)
    lines = compilers.run(program).splitlines()
    return {name: int(value) for name, value in map(str.split, lines)}


@pytest.mark.parametrize("name", ["BLOCK", "GROUP_WORDS", "KEY_BYTES", "SAMPLES_PER_KEY", "STATUS_END"])
def test_constants_are_those_of_the_headers(seen_by_compiler: dict[str, int], name: str) -> None:
    assert getattr(_native, name) == seen_by_compiler[name]


def test_a_declined_lane_has_one_layout(seen_by_compiler: dict[str, int]) -> None:
    assert PENDING.itemsize == seen_by_compiler["size"]
    assert PENDING.fields is not None
    for name, (_, offset) in PENDING.fields.items():
        assert offset == seen_by_compiler[name]
    assert PENDING["word"].shape == (3,)
    assert PENDING["x"].itemsize == ctypes.sizeof(ctypes.c_double)


def test_blocks_and_keys_fit_together() -> None:
    assert BLOCK % 5 == 0
    assert BLOCK // 5 * 4 % _native.GROUP_WORDS == 0  # each block of samples begins with a group of its own
    assert _native.SAMPLES_PER_KEY % BLOCK == 0


# Cython takes declarations on trust: capi.pxd is compared with the headers.

CAPI = (compilers.ROOT / "src/exactnoise/_native/capi.pxd").read_text()


def declared(header: str) -> str:
    """What capi.pxd says of a header, without indentation."""
    block = re.search(rf'^cdef extern from "{header}" nogil:\n((?:    .*\n|\n)+)', CAPI, re.MULTILINE)
    assert block
    return re.sub(r"^    ", "", block[1], flags=re.MULTILINE)


def header_text(header: str) -> str:
    """A header without comments and with single spaces."""
    text = re.sub(r"/\*.*?\*/", " ", (compilers.NATIVE / header).read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


HEADERS = re.findall(r'^cdef extern from "(.+)" nogil:', CAPI, re.MULTILINE)


def enumerators(header: str) -> dict[str, list[str]]:
    """Each enum's names, the unnamed one under ""."""
    found: dict[str, list[str]] = {}
    for body, name in re.findall(r"enum \{([^}]*)\} ?(\w*) ?;", header_text(header)):
        found.setdefault(name, []).extend(re.findall(r"(EN_\w+)[^,]*", body))
    return found


def struct_fields(header: str) -> dict[str, set[str]]:
    """Each struct's members as "type name"."""
    found = {}
    for body, name in re.findall(r"typedef struct \{([^}]*)\} (\w+);", header_text(header)):
        members = set()
        for declaration in filter(None, map(str.strip, body.split(";"))):
            members.add(re.sub(r" ?\* ?", " *", declaration))
        found[name] = members
    return found


def test_the_headers_are_found() -> None:
    known = {"status.h", "entropy.h", "plan.h", "kernels.h", "cpu.h", "release.h", "clip.h", "select.h", "response.h"}
    assert set(HEADERS) >= known


@pytest.mark.parametrize("header", HEADERS)
def test_enums_are_declared_in_full_and_in_order(header: str) -> None:
    real = enumerators(header)
    for name, body in re.findall(r"^(?:ctypedef )?enum ?(\w*):\n((?:    \w+\n)+)", declared(header), re.MULTILINE):
        names = body.split()
        if name in ("", "en_family"):  # constants and families are declared as needed
            assert set(names) <= set(real[name])
        else:
            assert names == real[name]


@pytest.mark.parametrize("header", HEADERS)
def test_structs_are_declared_with_their_types(header: str) -> None:
    real = struct_fields(header)
    for name, body in re.findall(r"^ctypedef struct (\w+):\n((?:    .+\n)+)", declared(header), re.MULTILINE):
        for line in body.strip().splitlines():
            member = line.strip().removesuffix(" noexcept nogil")
            assert re.sub(r" ?\* ?", " *", member) in real[name], f"{name}: {member}"


@pytest.mark.parametrize("header", HEADERS)
def test_functions_are_declared_as_they_are(header: str) -> None:
    functions = re.sub(r"^(?:ctypedef|enum).*:\n(?:    .*\n)+", "", declared(header), flags=re.MULTILINE)
    flat = re.sub(r"\n +", " ", functions)  # a declaration a line
    text = re.sub(r" ?\* ?", " *", header_text(header)).replace("(void)", "()").replace("( void)", "()")
    for line in filter(None, map(str.strip, flat.splitlines())):
        prototype = re.sub(r" ?\* ?", " *", line)
        if "(" in prototype:
            assert f"{prototype};" in text, prototype


def test_declarations_are_found_at_all() -> None:
    counts = [len(re.findall(pattern, CAPI)) for pattern in (r"ctypedef enum", r"ctypedef struct", r"en_\w+\(")]
    assert all(count >= 4 for count in counts)
    assert struct_fields("release.h")["en_pending"] == {
        "int64_t index",
        "int64_t lane",
        "uint64_t word[3]",
        "uint64_t x",
    }
    assert enumerators("status.h")["en_status"][-1] == "EN_STATUS_END"


# What the core demands of its callers is checked where Python calls it.


@pytest.mark.parametrize("s", [0.0, -1.0, 1e-320, 2.0**-31, 2.0**37, math.inf, math.nan])
def test_a_plan_refuses_a_scale_for_which_no_window_is_proved(s: float) -> None:
    with pytest.raises(ValueError, match=r"between 2\*\*-30 and 2\*\*36"):
        Plan("laplace", "float64", s, 0, 0.0, 0.0, "portable")


@pytest.mark.parametrize("s", [2.0**-30, 1.0, 2.0**36])
def test_a_plan_accepts_the_scales_of_its_contract(s: float) -> None:
    assert math.isfinite(Plan("gaussian", "float64", s, 0, 0.0, 0.0, "portable").window[0])


def test_arrays_of_another_size_are_refused() -> None:
    plan = Plan("gaussian", "float64", 1.0, 0, 0.0, 0.0, "portable")
    x, pending = np.zeros(5), np.empty(5, PENDING)
    for wrong in (
        lambda: plan.release(x, np.zeros(4), 0, 5, pending),
        lambda: plan.release(x, np.zeros(5, np.float32), 0, 5, pending),
        lambda: plan.release(x, np.zeros(6), 0, 6, pending),
        lambda: plan.release(x, np.zeros(5), 6, 5, pending),
        lambda: plan.release(x, np.zeros(5), 0, 5, pending, key=bytes(31)),
        lambda: plan.release(x, np.zeros(5), 0, 5, pending, words=np.zeros(5, np.uint64)),
    ):
        with pytest.raises(ValueError, match=r"must hold|32 bytes"):
            wrong()


def test_a_result_that_cannot_be_written_is_refused() -> None:
    plan = Plan("laplace", "float64", 1.0, 0, 0.0, 0.0, "portable")
    x = np.zeros(5)
    with pytest.raises((ValueError, BufferError)):
        plan.release(x, bytes(40), 0, 5, np.empty(5, PENDING))


def test_a_list_too_short_for_a_block_makes_no_progress_and_writes_nothing() -> None:
    plan = Plan("laplace", "float64", 1.0, 0, 0.0, 0.0, "portable")
    x, out = np.zeros(5), np.full(5, 7.0)
    assert plan.release(x, out, 0, 5, np.empty(4, PENDING)) == (0, 0)
    assert out.tolist() == [7.0] * 5

"""What pyproject.toml cannot say: the C core as one static library, and the Cython module that is linked to it.

The static library is compiled without Python's include directory, so the core cannot come to depend on Python.
"""

import platform
import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
LIMITED_API = None if FREE_THREADED else "0x030B0000"  # one wheel for Python 3.11 and later
# -ffp-contract=off: the compiler must not fuse what the error bounds count as two roundings.
CFLAGS = (
    ["/O2", "/fp:precise"]
    if sys.platform == "win32"
    else ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden"]
)
# By default a compiler for 32-bit x86 computes in the x87's wider format, which the core refuses.
X86_32 = sys.maxsize < 2**32 and sys.platform != "win32" and platform.machine() in ("i386", "i586", "i686", "x86_64")
SSE2 = ["-msse2", "-mfpmath=sse"] if X86_32 else []

native = sorted(str(path) for path in Path("native").glob("*.c"))
headers = sorted(str(path) for path in Path("native").glob("*.h"))
bindings = sorted(str(path) for path in Path("src/exactnoise/_native").glob("*.px[id]"))
core = {"sources": native, "include_dirs": ["native"], "cflags": CFLAGS + SSE2, "obj_deps": {"": headers}}

engine = Extension(
    "exactnoise._native.engine",
    ["src/exactnoise/_native/engine.pyx"],
    libraries=["exactnoise_core"] + (["bcrypt"] if sys.platform == "win32" else []),
    include_dirs=["native"],
    depends=native + headers + bindings,
    extra_compile_args=SSE2,
    define_macros=[("Py_LIMITED_API", LIMITED_API)] if LIMITED_API else [],
    py_limited_api=bool(LIMITED_API),
)

setup(
    libraries=[("exactnoise_core", core)],
    ext_modules=cythonize(
        [engine],
        build_dir="build/cython",
        compiler_directives={"language_level": 3, "freethreading_compatible": True},
    ),
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED_API else {},
)

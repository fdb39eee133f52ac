"""What pyproject.toml cannot say: the C core as one static library, and the Cython module that is linked to it.

The static library is compiled without Python's include directory, so the core cannot come to depend on Python.
"""

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

native = sorted(str(path) for path in Path("native").glob("*.c"))
headers = sorted(str(path) for path in Path("native").glob("*.h"))
bindings = sorted(str(path) for path in Path("src/exactnoise/_native").glob("*.px[id]"))
core = {"sources": native, "include_dirs": ["native"], "cflags": CFLAGS, "obj_deps": {"": headers}}

engine = Extension(
    "exactnoise._native.engine",
    ["src/exactnoise/_native/engine.pyx"],
    libraries=["exactnoise_core"] + (["bcrypt"] if sys.platform == "win32" else []),
    include_dirs=["native"],
    depends=native + headers + bindings,
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

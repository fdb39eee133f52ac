"""Reports which instruction sets this machine can test."""

from __future__ import annotations


def pytest_report_header() -> str:
    try:
        from exactnoise._native import simd_available
    except ImportError:
        return "exactnoise._native is not built: only the pure Python parts can be tested"
    return f"instruction sets under test: {', '.join(simd_available())}"

"""JAX keeps what it compiles, a megabyte a function: gigabytes in a whole run."""

import ctypes
import gc
import sys

import psutil

LARGE = 1.2e9  # bytes


def stay_small() -> None:
    """Give memory back if this process is large: what glibc keeps, then programs.

    glibc keeps its heap for speed (see Makefile).
    """
    if _is_large():
        gc.collect()
        _trim()
    if _is_large() and "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        gc.collect()
        _trim()


def _is_large() -> bool:
    return psutil.Process().memory_info().rss > LARGE


def _trim() -> None:
    """Hand free memory back to the system."""
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)

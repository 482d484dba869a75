"""JAX keeps what it compiles, a megabyte a function: gigabytes in a whole run."""

import ctypes
import gc
import sys

import psutil

LARGE = 1.2e9  # bytes
ROOM = 0.5e9  # bytes that a process may grow by, once it has given back what it can
MOST = 2.4e9  # bytes: the Makefile counts on 2.5 GB for a process

_limit = LARGE


def stay_small() -> None:
    """Give memory back if this process is large: what glibc keeps, then programs.

    glibc keeps its heap for speed (see Makefile). A process that is large even then
    gets more room: it would compile the same functions anew at each call.
    """
    global _limit
    if _size() < _limit:
        return
    gc.collect()
    _trim()
    if _size() > _limit and "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        gc.collect()
        _trim()
    _limit = min(max(LARGE, _size() + ROOM), MOST)


def _size() -> int:
    return psutil.Process().memory_info().rss


def _trim() -> None:
    """Hand free memory back to the system."""
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)

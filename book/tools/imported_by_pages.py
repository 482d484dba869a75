"""What most pages import, imported once: see `forked_kernels.py`."""

import sys
from pathlib import Path

HERE = str(Path(__file__).parent)
# As it is in a fresh kernel, where neither this folder nor "" stands.
PATH = [folder for folder in sys.path if folder not in ("", HERE)]

import ipykernel.kernelapp  # noqa: E402, F401
import matplotlib.pyplot  # noqa: E402, F401

import course_lib.nnx  # noqa: E402
import course_lib.torch  # noqa: E402, F401

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from compiled import keep_compiled  # noqa: E402 # type: ignore[import-not-found]

keep_compiled()
sys.path.pop()

THREADS = len(list(Path("/proc/self/task").iterdir()))
if THREADS != 1:
    raise RuntimeError(f"a process with threads can't be forked safely: has {THREADS}")

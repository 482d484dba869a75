"""How the tests compare a chapter's stored outputs with what its code gives now.

`pytest --nbval --nbval-current-env -n 2 --dist loadfile book` runs every notebook, and
with `--nbval-lax` in place of `--nbval` it compares nothing, for other versions.
nbval compares character by character. Here the comparison of `tools/compare.py` takes
its place, which forgives rounding and nothing else, and kernels start in the
environment that the stored outputs came from.
"""

import json
import os
import sys
from collections import defaultdict
from itertools import chain
from pathlib import Path
from unittest import mock

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tools"))

from compare import outputs_differ, read_tolerance
from forked_kernels import USABLE, use_forks
from kernels import (
    KEY,
    compare_machines,
    compiled,
    describe_machine,
    kernel_environment,
)
from limits import ROOT, SECONDS, read_seconds

# Most of what a page compiles runs a few times: compiled less hard, pages take an
# eighth less. They round otherwise then, as on another processor, and are forgiven it.
LEAN = {"XLA_FLAGS": "--xla_llvm_disable_expensive_passes=true"}

# Beside the chapters lie programs and pictures: no tests.
collect_ignore_glob = ["_*", "figures"]


def compare_outputs(cell, test, ref, skip_compare=None):
    """Take the place of nbval's method: say whether a cell gave what is stored."""
    del skip_compare
    page = [c.source for c in cell.parent.nb.cells if c.cell_type == "code"]
    tolerance = read_tolerance(cell.cell.metadata, cell.cell.source, page)
    found = outputs_differ(ref, test, tolerance)
    if found:
        stored = cell.parent.nb.metadata.get(KEY)
        found = f"{found}\n{compare_machines(stored, describe_machine())}"
    cell.comparison_traceback = [found] if found else []
    return found is None


def pytest_configure(config):
    """Put our comparison and our kernels where nbval looks for its own."""
    options = config.option
    if not (getattr(options, "nbval", False) or getattr(options, "nbval_lax", False)):
        return
    from nbval import plugin

    class Kernel(plugin.RunningKernel):
        """A kernel that starts as the tool's does."""

        def __init__(self, *args, **kwargs):
            worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
            ours = kernel_environment() | compiled(ROOT, worker)
            with mock.patch.dict(os.environ, ours):
                super().__init__(*args, **kwargs)

    # nbval's classes call super() by their global names, so that a subclass put in
    # their place would call itself for ever: the method is replaced instead.
    plugin.IPyNbCell.compare_outputs = compare_outputs
    plugin.RunningKernel = Kernel
    if USABLE and getattr(config, "workerinput", options.numprocesses in (None, 0)):
        use_forks(LEAN | kernel_environment())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave alone what other libraries warn of while a kernel starts."""
    for item in items:
        if type(item).__name__ == "IPyNbCell":
            item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_terminal_summary(terminalreporter):
    """Write down how long each page ran, for the table of `tools/limits.py`."""
    ran = defaultdict(float)
    for report in chain.from_iterable(terminalreporter.stats.values()):
        path = Path(getattr(report, "nodeid", "").partition("::")[0])
        if path.suffix == ".ipynb" and (ROOT / path).exists():
            ran[path.stem] += getattr(report, "duration", 0.0)
    if ran:
        file = ROOT / SECONDS
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({**read_seconds(ROOT), **ran}, indent=1))

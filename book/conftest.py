"""How the tests compare a chapter's stored outputs with what its code gives now.

`pytest --nbval --nbval-current-env -n 2 --dist loadfile book` runs every notebook.
nbval compares character by character; the classes below put the comparison of
`_ext/tolerance.py` in its place, which forgives rounding and nothing else, and start
the kernels in the environment that the stored outputs came from.
"""

import os
import sys
from pathlib import Path
from unittest import mock

import pytest

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from kernel_environment import kernel_environment  # noqa: E402
from tolerance import outputs_differ, rtol_of  # noqa: E402

# The chapters are text, and what lies beside them is not a test.
collect_ignore_glob = ["_ext/*", "_static/*"]


def tolerant(plugin):
    """Derive from nbval's two classes the ones that the book uses."""

    class Cell(plugin.IPyNbCell):
        """A code cell whose outputs are compared with a tolerance."""

        def compare_outputs(self, test, ref, skip_compare=None):
            del skip_compare
            found = outputs_differ(ref, test, rtol_of(self.cell.metadata))
            self.comparison_traceback = [found] if found else []
            return found is None

    class File(plugin.IPyNbFile):
        """A notebook whose kernel starts as the tool's does."""

        def setup(self):
            with mock.patch.dict(os.environ, kernel_environment()):
                super().setup()

    return Cell, File


def pytest_configure(config):
    """Put our classes where nbval looks for its own."""
    if not getattr(config.option, "nbval", False):
        return
    from nbval import plugin

    plugin.IPyNbCell, plugin.IPyNbFile = tolerant(plugin)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave alone what other libraries warn of while a kernel starts."""
    for item in items:
        if type(item).__name__ == "Cell":
            item.add_marker(pytest.mark.filterwarnings("default"))

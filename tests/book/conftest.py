"""What the tests of the book's machinery share."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from small_books import Book

# The package is also tested where its book is not installed.
collect_ignore_glob = [] if find_spec("jupyter_book") else ["test_*.py"]


@pytest.fixture
def book(tmp_path):
    """An empty small book."""
    return Book(tmp_path)


@pytest.fixture(scope="module")
def command(request):
    """The command of `book/checkpoints` that a test_checkpoint_<name>.py is about."""
    from book_scripts import load

    return load(request.path.stem.removeprefix("test_checkpoint_"), "checkpoints")


@pytest.fixture(scope="module")
def stored(command):
    """The arrays of the file that this command has written."""
    from safetensors.numpy import load_file

    from course_lib import data

    slug = Path(command.__file__).stem.replace("_", "-")
    return load_file(data.trained(slug))

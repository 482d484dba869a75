"""What the tests of the book's machinery share."""

from importlib.util import find_spec

import pytest
from small_books import Book

# The package is also tested where its book is not installed.
collect_ignore_glob = [] if find_spec("jupyter_book") else ["test_*.py"]


@pytest.fixture
def book(tmp_path):
    """An empty small book."""
    return Book(tmp_path)

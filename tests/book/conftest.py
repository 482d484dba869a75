"""What the tests of the book's machinery share."""

import pytest
from small_books import Book


@pytest.fixture
def book(tmp_path):
    """An empty small book."""
    return Book(tmp_path)

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


@pytest.fixture(scope="module")
def browser():
    """Chromium, started once a file."""
    from browsers import chromium

    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """`stills.open_page` in that browser, also where `stills` itself calls it."""
    import stills
    from browsers import opener

    page = browser.new_page()
    open_page = opener(page, tmp_path_factory.mktemp("pages"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stills, "open_page", open_page)
        yield open_page
    page.close()

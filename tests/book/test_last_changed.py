"""The date under a page is the one of its last commit; without git there is none."""

import os
import subprocess
from datetime import date

import last_changed
import pytest


def git(folder, *arguments, day="2020-01-01"):
    subprocess.run(
        ["git", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env={
            **os.environ,
            **{f"GIT_{who}_NAME": "A" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "a@example.org" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_DATE": f"{day}T12:00" for who in ("AUTHOR", "COMMITTER")},
        },
    )


@pytest.fixture
def history(tmp_path):
    """Two pages, of which one was changed a second time."""
    root = tmp_path / "course"
    (root / "book").mkdir(parents=True)
    git(root, "init", "-q")
    for day, names in {"2021-02-03": ["a", "b"], "2022-03-04": ["a"]}.items():
        for name in names:
            (root / "book" / f"{name}.md").write_text(day)
        git(root, "add", ".")
        git(root, "commit", "-qm", "a change", day=day)
    return root


def test_a_page_has_the_day_of_its_last_commit(history):
    dates = last_changed.read_dates(history)
    assert dates == {"book/a.md": date(2022, 3, 4), "book/b.md": date(2021, 2, 3)}


def test_a_copy_with_a_part_of_the_history_says_nothing(history):
    shallow = history.with_name("shallow")
    git(history.parent, "clone", "-q", "--depth=1", history.as_uri(), str(shallow))
    assert last_changed.read_dates(shallow) == {}


def test_without_git_a_page_is_built_without_a_date(book, monkeypatch):
    assert last_changed.read_dates(book.root) == {}
    monkeypatch.setenv("PATH", "")
    book.write()
    status, page, said = book.build("last_changed", html_theme="sphinx_book_theme")
    assert status == 0, said
    assert "Last updated" not in page


def test_the_theme_shows_it(book):
    book.write()
    git(book.folder, "init", "-q")
    git(book.folder, "add", ".")
    git(book.folder, "commit", "-qm", "a page", day="2024-05-06")
    status, page, said = book.build("last_changed", html_theme="sphinx_book_theme")
    assert status == 0, said
    assert "Last updated on May 6, 2024." in page

"""A translated page has its original's cells and labels, and words of its own."""

import re

import pytest
import translated
from small_books import ROOT

PAGE = "similarity/attention.md"


@pytest.fixture
def page(tmp_path):
    """A page in another language, or nearly: its sentences are in capitals."""
    text = (ROOT / "book" / PAGE).read_text("utf-8")
    original = tmp_path / "book" / PAGE
    original.parent.mkdir(parents=True)
    original.write_text(text, "utf-8")
    blocks = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    line = re.compile(r"^[A-Z][a-z].*", re.MULTILINE)
    blocks[::2] = [line.sub(lambda m: m[0].upper(), words) for words in blocks[::2]]
    page = tmp_path / "translations" / "de" / PAGE
    page.parent.mkdir(parents=True)
    page.write_text("".join(blocks), "utf-8")
    return page


def said(page, capsys, *languages):
    status = translated.main(page.parents[3], [*languages])
    return status, capsys.readouterr().out


def test_other_words_are_a_translation(page, capsys):
    assert "BACK TO THE BANK" in page.read_text()
    assert said(page, capsys) == (0, "")
    assert said(page, capsys, "de") == (0, "")
    assert said(page, capsys, "fr") == (1, "translations/fr has no page.\n")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("scores.softmax(dim=-1)", "scores.softmax(dim=-2)", "code cell"),
        ("(sec-attention-scale)=\n", "", "label"),
        (":tags: [torch]", ":tags: [nnx]", "code cell"),
    ],
)
def test_another_cell_tag_or_label_is_not(page, capsys, old, new, words):
    text = page.read_text()
    assert old in text, "the page has changed: choose another line"
    page.write_text(text.replace(old, new, 1))
    status, out = said(page, capsys)
    assert status == 1
    assert out.startswith(f"de/{PAGE}: {words} ")
    assert "where the original has" in out


def test_a_page_without_an_original_is_said(page, capsys):
    page.rename(page.with_name("gone.md"))
    assert said(page, capsys)[1] == (
        "de/similarity/gone.md: it translates no page of book/\n"
    )


def test_ours_are_translations():
    assert translated.main(ROOT, []) == 0

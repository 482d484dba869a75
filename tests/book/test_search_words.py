"""Other words for what a page teaches are found by search, where it is taught."""

import json

import pytest

WORDS = {"chapter": ["a synonym"], "sec-part": ["1/sqrt(d)"]}
PART = "\n(sec-part)=\n## A part\n\nMore words.\n"


def index(book):
    text = (book.root / "_build" / "html" / "searchindex.js").read_text("utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def test_words_lead_to_their_page_and_section(book):
    book.write(PART)
    status, _, said = book.build("search_words", other_words=WORDS)
    assert status == 0, said
    entries = index(book)["indexentries"]
    found = {word: places[0][1:] for word, places in entries.items()}
    assert found == {"a synonym": ["a-title", True], "1/sqrt(d)": ["a-part", True]}


@pytest.mark.parametrize("is_notebook", [False, True])
def test_a_page_is_found_by_parts_of_its_words_and_a_notebook_by_what_one_does(
    book, is_notebook
):
    book.write(PART)
    if is_notebook:
        (book.folder / "chapter.ipynb").write_text("{}")
    status, _, said = book.build("search_words", other_words=WORDS)
    assert status == 0, said
    terms = index(book)["terms"]
    assert {"synonym", "sqrt"} <= set(terms)
    assert ("colab" in terms) is is_notebook


def test_words_are_listed_with_links(book):
    book.write(PART, "\n```{words}\n```\n")
    words = {"sec-part": ["a synonym", "1/sqrt(d)"]}
    status, page, said = book.build("search_words", other_words=words)
    assert status == 0, said
    assert page.index("a synonym") < page.index("1/sqrt(d)")
    assert page.count('href="#sec-part"') == 2


def test_words_for_a_page_that_is_left_out_are_no_warning_and_not_listed(book):
    (book.folder / "other.md").write_text(PART)
    book.write("\n```{words}\n```\n")
    words = {"chapter": ["a synonym"], "other": ["gone"], "sec-part": ["gone, too"]}
    options = {"other_words": words, "exclude_patterns": ["*.ipynb", "other.md"]}
    status, page, said = book.build("search_words", **options)
    assert status == 0, said
    assert "a synonym" in page
    assert "gone" not in page


def test_words_for_what_there_is_not_are_a_warning(book):
    book.write(PART)
    status, _, said = book.build("search_words", other_words={"sec-gone": ["x"]})
    assert status == 1
    assert "no page and no label is called sec-gone" in said

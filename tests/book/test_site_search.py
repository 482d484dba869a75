"""The search of the built site, opened as a file: a question leads to its section.

Like test_site.py these tests read `_build/html`.
"""

import pytest
from small_books import ROOT

SITE = ROOT / "_build" / "html"

pytestmark = pytest.mark.skipif(
    not (SITE / "searchindex.js").exists(), reason="run `make book` first"
)


@pytest.fixture(scope="module")
def search(browser):
    """Ask the search; give its results as words and addresses."""
    page = browser.new_page()

    def ask(query):
        page.goto(f"{(SITE / 'search.html').as_uri()}?q={query}")
        page.wait_for_selector("#search-results li")
        page.wait_for_function(
            "!document.querySelector('#search-results h2').innerText.endsWith('.')"
            " && /[0-9]/.test(document.querySelector('.search-summary').innerText)"
        )
        return page.eval_on_selector_all(
            "#search-results li > a",
            "found => found.map((a) => [a.innerText, a.getAttribute('href')])",
        )

    return ask


@pytest.mark.parametrize(
    ("query", "section"),
    [
        ("beam+search", "Beam search"),
        ("1/sqrt(d)", "Why the square root"),
        ("why+divide+by+sqrt(d)", "Why the square root"),
        ("attn_mask", "What does True mean?"),
        ("BibTeX", "How to cite"),
    ],
)
def test_another_word_leads_to_the_section_that_it_names(search, query, section):
    words, address = search(query)[0]
    assert words.endswith(f"> {section}")
    assert "#" in address


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("flash+attention", "long-sequences"),
        ("gpt+from+scratch", "gpt"),
        ("attention+is+all+you+need", "multi-head"),
        ("pip+install", "setup"),
        ("exercise+solutions", "lists"),
        ("homework+notebooks", "homework"),
        # Asked in words of their own, of which no page has all.
        ("what+is+an+embedding", "embeddings"),
        ("how+does+chatgpt+work", "gpt"),
        ("do+i+need+a+gpu%3F", "setup"),
        ("how+is+homework+graded", "homework"),
        ("syllabus+for+a+semester", "instructors"),
        ("students+cheat+with+chatgpt", "homework"),
        ("slides", "instructors"),
        ("load+llama+weights", "pretrained"),
        ("fine-tune+bert+on+my+own+data", "bert"),
        ("train+on+multiple+gpus", "scale"),
        ("forecast+inflation+with+a+transformer", "forecasting-macro"),
        ("how+to+save+and+load+a+model", "using"),
    ],
)
def test_a_question_leads_to_its_page(search, query, page):
    assert f"/{page}.html" in search(query)[0][1]


@pytest.mark.parametrize("query", ["temperature", "perplexity", "mixture+of+experts"])
def test_a_page_comes_once(search, query):
    pages = [address.partition("#")[0] for _, address in search(query)]
    assert len(set(pages)) == len(pages)


def test_a_page_and_what_one_does_with_it_lead_to_the_page(search):
    assert search("vit+colab")[0][0].endswith("Vision transformers")


@pytest.mark.parametrize("query", ["attention", "beam+search", "mask"])
def test_the_reference_comes_after_all_lessons(search, query):
    api = [address.startswith("api/") for _, address in search(query)]
    assert any(api)
    assert not all(api)
    assert api == sorted(api)


def test_an_excerpt_has_none_of_the_page_s_buttons(browser):
    page = browser.new_page()
    page.goto((SITE / "search.html").as_uri())
    text = (SITE / "book/similarity/attention-in-depth.html").read_text("utf-8")
    read = page.evaluate("text => Search.htmlToText(text, '')", text)
    for furniture in (".pdf", "Contents", "Colab", "Print", "Back to top"):
        assert furniture not in read, furniture
    assert read.strip().startswith("Attention in depth")

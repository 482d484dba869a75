"""The site knows its own address, and says what each page is about."""

import re
from types import SimpleNamespace

import pytest
import yaml
from PIL import Image
from publishing import add_description, fill_in_addresses, pages_address, shorten
from small_books import ROOT


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        ("https://github.com/owner/course", "https://owner.github.io/course/"),
        ("https://github.com/Owner/Course/", "https://owner.github.io/Course/"),
        ("https://gitlab.com/owner/course", "https://owner.gitlab.io/course/"),
        ("https://github.com/owner/owner.github.io", "https://owner.github.io/"),
    ],
)
def test_the_site_s_address_follows_from_the_repository_s(repository, address):
    assert pages_address(repository) == address


class Settings(SimpleNamespace):
    """Sphinx's settings, by attribute and by name."""

    def __contains__(self, name):
        return hasattr(self, name)

    def __setitem__(self, name, value):
        setattr(self, name, value)


def settings(repository, **others):
    values = {
        "root_doc": "book/intro",
        "html_baseurl": "",
        "html_title": "My course",
        "ogp_site_url": "",
        "ogp_site_name": "",
        "notfound_urls_prefix": "/en/latest/",
        "notfound_context": {},
        **others,
    }
    buttons = {"colab_url": "https://colab.research.google.com"}
    options = {"repository_url": repository, "launch_buttons": buttons}
    config = Settings(html_theme_options=options, **values)
    fill_in_addresses(None, config)
    return config


@pytest.fixture(autouse=True)
def _outside_of_gitlab(monkeypatch):
    monkeypatch.delenv("CI_PAGES_URL", raising=False)


def test_one_line_gives_the_site_its_addresses_and_another_its_name():
    config = settings("https://github.com/fork/course")
    assert (
        config.html_baseurl == config.ogp_site_url == "https://fork.github.io/course/"
    )
    assert config.notfound_urls_prefix == "/course/"
    assert config.ogp_site_name == "My course"
    lost = config.notfound_context["body"]
    assert re.findall('href="([^"]*)"', lost) == [
        "/course/book/intro.html",
        "/course/search.html",
    ]
    assert "colab_url" in config.html_theme_options["launch_buttons"]


def test_on_gitlab_the_runner_says_the_address_and_there_is_no_colab(monkeypatch):
    monkeypatch.setenv("CI_PAGES_URL", "https://course-1a2b3c.gitlab.io")
    config = settings("https://gitlab.com/fork/course")
    assert config.html_baseurl == "https://course-1a2b3c.gitlab.io/"
    assert config.notfound_urls_prefix == "/"
    assert config.html_theme_options["launch_buttons"] == {}


def test_an_address_of_one_s_own_is_kept():
    config = settings(
        "https://github.com/fork/course", html_baseurl="https://course.example.org/"
    )
    assert config.ogp_site_url == "https://course.example.org/"


def test_the_repository_and_the_title_stand_in_one_place():
    text = (ROOT / "_config.yml").read_text("utf-8")
    config = yaml.safe_load(text)
    for value in (config["repository"]["url"], config["title"]):
        assert len(re.findall(rf"^[^#\n]*: {value}$", text, re.MULTILINE)) == 1


def test_a_description_is_cut_after_a_sentence_or_a_word():
    whole = "A sentence that says what its page is about."
    assert shorten(f"{whole} " + "word " * 50, limit=60) == whole
    # One that says nearly nothing isn't left alone.
    assert shorten("Short one. " + "word " * 50, limit=60).endswith("word word …")
    cut = shorten("word " * 50, limit=60)
    assert len(cut) <= 60
    assert cut.endswith("word …")


def told(page, metatags=""):
    """What a page without words of its own says of itself."""
    builder = SimpleNamespace(images={}, imagedir="_images")
    config = SimpleNamespace(html_baseurl="https://example.org/")
    app, context = (
        SimpleNamespace(builder=builder, config=config),
        {"metatags": metatags},
    )
    add_description(app, page, "", context, None)
    return context


def test_a_description_that_a_page_gives_is_its_preview_s_too():
    given = '<meta content="What it&#x27;s about." name="description" />'
    context = told("book/a-page", given)
    assert context["meta"]["og:description"] == "What it&#x27;s about."
    assert context["metatags"].count("description") == 1


def test_a_page_that_is_passed_on_has_a_card_of_its_own():
    assert "https://example.org/_static/card-play.png" in told("book/play")["metatags"]
    assert "https://example.org/_static/card.png" in told("book/lost")["metatags"]


@pytest.mark.parametrize("name", ["card", "card-play"])
def test_previews_have_a_picture_of_the_size_that_they_show(name):
    with Image.open(ROOT / "book" / "_static" / f"{name}.png") as card:
        assert card.size == (1200, 630)

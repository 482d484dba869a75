"""The built site: it needs no other host, its links hold, its pictures are described.

These tests read `_build/html`; `make test` builds it first.
"""

import gzip
import html
import json
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
import yaml
from exercises import without_solutions
from fontTools import ttLib
from light_pages import MEASURED, THEME
from links import find_labels
from small_books import ROOT, contents

SITE = ROOT / "_build" / "html"
if not (SITE / "searchindex.js").exists():
    pytest.skip(
        "the book is not built: run `jupyter-book build .` first",
        allow_module_level=True,
    )

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
FILES = [name for name, _ in contents()]
CHAPTERS = [name for name in FILES if (ROOT / f"{name}.ipynb").exists()]
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
PAGES = [page for page in PAGES if not page.startswith("_static/")]  # templates
OUTSIDE = re.compile(r"(?:https?:)?//[\w-]+\.[\w.-]+")
# Addresses that a script names without asking for them: namespaces, licenses, manuals.
NAMED_ONLY = {
    "www.w3.org",
    "clipboardjs.com",
    "developer.mozilla.org",
    "pydata-sphinx-theme.readthedocs.io",
}


class Reader(HTMLParser):
    """Collect a page's elements and the text of its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.inline = []
        self.words = []
        self._inside = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag in {"script", "style"}:
            self._inside.append(tag)

    def handle_endtag(self, tag):
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data):
        (self.inline if self._inside else self.words).append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@cache
def read(page):
    return Reader((SITE / page).read_text("utf-8"))


@cache
def read_text(page):
    return (SITE / page).read_text("utf-8")


def hosts(text):
    return {match[0].rpartition("//")[2] for match in OUTSIDE.finditer(text)}


def loaded(page):
    """List the files of this site that a page loads: scripts, styles, pictures."""
    reader = read(page)
    urls = [
        a["src"] for tag in ("script", "img") for a in reader.all(tag) if "src" in a
    ]
    urls += [a["href"] for a in reader.all("link") if a.get("rel") == "stylesheet"]
    urls = [url.partition("?")[0] for url in urls if not url.startswith("data:")]
    return {((SITE / page).parent / url).resolve() for url in urls}


def test_the_site_has_every_page_of_the_contents():
    assert CHAPTERS
    for name in FILES:
        assert f"{name}.html" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_nothing_of_another_host(page):
    reader = read(page)
    asked = [
        (tag, attributes[name])
        for tag, attributes in reader.elements
        # What is followed only by a click, or by nobody.
        if tag != "a" and attributes.get("rel") != "canonical"
        for name in ("src", "href", "srcset", "data", "poster", "action", "style")
        if OUTSIDE.search(attributes.get(name, ""))
    ]
    asked += [("inline", host) for host in hosts(" ".join(reader.inline)) - NAMED_ONLY]
    assert asked == []


def test_styles_and_scripts_ask_nothing_of_another_host():
    files = {file for page in PAGES if page != "404.html" for file in loaded(page)}
    assert files
    for file in files:
        if file.suffix == ".css":
            assert not re.search(
                r"(?:@import|url\()\s*[\"']?(?:https?:)?//", file.read_text("utf-8")
            ), file
        elif file.suffix == ".js":
            text = re.sub(r"^\s*(?://|\*).*$", "", file.read_text("utf-8"), flags=re.M)
            found = set(re.findall(r"https?://([\w-]+\.[\w.-]+)", text))
            assert found <= NAMED_ONLY, file


# The addresses of 404.html are those of the published site.
@pytest.mark.parametrize("page", [page for page in PAGES if page != "404.html"])
def test_what_a_page_loads_is_there(page):
    assert [str(file) for file in loaded(page) if not file.exists()] == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_formulas_are_mathml_and_no_script_sets_them(name):
    text = (SITE / f"{name}.html").read_text("utf-8")
    # What stands side by side is one formula.
    beside = r"<math.*?</math>(?: <math displaystyle.*?</math>)*"
    formulas = re.findall(beside, text, re.DOTALL)
    assert text.count('class="math"') == len(formulas)
    written = re.search(r"(?<!\\)\$[^$\n]+\$", (ROOT / f"{name}.md").read_text("utf-8"))
    assert bool(formulas) == bool(written)
    scripts = " ".join(a.get("src", "") for a in read(f"{name}.html").all("script"))
    assert not re.search(
        r"mathjax|katex", scripts + " ".join(read(f"{name}.html").inline)
    )


def test_the_font_has_every_character_of_the_formulas():
    font = ttLib.TTFont(SITE / "_static" / "fonts" / "stix-two-math.woff2")
    assert "MATH" in font  # how brackets grow and where exponents stand
    pages = [SITE / f"{name}.html" for name in FILES]
    text = "".join(
        re.sub(r"<[^>]*>", "", formula)
        for page in pages
        for formula in re.findall(
            r"<math.*?</math>", page.read_text("utf-8"), re.DOTALL
        )
    )
    used = {ord(c) for c in html.unescape(text) if c.isprintable() and not c.isspace()}
    assert used
    # Signs that are not drawn, such as an invisible multiplication.
    invisible = set(range(0x2061, 0x2065)) | {0x200B}
    missing = used - set(font.getBestCmap()) - invisible
    assert {chr(code) for code in missing} == set()


@pytest.mark.parametrize("page", [f"{name}.html" for name in FILES])
def test_every_picture_says_what_it_shows(page):
    for image in read(page).all("img"):
        alt = image.get("alt", "").strip()
        assert len(alt) >= 4, image
        assert not re.search(r"\.(?:png|svg|jpe?g|gif)$|^[0-9a-f]{16}|/", alt), image


def test_every_drawing_says_how_wide_a_phone_is_to_show_it():
    for name in FILES:
        for image in read(f"{name}.html").all("img"):
            if re.search(r"/_images/[^/]*\.svg$", image["src"]):
                shown = image["src"].rpartition("/")[2]
                live = (ROOT / "book/_static/explore" / shown).exists()
                assert live or "--least" in image.get("style", ""), (name, shown)


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_executed_figure_has_a_number_and_a_caption(name):
    text = (SITE / f"{name}.html").read_text("utf-8")
    executed = re.findall(r"<img[^>]*src=\"[^\"]*_images/[0-9a-f]{32,}[^\"]*\"", text)
    figures = re.findall(r"<figure[^>]*id=\"([^\"]*)\".*?</figure>", text, re.DOTALL)
    assert len(figures) >= len(executed)
    assert all(figure.startswith("fig-") for figure in figures)


@pytest.mark.parametrize("name", CHAPTERS)
def test_buttons_lead_to_the_right_files(name):
    repository = CONFIG["repository"]
    url, branch = repository["url"].rstrip("/"), repository["branch"]
    owner = url.partition("://")[2].partition("/")[2]
    links = {a.get("href", "") for a in read(f"{name}.html").all("a")}
    if "github.com" in url:
        colab = CONFIG["launch_buttons"]["colab_url"]
        assert f"{colab}/github/{owner}/blob/{branch}/{name}.ipynb" in links
        assert f"{url}/edit/{branch}/{name}.md" in links
    else:
        assert f"{url}/-/edit/{branch}/{name}.md" in links
    assert "../" * name.count("/") + f"_sources/{name}.ipynb" in links


def test_the_reference_leads_to_lessons_and_to_the_source_and_code_leads_there():
    page = read("api/multihead.html")
    links = {a.get("href", "") for a in page.all("a")}
    assert "../book/similarity/multi-head.html" in links
    repository = CONFIG["repository"]
    source = f"{repository['branch']}/course_lib/torch/multihead.py"
    if "github.com" in repository["url"]:
        assert f"{repository['url'].rstrip('/')}/edit/{source}" in links
    lesson = read("book/similarity/multi-head.html").all("a")
    later = read("book/transformer/block.html").all("a")
    names = {a["href"] for a in later if a.get("class") == "api"}
    assert (
        "../../api/multihead.html#course_lib.torch.multihead.MultiHeadAttention"
        in names
    )
    assert "../../api/multihead.html" in {a.get("href", "") for a in lesson}


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_download_is_the_notebook_that_was_tested(name):
    def cells(notebook):
        return [
            (cell.source, [output.output_type for output in cell.outputs])
            for cell in notebook.cells
            if cell.cell_type == "code"
        ]

    download, tested = (
        nbformat.read(folder / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)
        for folder in (SITE / "_sources", ROOT)
    )
    if not CONFIG["sphinx"]["config"]["show_solutions"]:
        tested = without_solutions(tested)
    assert cells(download) == cells(tested)


def test_the_site_hands_out_all_homework_of_a_framework_in_one_file():
    linked = {a.get("href", "") for a in read("book/appendices/homework.html").all("a")}
    names = {path.stem for path in (ROOT / "homework").glob("*.md")}
    for wing in ("torch", "nnx"):
        assert f"../../_static/homework-{wing}.zip" in linked
        with zipfile.ZipFile(SITE / "_static" / f"homework-{wing}.zip") as archive:
            assert set(archive.namelist()) == {f"{n}-{wing}.ipynb" for n in names}
            for name in archive.namelist():
                original = ROOT / "homework" / "student" / name
                assert archive.read(name) == original.read_bytes()


@pytest.mark.parametrize("name", CHAPTERS)
def test_search_engines_get_a_plain_description(name):
    metas = read(f"{name}.html").all("meta")
    described = [m["content"] for m in metas if m.get("name") == "description"]
    assert len(described) == 1
    assert len(described[0]) > 40
    assert not re.search(r"[\\${}]", described[0])


@pytest.mark.parametrize("name", CHAPTERS)
def test_both_frameworks_stand_in_every_tab_set(name):
    labels = [a for a in read(f"{name}.html").all("label") if "data-sync-id" in a]
    # A page about texts alone, without a tensor, has no tabs.
    text = (ROOT / f"{name}.md").read_text("utf-8")
    assert bool(labels) == bool(re.search(r"tags: \[torch|\{torch\}", text))
    order = [a["data-sync-id"] for a in labels]
    assert order == ["torch", "nnx"] * (len(order) // 2)
    assert {a["data-sync-group"] for a in labels} <= {"framework"}


def test_the_cell_for_colab_is_not_shown():
    for name in CHAPTERS:
        assert "google.colab" not in " ".join(read(f"{name}.html").words)


def test_every_page_can_be_found_by_search():
    index = (SITE / "searchindex.js").read_text("utf-8")
    index = json.loads(index[index.index("{") : index.rindex("}") + 1])
    assert set(FILES) <= set(index["docnames"])
    assert "attent" in index["terms"]  # stems: attention, attentive
    # On the page for searching, and on no other: it is as large as a page.
    for page in PAGES:
        scripts = " ".join(a.get("src", "") for a in read(page).all("script"))
        assert ("searchindex.js" in scripts) == (page == "search.html"), page


def test_other_words_are_found_and_listed():
    index = (SITE / "searchindex.js").read_text("utf-8")
    index = json.loads(index[index.index("{") : index.rindex("}") + 1])
    words = yaml.safe_load((ROOT / "book" / "words.yml").read_text("utf-8"))
    listed = " ".join(read("book/appendices/words.html").words).replace("’", "'")
    there = find_labels(tuple(ROOT / f"{name}.md" for name in FILES)).keys()
    there |= {name.removeprefix("book/") for name in FILES}
    assert len(words.keys() & there) > 5
    for name in words.keys() & there:
        for word in words[name]:
            places = index["indexentries"][word.lower()]
            pages = {index["docnames"][page] for page, *_ in places}
            assert "/" not in name or f"book/{name}" in pages, word
            assert html.unescape(word).split()[0] in listed, word


@pytest.mark.parametrize("page", PAGES)
def test_every_control_has_a_name(page):
    text = (SITE / page).read_text("utf-8")
    for tag in ("button", "summary"):
        for attributes, inside in re.findall(
            rf"<{tag}([^>]*)>(.*?)</{tag}>", text, re.DOTALL
        ):
            shown = re.sub(r"<[^>]*>|\s", "", inside)
            assert shown or re.search(r"aria-label=|title=", attributes), (tag, inside)
            # A label that hides what is shown can't be spoken to.
            assert not (shown and "aria-label" in attributes), (tag, attributes)


def test_there_is_one_search_button_and_not_two():
    text = (SITE / f"{CHAPTERS[0]}.html").read_text("utf-8")
    assert text.count("search-button-field") == 1


def test_the_book_s_address_leads_to_its_first_page_and_has_a_name_and_an_icon():
    reader = read("index.html")
    (refresh,) = [a for a in reader.all("meta") if a.get("http-equiv") == "Refresh"]
    assert refresh["content"] == f"0; url={FILES[0]}.html"
    (icon,) = [a["href"] for a in reader.all("link") if a.get("rel") == "icon"]
    assert (SITE / icon).is_file()
    entrance, first = (
        (SITE / name).read_text("utf-8") for name in ("index.html", f"{FILES[0]}.html")
    )
    assert f"<title>{CONFIG['title']}</title>" in entrance
    assert f"<title>{CONFIG['title']}</title>" in first
    assert 'name="description"' in entrance


def test_a_page_without_javascript_has_the_colors_of_the_day():
    for page in PAGES:
        assert page == "index.html" or 'data-theme="light"' in read_text(page), page


def test_terms_and_works_say_what_they_are_where_they_are_linked():
    page = read("book/similarity/attention.html").all("a")
    terms = [a for a in page if "term" in a.get("class", "").split()]
    works = [a for a in page if "/references.html#" in a.get("href", "")]
    assert terms
    assert works
    for link in terms + works:
        assert link.get("title", "").endswith("."), link
        assert not re.search(r"[][`]", link["title"]), link


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_table_has_the_words_that_a_cell_printed(name):
    notebook = nbformat.read(ROOT / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)
    printed = "".join(
        "".join(output.get("text", ""))
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    words = "".join(printed.split())
    for table in re.findall(
        r'<table class="table printed">.*?</table>',
        read_text(f"{name}.html"),
        re.DOTALL,
    ):
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        body = [row for row in rows if 'scope="col' not in row]
        assert len(body) > 1
        for row in body:
            cells = html.unescape(re.sub(r"<[^>]*>", "", row))
            assert "".join(cells.split()) in words, row


def test_no_list_is_empty():
    # "H." alone, in a docstring, is the beginning of one.
    empty = re.compile(r"<li>\s*</li>")
    pages = {page: empty.search((SITE / page).read_text("utf-8")) for page in PAGES}
    assert [page for page, found in pages.items() if found] == []


def test_a_sitemap_names_the_published_pages():
    text = (SITE / "sitemap.xml").read_text("utf-8")
    for name in FILES:
        assert f"/{name}.html</loc>" in text


def test_links_and_their_targets_exist():
    lychee = shutil.which("lychee") or str(Path(sys.executable).parent / "lychee")
    # What a live figure is to show (test_play.py) is no place on its page.
    options = ["--exclude", "#text="]
    # The page for what is not found has the addresses of the published site.
    pages = [str(SITE / page) for page in PAGES if page != "404.html"]
    done = subprocess.run(
        [lychee, "--offline", "--include-fragments", "--no-progress", *options, *pages],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if page != "index.html"])
def test_a_page_shows_its_words_after_one_style_sheet_and_no_script(page):
    reader = read(page)
    styles = [a for a in reader.all("link") if a.get("rel") == "stylesheet"]
    assert len(styles) == 1
    waits = [a for a in reader.all("script") if "src" in a and "defer" not in a]
    assert waits == [] or page == "search.html"
    # Nor does a script get ahead of them: only the letters do.
    assert [a for a in reader.all("link") if a.get("rel") == "preload"] == []
    early = re.findall(r'"([^"]*_static/fonts/[^"]*)"', " ".join(reader.inline))
    assert early
    if page != "404.html":
        assert all((SITE / page).parent.joinpath(font).exists() for font in early)


def test_the_theme_measures_all_boxes_before_it_changes_one():
    script = (SITE / "_static" / THEME).read_text("utf-8")
    before, after = MEASURED
    assert after in script
    assert before not in script


def test_a_page_ships_under_300_kb_compressed():
    fonts = set((SITE / "_static").rglob("*.woff*"))
    ready = {".png", ".jpg", ".webp", ".woff", ".woff2"}  # compressed already

    @cache
    def size(file):
        data = file.read_bytes()
        return len(data if file.suffix in ready else gzip.compress(data))

    heavy = {}
    for name in FILES:
        page = f"{name}.html"
        files = {SITE / page} | loaded(page) | fonts
        if (total := sum(map(size, files))) >= 300_000:
            largest = sorted(files, key=size)[:-6:-1]
            heavy[name] = total, [(file.name, size(file)) for file in largest]
    assert heavy == {}


@pytest.mark.parametrize(("name", "under"), contents())
def test_next_follows_the_road_and_a_detour_leads_back(name, under):
    along = [page for page, below in contents() if not below]
    before = FILES[: FILES.index(name)]
    last = max((along.index(page) for page in before if page in along), default=-1)
    text = (SITE / f"{name}.html").read_text("utf-8")
    led = dict(re.findall(r'class="(left-prev|right-next)"\s+href="([^"#]*)', text))
    folder = (SITE / name).parent
    led = {
        end: (folder / link).resolve().relative_to(SITE).with_suffix("").as_posix()
        for end, link in led.items()
    }
    ahead = along[last + (1 if under else 2) :]
    assert led.get("right-next") == (ahead[0] if ahead else None)
    assert led.get("left-prev") == (along[last] if last >= 0 else None)
    assert ('prev-next-title">Back to' in text) == under

"""The built site in an archive, opened from a folder in a real browser."""

import re
import shutil
import subprocess

import pytest
from small_books import ROOT
from stills import find_browser

SITE = ROOT / "_build" / "html"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The archive of the built site, unpacked."""
    if find_browser() is None or not (SITE / "searchindex.js").exists():
        pytest.skip("needs Chromium and the built book")
    folder = tmp_path_factory.mktemp("offline")
    shutil.make_archive(str(folder / "course"), "zip", SITE.parent, SITE.name)
    shutil.unpack_archive(folder / "course.zip", folder)
    return (folder / SITE.name).rename(folder / "course")


def open_file(address, profile):
    """Open a page in Chromium, as a click on the file would, and read what it shows."""
    browser = find_browser()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    options += ["--disable-dev-shm-usage", "--virtual-time-budget=20000"]
    command = [browser, *options, f"--user-data-dir={profile}", address]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True
    ).stdout


def test_its_search_finds_positional_encoding(unpacked, tmp_path):
    address = (unpacked / "search.html").as_uri()
    page = open_file(f"{address}?q=positional+encoding", tmp_path)
    found = re.findall(r'<a href="(book/[\w/.-]+\.html)[^"]*"', page)
    results = page[page.index('id="search-results"') :]
    assert "book/similarity/positions.html" in results
    assert "book/similarity/positions.html" in found
    assert "titles without excerpts" in page  # browsers forbid them, and it is said


def test_its_first_page_leads_to_the_book(unpacked, tmp_path):
    page = open_file((unpacked / "index.html").as_uri(), tmp_path)
    assert "The idea in three pictures" in page


def test_a_version_under_its_tag_leads_to_the_current_one(unpacked, tmp_path):
    kept = unpacked.parent / "v1.2"
    kept.symlink_to(unpacked)
    name = "book/similarity/tokens.html"
    said = re.search(
        r'<p class="old-version">(.*?)</p>', open_file((kept / name).as_uri(), tmp_path)
    )
    assert said is not None
    assert "version 1.2" in said[1]
    assert f'{(unpacked.parent / name).as_uri().removeprefix("file://")}"' in said[1]
    page = open_file((unpacked / name).as_uri(), tmp_path)
    assert 'class="old-version"' not in page


def test_its_live_gpt_writes(unpacked, tmp_path):
    """The weights are a script of their own, which a page in a folder may load."""
    page = unpacked / "book" / "architectures" / "gpt.html"
    ask = """
    <script>addEventListener("load", async () => {
      const wait = (ms) => new Promise((done) => setTimeout(done, ms));
      await wait(1000);
      document.querySelector("explore-gpt button").click();
      while (!document.querySelector("explore-gpt .explore-live")) await wait(250);
      await wait(1000);
      const said = document.createElement("pre");
      said.id = "result";
      said.textContent = document.querySelector("explore-gpt").textContent;
      document.body.append(said);
    });</script></body>"""
    copy = page.with_name("asked.html")
    copy.write_text(page.read_text("utf-8").replace("</body>", ask), "utf-8")
    shown = open_file(copy.as_uri(), tmp_path)
    said = re.search(r'<pre id="result">(.*?)</pre>', shown, re.DOTALL)
    assert said is not None
    assert re.search(r"After “[\w ]+”, “\w+” is likeliest, with \d+%", said[1])

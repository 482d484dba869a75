"""Released versions stand beside the current site, each under its tag."""

import json
import sys
import zipfile

import pytest
from small_books import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import versions

GH = f"""#!{sys.executable}
import json, pathlib, shutil, sys
here = pathlib.Path(__file__).parent
assets = json.loads((here / "assets.json").read_text())
command, rest = sys.argv[2], sys.argv[3:]
if command == "list":
    print(json.dumps([{{"tagName": tag}} for tag in assets]))
elif command == "view":
    print(json.dumps({{"assets": [{{"name": name}} for name in assets[rest[0]]]}}))
else:
    folder = [option[6:] for option in rest if option.startswith("--dir=")][0]
    for name in assets[rest[0]]:
        if name.endswith(".zip"):
            shutil.copy(here / name, folder)
"""


@pytest.fixture
def releases(tmp_path, monkeypatch):
    """Three releases, one of them without an archive, as `gh` would tell of them."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gh").write_text(GH)
    (folder / "gh").chmod(0o755)
    names = {"v1.1": ["book-1.1.zip", "book.pdf"], "v1.0": ["book-1.0.zip"], "v0.9": []}
    (folder / "assets.json").write_text(json.dumps(names))
    for version in ("1.0", "1.1"):
        with zipfile.ZipFile(folder / f"book-{version}.zip", "w") as archive:
            archive.writestr(f"book-{version}/index.html", f"version {version}")
            archive.writestr(f"book-{version}/book/a/page.html", "a page")
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return tmp_path


def test_each_version_keeps_its_address(releases):
    site = releases / "site"
    site.mkdir()
    (site / "index.html").write_text("the current one")
    assert versions.add_versions(site) == ["v1.1", "v1.0"]
    assert (site / "index.html").read_text() == "the current one"
    assert (site / "v1.0" / "index.html").read_text() == "version 1.0"
    assert (site / "v1.1" / "book" / "a" / "page.html").exists()
    assert not (site / "v0.9").exists()

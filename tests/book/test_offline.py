"""The book in an archive: what is in it."""

import zipfile

import offline


def small_site(root, title="A Book: of Things"):
    (root / "_build" / "html" / "book").mkdir(parents=True)
    (root / "_config.yml").write_text(f"title: '{title}'\n")
    (root / "CITATION.cff").write_text("version: 1.2.0\n")
    for name in ("index.html", "book/page.html", "404.html", "sitemap.xml"):
        (root / "_build" / "html" / name).write_text(name)


def test_the_archive_holds_the_site_in_one_folder_and_is_always_the_same(tmp_path):
    small_site(tmp_path)
    assert offline.main(["--root", str(tmp_path)]) == 0
    (made,) = (tmp_path / "_build" / "zip").iterdir()
    assert made.name == "a-book-of-things-1.2.0.zip"
    first = made.read_bytes()
    folder = "a-book-of-things-1.2.0"
    with zipfile.ZipFile(made) as archive:
        # The page for what is not found and the sitemap are of use to a server only.
        assert archive.namelist() == [
            f"{folder}/book/page.html",
            f"{folder}/index.html",
        ]
    (tmp_path / "_build" / "html" / "index.html").touch()
    offline.main(["--root", str(tmp_path)])
    assert made.read_bytes() == first


def test_without_a_site_it_says_what_to_do(tmp_path, capsys):
    assert offline.main(["--root", str(tmp_path)]) == 1
    assert "make book" in capsys.readouterr().out

"""What serves the site to Lighthouse, and what is made of its marks."""

import gzip
from http.server import ThreadingHTTPServer
from threading import Thread
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from load_tool import load_tool


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """The tool, with a small site."""
    module = load_tool("lighthouse")
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<p>words</p>")
    (site / "a.png").write_bytes(b"a picture")
    (tmp_path / "secret.html").write_text("not of the site")
    monkeypatch.setattr(module, "SITE", site)
    monkeypatch.setattr(module.Host, "site", site)
    return module


def test_text_is_sent_compressed_pictures_as_they_are_and_nothing_else(tool):
    with ThreadingHTTPServer(("127.0.0.1", 0), tool.Host) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        with urlopen(f"{address}/") as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(answer.read()) == b"<p>words</p>"
        with urlopen(f"{address}/a.png?v=1") as answer:
            assert answer.read() == b"a picture"
        for name in ("none.html", "../secret.html"):
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"{address}/{name}")
        server.shutdown()


@pytest.mark.parametrize(("performance", "status"), [(95, 0), (94, 1)])
def test_the_median_of_three_has_to_reach_the_aim(
    tool, monkeypatch, capsys, performance, status
):
    best = dict.fromkeys(tool.AIMS, 100)
    runs = iter([best | {"performance": p} for p in (100, 40, performance)])
    monkeypatch.setattr(tool, "ask", lambda _: next(runs))
    assert tool.main(["index.html"]) == status
    assert f" {performance} " in capsys.readouterr().out


def test_a_page_that_is_not_there_is_named(tool, capsys):
    assert tool.main(["index.html", "none.html"]) == 1
    said = capsys.readouterr().out
    assert "has no none.html" in said
    assert "make book" in said

"""What extensions write into pages is repaired, and pictures have their sizes."""

import pytest
from PIL import Image
from valid_html import FIRST, repair, size_of


def test_the_window_is_described_once():
    one = '<meta name="viewport" content="width=device-width" />'
    page = repair(f'<head>{one}<meta name="x">{one} {one}<title>', lambda _: None)
    assert page == f'<head>{one}<meta name="x"><title>'


def test_a_summary_holds_words_and_no_paragraph():
    fold = '<summary>\n<p class="collapsed admonition-title">Show</p>\n</summary>'
    assert repair(fold, lambda _: None) == fold.replace("<p ", "<span ").replace(
        "</p>", "</span>"
    )


def test_the_arguments_of_a_signature_are_no_list_of_definitions():
    one = '<em class="sig-param">a</em>,'
    page = f"<dt>f(\n\n<dl>\n<dd>{one}</dd>\n<dd>{one}</dd>\n</dl>\n\n)</dt><dl>\n</dl>"
    line = f"<span>{one}</span>"
    assert repair(page, lambda _: None) == (
        f'<dt>f(\n\n<span class="arguments">\n{line}\n{line}\n</span>\n\n)</dt>'
        "<dl>\n</dl>"
    )


def test_scripts_wait_but_for_a_page_s_settings():
    settings = (
        '<script src="a/documentation_options.js?v=1"></script><script>1</script>'
    )
    other = '<script data-a="b" src="a/design-tabs.js"></script>'
    assert repair(settings + other, lambda _: None) == settings + other.replace(
        "<script", "<script defer"
    )
    # Those that search wait for each other.
    search = (
        '<script src="searchtools.js"></script><script src="searchindex.js"></script>'
    )
    assert repair(search, lambda _: None) == search


def test_pictures_have_sizes_and_come_when_they_are_near():
    images = [f'<img alt="a" src="{i}.png" />' for i in range(FIRST + 1)]
    frame = '<img alt="logo" src="9.png"><article class="bd-article">'
    page = repair(frame + "".join(images), lambda name: (int(name[0]) + 1, 7))
    assert page.startswith(frame)
    assert page.count('height="7"') == len(images)
    assert page.count('loading="lazy"') == 1
    assert page.endswith(
        f'src="{FIRST}.png" width="{FIRST + 1}" height="7" loading="lazy" />'
    )
    assert repair(frame + images[0], lambda _: None) == frame + images[0]


@pytest.mark.parametrize(("unit", "width"), [("pt", 672), ("px", 504), ("", 504)])
def test_sizes_are_in_pixels_of_the_page(tmp_path, unit, width):
    (tmp_path / "a.svg").write_text(
        f'<?xml version="1.0"?>\n<svg x="y" width="504{unit}" height="300{unit}">'
        '<path stroke-width="2"/></svg>'
    )
    size = size_of(tmp_path / "a.svg")
    assert size is not None
    assert size[0] == width
    Image.new("L", (5, 3)).save(tmp_path / "a.png")
    assert size_of(tmp_path / "a.png") == (5, 3)
    assert size_of(tmp_path / "none.png") is None

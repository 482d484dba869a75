"""The road: next and previous follow it, detours lead back, numbers start anew."""

import re
from types import SimpleNamespace

import navigation
import yaml
from docutils import nodes
from small_books import ROOT


class Map(dict):
    """A table of contents: the root, and each page's children."""

    def __init__(self, children):
        super().__init__(
            {
                page: SimpleNamespace(
                    docname=page, child_files=lambda page=page: children.get(page, [])
                )
                for page in [
                    "intro",
                    *(p for under in children.values() for p in under),
                ]
            }
        )
        self.root = self["intro"]


def test_next_follows_the_road_and_a_detour_leads_back():
    site = Map({"intro": ["a", "b", "c"], "a": ["a1", "a2"], "a2": ["a3"], "c": ["c1"]})
    assert navigation.neighbors(site) == {
        "intro": (None, "a", False),
        "a": ("intro", "b", False),
        "a1": ("a", "b", True),
        "a2": ("a", "b", True),
        "a3": ("a", "b", True),
        "b": ("a", "c", False),
        "c": ("b", None, False),
        "c1": ("c", None, True),
    }


def test_each_page_counts_its_figures_and_equations_from_one():
    numbers = {
        "a": {"figure": {"x": (1,), "y": (2,)}, "displaymath": {"e": (1,)}},
        "b": {"figure": {"v": (10,), "u": (9,), "w": (11,)}},
    }
    navigation.number_by_page(None, SimpleNamespace(toc_fignumbers=numbers))
    assert numbers["a"]["figure"] == {"x": (1,), "y": (2,)}
    assert numbers["b"]["figure"] == {"u": (1,), "v": (2,), "w": (3,)}


def test_a_figure_in_both_tabs_has_one_number():
    numbers = {"a": {"figure": {"x": (4,), "x-nnx": (5,), "y": (6,)}}}
    navigation.number_by_page(None, SimpleNamespace(toc_fignumbers=numbers))
    assert numbers["a"]["figure"] == {"x": (1,), "x-nnx": (1,), "y": (2,)}


def test_the_map_links_every_page_of_the_ways_with_its_minutes():
    builder = SimpleNamespace(get_relative_uri=lambda _, page: page)
    noted = []
    env = SimpleNamespace(
        srcdir=ROOT,
        docname="book/intro",
        app=SimpleNamespace(builder=builder),
        note_dependency=noted.append,
    )
    document = SimpleNamespace(settings=SimpleNamespace(env=env))
    state = SimpleNamespace(document=document)
    (road,) = navigation.Road(
        "road", [], {}, [], 1, 0, "", state, SimpleNamespace(reporter=None)
    ).run()
    linked = [link["refuri"] for link in road.findall(nodes.reference)]
    text = (ROOT / "_toc.yml").read_text("utf-8")
    all_pages = re.findall(r"file: (\S+)", text.partition("caption: Appendices")[0])
    assert linked == all_pages
    assert len(noted) == len(all_pages) + 1  # an edit of any draws it anew
    for stop in road.findall(nodes.list_item):
        link, minutes = stop[0].children
        page = (ROOT / f"{link['refuri']}.md").read_text("utf-8")
        assert f"# {link.astext()}\n" in page
        assert f"{minutes.astext()} minutes" in page
    weekend = yaml.safe_load(text)["parts"][0]["chapters"]
    mine = [stop[0][1].astext() for stop in road[0][1]]
    assert len(mine) == len(weekend)
    assert f"{sum(map(int, mine))} minutes" in road[0][0].astext()

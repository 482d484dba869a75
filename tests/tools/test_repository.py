"""What a host, its bot and an editor read: workflows, forms, updates, the container."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HOST = ROOT / ".github"
WORKFLOWS = sorted((HOST / "workflows").glob("*.yml"))
FORMS = [HOST / "ISSUE_TEMPLATE" / f"{name}.yml" for name in ("page", "run")]
USES = re.compile(r"uses: (\S+?)@(\S+)(?: # (v[\d.]+))?$", re.MULTILINE)


def read(path):
    return yaml.safe_load(path.read_text("utf-8"))


def test_every_action_is_pinned_to_one_commit_and_says_its_version():
    used = {}
    for path in WORKFLOWS:
        for action, commit, version in USES.findall(path.read_text("utf-8")):
            assert re.fullmatch("[0-9a-f]{40}", commit), (path.name, action)
            assert version, (path.name, action)
            assert used.setdefault(action, (commit, version)) == (commit, version)
    assert len(used) >= 7


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_unless_a_job_says_more(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "uses" in job or "timeout-minutes" in job


def test_only_the_job_that_publishes_the_package_may_sign_in_and_only_if_told():
    jobs = read(HOST / "workflows" / "release.yml")["jobs"]
    signing = {name for name, job in jobs.items() if "id-token" in str(job)}
    assert signing == {"pypi"}
    assert jobs["pypi"]["if"] == "vars.PYPI == 'yes'"
    assert jobs["pypi"]["environment"] == "pypi"
    assert "release" in jobs["pypi"]["needs"]
    assert {"test", "package"} <= set(jobs["release"]["needs"])


def test_files_that_a_workflow_names_are_there():
    for path in WORKFLOWS:
        runs = re.findall(r"run: (.*)", path.read_text("utf-8"))
        for name in re.findall(r"\b(?:tests|tools|\.ci)/[\w./]+", " ".join(runs)):
            assert (ROOT / name).exists(), f"{path.name}: {name}"


def test_a_release_tries_its_wheel_with_the_code_of_the_first_page():
    steps = read(HOST / "workflows" / "release.yml")["jobs"]["package"]["steps"]
    (run,) = [step["run"] for step in steps if "venv clean" in step.get("run", "")]
    (cut,) = re.findall(r"^sed .* > (?=first_page\.py)", run, re.MULTILINE)
    cut = cut.removesuffix(" > ").replace("$GITHUB_WORKSPACE", str(ROOT))
    code = subprocess.run(["bash", "-c", cut], capture_output=True, text=True).stdout
    assert "ct.generate" in code
    compile(code, "first_page.py", "exec")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_is_one_that_the_host_can_show(path):
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked)
    assert len({part["attributes"]["label"] for part in asked}) == len(asked)
    for part in asked:
        assert part["type"] in {"input", "textarea", "dropdown"}
        assert part.keys() <= {"type", "id", "attributes", "validations"}
        assert all(isinstance(o, str) for o in part["attributes"].get("options", []))
    assert any(part.get("validations", {}).get("required") for part in asked)


def test_what_the_form_asks_to_run_says_the_versions():
    (asked,) = [p for p in read(FORMS[1])["body"] if p["id"] == "versions"]
    code = re.search(r'python -c "(.*)"', asked["attributes"]["description"])[1]
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "course_lib" in said
    assert "numpy" in said


def test_questions_have_a_place_beside_the_forms():
    chooser = read(HOST / "ISSUE_TEMPLATE" / "config.yml")
    (link,) = chooser["contact_links"]
    assert link.keys() == {"name", "url", "about"}
    url = read(ROOT / "_config.yml")["repository"]["url"]
    assert link["url"] == f"{url}/discussions"


def test_packages_and_actions_are_kept_up_to_date_but_not_the_lower_bounds():
    bot = read(HOST / "dependabot.yml")
    pip, actions = bot["updates"]
    assert (bot["version"], pip["package-ecosystem"]) == (2, "pip")
    assert actions["package-ecosystem"] == "github-actions"
    assert [(ROOT / name).exists() for name in pip["exclude-paths"]] == [True]
    assert "constraints-oldest.txt" in pip["exclude-paths"]


def test_the_container_has_what_a_build_server_installs():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    needed = re.findall(r"missing\+=\(([\w ]+)\)", (ROOT / ".ci/run").read_text())
    assert set(" ".join(needed).split()) <= set(container["onCreateCommand"].split())
    assert container["postCreateCommand"] == "make .venv/.all"
    version = re.search(r"python:(\d+)\.(\d+)", container["image"])
    assert tuple(map(int, version.groups())) >= (3, 11)

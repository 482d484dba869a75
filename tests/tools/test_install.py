"""What pip is configured with reaches uv, and where uv fails there is pip."""

import subprocess
import sys

import pytest
from load_tool import load_tool

LISTED = """\
:env:.find-links='/srv/wheels ~/more'
:env:.timeout='60'
global.cert='/etc/mirror.pem'
global.find-links='/old'
global.index-url='https://mirror.example.org/simple'
global.extra-index-url='https://one.example.org/simple\\nhttps://two.example.org/simple'
global.trusted-host='mirror.example.org'
global.timeout='15'
install.no-index='false'
install.timeout='30'
freeze.timeout='5'
"""


@pytest.fixture
def install():
    """The tool, which is no part of a package."""
    return load_tool("install")


@pytest.fixture
def machine(install, monkeypatch, tmp_path):
    """A machine of our own, where what is run is written down, and fails if told to."""
    ran, fails = [], set()
    (tmp_path / "uv").write_text("#!/bin/sh\n")
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.setattr(install.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "")

    def run(command, env=None, **_):
        what = " ".join(map(str, command)).replace(f"{tmp_path}/", "")
        ran.append((what, env))
        status = int(any(word in what for word in fails))
        return subprocess.CompletedProcess(command, status, LISTED, "")

    monkeypatch.setattr(install.subprocess, "run", run)
    return ran, fails


def test_pips_options_have_pips_order(install):
    options = install.read(LISTED)
    assert options["find-links"] == "/srv/wheels ~/more"  # of the environment
    assert options["timeout"] == "60"
    assert options["no-index"] == "false"
    without = "\n".join(LISTED.splitlines()[2:])
    assert install.read(without)["timeout"] == "30"  # for install, not for all commands


def test_a_mirror_that_pip_knows_is_uvs_too(install, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    told, arguments = install.translate(install.read(LISTED), {})
    assert told == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://mirror.example.org/simple",
        "UV_INDEX": "https://one.example.org/simple https://two.example.org/simple",
        "UV_FIND_LINKS": "/srv/wheels,/home/ada/more",
        "UV_INSECURE_HOST": "mirror.example.org",
        "UV_HTTP_TIMEOUT": "60",
        "SSL_CERT_FILE": "/etc/mirror.pem",
    } | ({"UV_SYSTEM_CERTS": "true"} if "UV_SYSTEM_CERTS" in told else {})
    assert arguments == []


def test_what_pip_must_not_do_uv_must_not_do(install):
    options = {"no-index": "yes", "only-binary": ":all:", "constraint": "ours.txt"}
    _, arguments = install.translate(options, {})
    assert arguments == ["--constraint=ours.txt", "--only-binary=:all:", "--no-index"]


def test_certificates_come_from_where_pip_has_them(install):
    environment = {"REQUESTS_CA_BUNDLE": "/bundle.pem"}
    assert install.translate({}, environment)[0]["SSL_CERT_FILE"] == "/bundle.pem"
    told, _ = install.translate({"cert": "/pip.pem"}, environment)
    assert told["SSL_CERT_FILE"] == "/pip.pem"


def test_what_a_person_told_uv_stays(install):
    environment = {"UV_DEFAULT_INDEX": "https://mine.example.org", "HOME": "/root"}
    told, _ = install.translate(install.read(LISTED), environment)
    assert told["UV_DEFAULT_INDEX"] == "https://mine.example.org"
    assert "HOME" not in told


def test_uv_installs_with_what_pip_is_told(install, machine, capsys):
    ran, _ = machine
    assert install.main("pins.txt", ".[book]") == 0
    commands = [what for what, _ in ran]
    assert commands == [
        "python -m pip install -qq --no-input -c pins.txt uv",
        "python -m pip config list",
        "uv pip install -q --python python -c pins.txt -e .[book]",
    ]
    assert ran[-1][1]["UV_DEFAULT_INDEX"] == "https://mirror.example.org/simple"
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("broken", "said"), [("uv pip", "uv failed"), ("pins.txt uv", "no uv to be had")]
)
def test_where_uv_fails_pip_installs_and_a_line_says_so(
    install, machine, capsys, broken, said
):
    ran, fails = machine
    fails.add(broken)
    assert install.main("pins.txt", ".[book]") == 0
    assert ran[-1][0] == "python -m pip install -qq --no-input -c pins.txt -e .[book]"
    out = capsys.readouterr().out
    assert said in out
    assert "pip installs instead" in out


def test_where_pip_fails_too_so_does_the_command(install, machine):
    ran, fails = machine
    fails |= {"uv pip", "-e .[book]"}
    assert install.main("pins.txt", ".[book]") == 1
    assert len(ran) == 4


def test_pip_here_prints_what_is_read(install):
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        check=True,
        capture_output=True,
        text=True,
        env={"PIP_FIND_LINKS": "/a b", "PIP_CONFIG_FILE": "/dev/null"},
    )
    assert install.read(listed.stdout)["find-links"] == "/a b"

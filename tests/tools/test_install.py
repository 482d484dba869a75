"""What pip is configured with reaches uv, and where uv fails there is pip."""

import subprocess

import pytest
from load_tool import load_tool

LISTED = """\
:env:.find-links='/srv/wheels ~/more'
:env:.timeout='60'
global.cert='/etc/mirror.pem'
global.find-links='/old'
global.index-url='https://mirror.example.org/simple'
global.extra-index-url='https://one.example.org/simple\\nhttps://two.example.org/simple'
global.timeout='15'
install.timeout='30'
freeze.timeout='5'
"""
PIP = "python -m pip install -qq --no-input -c pins.txt -e .[book]"


@pytest.fixture
def install():
    """The tool, which is no part of a package."""
    return load_tool("install")


@pytest.fixture
def machine(install, monkeypatch, tmp_path):
    """A machine of our own, where what is run is written down, and fails if told to."""
    ran, fails, listed = [], set(), [LISTED]
    (tmp_path / "uv").write_text("#!/bin/sh\n")
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.setattr(install.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "")

    def run(command, env=None, **_):
        what = " ".join(map(str, command)).replace(f"{tmp_path}/", "")
        ran.append((what, env))
        status = int(any(word in what for word in fails))
        return subprocess.CompletedProcess(command, status, listed[0], "")

    monkeypatch.setattr(install.subprocess, "run", run)
    return ran, fails, listed


def test_what_pip_knows_uv_is_told_and_what_a_person_told_uv_stays(
    install, monkeypatch
):
    monkeypatch.setenv("HOME", "/home/ada")
    told = install.translate(
        install.read(LISTED), {"UV_INDEX": "https://mine", "A": "b"}
    )
    assert told == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://mirror.example.org/simple",
        "UV_INDEX": "https://mine",
        "UV_FIND_LINKS": "/srv/wheels,/home/ada/more",
        "UV_HTTP_TIMEOUT": "60",
        "SSL_CERT_FILE": "/etc/mirror.pem",
    }
    bundle = {"REQUESTS_CA_BUNDLE": "/bundle.pem"}
    assert install.translate({}, bundle)["SSL_CERT_FILE"] == "/bundle.pem"
    assert (
        install.translate({"cert": "/pip.pem"}, bundle)["SSL_CERT_FILE"] == "/pip.pem"
    )


def test_uv_installs_with_what_pip_is_told(install, machine, capsys):
    ran, _, _ = machine
    assert install.main("pins.txt", ".[book]") == 0
    assert [what for what, _ in ran] == [
        "python -m pip config list",
        "python -m pip install -qq --no-input -c pins.txt uv",
        "uv pip install -q --python python -c pins.txt -e .[book]",
    ]
    assert ran[-1][1]["UV_DEFAULT_INDEX"] == "https://mirror.example.org/simple"
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("broken", "also", "said"),
    [
        ({"uv pip"}, "", "uv failed"),
        ({"pins.txt uv"}, "", "no uv to be had"),
        (set(), "install.no-index='true'\n", "uv can't be told"),
        ({"uv pip", "-e .[book]"}, "", "uv failed"),
    ],
)
def test_where_uv_fails_pip_installs_and_a_line_says_so(
    install, machine, capsys, broken, also, said
):
    ran, fails, listed = machine
    fails |= broken
    listed[0] += also
    assert install.main("pins.txt", ".[book]") == int("-e .[book]" in broken)
    assert ran[-1][0] == PIP
    out = capsys.readouterr().out
    assert said in out
    assert "pip installs instead" in out

"""Install the course: with uv in seconds, else with pip in minutes.

`python tools/install.py constraints.txt '.[book]'` does it for the Python that runs it.

uv reads nothing of what pip is configured with, and there stands an institution's
mirror. Without it, uv would ask an index that the machine may not reach, or take
another build of PyTorch than pip would. So it is told, in its own variables; what a
person told uv stays. Where uv can't be had, or fails, pip does all of it.
"""

import ast
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# What pip calls it, the variable that tells uv, and what uv wants between two values.
VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "proxy": ("ALL_PROXY", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client-cert": ("SSL_CLIENT_CERT", " "),
}
# These are arguments, of the same name in both.
ARGUMENTS = ("constraint", "no-binary", "only-binary")
SECTIONS = ("global", "install", ":env:")  # the later one wins


def read(listed: str) -> dict[str, str]:
    """Read what `pip config list` prints: the value of each option for `pip install`.

    Args:
        listed: Lines such as `global.index-url='…'`; `:env:` is the environment.
    """
    found: dict[str, tuple[int, str]] = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, option = key.rpartition(".")
        section = section.rstrip(".")
        if section in SECTIONS:
            ranked = SECTIONS.index(section), str(ast.literal_eval(value))
            found[option] = max(ranked, found.get(option, ranked), key=lambda r: r[0])
    return {option: value for option, (_, value) in found.items()}


def translate(
    options: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Say to uv what was said to pip.

    Args:
        options: What pip is configured with.
        environment: Where pip looks for certificates too, and uv for its own settings:
            these come before what pip is told.

    Returns:
        Variables and arguments for uv.
    """
    # pip takes the best version of all indexes; uv would stop at the first with any.
    told = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    bundles = map(environment.get, ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
    if bundle := next(filter(None, bundles), None):
        options = {"cert": bundle, **options}
    # A newer pip trusts what the system trusts, an institution's certificates as well.
    if "cert" not in options and ssl.get_default_verify_paths().cafile:
        told["UV_SYSTEM_CERTS"] = "true"
    for option, (variable, between) in VARIABLES.items():
        if values := options.get(option, "").split():
            told[variable] = between.join(map(os.path.expanduser, values))
    told |= {k: v for k, v in environment.items() if k.startswith("UV_")}
    arguments = [
        f"--{option}={value}"
        for option in ARGUMENTS
        for value in options.get(option, "").split()
    ]
    if options.get("no-index", "").lower() in {"1", "true", "yes", "on", "y", "t"}:
        arguments.append("--no-index")
    return told, arguments


def find_uv(pip: Sequence[str], constraints: str) -> str | None:
    """Put uv into this environment, from where pip takes everything, or look for it."""
    installed = subprocess.run(
        [*pip, "install", "-qq", "--no-input", "-c", constraints, "uv"],
        check=False,
        stderr=subprocess.DEVNULL,
    )
    own = shutil.which("uv", path=Path(sys.executable).parent)
    return own if installed.returncode == 0 and own else shutil.which("uv")


def main(constraints: str, wanted: str) -> int:
    """Install what is wanted, and give the exit status."""
    pip = [sys.executable, "-m", "pip"]
    what = ["-c", constraints, "-e", wanted]
    if uv := find_uv(pip, constraints):
        listed = subprocess.run(
            [*pip, "config", "list"], check=True, capture_output=True, text=True
        )
        told, arguments = translate(read(listed.stdout), os.environ)
        command = [uv, "pip", "install", "-q", "--python", sys.executable]
        done = subprocess.run(
            [*command, *arguments, *what], check=False, env=os.environ | told
        )
        if done.returncode == 0:
            return 0
    reason = "uv failed, as it says above" if uv else "There is no uv to be had"
    print(f"{reason}: pip installs instead, which takes some minutes.", flush=True)
    return subprocess.run(
        [*pip, "install", "-qq", "--no-input", *what], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

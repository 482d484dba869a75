"""Install the course: with uv in seconds, else with pip in minutes.

`python tools/install.py constraints.txt '.[book]'` does it for the Python that runs it.

uv reads nothing of what pip is configured with, and there stands an institution's
mirror. So it is told, in its own variables; what a person told uv stays. Where uv can't
be told, can't be had or fails, pip does all of it.
"""

import ast
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# What pip calls it, the variable that tells uv, and what uv wants between two values.
VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "proxy": ("ALL_PROXY", " "),
    "cert": ("SSL_CERT_FILE", " "),
}
UNTOLD = {"no-index", "no-binary", "only-binary", "client-cert"}
SECTIONS = ("global", "install", ":env:")  # the later one wins


def read(listed: str) -> dict[str, str]:
    """Read what `pip config list` prints: the value of each option for `pip install`.

    Its lines are such as `global.index-url='…'`; `:env:` is the environment.
    """
    found: dict[str, str] = {}
    for wanted in SECTIONS:
        for line in listed.splitlines():
            key, _, value = line.partition("=")
            section, _, option = key.rpartition(".")
            if section.rstrip(".") == wanted:
                found[option] = str(ast.literal_eval(value))
    return found


def translate(
    options: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, str]:
    """Say to uv, in variables, what was said to pip, by its options or to all."""
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
    return told | {k: v for k, v in environment.items() if k.startswith("UV_")}


def main(constraints: str, wanted: str) -> int:
    """Install what is wanted, and give the exit status."""
    pip = [sys.executable, "-m", "pip"]
    install = [*pip, "install", "-qq", "--no-input", "-c", constraints]
    what = ["-c", constraints, "-e", wanted]
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True)
    options = read(listed.stdout)
    why = "uv can't be told all that pip is"
    if not UNTOLD & options.keys():
        done = subprocess.run([*install, "uv"], stderr=subprocess.DEVNULL)
        own = shutil.which("uv", path=Path(sys.executable).parent)
        why = "There is no uv to be had"
        if uv := own if done.returncode == 0 and own else shutil.which("uv"):
            command = [uv, "pip", "install", "-q", "--python", sys.executable, *what]
            told = os.environ | translate(options, os.environ)
            if subprocess.run(command, env=told).returncode == 0:
                return 0
            why = "uv failed, as it says above"
    print(f"{why}: pip installs instead, which takes some minutes.", flush=True)
    return subprocess.run([*install, "-e", wanted]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

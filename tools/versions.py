"""Put the versions that were released beside the site that is about to be published.

    python tools/versions.py site    # site/v1.2/, site/v1.3/, ...

Each release of the repository carries its site as an archive, the one that readers take
along. It is unpacked under its tag, so that a version keeps its address and nothing old
is ever built again. Needs GitHub's `gh`, which its runners have.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def gh(*arguments: str) -> str:
    """Ask GitHub."""
    done = subprocess.run(["gh", *arguments], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def unpack(archive: Path, target: Path) -> None:
    """Unpack an archive of one folder, without that folder."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
        (inside,) = Path(folder).iterdir()
        shutil.copytree(inside, target)


def add_versions(site: Path) -> list[str]:
    """Add all released versions that have an archive; say which."""
    listed = gh("release", "list", "--exclude-drafts", "--limit=999", "--json=tagName")
    added = []
    for tag in [release["tagName"] for release in json.loads(listed)]:
        with tempfile.TemporaryDirectory() as folder:
            assets = json.loads(gh("release", "view", tag, "--json=assets"))["assets"]
            if not any(asset["name"].endswith(".zip") for asset in assets):
                continue
            gh("release", "download", tag, "--pattern=*.zip", f"--dir={folder}")
            (archive,) = Path(folder).glob("*.zip")
            unpack(archive, site / tag)
            added.append(tag)
    return added


if __name__ == "__main__":
    print("versions beside the current one:", *add_versions(Path(sys.argv[1])))

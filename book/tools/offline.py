"""Pack the built site into one archive that is read without a server and a network.

    python book/tools/offline.py    # after `make book`: _build/zip/<title>.zip

Unpacked, `index.html` opens the book. The same site gives the same archive. What only
the published site has a use for is left out.
"""

import argparse
import re
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
ONLINE = {".buildinfo", "404.html", "sitemap.xml"}
DAY = (1980, 1, 1, 0, 0, 0)  # the archive's first possible one: no clock in it


def name_of(root: Path) -> str:
    """Name the archive after the book's title and version."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    version = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))["version"]
    return (
        re.sub(r"[^a-z0-9]+", "-", config["title"].lower()).strip("-") + f"-{version}"
    )


def pack(site: Path, out: Path) -> None:
    """Write the archive: all in one folder, which has its name."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(site.rglob("*")):
            name = path.relative_to(site).as_posix()
            if path.is_file() and name not in ONLINE:
                entry = zipfile.ZipInfo(f"{out.stem}/{name}", DAY)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())


def main(arguments: Sequence[str] | None = None) -> int:
    """Pack the site; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args(arguments).root
    site = root / "_build" / "html"
    if not (site / "index.html").is_file():
        print(f"There is no site in {site}: run `make book` first.")
        return 1
    out = root / "_build" / "zip" / f"{name_of(root)}.zip"
    pack(site, out)
    print(f"The book to take along: {out}, {out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

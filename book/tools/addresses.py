"""The repository's address where it can't be asked for, and its site's.

`_config.yml` names it. A fork edits that line, and `make notebooks` writes it to these
files, which GitHub, pip and those who cite read as they stand.
"""

import re
from pathlib import Path
from urllib.parse import urlparse

FILES = ("CITATION.cff", "pyproject.toml", ".github/ISSUE_TEMPLATE/config.yml")
# What begins the line, then the address; a page of the repository may follow it.
REPOSITORY = re.compile(
    r'^(repository-code: |(?:Repository|Issues|Changelog) = "| +url: )https://\S+?'
    r'(?=(?:/(?:issues|blob/|discussions)\S*)?$|"$)',
    re.MULTILINE,
)
SITE = re.compile(r'^(url: |Documentation = ")https://[^\s"]+', re.MULTILINE)


def pages_address(repository: str) -> str:
    """Give the address at which a repository's pages are published.

    >>> pages_address("https://github.com/owner/name")
    'https://owner.github.io/name/'
    """
    parts = urlparse(repository.rstrip("/"))
    host = (parts.hostname or "").partition(".")[0]
    owner, _, name = parts.path.strip("/").partition("/")
    if name.lower() == f"{owner}.{host}.io".lower():
        return f"https://{owner.lower()}.{host}.io/"
    return f"https://{owner.lower()}.{host}.io/{name}/"


def refresh(root: Path, repository: str, *, write: bool) -> list[str]:
    """List the files that name another address, and with `write` put it right."""
    stale = []
    for name in FILES:
        path = root / name
        text = path.read_text("utf-8") if path.exists() else ""
        right = REPOSITORY.sub(rf"\g<1>{repository}", text)
        right = SITE.sub(rf"\g<1>{pages_address(repository)}", right)
        if right != text:
            stale.append(name)
            if write:
                path.write_text(right, "utf-8")
    return stale

"""Which files of a folder are whose: one submission a student, the latest."""

import csv
import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

KINDS = (".ipynb", ".py")
LARGEST = 2**25  # bytes of a file


@dataclass(frozen=True)
class HandedIn:
    """What one student handed in.

    Args:
        student: The id of the roster, or after whom the file or folder is called.
        name: The name of the roster, or the same.
        path: The file that counts; None if there is none.
        notes: What was left out, and why.
    """

    student: str
    name: str
    path: Path | None
    notes: tuple[str, ...] = ()


def readable(path: Path | str) -> str:
    """A file's name as text, also one that isn't in UTF-8."""
    raw = str(path).encode("utf-8", "surrogateescape")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return unicodedata.normalize("NFC", text)


def read_roster(path: Path) -> dict[str, tuple[str, str]]:
    """By file name, without its ending, the id and the name of a student.

    Raises:
        ValueError: The table has no columns `file` and `id`, or an id twice.
    """
    with open(path, newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file)
        if not {"file", "id"} <= set(table.fieldnames or ()):
            raise ValueError(
                "a roster must have the columns file and id, and may have name: got "
                f"{', '.join(table.fieldnames or ())}. Rename its columns."
            )
        rows = list(table)
    return {
        _key(row["file"]): (row["id"].strip(), (row.get("name") or row["id"]).strip())
        for row in rows
    }


def find(
    folder: Path, roster: dict[str, tuple[str, str]] | None = None
) -> list[HandedIn]:
    """One submission for each student, in the order of their names.

    Args:
        folder: A file or folder for each student; folders may be nested.
        roster: As from `read_roster`. Who is in it and handed in nothing gets a row.
    """
    roster = roster or {}
    files: dict[str, list[Path]] = defaultdict(list)
    names: dict[str, tuple[str, str]] = {}
    left_out: dict[str, list[str]] = defaultdict(list)
    for top in sorted(folder.iterdir()):
        if _ignored(top):
            continue
        key = _key(top.name)
        stem = readable(top.name) if top.is_dir() else _stem(readable(top.name))
        student, name = roster.get(key, (stem, stem))
        key = _key(student)
        names.setdefault(key, (student, name))
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            inside = path.relative_to(folder).parts[1:]
            if path.is_symlink():
                left_out[key].append(f"{readable(path.name)} is a link.")
            elif path.is_file() and not any(_ignored(Path(p)) for p in inside):
                files[key].append(path)
    found = []
    for key, (student, name) in names.items():
        path, notes = _choose(files[key])
        found.append(HandedIn(student, name, path, (*left_out[key], *notes)))
    for student, name in roster.values():
        if _key(student) not in names:
            found.append(HandedIn(student, name, None, ("nothing was handed in.",)))
    return sorted(found, key=lambda one: (one.student.casefold(), one.student))


def _ignored(path: Path) -> bool:
    """What a system leaves beside a notebook."""
    return path.name.startswith(".") or path.name in ("__MACOSX", "__pycache__")


def _stem(name: str) -> str:
    """A file's name without its ending, and without a browser's " (1)"."""
    stem = re.sub(r"\.(ipynb|py)$", "", name, flags=re.IGNORECASE)
    stem = stem if stem != name else Path(name).stem
    return re.sub(r" ?\(\d+\)$", "", stem) or name


def _key(name: str) -> str:
    return _stem(readable(name)).strip().casefold()


def _choose(paths: list[Path]) -> tuple[Path | None, tuple[str, ...]]:
    """The latest notebook, and what is said about the others."""
    kept = [p for p in paths if p.suffix.lower() in KINDS]
    if not kept:
        names = ", ".join(readable(p.name) for p in paths[:3]) or "none"
        return None, (f"a submission must be an .ipynb or .py file: got {names}.",)
    kept.sort(key=lambda p: (p.stat().st_mtime, [len(p.name), p.name]))
    if len(kept) == 1:
        return kept[0], ()
    others = ", ".join(readable(p.name) for p in kept[:-1])
    latest = readable(kept[-1].name)
    return kept[-1], (f"{len(kept)} versions: the latest, {latest}, counts; {others}.",)

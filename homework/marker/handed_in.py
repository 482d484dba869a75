"""Which files of a folder are whose: one submission a student, the latest."""

import csv
import io
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KIND = re.compile(r"\.(ipynb|py)(\.txt)?$", re.IGNORECASE)  # some browsers add one
LARGEST = 2**27  # bytes of a file, which may have pictures in it
JOINERS = "\u200c\u200d"  # no glyphs, and part of names in Persian or Hindi
DEEPEST, MOST = 20, 2000  # of one student's folders, and files
STRANGER = "the roster has no line for it."
Who = tuple[str, str]  # an id and a name


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

    @property
    def names(self) -> set[str]:
        """All by which a person may ask for it: the id, the name, that of the file."""
        file = "" if self.path is None else _stem(readable(self.path.name))
        return {same(name) for name in (self.student, self.name, file)}


def readable(path: Path | str) -> str:
    """A file's name as text, also one that isn't in UTF-8, or ends its line."""
    raw = os.fsencode(path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    text = unicodedata.normalize("NFC", text)
    return "".join(
        c if c.isprintable() or c in JOINERS else ascii(c)[1:-1] for c in text
    )


def same(name: str) -> str:
    """What two names share that are one student's: letters alone may differ in case.

    Not `casefold`, for which Voß is Voss, someone else.
    """
    return unicodedata.normalize("NFC", name).strip().lower()


def read_roster(path: Path) -> dict[str, Who]:
    """By file name, without its ending, the id and the name of a student.

    The table is CSV as any spreadsheet saves it. A name that ends in `*` stands for all
    that begin so, as where a system puts numbers of its own behind the student's.

    Raises:
        ValueError: The table has no columns `file` and `id`, a line without them, or a
            file or an id twice.
    """
    raw = path.read_bytes()
    try:
        utf_16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = raw.decode("utf-16" if utf_16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    apart = max(",;\t", key=text.partition("\n")[0].count)
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=apart)
    columns = table.fieldnames = [name.strip() for name in table.fieldnames or ()]
    if not {"file", "id"} <= set(columns):
        raise ValueError(
            "a roster must have the columns file and id, and may have name: got "
            f"{', '.join(columns)}. Rename its columns."
        )
    roster: dict[str, Who] = {}
    for row in table:
        file, student, name = (
            (row.get(c) or "").strip() for c in ("file", "id", "name")
        )
        if not file and not student:
            continue
        ids = {same(student) for student, _ in roster.values()}
        if not file or not student or _key(file) in roster or same(student) in ids:
            raise ValueError(
                "a roster must have one line a student, with a file and an id that no "
                f"other line has: got {file or 'no file'}, {student or 'no id'} in "
                f"line {table.line_num} of {path}."
            )
        roster[_key(file)] = student, name or student
    return roster


def find(folder: Path, roster: dict[str, Who] | None = None) -> list[HandedIn]:
    """One submission for each student, in the order of their names.

    Args:
        folder: A file or folder for each student; folders may be nested.
        roster: As from `read_roster`. Who is in it and handed in nothing gets a row.
    """
    roster = roster or {}
    names: dict[str, Who] = {}
    files, left_out = defaultdict(list), defaultdict(list)
    for top in sorted(folder.iterdir()):
        if _ignored(top.name):
            continue
        whole = top.is_dir() and not top.is_symlink()
        stem = readable(top.name) if whole else _stem(readable(top.name), _ANY)
        known = _who((_key(top.name), same(stem)), roster)
        who = known or (stem, stem)
        key = same(who[0])
        if roster and not known:
            left_out[key].append(STRANGER)
        names.setdefault(key, who)
        for path, why in _walk(top) if whole else [(top, _left_out(top))]:
            if why:
                left_out[key].append(f"{readable(path.name)} {why}.")
            else:
                files[key].append(path)
    found = []
    for key, who in names.items():
        path, notes = _choose(files[key])
        found.append(HandedIn(*who, path, (*left_out[key], *notes)))
    silent = [who for who in roster.values() if same(who[0]) not in names]
    found += [HandedIn(*who, None, ("nothing was handed in.",)) for who in silent]
    return sorted(found, key=lambda one: (same(one.student), one.student))


def _who(keys: tuple[str, ...], roster: dict[str, Who]) -> Who | None:
    """Whose file it is; where two beginnings fit, the longer."""
    fit = [k for k in roster if k.endswith("*") and keys[0].startswith(k[:-1])]
    fit = [*(k for k in keys if k in roster), *sorted(fit, key=len, reverse=True)]
    return roster[fit[0]] if fit else None


def _walk(top: Path) -> Iterator[tuple[Path, str]]:
    """The files of a student's folder, in order, and why one is left out.

    However deep it is and however many there are, it ends: who unpacks what a class
    has sent gets whatever someone has packed.
    """
    number = 0
    for folder, below, names in os.walk(top):
        here = Path(folder)
        below[:] = sorted(name for name in below if not _ignored(name))
        for name in sorted([*names, *(n for n in below if (here / n).is_symlink())]):
            number += 1
            if number > MOST:
                yield top, f"has more than {MOST} files, and the others are left out"
                return
            if not _ignored(name):
                yield here / name, _left_out(here / name)
        if below and len(here.relative_to(top).parts) == DEEPEST:
            yield here / below[0], f"lies more than {DEEPEST} folders deep"
            below.clear()


def _left_out(path: Path) -> str:
    """Why a file is not looked at; "" if it is."""
    try:
        if path.is_symlink():
            return "is a link"
        return "" if path.is_file() else "is no file"
    except OSError as error:
        return f"can't be read ({error.strerror})"


def _ignored(name: str) -> bool:
    """What a system leaves beside a notebook."""
    return name.startswith(".") or name in ("__MACOSX", "__pycache__")


_OURS, _ANY = KIND.pattern, r"\.\w{1,5}$"


def kind(name: str) -> str:
    """What a file is, ".ipynb" or ".py"; "" if it is no submission."""
    found = KIND.search(name)
    return f".{found[1].lower()}" if found else ""


def _stem(name: str, ending: str = _OURS) -> str:
    """A name without its ending, and without a browser's " (1)"."""
    stem = re.sub(_OURS, "", name, flags=re.IGNORECASE)
    stem = stem if stem != name else re.sub(ending, "", name)
    return re.sub(r" ?\(\d+\)$", "", stem) or name


def _key(name: str) -> str:
    """Of a file, or of a line of the roster, where a name may have dots."""
    return same(_stem(readable(name)))


def _choose(paths: list[Path]) -> tuple[Path | None, tuple[str, ...]]:
    """The latest notebook, and what is said about the others."""
    kept = [p for p in paths if kind(p.name)]
    if not kept:
        names = ", ".join(readable(p.name) for p in paths[:3]) or "none"
        return None, (f"a submission must be an .ipynb or .py file: got {names}.",)
    # Beside a notebook a script is its helper, however late it was saved.
    kept.sort(
        key=lambda p: (
            kind(p.name) == ".ipynb",
            p.stat().st_mtime,
            [len(p.name), p.name],
        )
    )
    if len(kept) == 1:
        return kept[0], ()
    others = ", ".join(readable(p.name) for p in kept[:-1])
    latest = readable(kept[-1].name)
    return kept[-1], (f"{len(kept)} versions: the latest, {latest}, counts; {others}.",)

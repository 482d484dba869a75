"""Which files of a folder are whose: one submission a student, the latest."""

import csv
import io
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

KIND = re.compile(r"\.(ipynb|py)(\.txt|\.json)?$", re.IGNORECASE)  # browsers add one
LARGEST = 2**27  # bytes of a file, which may have pictures in it
JOINERS = "\u200c\u200d"  # no glyphs, and part of names in Persian or Hindi
DEEPEST, MOST = 20, 2000  # of one student's folders, and files
STRANGER = "the roster has no line for it."
Who = tuple[str, str, dict[str, str]]  # an id, a name, and the roster's other columns


@dataclass(frozen=True)
class HandedIn:
    """What one student handed in.

    Args:
        student: The id of the roster, or after whom the file or folder is called.
        name: The name of the roster, or the same.
        path: The latest notebook, or script if there is no notebook; None if neither.
        notes: What was left out, and why.
        others: Earlier ones.
        helpers: Scripts that lie in the student's folder.
        flags: What a person has to look at.
        known: Of a student in the roster, what else it says, by column.
    """

    student: str
    name: str
    path: Path | None
    notes: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()
    helpers: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    known: dict[str, str] | None = None

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


def read_table(path: Path) -> list[dict[str, str]]:
    """The lines of a table in CSV by their columns, as any spreadsheet saves it."""
    raw = path.read_bytes()
    try:
        utf_16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = raw.decode("utf-16" if utf_16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    apart = max(",;\t", key=text.partition("\n")[0].count)
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=apart)
    return [
        {k.strip(): (v or "").strip() for k, v in line.items() if k is not None}
        for line in table
    ]


def read_roster(path: Path) -> dict[str, Who]:
    """By file name, without its ending, the id and the name of a student.

    A name that ends in `*` stands for all
    that begin so, as where a system puts numbers of its own behind the student's.

    Raises:
        ValueError: The table has no columns `file` and `id`, a line without them, or a
            file or an id twice.
    """
    roster: dict[str, Who] = {}
    for number, row in enumerate(read_table(path), start=2):
        if not {"file", "id"} <= row.keys():
            raise ValueError(
                "a roster must have the columns file and id, and may have name: got "
                f"{', '.join(row)}. Rename its columns."
            )
        file, student, name = (row.get(c, "") for c in ("file", "id", "name"))
        if not file and not student:
            continue
        ids = {same(student) for student, *_ in roster.values()}
        if not file or not student or _key(file) in roster or same(student) in ids:
            raise ValueError(
                "a roster must have one line a student, with a file and an id that no "
                f"other line has: got {file or 'no file'}, {student or 'no id'} in "
                f"line {number} of {path}."
            )
        more = {k: v for k, v in row.items() if k not in ("file", "id", "name")}
        roster[_key(file)] = student, name or student, more
    return roster


def find(folder: Path, roster: dict[str, Who] | None = None) -> list[HandedIn]:
    """One submission for each student, in the order of their names.

    Args:
        folder: A file or folder for each student; folders may be nested.
        roster: As from `read_roster`. Who is in it and handed in nothing gets a row.
    """
    roster = roster or {}
    names: dict[str, Who] = {}
    files, left_out, tops = defaultdict(list), defaultdict(list), defaultdict(list)
    strangers = set()
    for top in sorted(folder.iterdir()):
        if _ignored(top.name) and not _is_work(top):
            continue
        whole = top.is_dir() and not top.is_symlink()
        stem = readable(top.name) if whole else _stem(readable(top.name), _ANY)
        known = _who((_key(top.name), same(stem)), roster)
        who = known or (stem, stem, {})
        key = same(who[0])
        tops[key].append(readable(top.name))
        if roster and not known:
            left_out[key].append(STRANGER)
        if not known:
            strangers.add(key)
        names.setdefault(key, who)
        for path, why in _walk(top) if whole else [(top, _left_out(top))]:
            if why:
                left_out[key].append(f"{readable(path.name)} {why}.")
            else:
                files[key].append(path)
    found = []
    for key, who in names.items():
        kept, helpers = _sort(files[key])
        notes = left_out[key] if len(left_out[key]) < 4 else [*left_out[key][:3], "…"]
        if not kept:
            notes.append(_none(files[key]))
        some = ", ".join(tops[key][:3])
        flags = (f"several files are theirs: {some}",) * (len(tops[key]) > 1)
        known = None if key in strangers else who[2]
        one = HandedIn(*who[:2], next(iter(kept), None), tuple(notes), tuple(kept[1:]))
        found.append(replace(one, helpers=tuple(helpers), flags=flags, known=known))
    silent = [who for who in roster.values() if same(who[0]) not in names]
    nothing = ("nothing was handed in.",)
    found += [HandedIn(*who[:2], None, nothing, known=who[2]) for who in silent]
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


def _is_work(top: Path) -> bool:
    """Whether a file with a dot in front is one that someone has named so."""
    return bool(kind(top.name)) and not top.name.startswith("._")


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


def _sort(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """What counts, the latest first, and the scripts that may help it."""
    kept = [p for p in paths if kind(p.name)]
    kept.sort(key=lambda p: (p.stat().st_mtime, len(p.name), p.name), reverse=True)
    scripts = [p for p in kept if kind(p.name) == ".py"]
    # Beside a notebook a script is its helper, however late it was saved.
    return [p for p in kept if p not in scripts] or scripts, scripts


def _none(paths: list[Path]) -> str:
    names = ", ".join(readable(p.name) for p in paths[:3]) or "none"
    return f"a submission must be an .ipynb or .py file: got {names}."

"""Is a translated page still its original? Its words may differ, nothing else.

    python book/tools/translated.py        # every page in translations/
    python book/tools/translated.py de     # those of one language

`translations/<language>/` has the folders of `book/`. Stored outputs belong to cells,
and links to labels: both are the original's, in its order. Captions are words.
"""

import sys
from itertools import zip_longest
from pathlib import Path

from notebooks import ROOT, read_cells

sys.path.append(str(ROOT / "book" / "_ext"))

from links import LABEL


def parts(path: Path) -> list[tuple[str, str]]:
    """List what must stay: code cells, with their tags, and then labels."""
    text = path.read_text("utf-8")
    cells = [cell for cell in read_cells(text).cells if cell.cell_type == "code"]
    coded = [f"{cell.metadata.get('tags', [])}\n{cell.source}" for cell in cells]
    labels = (match[match.lastgroup or 0] for match in LABEL.finditer(text))
    return [("code cell", c) for c in coded] + [("label", name) for name in labels]


def compare(page: Path, original: Path) -> str | None:
    """Say where a translated page leaves its original, if it does."""
    if not original.exists():
        return "it translates no page of book/"
    end = ("end", "nothing")
    pairs = zip_longest(parts(page), parts(original), fillvalue=end)
    for number, (ours, theirs) in enumerate(pairs, start=1):
        if ours != theirs:
            kind = ours[0] if theirs is end else theirs[0]
            said = f"{kind} (part {number}) is\n{ours[1]}\nwhere the original has"
            return f"{said}\n{theirs[1]}"
    return None


def main(root: Path, languages: list[str]) -> int:
    """Compare, and return the number of pages that differ or languages without any."""
    differ = 0
    for language in languages or ["*"]:
        pages = sorted(root.glob(f"translations/{language}/**/*.md"))
        if languages and not pages:
            print(f"translations/{language} has no page.")
            differ += 1
        for page in pages:
            inside = page.relative_to(root / "translations")
            if said := compare(page, root / "book" / Path(*inside.parts[1:])):
                print(f"{inside}: {said}")
                differ += 1
    return differ


if __name__ == "__main__":
    sys.exit(main(ROOT, sys.argv[1:]))

"""Numbers in the words of a page that no cell prints and no claim asserts.

    python book/tools/unprinted.py             # how many on each page
    python book/tools/unprinted.py attention   # this page's, each in its sentence

A number of the prose, a caption or an alternative text is known if some cell prints it,
also unrounded or as a share for a percentage, or if code or claims hold it. Below 13 it
may be a count of things in the sentence, and isn't looked at unless it has decimals;
nor are years, links, formulas and what stands in a citation. What is left is a place to
look, not a verdict: a number from a paper stands there as well.
"""

import argparse
import json
import re
from pathlib import Path

from limits import CELL, FRONT, MINUTES
from notebooks import find_chapters

ROOT = Path(__file__).resolve().parents[2]
SMALL = 13  # what is below may be a count
YEARS = range(1600, 2101)
NUMBER = re.compile(r"(?<![\w.,−-])\d[\d,]*(?:\.\d+)?(?!\w|\.\d)%?")
HELD = re.compile(r"(?<![\w.])\d[\d,_]*(?:\.\d+)?(?:e-?\d+)?")
NOT_PROSE = [
    r"(?s)\$\$.*?\$\$",
    r"\$[^$\n]*\$",
    r"`[^`\n]*`",
    r"\{[a-z:]+\}`[^`]*`",
    r"\]\([^)]*\)",
    r"(?m)^ *(?:`{3,}|:{3,})\{.*$",  # a directive, and its options but what is read
    r"(?m)^:(?!alt)[a-z]+:.*$",
    r"(?m)^nbval:.*$|^---$",  # a cell's header holds its caption and alternative text
    r"(?s)\A---\n.*?\n---\n",
]


def value(number: str) -> float:
    """Read a number of the prose; a percentage as a share."""
    share = number.endswith("%")
    return float(number.rstrip("%").replace(",", "")) / (100 if share else 1)


def unit(number: str) -> float:
    """One in the last place that it says."""
    decimals = len(number.rstrip("%").partition(".")[2])
    return 10.0**-decimals / (100 if number.endswith("%") else 1)


def may_be_a_result(number: str) -> bool:
    """Say whether it is looked at: no small count, no year."""
    if "%" in number or "." in number:
        return True
    return value(number) >= SMALL and value(number) not in YEARS


def held(text: str, notebook: dict, drawn: str = "") -> list[float]:
    """The numbers that a page's cells hold and print, and what draws its figures."""
    texts = [drawn, *(cell["source"] for cell in CELL.finditer(text))]
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts += [
                "".join(output.get("text", "")),
                "".join(data.get("text/plain", "")),
            ]
    found = HELD.findall(" ".join(texts))
    return [float(re.sub("[,_]", "", number)) for number in found]


def unprinted(text: str, notebook: dict, drawn: str = "") -> list[tuple[str, str]]:
    """List numbers of the prose that nothing holds, each with what stands around it."""
    there = held(text, notebook, drawn)
    prose = CELL.sub(lambda cell: cell["options"] or "", FRONT.sub("", text))
    for pattern in [MINUTES.pattern, r"· \d+ minutes?", *NOT_PROSE]:
        prose = re.sub(pattern, " ", prose)
    found: list[tuple[str, str]] = []
    for match in NUMBER.finditer(prose):
        number = match[0].rstrip(",")
        if may_be_a_result(number):
            off = min(
                abs(n / by - value(number)) for n in [*there, 0] for by in (1, 100)
            )
            if off > 0.501 * unit(number):
                around = prose[max(0, match.start() - 60) : match.end() + 40]
                found.append((number, " ".join(around.split())))
    return found


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description="Numbers that nothing prints.")
    parser.add_argument("slug", nargs="?", help="a page; all by default")
    slug = parser.parse_args().slug
    for path in find_chapters(ROOT / "book", [slug] if slug else []):
        notebook = json.loads(path.with_suffix(".ipynb").read_text("utf-8"))
        script = ROOT / f"book/figures/{path.stem.replace('-', '_')}.py"
        drawn = script.read_text("utf-8") if script.exists() else ""
        found = unprinted(path.read_text("utf-8"), notebook, drawn)
        print(f"{path.stem:24}{len(found):4}")
        for number, around in found if slug else []:
            print(f"    {number:>8}  … {around} …")


if __name__ == "__main__":
    main()

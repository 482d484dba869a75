"""Numbers in the words of a page that no cell prints and no claim asserts.

    python book/tools/unprinted.py             # how many on each page
    python book/tools/unprinted.py attention   # this page's, each in its sentence

A number of the prose, a caption or an alternative text is known if some cell prints it,
also unrounded or as a share for a percentage, or if code or claims hold it, a script
draws it, a live figure's still shows it, or a file that the page includes has it. A
round one, like 105,000, may be off by half a percent. Below 13 a number may be a count
of things in the sentence, and isn't looked at unless it has decimals. Nor are years,
sections, links, formulas and examples in italics. A sentence that cites a work has its
numbers from there, and an exercise chooses its own, which its solution may repeat. What
is left is a place to look, not a verdict, and a wrong number may stand on the page by
chance: half of all values like 0.37 do.
"""

import argparse
import json
import re
from pathlib import Path

from limits import CELL, FRONT, GATED, MINUTES
from notebooks import find_chapters

ROOT = Path(__file__).resolve().parents[2]
SMALL = 13  # what is below may be a count
YEARS = range(1600, 2101)
NUMBER = re.compile(r"(?<![\w.,−-])\d[\d,]*(?:\.\d+)?(?!\w|\.\d)%?")
HELD = re.compile(r"(?<![\w.])\d[\d,_]*(?:\.\d+)?(?:e-?\d+)?")
WORDS_OF_SIZE = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
SIZE = re.compile(r"\s+(thousand|million|billion)\b")
CITING = re.compile(  # a sentence
    r"(?:(?!\n\n|[.?!]\s+[A-Z{*]).)*\{cite:.*?(?=[.?!]\s|\n\n|\Z)", re.DOTALL
)
COMMENT = re.compile(r"(?m)(?:^|(?<=\s))# .*$")
SHOWN = re.compile(r"\{explore\} (\S+\.svg)|\{literalinclude\} (\S+)")
WRITTEN = re.compile(r"<text[^>]*>([^<]*)<")
NOT_PROSE = [
    r"(?ms)^```(?:python|bash)$.*?^```$",  # code that no cell runs
    r"(?s)\$\$.*?\$\$",
    r"\$(?:[^$\n]|\n(?!\n))*\$",
    r"(?<![*\w])\*(?![*\s])[^*]*\*",  # in italics
    r"\bsections? \d+(?:\.\d+)*",
    r"\b(?:8|16|32|64) bits\b",  # a format
    r"\b(?:Llama|Gemma|Qwen) ?\d(?:\.\d)?\b",  # a model's name
    r"`[^`\n]*`",
    r"\{[a-z:]+\}`[^`]*`",
    r"\]\([^)]*\)",
    r"(?m)^ *(?:`{3,}|:{3,})\{.*$",  # a directive, and its options but what is read
    r"(?m)^:(?!alt)[a-z]+:.*$",
    r"(?m)^nbval:.*$|^---$",  # a cell's header holds its caption and alternative text
    r"(?m)^ +(?:width|height): .*$",
    r"(?s)\A---\n.*?\n---\n",
]


def value(number: str) -> float:
    """Read a number of the prose; a percentage as a share."""
    share = number.endswith("%")
    return float(number.rstrip("%").replace(",", "")) / (100 if share else 1)


def unit(number: str) -> float:
    """One in the last place that it says, and more where that place is a round one."""
    whole, _, decimals = number.rstrip("%").replace(",", "").partition(".")
    if whole.endswith("000"):
        return max(1.0, value(number) / 100)
    return 10.0 ** -len(decimals) / (100 if number.endswith("%") else 1)


def may_be_a_result(number: str) -> bool:
    """Say whether it is looked at: no small count, no year."""
    if "%" in number or "." in number:
        return True
    return value(number) >= SMALL and value(number) not in YEARS


def held(text: str, notebook: dict, drawn: str = "") -> list[float]:
    """The numbers that a page's cells hold and print, and what draws its figures."""
    code = (COMMENT.sub("", cell["source"]) for cell in CELL.finditer(text))
    texts = [drawn, *code]
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
    asked = [e[0] for e in GATED.finditer(prose) if e["kind"] == "exercise"]
    there += [float(n.replace(",", "")) for e in asked for n in HELD.findall(e)]
    for exercise in asked:
        prose = prose.replace(exercise, "")
    prose = CITING.sub(" ", prose)
    for pattern in [MINUTES.pattern, r"· \d+ minutes?", *NOT_PROSE]:
        prose = re.sub(pattern, " ", prose)
    found: list[tuple[str, str]] = []
    for match in NUMBER.finditer(prose):
        number = match[0].rstrip(",")
        if may_be_a_result(number):
            named = SIZE.match(prose, match.start() + len(number))
            size = WORDS_OF_SIZE[named[1]] if named else 1.0
            off = min(
                abs(n / by - value(number))
                for n in [*there, 0]
                for by in (1, 100, size)
            )
            if off > 0.501 * unit(number):
                around = prose[max(0, match.start() - 60) : match.end() + 40]
                found.append((number, " ".join(around.split())))
    return found


def shown(path: Path, text: str) -> str:
    """What a page shows that stands in other files: drawings, stills, inclusions."""
    script = ROOT / f"book/figures/{path.stem.replace('-', '_')}.py"
    texts = [script.read_text("utf-8")] if script.exists() else []
    for still, included in SHOWN.findall(text):
        there = (path.parent / (still or included)).read_text("utf-8")
        texts.append(" ".join(WRITTEN.findall(there)) if still else there)
    return " ".join(texts)


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description="Numbers that nothing prints.")
    parser.add_argument("slug", nargs="?", help="a page; all by default")
    slug = parser.parse_args().slug
    for path in find_chapters(ROOT / "book", [slug] if slug else []):
        notebook = json.loads(path.with_suffix(".ipynb").read_text("utf-8"))
        text = path.read_text("utf-8")
        found = unprinted(text, notebook, shown(path, text))
        print(f"{path.stem:24}{len(found):4}")
        for number, around in found if slug else []:
            print(f"    {number:>8}  … {around} …")


if __name__ == "__main__":
    main()

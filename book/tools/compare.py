"""Outputs that are the same on every run and every machine, but for rounding.

A notebook is committed with its outputs, so whatever changes without meaning goes
before: the chunks in which a stream arrived, a picture's metadata, the files named in a
traceback. What cannot be cleaned without changing what is said (a local path, an
object's address, a warning) is refused, with the cell's name.

A stored `1.332973` may come out as `1.3329729` on another processor, and a picture with
a pixel shaded otherwise. Comparing character by character would fail there and teach
people to look away. Comparing nothing would let a wrong result through. So:

- words, integers, shapes and the number of outputs are equal;
- floats agree to a relative 1e-4, or to one unit in the last place that is printed,
  which of a float without decimals is 1 (`whole_floats.py` tells it from a count);
- pictures have the same size, and at most one pixel in a thousand is far from the
  stored one;
- a cell that trains may widen this in its metadata, to 5e-2 at most: floats with
  `nbval: {rtol: 0.01}`, the share of far pixels with `nbval: {pixels: 0.03}`;
- a text that a trained model draws word by word, `nbval: {words: drawn}`, keeps its
  number of lines, for one draw that falls otherwise changes all that follow. So do
  results of a short training that swings with the rounding of a processor. What holds
  of any such output is asserted in a cell of claims;
- what a clock measured, `nbval: {times: measured}`, keeps its number of lines, and its
  pictures are not compared. The page says on which machine it was so.
"""

import base64
import io
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageChops
from whole_floats import NUMBER, whole_floats

PLACES = (Path.home(), Path(sys.prefix), Path(__file__).resolve().parents[2])
COLORS = 256
UNSEEN = 16  # steps out of 255, in a channel
UNSTABLE = {
    "the address of an object": re.compile(r"\bat 0x[0-9a-f]{6,}"),
    "a path on this machine": re.compile(
        r"(?<![\w.:/])/(?:home|Users|tmp|usr|var)/"
        + "".join(f"|{re.escape(str(place))}" for place in PLACES)
    ),
    "a file of the kernel": re.compile(r"ipykernel_\d+|<ipython-input-"),
}
RTOL = 1e-4
WIDEST = 5e-2
# A pixel is far when a channel differs by more than a quarter of its range: that is a
# line which moved, not one which was shaded otherwise.
FAR = 64
FAR_SHARE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far the outputs of a cell may be off.

    Attributes:
        rtol: Of a float, relative to the stored one.
        pixels: The share of a picture's pixels that may be far from the stored ones.
        drawn: Whether a model drew the words, of which only the lines are counted.
        measured: Whether a clock gave the numbers: pictures are not compared either.
        source: The cell's code, whose formats tell floats from counts.
        page: The code of all cells of its page.
    """

    rtol: float = RTOL
    pixels: float = FAR_SHARE
    drawn: bool = False
    measured: bool = False
    source: str = ""
    page: tuple[str, ...] = ()


USUAL = Tolerance()


class Move(NamedTuple):
    """How an output changed.

    Attributes:
        share: How many times what is forgiven; more than 1 is a difference.
        what: From what to what, in words.
    """

    share: float
    what: str


def read_tolerance(
    metadata: Mapping[str, Any], source: str = "", page: Iterable[str] = ()
) -> Tolerance:
    """Read how far the outputs of a cell may be off.

    Args:
        metadata: The cell's.
        source: Its code.
        page: The code of all cells of its page.

    Raises:
        ValueError: If it asks for more than is allowed, or for something else.
    """
    given = metadata.get("nbval") or {}
    if given == {"words": "drawn"}:
        return Tolerance(drawn=True)
    if given == {"times": "measured"}:
        return Tolerance(drawn=True, measured=True)
    unknown = set(given) - {"rtol", "pixels"}
    if unknown:
        raise ValueError(
            "a cell may widen rtol and pixels, or say 'words: drawn' or 'times: "
            f"measured' and nothing else: got {', '.join(sorted(given))}."
        )
    wanted = {name: float(width) for name, width in given.items()}
    for name, width in wanted.items():
        if not 0 <= width <= WIDEST:
            raise ValueError(
                f"a cell may widen its tolerance to {WIDEST} at most: "
                f"got {name}={width}. "
                "Show something that is stable: a rounded figure, or a comparison."
            )
    return Tolerance(
        rtol=wanted.get("rtol", RTOL),
        pixels=wanted.get("pixels", FAR_SHARE),
        source=source,
        page=tuple(page),
    )


def is_float(number: str) -> bool:
    """Say whether a printed number has a point or an exponent."""
    return bool(re.search(r"[.eE]", number))


def last_place(number: str) -> float:
    """Give the value of one unit in the last printed place.

    NumPy prints `1.` for a 1 with all its digits, so there a unit says nothing: 0.
    """
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if not decimals and not exponent:
        return 0.0
    return 10.0 ** (int(exponent or 0) - decimals)


def value(number: str) -> float:
    """Read a printed number, thousands separated or not."""
    return float(number.replace(",", "").replace("\u2212", "-"))


def share_of_tolerance(
    stored: str, new: str, rtol: float, *, place: float | None = None
) -> float:
    """Say how far a printed number moved, as a multiple of what it may.

    0 for the same number, at most 1 for one that agrees; infinite for counts, which
    have no last `place`; by default it is the one that is seen.
    """
    if stored == new:
        return 0.0
    if place is None:
        if not (is_float(stored) or is_float(new)):
            return math.inf
        # Printers drop final zeros (0.5 for 0.5000): the longer one says what is shown.
        place = min(last_place(stored), last_place(new))
    a, b = value(stored), value(new)
    # The factor is for numbers that binary fractions miss: 0.72 - 0.71 > 0.01.
    allowed = max(rtol * abs(a), 1.0000001 * place)
    return abs(a - b) / allowed if allowed else 0.0 if a == b else math.inf


def shape_of_text(text: str) -> str:
    """Replace each number by a sign, and drop the spaces that only align.

    A number printed with one digit more or less moves the columns of a table and
    lengthens the rule under it; neither is a difference.
    """
    text = NUMBER.sub("#", text)
    text = re.sub(r"([-=\u2500])\1+", r"\1", text)
    text = re.sub(r"\s*([^\w\s])\s*", r"\1", text)
    return " ".join(text.split())


def text_moves(
    stored: str, new: str, tolerance: Tolerance, unrounded: str | None = None
) -> Iterator[Move]:
    """List what moved between two printed texts, number by number.

    Args:
        stored: The text as it stands in the notebook.
        new: Another.
        tolerance: How far they may differ.
        unrounded: The stored text with more decimals. With it, what is compared is how
            far numbers moved before they were rounded.
    """
    if stored == new:
        return
    before = stored if unrounded is None else unrounded
    if len({shape_of_text(text) for text in (stored, before, new)}) > 1:
        yield Move(math.inf, "the words differ")
        return
    rtol = tolerance.rtol
    floats = whole_floats(stored, tolerance.source, tolerance.page)
    triples = zip(*map(NUMBER.findall, (stored, before, new)), strict=True)
    for position, (printed, a, b) in enumerate(triples):
        place = 1.0 if position in floats else None
        if place is None and printed != a:
            place = last_place(printed)
        share = share_of_tolerance(a, b, rtol, place=place)
        if share:
            kind = "integer" if place is None and not is_float(a + b) else "float"
            yield Move(share, f"the {kind} {a} became {b} (tolerance {rtol:g})")


def line_moves(stored: str, new: str) -> Iterator[Move]:
    """Say whether a drawn text has as many lines as the stored one."""
    before, after = (len(text.splitlines()) for text in (stored, new))
    if before != after:
        yield Move(math.inf, f"{before} lines became {after}")


def image_moves(stored: bytes, new: bytes, pixels: float = FAR_SHARE) -> Iterator[Move]:
    """Say how far a picture moved."""
    if stored == new:
        return
    a, b = (
        np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"), dtype=np.int16)
        for data in (stored, new)
    )
    if a.shape != b.shape:
        size = f"the picture's size {a.shape[1::-1]} became {b.shape[1::-1]}"
        yield Move(math.inf, size)
        return
    far = float((np.abs(a - b).max(axis=-1) > FAR).mean())
    if far:
        text = f"{far:.2%} of the picture's pixels are far from the stored ones"
        yield Move(far / pixels if pixels else math.inf, text)


def flatten(outputs: list[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """List what is compared of a cell's outputs, as (kind, content)."""
    parts: list[tuple[str, str]] = []
    for output in outputs:
        if output["output_type"] == "stream":
            name, text = output["name"], "".join(output["text"])
            if parts and parts[-1][0] == name:  # a stream may arrive in pieces
                text = parts.pop()[1] + text
            parts.append((name, text))
        elif output["output_type"] == "error":
            parts.append(("error", f"{output['ename']}: {output['evalue']}"))
        else:
            data = output["data"]
            parts += [(kind, "".join(data[kind])) for kind in sorted(data)]
    return parts


def moves(
    stored: list[Mapping[str, Any]],
    new: list[Mapping[str, Any]],
    tolerance: Tolerance = USUAL,
    unrounded: list[Mapping[str, Any]] | None = None,
) -> Iterator[Move]:
    """List all that moved between two outputs of a cell.

    Of `unrounded` outputs, what their texts say in more decimals than the stored ones.
    """
    between = stored if unrounded is None else unrounded
    sides = [flatten(side) for side in (stored, between, new)]
    if len({tuple(kind for kind, _ in parts) for parts in sides}) > 1:
        kinds = ([kind for kind, _ in parts] for parts in sides[1:])
        yield Move(math.inf, "the outputs {} became {}".format(*kinds))
        return
    for (kind, printed), (_, a), (_, b) in zip(*sides, strict=True):
        if kind.startswith("image/") and "svg" not in kind:
            pictures = base64.b64decode(a), base64.b64decode(b)
            found = image_moves(*pictures, tolerance.pixels)
            found = () if tolerance.measured else found
        elif tolerance.drawn:
            found = line_moves(a, b)
        else:
            found = text_moves(printed, b, tolerance, a)
        for move in found:
            yield Move(move.share, f"{kind}: {move.what}")


def outputs_differ(
    stored: list[Mapping[str, Any]],
    new: list[Mapping[str, Any]],
    tolerance: Tolerance = USUAL,
) -> str | None:
    """Compare all outputs of a cell."""
    found = moves(stored, new, tolerance)
    return next((move.what for move in found if move.share > 1), None)


def shrink_png(data: bytes) -> bytes:
    """Store a picture in a third of its bytes, with no difference that one could see.

    A chart has some hundred shades; 256 chosen colors hold them all, to within a few
    steps out of 255. Where they do not (a photograph), all colors are kept.
    """
    image = Image.open(io.BytesIO(data), formats=["PNG"])
    opaque = image.mode == "RGB" or (
        image.mode == "RGBA" and image.getchannel("A").getextrema() == (255, 255)
    )
    if opaque:
        image = image.convert("RGB")
        few = image.quantize(
            COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        change = np.asarray(ImageChops.difference(image, few.convert("RGB")))
        image = few if change.max() <= UNSEEN else image
    # Pillow writes what a decoder needs: no program's name, no date, no resolution.
    buffer = io.BytesIO()
    image.save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def clean_outputs(outputs: list[dict[str, Any]], source: str) -> list[dict[str, Any]]:
    """Bring the outputs of one cell into their fixed form.

    Raises:
        ValueError: If an output cannot be the same next time.
    """
    cleaned: list[dict[str, Any]] = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            previous = cleaned[-1] if cleaned else None
            if previous and previous.get("name") == output["name"]:
                previous["text"] += output["text"]
                continue
        elif kind == "error":
            output["traceback"] = [f"{output['ename']}: {output['evalue']}"]
        else:
            png = output["data"].get("image/png")
            if png is not None:
                small = shrink_png(base64.b64decode(png))
                output["data"]["image/png"] = base64.b64encode(small).decode()
        cleaned.append(output)
    refuse_unstable(cleaned, source)
    return cleaned


def refuse_unstable(outputs: list[dict[str, Any]], source: str) -> None:
    """Raise on an output that the next run, or another machine, would change."""
    where = f"in the cell that starts with {source.strip().splitlines()[0]!r}"
    for output in outputs:
        if output.get("name") == "stderr":
            raise ValueError(
                "a chapter prints nothing to stderr: got "
                f"{output['text'].strip()!r} {where}. Mend what warns, or silence it "
                "by name with warnings.filterwarnings."
            )
        texts = [output.get("text", ""), output.get("evalue", "")]
        texts += [v for k, v in output.get("data", {}).items() if k.startswith("text/")]
        for text in texts:
            for what, pattern in UNSTABLE.items():
                match = pattern.search(text)
                if match:
                    raise ValueError(
                        f"an output must not hold {what}: got {match[0]!r} {where}. "
                        "Print something that is the same everywhere."
                    )

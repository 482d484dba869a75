"""Outputs that are the same on every run and every machine.

A notebook is committed with its outputs, so whatever changes without meaning has to
go: the chunks in which a stream arrived, a picture's metadata, the files named in a
traceback. What cannot be cleaned without changing what is said (a local path, an
object's address, a warning) is refused, with the cell's name.
"""

import base64
import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageChops

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


def shrink_png(data: bytes) -> bytes:
    """Store a picture in a third of its bytes, with no difference that one could see.

    A chart has some hundred shades; 256 chosen colors hold them all, to within a few
    steps out of 255. Where they do not (a photograph), all colors are kept.

    Args:
        data: A PNG.

    Returns:
        A PNG without metadata; the same bytes again if it was shrunk already.
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

    Args:
        outputs: As the kernel gave them.
        source: The cell's code, for the message of an error.

    Returns:
        The outputs to store.

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

"""Outputs that are the same on every run and every machine.

A notebook is committed with its outputs, so whatever changes without meaning has to
go: the chunks in which a stream arrived, a picture's metadata, the files named in a
traceback. What cannot be cleaned without changing what is said (a local path, an
object's address, a warning) is refused, with the cell's name.
"""

import base64
import re
import struct
import sys
from pathlib import Path
from typing import Any

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# What a decoder needs, and nothing else: no software name, no date, no resolution.
PNG_CHUNKS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
PLACES = (Path.home(), Path(sys.prefix), Path(__file__).resolve().parents[2])
UNSTABLE = {
    "the address of an object": re.compile(r"\bat 0x[0-9a-f]{6,}"),
    "a path on this machine": re.compile(
        r"(?<![\w.:/])/(?:home|Users|tmp|usr|var)/"
        + "".join(f"|{re.escape(str(place))}" for place in PLACES)
    ),
    "a file of the kernel": re.compile(r"ipykernel_\d+|<ipython-input-"),
}


def strip_png(data: bytes) -> bytes:
    """Drop from a PNG what does not change a pixel."""
    if not data.startswith(PNG_SIGNATURE):
        raise ValueError("not a PNG: its signature is missing.")
    kept = [PNG_SIGNATURE]
    position = len(PNG_SIGNATURE)
    while position < len(data):
        (length,) = struct.unpack_from(">I", data, position)
        end = position + 12 + length
        if data[position + 4 : position + 8] in PNG_CHUNKS:
            kept.append(data[position:end])
        position = end
    return b"".join(kept)


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
                stripped = strip_png(base64.b64decode(png))
                output["data"]["image/png"] = base64.b64encode(stripped).decode()
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

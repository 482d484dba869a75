"""What a page has no time to train, or whose last digits matter to it.

Each file was made by a committed command, `book/checkpoints/<name>.py`, that goes on
with the very run that its page begins, or makes the one that it describes. Most hold
weights in PyTorch's layout, which `load_weights` of either wing reads; those of
"depth", "modern-block", "multi-head-in-depth", "recap" and "starts" say where trainings
ended, that of "seq2seq" what a network wrote, that of "assistants" how likely six
answers are to models that were tuned, and that of "text-as-data" is vectors of texts by
a published encoder, and how likely texts are by decade. That of "instrument" has such
vectors, too, and codes by a chat model, whose log lies beside it (instrument.jsonl.gz).
That of "presidents" has its matrices in 8 bits, and `presidents` reads it.
"""

from pathlib import Path

from course_lib.checks import check_choice

__all__ = ["trained"]

_FOLDER = Path(__file__).parent / "trained"


def trained(name: str) -> Path:
    """The file that a page loads, such as "bert"'s; with weights is how they came."""
    there = sorted(file.stem for file in _FOLDER.glob("*.safetensors"))
    check_choice("name", name, tuple(there))
    return _FOLDER / f"{name}.safetensors"

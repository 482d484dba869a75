"""Weights that were trained longer than a page has time for.

Each file was made by a committed command, `book/checkpoints/<name>.py`, that goes on
with the very run that its page begins. They hold PyTorch's layout; `load_weights` of
either wing reads them.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent / "trained"


def trained(name: str) -> Path:
    """The safetensors file of a page's weights; its metadata holds the training run.

    Args:
        name: The page's file name, such as "bert".
    """
    path = _FOLDER / f"{name}.safetensors"
    if not path.is_file():
        there = sorted(file.stem for file in _FOLDER.glob("*.safetensors"))
        raise ValueError(
            f"name must be one of {there}, the pages with stored weights: got {name!r}."
        )
    return path

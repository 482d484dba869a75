"""Weights that were trained longer than a chapter has time for.

Each file was made by a committed command, `book/checkpoints/<name>.py`, that goes on
with the very run that its chapter begins. They are small, and hold PyTorch's layout;
`load_weights` of either wing reads them.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent / "trained"


def trained(name: str) -> Path:
    """Where the weights of a chapter lie.

    Args:
        name: The chapter's file name, such as "bert".

    Returns:
        Path of a safetensors file. Its metadata holds how the training went.

    Raises:
        ValueError: No such weights; the message lists those there are.
    """
    path = _FOLDER / f"{name}.safetensors"
    if not path.is_file():
        there = sorted(file.stem for file in _FOLDER.glob("*.safetensors"))
        raise ValueError(
            f"name must be one of {there}, the chapters with stored weights: "
            f"got {name!r}."
        )
    return path

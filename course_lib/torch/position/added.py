"""The positions that a model adds to its tokens, by name (PyTorch)."""

from course_lib.checks import check_choice
from course_lib.config import POSITIONS
from course_lib.torch.position.learned import Learned
from course_lib.torch.position.sinusoidal import Sinusoidal


def added_positions(
    kind: str, max_len: int, d_model: int, *, interleaved: bool = True
) -> Learned | Sinusoidal | None:
    """Learned or sinusoidal positions, where a model adds any to its tokens.

    Args:
        kind: "learned", "sinusoidal", or a kind that adds nothing: "rotary", "alibi"
            and "none".
        max_len: Length of the longest sequence.
        d_model: D.
        interleaved: As in `sinusoidal`.

    Returns:
        A table of vectors; None where nothing is added.
    """
    check_choice("kind", kind, POSITIONS)
    if kind == "learned":
        return Learned(max_len, d_model)
    if kind == "sinusoidal":
        return Sinusoidal(max_len, d_model, interleaved=interleaved)
    return None

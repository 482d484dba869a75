"""Position encodings: how attention, blind to order, is told it (PyTorch).

Added to the tokens: `sinusoidal`, `learned`. In the scores: `rotary` (RoPE), `alibi`,
`relative`. What does not learn is computed once for each device and dtype, then kept;
it is no part of a model's weights.
"""

from course_lib.torch.position.added import added_positions
from course_lib.torch.position.alibi import alibi_bias, alibi_slopes
from course_lib.torch.position.learned import Learned, Learned2D
from course_lib.torch.position.relative import RelativeBias
from course_lib.torch.position.rotary import Rotary
from course_lib.torch.position.sinusoidal import Sinusoidal, sinusoidal

__all__ = [
    "Learned",
    "Learned2D",
    "RelativeBias",
    "Rotary",
    "Sinusoidal",
    "added_positions",
    "alibi_bias",
    "alibi_slopes",
    "sinusoidal",
]

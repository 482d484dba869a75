"""Position encodings: how attention, blind to order, is told it (Flax NNX).

Added to the tokens: `sinusoidal`, `learned`. In the scores: `rotary` (RoPE), `alibi`,
`relative`. What does not learn is computed once for each dtype, then kept; it is no
part of a model's weights.
"""

from course_lib.nnx.position.added import added_positions
from course_lib.nnx.position.alibi import alibi_bias, alibi_slopes
from course_lib.nnx.position.learned import Learned, Learned2D
from course_lib.nnx.position.relative import RelativeBias
from course_lib.nnx.position.rotary import Rotary
from course_lib.nnx.position.sinusoidal import Sinusoidal, sinusoidal

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

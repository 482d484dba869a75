"""The Flax NNX wing: every piece of the course, one module each.

The public names of the modules are here too: `course_lib.nnx.attention` is the function
(its module is imported with `from course_lib.nnx.attention import ...`).

Docstrings here say what is NNX's own. Where one is a single line, the PyTorch wing's,
in the file of the same name, has the rest: equations, arguments, returns, edge cases.
"""

from types import ModuleType as _ModuleType

from course_lib.optional import missing as _missing

try:
    import flax.nnx as _framework  # noqa: F401
except ImportError as error:
    raise _missing("course_lib.nnx needs", "JAX and Flax", "nnx") from error

from course_lib.nnx.attention import *
from course_lib.nnx.attention_maps import *
from course_lib.nnx.bert import *
from course_lib.nnx.block import *
from course_lib.nnx.bridge import *
from course_lib.nnx.embedding import *
from course_lib.nnx.evaluation import *
from course_lib.nnx.extra.experts import *
from course_lib.nnx.extra.kernel_regression import *
from course_lib.nnx.extra.quantization import *
from course_lib.nnx.extra.recurrent import *
from course_lib.nnx.feed_forward import *
from course_lib.nnx.forecaster import *
from course_lib.nnx.fused_attention import *
from course_lib.nnx.generation.cache import *
from course_lib.nnx.generation.generate import *
from course_lib.nnx.generation.sampling import *
from course_lib.nnx.generation.speculate import *
from course_lib.nnx.generation.translate import *
from course_lib.nnx.gpt import *
from course_lib.nnx.init import *
from course_lib.nnx.linear import *
from course_lib.nnx.masks import *
from course_lib.nnx.multihead import *
from course_lib.nnx.norm import *
from course_lib.nnx.position.alibi import *
from course_lib.nnx.position.base import *
from course_lib.nnx.position.learned import *
from course_lib.nnx.position.relative import *
from course_lib.nnx.position.rotary import *
from course_lib.nnx.position.schemes import *
from course_lib.nnx.position.sinusoidal import *
from course_lib.nnx.seq2seq import *
from course_lib.nnx.training.checkpoint import *
from course_lib.nnx.training.distributed import *
from course_lib.nnx.training.fit import *
from course_lib.nnx.training.loss import *
from course_lib.nnx.training.optim import *
from course_lib.nnx.vit import *

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, thing in sorted(vars().items())
    if not name.startswith("_") and not isinstance(thing, _ModuleType)
]


def __dir__() -> list[str]:
    """What is offered, without the modules that it comes from."""
    return __all__

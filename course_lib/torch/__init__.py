"""The PyTorch wing: every piece of the course, one module each.

The public names of the modules are here too: `course_lib.torch.attention` is the
function (its module is imported with `from course_lib.torch.attention import ...`).
"""

from types import ModuleType as _ModuleType

from course_lib.optional import missing as _missing

try:
    import torch as _framework  # noqa: F401
except ImportError as error:
    raise _missing("course_lib.torch needs", "PyTorch", "torch") from error

from course_lib.torch.attention import *
from course_lib.torch.attention_maps import *
from course_lib.torch.bert import *
from course_lib.torch.block import *
from course_lib.torch.bridge import *
from course_lib.torch.embedding import *
from course_lib.torch.evaluation import *
from course_lib.torch.extra.experts import *
from course_lib.torch.extra.kernel_regression import *
from course_lib.torch.extra.quantization import *
from course_lib.torch.extra.recurrent import *
from course_lib.torch.feed_forward import *
from course_lib.torch.forecaster import *
from course_lib.torch.fused_attention import *
from course_lib.torch.generation.cache import *
from course_lib.torch.generation.generate import *
from course_lib.torch.generation.sampling import *
from course_lib.torch.generation.speculate import *
from course_lib.torch.generation.translate import *
from course_lib.torch.gpt import *
from course_lib.torch.init import *
from course_lib.torch.linear import *
from course_lib.torch.masks import *
from course_lib.torch.multihead import *
from course_lib.torch.norm import *
from course_lib.torch.position.alibi import *
from course_lib.torch.position.base import *
from course_lib.torch.position.learned import *
from course_lib.torch.position.relative import *
from course_lib.torch.position.rotary import *
from course_lib.torch.position.schemes import *
from course_lib.torch.position.sinusoidal import *
from course_lib.torch.seq2seq import *
from course_lib.torch.training.checkpoint import *
from course_lib.torch.training.distributed import *
from course_lib.torch.training.fit import *
from course_lib.torch.training.loss import *
from course_lib.torch.training.optim import *
from course_lib.torch.vit import *

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, thing in sorted(vars().items())
    if not name.startswith("_") and not isinstance(thing, _ModuleType)
]


def __dir__() -> list[str]:
    """What is offered, without the modules that it comes from."""
    return __all__

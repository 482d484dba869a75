"""Initialization of a language model's matrices (Flax NNX).

Normal with standard deviation 0.02: Radford et al. 2018, section 4.1; Devlin et al.
2019 in the code of BERT. Maps that write into the residual stream of GPT-2 start
smaller by the root of how many they are: Radford et al. 2019, section 2.3. Biases stay
0, and the weights of norms 1.

A departure from BERT's code: the normal is not cut off at two standard deviations.
"""

import jax
from flax import nnx

from course_lib.checks import check_positive, check_size

__all__ = ["normal_start"]

# The last maps of attention and of the MLP write into the residual stream.
RESIDUAL = {"o_proj", "down_proj"}


def normal_start(
    model: nnx.Module, *, std: float = 0.02, n_residual: int = 1, rngs: nnx.Rngs
) -> None:
    """Normal initialization: draw every matrix of a model anew, in place."""
    check_positive("std", std)
    check_size("n_residual", n_residual)
    for path, p in nnx.iter_graph(model):
        if isinstance(p, nnx.Param) and p.ndim >= 2:
            scale = std / n_residual**0.5 if RESIDUAL & set(path) else std
            p[...] = scale * jax.random.normal(rngs.params(), p.shape, p.dtype)

r"""ViT: vision transformer, an encoder whose tokens are patches of an image (Flax NNX).

    h_0 = [cls; W_p patch_1 + b; ...; W_p patch_P + b] + positions       (eq. 1)
    h_l = Block_l(h_(l-1)),   logits = W LN(h_L)[0] + c                  (eq. 2)

Dosovitskiy et al. 2021, eq. 1 to 4, arXiv:2010.11929. Cutting an image into patches and
mapping each is one convolution whose step is as wide as its filter. Positions are
learned, in one row as published, or for rows and columns apart (appendix D.4); there
[CLS] stands nowhere and has its own vector only.

Departures from the paper's start: positions and [CLS] are as there (0.02, and 0), the
maps start as every linear map here, the patches' filters with deviation 1/sqrt(inputs).
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jaxtyping import Float

from course_lib.arrays import owned
from course_lib.checks import check_images, check_tensors
from course_lib.config import ViTConfig
from course_lib.nnx.block import Block
from course_lib.nnx.linear import linear, normal
from course_lib.nnx.norm import final_norm
from course_lib.nnx.position.schemes import make_positions

__all__ = ["ViT"]


class ViT(nnx.Module):
    """Vision transformer (ViT): classify images."""

    def __init__(self, config: ViTConfig, *, rngs: nnx.Rngs):
        self.config = config
        d_model, size = config.d_model, config.patch_size
        self.patches = nnx.Conv(
            config.n_channels,
            d_model,
            (size, size),
            strides=size,
            padding="VALID",
            kernel_init=normal((config.n_channels * size**2) ** -0.5),
            bias_init=nnx.initializers.zeros,
            rngs=rngs,
        )
        self.cls = nnx.Param(jnp.zeros(d_model, jnp.float32))
        self.positions = make_positions(config, 1 + math.prod(config.grid), rngs=rngs)
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        self.blocks = nnx.data(
            [Block(**config.block, rngs=rngs) for _ in range(config.n_layers)]
        )
        self.norm = final_norm(config, rngs=rngs)
        self.head = linear(d_model, config.n_classes, rngs=rngs)

    def __call__(self, images: Float[Array, "B C H W"]) -> Float[Array, "B V"]:
        """Logits of the classes; channels come before height and width."""
        if isinstance(images, np.ndarray):  # as JAX's own functions do
            images = jnp.asarray(owned(images))
        check_tensors(jax.Array, images=images)
        check_images(images.shape, self.config.n_channels, self.config.image_shape)
        patches = self.patches(images.transpose(0, 2, 3, 1))  # B rows columns D
        x = patches.reshape(len(images), -1, patches.shape[-1])  # B P D
        cls = jnp.broadcast_to(self.cls[...], (len(x), 1, x.shape[-1]))
        x = jnp.concatenate([cls, x], axis=1)  # B 1+P D
        x = self.dropout(self.positions.add(x))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0]))  # [CLS] has attended to all patches

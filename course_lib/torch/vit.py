r"""ViT: vision transformer, an encoder whose tokens are patches of an image (PyTorch).

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

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.checks import check_images, check_tensors
from course_lib.config import ViTConfig
from course_lib.torch.block import Block
from course_lib.torch.linear import linear
from course_lib.torch.norm import final_norm
from course_lib.torch.position.schemes import make_positions

__all__ = ["ViT"]


class ViT(nn.Module):
    """Vision transformer (ViT): classify images."""

    def __init__(self, config: ViTConfig):
        super().__init__()
        self.config = config
        d_model, size = config.d_model, config.patch_size
        self.patches = nn.Conv2d(config.n_channels, d_model, size, stride=size)
        nn.init.normal_(self.patches.weight, std=(config.n_channels * size**2) ** -0.5)
        nn.init.zeros_(self.patches.get_parameter("bias"))
        self.cls = nn.Parameter(torch.zeros(d_model))
        self.positions = make_positions(config, 1 + math.prod(config.grid))
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(**config.block) for _ in range(config.n_layers)
        )
        self.norm = final_norm(config)
        self.head = linear(d_model, config.n_classes)

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B V"]:
        """Logits of the classes; channels come before height and width."""
        check_tensors(torch.Tensor, images=images)
        check_images(images.shape, self.config.n_channels, self.config.image_shape)
        x = self.patches(images).flatten(2).mT  # B P D
        x = torch.cat([self.cls.expand(len(x), 1, -1), x], dim=1)  # B 1+P D
        x = self.dropout(self.positions.add(x))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0]))  # [CLS] has attended to all patches

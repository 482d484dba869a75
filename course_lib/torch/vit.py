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

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.checks import check_images, check_tensors
from course_lib.config import ViTConfig
from course_lib.torch.block import Block
from course_lib.torch.final_norm import final_norm
from course_lib.torch.linear import linear
from course_lib.torch.position import Learned, Learned2D


class ViT(nn.Module):
    """Vision transformer (ViT): classify images.

    Args:
        config: Sizes and forms.
    """

    def __init__(self, config: ViTConfig):
        super().__init__()
        self.config = config
        d_model, size, (rows, columns) = config.d_model, config.patch_size, config.grid
        self.patches = nn.Conv2d(config.n_channels, d_model, size, stride=size)
        nn.init.normal_(self.patches.weight, std=(config.n_channels * size**2) ** -0.5)
        nn.init.zeros_(self.patches.get_parameter("bias"))
        self.cls = nn.Parameter(torch.zeros(d_model))
        if config.position == "learned":
            self.positions = Learned(1 + rows * columns, d_model)
        elif config.position == "learned_2d":
            self.positions = Learned2D(rows, columns, d_model)
        else:
            self.positions = None
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(**config.block) for _ in range(config.n_layers)
        )
        self.norm = final_norm(config)
        self.head = linear(d_model, config.n_classes)

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B V"]:
        """Logits of the classes.

        Args:
            images: Channels before height and width, in both wings.

        Returns:
            Logits: the softmax of a row is the distribution of the class.
        """
        check_tensors(torch.Tensor, images=images)
        check_images(images.shape, self.config.n_channels, self.config.image_shape)
        x = self.patches(images).flatten(2).mT  # B P D
        if isinstance(self.positions, Learned2D):
            x = x + self.positions()
        x = torch.cat([self.cls.expand(len(x), 1, -1), x], dim=1)  # B 1+P D
        if isinstance(self.positions, Learned):
            x = x + self.positions(x.shape[1])
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0]))  # [CLS] has attended to all patches

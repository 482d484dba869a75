r"""Relative positions: a learned number for each step from query to key (PyTorch).

    bias[h, i, j] = W[clip(j - i, -K, K) + K, h]                         (eq. 1)

Steps, clipped at K: Shaw et al. 2018, section 3.2, arXiv:1803.02155. As a bias of the
scores: Raffel et al. 2020, section 2.1, arXiv:1910.10683, which puts far steps into
bins where this clips them.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.checks import check_sizes, check_span
from course_lib.torch.embedding import Embedding
from course_lib.torch.position.base import Positions

__all__ = ["RelativeBias"]


class RelativeBias(Positions, nn.Module):
    """Relative position bias: a learned number for each head and each step.

    Steps farther than `max_distance` share the number of that one; 16 is that of Shaw's
    base model. All numbers start at 0: no step is preferred.
    """

    def __init__(self, n_heads: int, max_distance: int = 16):
        super().__init__()
        check_sizes(n_heads=n_heads, max_distance=max_distance)
        self.max_distance = max_distance
        self.table = Embedding(2 * max_distance + 1, n_heads, std=1.0)
        nn.init.zeros_(self.table.weight)

    def forward(
        self, n_queries: int, n_keys: int | None = None, *, offset: int | None = None
    ) -> Float[Tensor, "H T S"]:
        """Numbers to add to the scores; arguments as in `alibi_bias`."""
        n_keys = n_queries if n_keys is None else n_keys
        check_span(n_queries, n_keys, offset)
        first = n_keys - n_queries if offset is None else offset
        device = self.table.weight.device
        queries = first + torch.arange(n_queries, device=device)
        step = torch.arange(n_keys, device=device) - queries[:, None]  # T S
        step = step.clamp(-self.max_distance, self.max_distance)
        return self.table(step + self.max_distance).permute(2, 0, 1)  # H T S

    def bias(
        self, n_queries: int, n_keys: int, offset: int, like: Float[Tensor, "..."]
    ) -> Float[Tensor, "H T S"]:
        """Eq. 1."""
        return self(n_queries, n_keys, offset=offset).to(like.dtype)

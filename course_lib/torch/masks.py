r"""Attention masks: who may attend to whom (PyTorch).

    mask[i, j] = True where query i may attend to key j                  (eq. 1)

Causal and padding: Vaswani et al. 2017, section 3.2.3, arXiv:1706.03762. Window:
Beltagy et al. 2020, section 3.1, arXiv:2004.05150. Prefix: Raffel et al. 2020, section
3.2.1, arXiv:1910.10683. Document (for packed texts): Grattafiori et al. 2024, section
3.2, arXiv:2407.21783.

Masks combine with `&` (both rules hold) and `|` (one is enough). Where there are fewer
queries than keys, the last query stands at the last key, so the masks are right for the
newest tokens of a longer sequence.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_lib.arrays import owned
from course_lib.checks import check_ids, check_size, check_span

__all__ = [
    "causal_mask",
    "document_mask",
    "padding_mask",
    "padding_mask_from_ids",
    "window_mask",
]


def positions(
    n_queries: int,
    n_keys: int | None,
    offset: int | None = None,
    device: torch.device | None = None,
) -> tuple[Tensor, Tensor]:
    """Where queries (a column) and keys (a row) stand."""
    n_keys = n_queries if n_keys is None else n_keys
    check_span(n_queries, n_keys, offset)
    first = n_keys - n_queries if offset is None else offset
    i = first + torch.arange(n_queries, device=device)[:, None]
    return i, torch.arange(n_keys, device=device)


def causal_mask(
    n_queries: int,
    n_keys: int | None = None,
    *,
    offset: int | None = None,
) -> Bool[Tensor, "T S"]:
    """Causal mask: a query may attend to its own position and to earlier ones.

    The first query stands at key `offset`; None puts the last query at the last key.
    """
    i, j = positions(n_queries, n_keys, offset)
    return j <= i


def padding_mask(
    lengths: Int[Tensor, "B"] | Sequence[int], n_keys: int
) -> Bool[Tensor, "B 1 1 S"]:
    """Padding mask: True at the real tokens that each sequence starts with."""
    check_size("n_keys", n_keys)
    if not isinstance(lengths, Tensor):
        lengths = torch.from_numpy(owned(lengths))
    real = torch.arange(n_keys, device=lengths.device) < lengths[:, None]  # B S
    return real[:, None, None, :]


def padding_mask_from_ids(
    ids: Int[Tensor, "B S"], pad_id: int
) -> Bool[Tensor, "B 1 1 S"]:
    """Padding mask of a batch of token ids, wherever the padding stands."""
    check_ids("ids", ids)
    return (ids != pad_id)[:, None, None, :]


def document_mask(documents: Int[Tensor, "B T"]) -> Bool[Tensor, "B 1 T T"]:
    """Document mask: in a row of packed texts, a query may attend to its own text.

    `documents` is the number of the text that each token belongs to.
    """
    check_ids("documents", documents)
    return (documents[:, :, None] == documents[:, None, :])[:, None]


def window_mask(
    n_queries: int,
    n_keys: int | None = None,
    *,
    size: int,
    offset: int | None = None,
) -> Bool[Tensor, "T S"]:
    """Sliding-window mask: True where |i - j| < size; 1 is the position itself.

    With `causal_mask` joined by `&` it is the last `size` tokens. The first query
    stands at key `offset`; None puts the last query at the last key.
    """
    check_size("size", size)
    i, j = positions(n_queries, n_keys, offset)
    return abs(i - j) < size

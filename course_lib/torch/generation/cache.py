"""KV cache: keys and values of the tokens read so far (PyTorch).

At step t of autoregressive generation only the newest token is new. Its query needs the
keys and values of all the tokens before it, and those do not change: they are stored. A
cache has its full size from the start, 2 · layers · batch · heads · max_len · width
numbers.

Described in Pope et al. 2022, section 2.1, arXiv:2211.05102.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.checks import check_cache_room, check_rewind, check_sizes

__all__ = ["KVCache", "LayerCache"]


class LayerCache:
    """The keys and values of one layer: room for them, filled from the front."""

    def __init__(self, k: Float[Tensor, "B H S Dh"], v: Float[Tensor, "B H S Dv"]):
        self.k, self.v, self.stored = k, v, 0

    def append(
        self, k: Float[Tensor, "B H T Dh"], v: Float[Tensor, "B H T Dv"]
    ) -> tuple[Float[Tensor, "B H S Dh"], Float[Tensor, "B H S Dv"]]:
        """Store the newest keys and values; returns what attention is to look at.

        Here that is all that are stored. What does not fit is refused and not stored.
        """
        rooms = {"keys": (k, self.k), "values": (v, self.v)}
        for name, (new, room) in rooms.items():
            check_cache_room(self.stored, new.shape, room.shape, name)
        start, self.stored = self.stored, self.stored + k.shape[-2]
        if torch.is_grad_enabled() and (k.requires_grad or v.requires_grad):
            # A gradient needs what was there before as it was.
            self.k, self.v = self.k.clone(), self.v.clone()
        self.k[..., start : self.stored, :] = k
        self.v[..., start : self.stored, :] = v
        return self.k[..., : self.stored, :], self.v[..., : self.stored, :]

    @property
    def length(self) -> int:
        """Tokens stored so far."""
        return self.stored


class KVCache:
    """The keys and values of a whole model, one `LayerCache` a layer.

    It takes dtype and device of `like`; None means float32 on the CPU. `memories` are
    what a translator reads besides, for each layer what `project_kv` of its
    cross-attention returned, and `memory_mask` is True where that may be attended to.
    """

    def __init__(
        self,
        n_layers: int,
        batch: int,
        n_kv_heads: int,
        max_len: int,
        d_head: int,
        *,
        like: Float[Tensor, "..."] | None = None,
        memories: Sequence[tuple[Tensor, Tensor]] = (),
        memory_mask: Bool[Tensor, "..."] | None = None,
    ):
        shape = (n_layers, batch, n_kv_heads, max_len, d_head)
        check_sizes(n_layers=n_layers, batch=batch, n_kv_heads=n_kv_heads)
        check_sizes(max_len=max_len, d_head=d_head)
        like = torch.empty(0) if like is None else like
        k, v = like.new_zeros(shape), like.new_zeros(shape)
        self.layers = [LayerCache(k[i], v[i]) for i in range(n_layers)]
        self.memories, self.memory_mask = memories, memory_mask

    def __getitem__(self, layer: int) -> LayerCache:
        return self.layers[layer]

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` tokens."""
        check_rewind(length, self.length)
        for layer in self.layers:
            layer.stored = length

    @property
    def length(self) -> int:
        """Tokens stored so far."""
        return self.layers[0].length

    @property
    def max_len(self) -> int:
        """Tokens that fit in."""
        return self.layers[0].k.shape[-2]


def span(cache: KVCache | None, n_new: int) -> tuple[int, int]:
    """Where new tokens stand behind those in a cache, and how many keys they see."""
    offset = 0 if cache is None else cache.length
    return offset, offset + n_new

"""KV cache: keys and values of the tokens read so far (PyTorch).

At step t of autoregressive generation only the newest token is new. Its query needs the
keys and values of all the tokens before it, and those do not change: they are stored. A
cache has its full size from the start, 2 · layers · batch · heads · max_len · width
numbers.

Described in Pope et al. 2022, section 2.1, arXiv:2211.05102.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.checks import check_cache_room, check_size


class LayerCache:
    """The keys and values of one layer.

    Args:
        k: Room for keys, filled from the front.
        v: Room for values.
        stored: Tokens in them already.
        memory: Keys and values of the whole source, for cross-attention of the same
            block: what `project_kv` returned. None where there is none.
    """

    def __init__(
        self,
        k: Float[Tensor, "B H S Dh"],
        v: Float[Tensor, "B H S Dh"],
        *,
        stored: int = 0,
        memory: tuple[Tensor, Tensor] | None = None,
    ):
        self.k, self.v, self.stored, self.kept = k, v, stored, memory

    def append(
        self, k: Float[Tensor, "B H T Dh"], v: Float[Tensor, "B H T Dh"]
    ) -> tuple[Float[Tensor, "B H S Dh"], Float[Tensor, "B H S Dh"]]:
        """Store the keys and values of the newest tokens behind the others.

        Returns:
            Keys and values that attention is to look at: here, all that are stored.

        Raises:
            ValueError: They do not fit in; nothing is stored.
        """
        check_cache_room(self.stored, k.shape, self.k.shape)
        start, self.stored = self.stored, self.stored + k.shape[-2]
        self.k[..., start : self.stored, :] = k
        self.v[..., start : self.stored, :] = v
        return self.k[..., : self.stored, :], self.v[..., : self.stored, :]

    @property
    def length(self) -> int | Int[Tensor, ""]:
        """Tokens stored so far."""
        return self.stored

    @property
    def memory(self) -> tuple[Tensor, Tensor] | None:
        """Keys and values of the source; None where there is none."""
        return self.kept


class KVCache:
    """The keys and values of a whole model, one `LayerCache` a layer.

    Args:
        n_layers: Layers of the model.
        batch: Sequences read together.
        n_kv_heads: Key and value heads of a layer.
        max_len: Tokens that fit in.
        d_head: Width of a head.
        like: A tensor whose dtype and device the cache takes; None means float32 on the
            CPU.
        memories: What `project_kv` of each layer's cross-attention returned; None where
            there is none.

    Raises:
        ValueError: A size is not a whole number of at least 1.
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
        memories: Sequence[tuple[Tensor, Tensor]] | None = None,
    ):
        shape = (n_layers, batch, n_kv_heads, max_len, d_head)
        names = ("n_layers", "batch", "n_kv_heads", "max_len", "d_head")
        for name, size in zip(names, shape, strict=True):
            check_size(name, size)
        like = torch.empty(0) if like is None else like
        k, v = like.new_zeros(shape), like.new_zeros(shape)
        self.layers = [
            LayerCache(k[i], v[i], memory=None if memories is None else memories[i])
            for i in range(n_layers)
        ]

    def __getitem__(self, layer: int) -> LayerCache:
        return self.layers[layer]

    def rewind(self, length: int | Int[Tensor, ""]) -> None:
        """Forget all but the first `length` tokens."""
        for layer in self.layers:
            layer.stored = int(length)

    @property
    def length(self) -> int | Int[Tensor, ""]:
        """Tokens stored so far."""
        return self.layers[0].length

    @property
    def max_len(self) -> int:
        """Tokens that fit in."""
        return self.layers[0].k.shape[-2]

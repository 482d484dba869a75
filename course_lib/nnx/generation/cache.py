"""KV cache: keys and values of the tokens read so far (Flax NNX)."""

from collections.abc import Sequence

import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_cache_room, check_rewind, check_sizes

__all__ = ["KVCache", "LayerCache"]


class LayerCache(nnx.Module):
    """The keys and values of one layer: room for them, filled from the front."""

    def __init__(self, k: Float[Array, "B H S Dh"], v: Float[Array, "B H S Dv"]):
        self.k, self.v = nnx.Cache(k), nnx.Cache(v)
        self.stored = nnx.Cache(jnp.zeros((), jnp.int32))

    def append(
        self, k: Float[Array, "B H T Dh"], v: Float[Array, "B H T Dv"]
    ) -> tuple[Float[Array, "B H S Dh"], Float[Array, "B H S Dv"]]:
        """Store the newest keys and values; returns what attention is to look at.

        Here that is the whole room, since a compiled program knows sizes but not how
        much is stored: what lies behind the newest token is the future, and must be
        masked. What does not fit is refused and not stored; inside a compiled program
        only what can never fit is noticed.
        """
        rooms = {"keys": (k, self.k), "values": (v, self.v)}
        for name, (new, room) in rooms.items():
            check_cache_room(self.length, new.shape, room.shape, name)
        start, axis = self.length, -2
        for room, new in ((self.k, k), (self.v, v)):
            new = new.astype(room.dtype)  # as PyTorch does, which assigns
            room[...] = lax.dynamic_update_slice_in_dim(room[...], new, start, axis)
        self.stored[...] += k.shape[-2]
        return self.k[...], self.v[...]

    @property
    def length(self) -> Int[Array, ""]:
        """Tokens stored so far."""
        return self.stored[...]


class KVCache(nnx.Module):
    """The keys and values of a whole model, one `LayerCache` a layer.

    It takes the dtype of `like`; None means float32. `memories` are what a translator
    reads besides, for each layer what `project_kv` of its cross-attention returned, and
    `memory_mask` is True where that may be attended to.
    """

    def __init__(
        self,
        n_layers: int,
        batch: int,
        n_kv_heads: int,
        max_len: int,
        d_head: int,
        *,
        like: Float[Array, "..."] | None = None,
        memories: Sequence[tuple[Array, Array]] = (),
        memory_mask: Bool[Array, "..."] | None = None,
    ):
        check_sizes(n_layers=n_layers, batch=batch, n_kv_heads=n_kv_heads)
        check_sizes(max_len=max_len, d_head=d_head)
        dtype = jnp.float32 if like is None else like.dtype
        room = (batch, n_kv_heads, max_len, d_head)
        self.layers = nnx.data(
            [
                LayerCache(jnp.zeros(room, dtype), jnp.zeros(room, dtype))
                for _ in range(n_layers)
            ]
        )
        self.memories = nnx.data(list(memories))
        self.memory_mask = nnx.data(memory_mask)

    def __getitem__(self, layer: int) -> LayerCache:
        return self.layers[layer]

    def rewind(self, length: int | Int[Array, ""]) -> None:
        """Forget all but the first `length` tokens."""
        check_rewind(length, self.length)
        for layer in self.layers:
            layer.stored[...] = jnp.asarray(length, layer.stored.dtype)

    @property
    def length(self) -> Int[Array, ""]:
        """Tokens stored so far."""
        return self.layers[0].length

    @property
    def max_len(self) -> int:
        """Tokens that fit in."""
        return self.layers[0].k.shape[-2]


def span(cache: KVCache | None, n_new: int) -> tuple[int | Int[Array, ""], int]:
    """Where new tokens stand behind those in a cache, and how many keys they see."""
    return (0, n_new) if cache is None else (cache.length, cache.max_len)

"""KV cache: keys and values of the tokens read so far (Flax NNX).

At step t of autoregressive generation only the newest token is new. Its query needs the
keys and values of all the tokens before it, and those do not change: they are stored. A
cache has its full size from the start, 2 · layers · batch · heads · max_len · width
numbers.

Described in Pope et al. 2022, section 2.1, arXiv:2211.05102.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jaxtyping import Float, Int

from course_lib.checks import check_cache_room, check_size


class LayerCache(nnx.Module):
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
        k: Float[Array, "B H S Dh"],
        v: Float[Array, "B H S Dh"],
        *,
        stored: int = 0,
        memory: tuple[Array, Array] | None = None,
    ):
        self.k, self.v = nnx.Cache(k), nnx.Cache(v)
        self.kept = nnx.data([nnx.Cache(t) for t in memory or ()])
        self.stored = nnx.Cache(jnp.asarray(stored, jnp.int32))

    def append(
        self, k: Float[Array, "B H T Dh"], v: Float[Array, "B H T Dh"]
    ) -> tuple[Float[Array, "B H S Dh"], Float[Array, "B H S Dh"]]:
        """Store the keys and values of the newest tokens behind the others.

        Returns:
            Keys and values that attention is to look at: here, the whole room, since a
            compiled program knows sizes but not how much is stored. What lies behind
            the newest token is in the future and must be masked.

        Raises:
            ValueError: They do not fit in; nothing is stored. Inside a compiled program
                only what can never fit is noticed.
        """
        check_cache_room(self.length, k.shape, self.k.shape)
        start, axis = self.length, -2
        self.k[...] = lax.dynamic_update_slice_in_dim(self.k[...], k, start, axis)
        self.v[...] = lax.dynamic_update_slice_in_dim(self.v[...], v, start, axis)
        self.stored[...] += k.shape[-2]
        return self.k[...], self.v[...]

    @property
    def length(self) -> int | Int[Array, ""]:
        """Tokens stored so far."""
        return self.stored[...]

    @property
    def memory(self) -> tuple[Array, Array] | None:
        """Keys and values of the source; None where there is none."""
        return (self.kept[0][...], self.kept[1][...]) if len(self.kept) else None


class KVCache(nnx.Module):
    """The keys and values of a whole model, one `LayerCache` a layer.

    Args:
        n_layers: Layers of the model.
        batch: Sequences read together.
        n_kv_heads: Key and value heads of a layer.
        max_len: Tokens that fit in.
        d_head: Width of a head.
        like: An array whose dtype the cache takes; None means float32.
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
        like: Float[Array, "..."] | None = None,
        memories: Sequence[tuple[Array, Array]] | None = None,
    ):
        shape = (n_layers, batch, n_kv_heads, max_len, d_head)
        names = ("n_layers", "batch", "n_kv_heads", "max_len", "d_head")
        for name, size in zip(names, shape, strict=True):
            check_size(name, size)
        dtype = jnp.float32 if like is None else like.dtype
        self.layers = nnx.data(
            [
                LayerCache(
                    jnp.zeros(shape[1:], dtype),
                    jnp.zeros(shape[1:], dtype),
                    memory=None if memories is None else memories[i],
                )
                for i in range(n_layers)
            ]
        )

    def __getitem__(self, layer: int) -> LayerCache:
        return self.layers[layer]

    def rewind(self, length: int | Int[Array, ""]) -> None:
        """Forget all but the first `length` tokens."""
        for layer in self.layers:
            layer.stored[...] = jnp.asarray(length, layer.stored.dtype)

    @property
    def length(self) -> int | Int[Array, ""]:
        """Tokens stored so far."""
        return self.layers[0].length

    @property
    def max_len(self) -> int:
        """Tokens that fit in."""
        return self.layers[0].k.shape[-2]

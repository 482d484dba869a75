r"""The gated delta rule: linear attention that corrects and forgets (Flax NNX).

    S_t = alpha_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T          (eq. 1)
    output_t = S_t^T q_t

The delta rule is that of Schlag et al. 2021, section 4.2, arXiv:2102.11174; the gate
alpha that of Yang et al. 2025 (Gated DeltaNet), section 3.1, arXiv:2412.06464, where S
is the transpose. S is a sum of keys times corrections u, which a triangular system
gives for a whole tile, as in Yang et al. 2024, section 3, arXiv:2406.06484:

    u_t = beta_t (v_t - alpha_t S_{t-1}^T k_t)
    (I + strictly lower(beta D K K^T)) U = beta (V - G K S_0)                (eq. 2)

D_ti is the product of the gates after position i up to t, G of all up to t.
"""

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from course_lib.checks import (
    check_attention,
    check_same_length,
    check_shape,
    check_size,
    check_tensors,
)
from course_lib.nnx.extra.efficient_attention import join, scan_tiles

__all__ = ["delta_rule"]


def delta_rule(
    q: Float[Array, "*B T Dh"],
    k: Float[Array, "*B T Dh"],
    v: Float[Array, "*B T Dv"],
    beta: Float[Array, "*B T"],
    alpha: Float[Array, "*B T"] | None = None,
    *,
    tile: int = 64,
) -> Float[Array, "*B T Dv"]:
    """Gated delta rule: write into a memory what it does not know yet."""
    check_tensors(jax.Array, q=q, k=k, v=v, beta=beta, alpha=alpha)
    check_attention(q.shape, k.shape, v.shape)
    check_same_length(q.shape, k.shape)
    alpha = jnp.ones_like(beta) if alpha is None else alpha
    for name, share in (("beta", beta), ("alpha", alpha)):
        check_shape(name, share.shape, " ".join(map(str, k.shape[:-1])))
    check_size("tile", tile)

    def step(state, one):
        q_i, k_i, v_i, b_i, log_i = one
        total = log_i.cumsum(axis=-2)
        kept, between = jnp.exp(total), jnp.tril(jnp.exp(jnp.tril(total - total.mT)))
        known = b_i * between * (k_i @ k_i.mT)  # the solver reads it below the diagonal
        u = lax.linalg.triangular_solve(
            *(known, b_i * (v_i - kept * (k_i @ state))),
            left_side=True,
            lower=True,
            unit_diagonal=True,
        )
        output = between * (q_i @ k_i.mT) @ u + kept * (q_i @ state)
        state = kept[..., -1:, :] * state + (between[..., -1:, :].mT * k_i).mT @ u
        return state, output

    b, log_a = beta[..., None], jnp.log(alpha)[..., None]  # 0, no gate, in the padding
    tile = min(tile, q.shape[-2])
    state = k[..., :1, :].mT * jnp.zeros(v.shape[-1], v.dtype)
    tiles = tuple(scan_tiles(t, tile) for t in (q, k, v, b, log_a))
    _, outputs = lax.scan(step, state, tiles)
    return join(jnp.moveaxis(outputs, 0, -3), q.shape[-2])

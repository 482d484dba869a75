r"""Mixture of experts: many MLPs, of which each token uses a few (Flax NNX).

    s_e = softmax(x W_R)_e                                               (eq. 1)
    y = sum over the top K of s + b of g_e f_e(x)                        (eq. 2)

with the gates g_e = s_e, or s_e divided by the sum of the K chosen ones. Shazeer et al.
2017, section 2, arXiv:1701.06538; softmax over all experts as in Fedus et al. 2022,
eq. 1 and 2, arXiv:2101.03961. Many narrow experts (fine-grained): Dai et al. 2024
(DeepSeekMoE), section 3, arXiv:2401.06066. The bias b, which takes part in the choice
alone and balances without a loss: DeepSeek-AI 2024, section 2.1.2, arXiv:2412.19437.
The loss that balances: Fedus et al. 2022, eq. 4 to 6.

Departure: no expert has a capacity, so no token is ever dropped. A compiled program has
fixed shapes: rows are sorted by expert, and `ragged_dot` multiplies each stretch with
its expert's matrix.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jaxtyping import Float, Int

from course_lib.checks import check_choice, check_positive, check_size
from course_lib.config import ACTIVATIONS, Experts
from course_lib.nnx.feed_forward import activate
from course_lib.nnx.linear import linear

__all__ = ["MixtureOfExperts", "balance_loss", "rebalance"]


class MixtureOfExperts(nnx.Module):
    """Mixture of experts: a router sends each token to the best `top_k` MLPs."""

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        *,
        experts: Experts,
        activation: str = "silu",
        gated: bool = True,
        rngs: nnx.Rngs,
    ):
        check_size("d_model", d_model)
        d_ff = 4 * d_model if d_ff is None else d_ff
        check_size("d_ff", d_ff)
        check_choice("activation", activation, ACTIVATIONS[:-1])
        self.experts, self.activation = experts, activation
        n_experts = experts.n_experts
        self.router = linear(d_model, n_experts, bias=False, rngs=rngs)
        balance = nnx.Param(jnp.zeros(n_experts))
        self.balance = nnx.data(balance if experts.balance_bias else None)
        gate_proj = _stack(n_experts, d_model, d_ff, rngs) if gated else None
        self.up_proj = _stack(n_experts, d_model, d_ff, rngs)
        self.gate_proj = nnx.data(gate_proj)
        self.down_proj = _stack(n_experts, d_ff, d_model, rngs)

    def route(
        self, x: Float[Array, "*B D"]
    ) -> tuple[Float[Array, "*B K"], Int[Array, "*B K"], Float[Array, "*B E"]]:
        """Gates of each token's experts, their numbers, and eq. 1's shares of all."""
        scores = jax.nn.softmax(self.router(x))
        ranked = scores if self.balance is None else scores + self.balance[...]
        chosen = lax.top_k(ranked, self.experts.top_k)[1]  # *B K
        gates = jnp.take_along_axis(scores, chosen, axis=-1)
        if self.experts.normalize:
            gates = gates / gates.sum(axis=-1, keepdims=True)
        return gates, chosen, scores

    def __call__(self, x: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        """Eq. 2, of each vector by itself."""
        rows = x.reshape(-1, x.shape[-1])  # N D
        gates, chosen, _ = self.route(rows)
        expert = chosen.ravel()  # of each pair of a row and an expert of its
        order = expert.argsort()
        row = order // self.experts.top_k
        n_experts = self.experts.n_experts
        counts = jnp.bincount(expert, length=n_experts).astype(jnp.int32)

        def through(x: Array, w: nnx.Param) -> Array:
            if len(expert) < n_experts:  # few matrices are needed: the others stay
                return jnp.einsum("ni,nij->nj", x, w[...][expert[order]])
            return lax.ragged_dot(x, w[...], counts)

        hidden = through(rows[row], self.up_proj)
        if self.gate_proj is None:
            hidden = activate(hidden, self.activation)
        else:
            gate = through(rows[row], self.gate_proj)
            hidden = hidden * activate(gate, self.activation)
        out = gates.ravel()[order, None] * through(hidden, self.down_proj)
        y = jnp.zeros_like(rows)
        return y.at[row].add(out.astype(y.dtype)).reshape(x.shape)


def _stack(n: int, d_in: int, d_out: int, rngs: nnx.Rngs) -> nnx.Param:
    """Matrices of several linear maps, `E Din Dout`, each started as `linear`'s."""
    bound = (6 / (d_in + d_out)) ** 0.5
    shape = (n, d_in, d_out)
    return nnx.Param(
        jax.random.uniform(rngs.params(), shape, jnp.float32, -bound, bound)
    )


def balance_loss(
    shares: Float[Array, "*B E"], chosen: Int[Array, "*B K"]
) -> Float[Array, ""]:
    """Load-balancing loss: 1 where all experts are used alike, E where one is alone."""
    if not chosen.size:
        return shares.sum()  # 0: nobody chose
    n_experts = shares.shape[-1]
    used = jnp.bincount(chosen.ravel(), length=n_experts) / chosen.size
    used = used.astype(shares.dtype)
    return n_experts * (used * shares.reshape(-1, n_experts).mean(axis=0)).sum()


def rebalance(
    layer: MixtureOfExperts, chosen: Int[Array, "*B K"], *, rate: float = 0.001
) -> None:
    """Balance without a loss: raise the bias of experts used too little, in place."""
    check_positive("rate", rate)
    if layer.balance is None:
        raise ValueError(
            "rebalance needs a layer with a bias: got balance_bias=False. Build it "
            "with balance_bias=True, or add balance_loss to the loss."
        )
    used = jnp.bincount(chosen.ravel(), length=layer.balance.shape[0])
    step = jnp.sign(used.mean() - used).astype(layer.balance.dtype)
    layer.balance[...] = layer.balance[...] + rate * step

r"""Mixture of experts: many MLPs, of which each token uses a few (PyTorch).

    s_e = softmax(x W_R)_e                                               (eq. 1)
    y = sum over the top K of s + b of g_e f_e(x)                        (eq. 2)

with the gates g_e = s_e, or s_e divided by the sum of the K chosen ones. Shazeer et al.
2017, section 2, arXiv:1701.06538; softmax over all experts as in Fedus et al. 2022,
eq. 1 and 2, arXiv:2101.03961. Many narrow experts (fine-grained): Dai et al. 2024
(DeepSeekMoE), section 3, arXiv:2401.06066. The bias b, which takes part in the choice
alone and balances without a loss: DeepSeek-AI 2024, section 2.1.2, arXiv:2412.19437.
The loss that balances: Fedus et al. 2022, eq. 4 to 6.

Departure: no expert has a capacity, so no token is ever dropped.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.checks import check_choice, check_positive, check_size
from course_lib.config import ACTIVATIONS, Experts
from course_lib.torch.feed_forward import activate
from course_lib.torch.linear import linear

__all__ = ["MixtureOfExperts", "balance_loss", "rebalance"]


class MixtureOfExperts(nn.Module):
    """Mixture of experts: a router sends each token to the best `top_k` MLPs.

    Experts are `d_ff` wide. Their `balance_bias` is for `rebalance`; nothing has a bias
    otherwise.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        *,
        experts: Experts,
        activation: str = "silu",
        gated: bool = True,
    ):
        super().__init__()
        check_size("d_model", d_model)
        d_ff = 4 * d_model if d_ff is None else d_ff
        check_size("d_ff", d_ff)
        check_choice("activation", activation, ACTIVATIONS[:-1])
        self.experts, self.activation = experts, activation
        n_experts = experts.n_experts
        self.router = linear(d_model, n_experts, bias=False)
        balance = nn.Parameter(torch.zeros(n_experts))
        self.balance = balance if experts.balance_bias else None
        self.up_proj = _stack(n_experts, d_model, d_ff)
        self.gate_proj = _stack(n_experts, d_model, d_ff) if gated else None
        self.down_proj = _stack(n_experts, d_ff, d_model)

    def route(
        self, x: Float[Tensor, "*B D"]
    ) -> tuple[Float[Tensor, "*B K"], Int[Tensor, "*B K"], Float[Tensor, "*B E"]]:
        """Gates of each token's experts, their numbers, and eq. 1's shares of all.

        Of equals, the one with the smallest number is chosen.
        """
        scores = self.router(x).softmax(-1)
        ranked = scores if self.balance is None else scores + self.balance
        order = ranked.argsort(dim=-1, descending=True, stable=True)
        chosen = order[..., : self.experts.top_k]  # *B K
        gates = scores.gather(-1, chosen)
        if self.experts.normalize:
            gates = gates / gates.sum(dim=-1, keepdim=True)
        return gates, chosen, scores

    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Eq. 2, of each vector by itself."""
        rows = x.reshape(-1, x.shape[-1])  # N D
        gates, chosen, _ = self.route(rows)
        y = torch.zeros_like(rows)
        for e in chosen.unique().tolist():
            row, place = (chosen == e).nonzero(as_tuple=True)
            hidden = rows[row] @ self.up_proj[e]
            if self.gate_proj is None:
                hidden = activate(hidden, self.activation)
            else:
                hidden = hidden * activate(
                    rows[row] @ self.gate_proj[e], self.activation
                )
            out = hidden @ self.down_proj[e]
            out = gates[row, place, None] * out  # autocast may leave it in 16 bits
            y = y.index_add(0, row, out.to(y.dtype))
        return y.reshape(x.shape)


def _stack(n: int, d_in: int, d_out: int) -> nn.Parameter:
    """Matrices of several linear maps, `E Din Dout`, each started as `linear`'s."""
    bound = (6 / (d_in + d_out)) ** 0.5
    return nn.Parameter(torch.empty(n, d_in, d_out).uniform_(-bound, bound))


def balance_loss(
    shares: Float[Tensor, "*B E"], chosen: Int[Tensor, "*B K"]
) -> Float[Tensor, ""]:
    """Load-balancing loss: 1 where all experts are used alike, E where one is alone.

    Takes what `route` returned. E times the sum over experts of how often each was
    chosen, as a share, times its mean share; the latter alone has a gradient.
    """
    if not chosen.numel():
        return shares.sum()  # 0: nobody chose
    n_experts = shares.shape[-1]
    used = torch.bincount(chosen.flatten(), minlength=n_experts).double()
    used = (used / chosen.numel()).to(shares.dtype)  # 16 bits may not hold a count
    return n_experts * (used * shares.flatten(0, -2).mean(dim=0)).sum()


def rebalance(
    layer: MixtureOfExperts, chosen: Int[Tensor, "*B K"], *, rate: float = 0.001
) -> None:
    """Balance without a loss: raise the bias of experts used too little, in place.

    Those that were chosen less often than the mean rise by `rate`, the others fall.
    """
    check_positive("rate", rate)
    if layer.balance is None:
        raise ValueError(
            "rebalance needs a layer with a bias: got balance_bias=False. Build it "
            "with balance_bias=True, or add balance_loss to the loss."
        )
    used = torch.bincount(chosen.flatten(), minlength=len(layer.balance))
    with torch.no_grad():
        layer.balance.add_((used.float().mean() - used).sign(), alpha=rate)

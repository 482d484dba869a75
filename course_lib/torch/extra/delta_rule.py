r"""The gated delta rule: linear attention that corrects and forgets (PyTorch).

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

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks import (
    check_attention,
    check_same_length,
    check_shape,
    check_size,
    check_tensors,
)

__all__ = ["delta_rule"]


def delta_rule(
    q: Float[Tensor, "*B T Dh"],
    k: Float[Tensor, "*B T Dh"],
    v: Float[Tensor, "*B T Dv"],
    beta: Float[Tensor, "*B T"],
    alpha: Float[Tensor, "*B T"] | None = None,
    *,
    tile: int = 64,
) -> Float[Tensor, "*B T Dv"]:
    """Gated delta rule: write into a memory what it does not know yet.

    Args:
        q: Queries; each reads the memory after its own position was written.
        k: Keys, of length 1: then `beta` = 1 makes the memory return `v` for `k`.
        v: Values.
        beta: The share of the error that is corrected, 0 to 1 (to 2, if it may flip).
        alpha: The share of the memory that a position keeps, above 0 and up to 1; None
            keeps all of it.
        tile: Positions that are computed together; any number gives the same output.
    """
    check_tensors(torch.Tensor, q=q, k=k, v=v, beta=beta, alpha=alpha)
    check_attention(q.shape, k.shape, v.shape)
    check_same_length(q.shape, k.shape)
    alpha = torch.ones_like(beta) if alpha is None else alpha
    for name, share in (("beta", beta), ("alpha", alpha)):
        check_shape(name, share.shape, " ".join(map(str, k.shape[:-1])))
    check_size("tile", tile)
    b, log_a = beta.unsqueeze(-1), alpha.log().unsqueeze(-1)
    state = k.new_zeros(*k.shape[:-2], k.shape[-1], v.shape[-1])
    outputs = []
    for q_i, k_i, v_i, b_i, log_i in zip(
        *(t.split(tile, dim=-2) for t in (q, k, v, b, log_a)), strict=True
    ):
        total = log_i.cumsum(dim=-2)
        kept, between = total.exp(), (total - total.mT).tril().exp().tril()  # G, D
        known = b_i * between * (k_i @ k_i.mT)  # the solver reads it below the diagonal
        u = torch.linalg.solve_triangular(
            known, b_i * (v_i - kept * (k_i @ state)), upper=False, unitriangular=True
        )
        outputs.append(between * (q_i @ k_i.mT) @ u + kept * (q_i @ state))
        state = kept[..., -1:, :] * state + (between[..., -1:, :].mT * k_i).mT @ u
    return torch.cat(outputs, dim=-2)

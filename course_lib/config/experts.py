"""How a mixture of experts is laid out and how tokens choose among them."""

from dataclasses import dataclass

from course_lib.checks import check_experts, make_plain

__all__ = ["Experts"]


@dataclass(frozen=True, kw_only=True)
class Experts:
    """Mixture of experts: how many MLPs stand in place of one, and who uses which.

    Args:
        n_experts: Experts E, each as wide as the MLP that they replace.
        top_k: How many of them a token uses.
        normalize: Whether the gates of a token's experts are divided by their sum.
            None means that they are, but for one expert, whose gate would be 1 and
            teach the router nothing.
        balance_bias: Whether the choice has a bias that balances them.
    """

    n_experts: int
    top_k: int = 2
    normalize: bool | None = None
    balance_bias: bool = False

    def __post_init__(self):
        make_plain(self)
        check_experts(self.n_experts, self.top_k)
        if self.normalize is None:
            object.__setattr__(self, "normalize", self.top_k > 1)

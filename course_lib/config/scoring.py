"""What attention makes of its scores, beyond eq. 1, in decoders of today."""

from dataclasses import dataclass

from course_lib.checks import check_positive, check_size, make_plain

__all__ = ["QKNorm", "Scoring"]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """From products to scores: their scale, a soft cap, and how far a query sees.

    Args:
        scale: What products are multiplied by; None means 1 / sqrt(Dh).
        cap: Soft cap c of the scores s, c tanh(s / c); None has none.
        window: Positions that a query sees, itself among them (sliding-window
            attention); None means all.
    """

    scale: float | None = None
    cap: float | None = None
    window: int | None = None

    def __post_init__(self):
        make_plain(self)
        for name in ("scale", "cap"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        if self.window is not None:
            check_size("window", self.window)


@dataclass(frozen=True, kw_only=True)
class QKNorm:
    """QK-norm: queries and keys go through an RMS norm each before they are turned.

    Args:
        eps: What it adds inside the root.
        whole: Whether it is taken over all heads together, as in OLMo 2, and not of
            each by itself.
    """

    eps: float = 1e-5
    whole: bool = False

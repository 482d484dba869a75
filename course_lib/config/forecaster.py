"""Configuration of the forecaster of time series."""

from dataclasses import dataclass
from typing import ClassVar

from course_lib.checks import check_divides
from course_lib.config.transformer import TransformerConfig

__all__ = ["ADDED_POSITIONS", "ForecasterConfig"]

ADDED_POSITIONS = ("learned", "sinusoidal", "none")


@dataclass(frozen=True, kw_only=True)
class ForecasterConfig(TransformerConfig):
    """Forecaster of time series, all steps of a horizon at once.

    Args:
        past: Steps P that it sees.
        horizon: Steps H that it forecasts.
        patch_size: Steps in a token, which divide the past; 1 makes every step one.
        n_series: Series C, seen and forecast together.
        n_quantiles: Numbers Q for each forecast, such as its quantiles, on an axis of
            their own; None means one number and no such axis.
        position: "learned", "sinusoidal" or "none".
    """

    past: int
    horizon: int
    patch_size: int = 1
    n_series: int = 1
    n_quantiles: int | None = None

    _positions: ClassVar[tuple[str, ...]] = ADDED_POSITIONS

    def __post_init__(self):
        super().__post_init__()
        check_divides("patch_size", self.patch_size, "past", self.past)

    @property
    def forecast_shape(self) -> tuple[int, ...]:
        """Of one window's forecast: `H C`, or `H C Q` if there are quantiles."""
        quantiles = () if self.n_quantiles is None else (self.n_quantiles,)
        return (self.horizon, self.n_series, *quantiles)

    @property
    def n_patches(self) -> int:
        """Tokens in a window."""
        return self.past // self.patch_size

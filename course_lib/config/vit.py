"""Configuration of the vision transformer."""

from dataclasses import dataclass
from typing import ClassVar

from course_lib.checks import check_patches
from course_lib.config.transformer import TransformerConfig

__all__ = ["GRID_POSITIONS", "ViTConfig"]

GRID_POSITIONS = ("learned", "learned_2d", "none")


@dataclass(frozen=True, kw_only=True)
class ViTConfig(TransformerConfig):
    """Vision transformer, an encoder of image patches; defaults as published.

    Args:
        image_size: Height and width in pixels, or one number for both.
        patch_size: Height and width of a patch, which divide the image's.
        n_channels: Numbers a pixel: 3 in color, 1 in gray.
        n_classes: Classes that an image may belong to.
        position: "learned" (one vector a patch), "learned_2d" (row and column apart) or
            "none".
    """

    image_size: int | tuple[int, int]
    patch_size: int
    n_channels: int = 3
    n_classes: int
    norm_eps: float = 1e-12

    _positions: ClassVar[tuple[str, ...]] = GRID_POSITIONS

    def __post_init__(self):
        super().__post_init__()
        check_patches(self.image_shape, self.patch_size)

    @property
    def image_shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        if isinstance(self.image_size, int):
            return self.image_size, self.image_size
        return self.image_size

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        height, width = self.image_shape
        return height // self.patch_size, width // self.patch_size

    @classmethod
    def b16(cls) -> "ViTConfig":
        """ViT-B/16 for ImageNet, 86,567,656 parameters (arXiv:2010.11929, table 1)."""
        return cls(
            image_size=224,
            patch_size=16,
            n_classes=1000,
            d_model=768,
            n_layers=12,
            n_heads=12,
        )

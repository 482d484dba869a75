"""Small drawn images of four classes: disk, square, triangle, cross.

Place, size, rotation and brightness are random, and noise lies over everything. Edges
are smooth: how much of a pixel is covered follows from the distance of its middle to
the edge. All four shapes of a size have the same area, so brightness alone does not
tell them apart.

No rule is without error, as noise may turn any shape into any other. A matched filter
that knows how the images were drawn (`matched_filter`) is a lower bound for the
accuracy of the best rule.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

__all__ = ["SHAPES", "Shapes", "drawn_shapes", "matched_filter"]

SHAPES = ("disk", "square", "triangle", "cross")

_SIDES = {"square": 4, "triangle": 3}
_ARM = 0.35  # of the cross: width over length of a bar
_PERIOD = {  # after this angle a shape falls onto itself
    "disk": 0.0,
    "square": math.pi / 2,
    "triangle": 2 * math.pi / 3,
    "cross": math.pi / 2,
}


@dataclass(frozen=True, eq=False)
class Shapes:
    """Images with what they were drawn from."""

    #: Gray values, 0 for the ground, `N 1 S S`, float32; noise takes them below 0 and
    #: above 1.
    images: np.ndarray
    labels: np.ndarray  #: The class, an index into `SHAPES`, `N`
    center: np.ndarray  #: Row and column of the middle, in pixels, `N 2`
    radius: np.ndarray  #: Radius of the disk with the shape's area, in pixels, `N`
    angle: np.ndarray  #: Rotation in radians, `N`
    brightness: np.ndarray  #: Gray value of the shape, `N`
    noise: float  #: Standard deviation of the noise in each pixel


def drawn_shapes(n: int, *, seed: int, size: int = 32, noise: float = 0.2) -> Shapes:
    """Draw images, of each class equally many (the first ones take the remainder).

    Shapes lie wholly inside their images, `size` pixels high and wide.
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % len(SHAPES))
    radius = size * rng.uniform(0.15, 0.25, n)
    reach = radius * max(_extent(name) for name in SHAPES)
    center = rng.uniform(reach[:, None], size - reach[:, None], (n, 2))
    angle = rng.uniform(0, 2 * math.pi, n)
    brightness = rng.uniform(0.6, 1.0, n)
    images = noise * rng.standard_normal((n, 1, size, size))
    for k, name in enumerate(SHAPES):
        own = labels == k
        covered = draw(name, size, center[own], radius[own], angle[own])
        images[own, 0] += brightness[own, None, None] * covered
    return Shapes(
        images.astype(np.float32), labels, center, radius, angle, brightness, noise
    )


def draw(
    name: str, size: int, center: np.ndarray, radius: np.ndarray, angle: np.ndarray
) -> np.ndarray:
    """The share of each pixel that a shape covers, `N S S`, to a few hundredths."""
    middle = np.arange(size) + 0.5
    rows = middle[:, None] - center[:, 0, None, None]  # N, rows, 1
    columns = middle - center[:, 1, None, None]  # N, 1, columns
    cos, sin = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    scale = radius[:, None, None]
    y, x = (cos * rows - sin * columns) / scale, (sin * rows + cos * columns) / scale
    # A pixel whose middle lies on the edge is half covered, one that lies half a pixel
    # further in is covered whole.
    return np.clip(0.5 - scale * _distance(name, x, y), 0, 1)


def _distance(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far points lie outside the shape of area pi at the origin; inside < 0."""
    if name == "disk":
        return np.hypot(x, y) - 1
    if name == "cross":  # the nearer one of two bars
        arm = _extent(name) / math.hypot(1, _ARM)
        x, y = np.abs(x), np.abs(y)
        lying = np.maximum(x - arm, y - _ARM * arm)
        standing = np.maximum(x - _ARM * arm, y - arm)
        return np.minimum(lying, standing)
    n = _SIDES[name]  # the furthest one of the sides
    inner = _extent(name) * math.cos(math.pi / n)
    turns = 2 * math.pi / n * np.arange(n)
    return np.max([x * math.cos(t) + y * math.sin(t) - inner for t in turns], axis=0)


def _extent(name: str) -> float:
    """How far the shape of area pi reaches from its middle."""
    if name == "disk":
        return 1.0
    if name == "cross":  # two bars, less the square that they share
        arm = math.sqrt(math.pi / (8 * _ARM - 4 * _ARM**2))
        return arm * math.hypot(1, _ARM)
    n = _SIDES[name]  # area of a regular polygon: n/2 R^2 sin(2 pi / n)
    return math.sqrt(2 * math.pi / (n * math.sin(2 * math.pi / n)))


def matched_filter(images: np.ndarray) -> np.ndarray:
    """Matched filter: the class of the drawing with the least squared error.

    Every class is drawn in 6 sizes and 8 rotations, at every place, with the
    brightness that fits best: with Gaussian noise, maximum likelihood. Images are
    `N 1 S S`, labels `N`.
    """
    size = images.shape[-1]
    spectra = np.fft.rfft2(images[:, 0].astype(np.float64))
    best = np.full(len(images), -np.inf)
    labels = np.zeros(len(images), dtype=np.int64)
    for k, name in enumerate(SHAPES):
        for drawing in _drawings(name, size):
            overlap = spectra * np.conj(np.fft.rfft2(drawing))
            match = np.fft.irfft2(overlap, (size, size))
            # Squared error that the best brightness b takes away: max 2 b m - b² |d|².
            gain = np.maximum(match, 0).max((1, 2)) ** 2 / (drawing**2).sum()
            labels = np.where(gain > best, k, labels)
            best = np.maximum(best, gain)
    return labels


@lru_cache(maxsize=16)
def _drawings(name: str, size: int) -> np.ndarray:
    turns = 1 if name == "disk" else 8
    radii = size * (0.15 + 0.1 * (np.arange(6) + 0.5) / 6)
    angles = _PERIOD[name] * np.arange(turns) / turns
    radius, angle = (x.ravel() for x in np.meshgrid(radii, angles))
    # Between pixels, too: half a pixel matters for the smallest shapes.
    shifts = np.array([(0, 0), (0, 0.5), (0.5, 0), (0.5, 0.5)]) + size // 2
    return np.concatenate(
        [draw(name, size, np.tile(s, (len(radius), 1)), radius, angle) for s in shifts]
    )

"""The emblem of the book, shown by browsers beside its name: a causal attention map.

    python book/_ext/emblem.py

writes _static/favicon.svg. Row t averages over columns 1 to t, with the weights of a
softmax; the darker, the more.
"""

from pathlib import Path

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.pyplot import get_cmap

from course_lib import plot

SCORES = np.array([[0.0, 0.0, 0.0], [1.0, 0.4, 0.0], [-0.6, 0.9, 1.2]])
SIZE, GAP = 32, 2


def draw() -> str:
    """Draw the map as squares, from light to dark."""
    weights = np.tril(np.exp(SCORES))
    weights /= weights.sum(1, keepdims=True)
    side = (SIZE - 2 * GAP) / 3
    squares = "".join(
        f'<rect x="{j * (side + GAP):.2f}" y="{i * (side + GAP):.2f}" rx="1.5" '
        f'width="{side:.2f}" height="{side:.2f}" '
        f'fill="{to_hex(get_cmap(plot.WEIGHTS)(0.15 + 0.75 * weights[i, j]))}"/>'
        for i in range(3)
        for j in range(3)
    )
    view = f'viewBox="0 0 {SIZE} {SIZE}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view}>{squares}</svg>\n'


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "_static" / "favicon.svg"
    path.write_text(draw(), "utf-8")

"""The drawing of the page on a new domain that no cell makes.

    python book/figures/a_new_domain.py

writes a-new-domain-frames.svg (two stretches of a gene, cut into codons) beside this
file.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, box, label, save_figures, shade
from matplotlib.figure import Figure

from course_lib import plot

RED = plot.COLORS["vermillion"]

STRETCHES = {"GCATCTAAGCGT": 5, "GCATCATAAGCG": 6}  # letters, and where TAA begins


def frames() -> Figure:
    """The same stop in two places: read across, and read as a codon."""
    figure, axes = plt.subplots(2, 1, figsize=(6.2, 3.2))
    for ax, (letters, stop) in zip(axes, STRETCHES.items(), strict=True):
        in_frame = stop % 3 == 0
        ended = False
        for start in range(0, len(letters), 3):
            is_stop = in_frame and start == stop
            fill = shade(RED, 0.3) if is_stop else shade(GRAY, 0 if ended else 0.12)
            edge = RED if is_stop else (shade(GRAY, 0.5) if ended else INK)
            box(ax, start + 1, 0, 2.8, 1.1, fc=fill, ec=edge, zorder=1)
            for k in range(start, start + 3):
                color = shade(GRAY, 0.6) if ended else INK
                label(ax, k, 0, letters[k], color=color, fontsize=16, zorder=3)
            ended = ended or is_stop
        ax.plot([stop - 0.35, stop + 2.35], [0.85, 0.85], color=RED, lw=3)
        words = "reading stops" if in_frame else "read across"
        label(ax, stop + 1, 1.3, f"TAA at place {stop}: {words}", color=RED)
        ax.set(xlim=(-0.7, len(letters) - 0.3), ylim=(-0.8, 1.7), aspect="equal")
        ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(frames)

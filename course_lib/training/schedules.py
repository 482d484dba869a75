r"""Learning-rate schedules, with a linear warm-up, in plain numbers.

Both wings hand these numbers to their optimizers, so they train at exactly the same
rates. Update number W, the end of the warm-up, is at the `peak`. S is the share of the
updates after it that are done with update number t: 1 at the last one.

    t <= W:          peak t / W
    "constant":      peak
    "linear":        peak (1 - S)
    "cosine":        peak (1 + cos(pi S)) / 2                            (eq. 1)
    "inverse_sqrt":  peak sqrt(W / t)                                    (eq. 2)

Eq. 1: Loshchilov and Hutter 2017, eq. 5, arXiv:1608.03983, without restarts. Eq. 2:
Vaswani et al. 2017, eq. 3, arXiv:1706.03762, where the peak is (d_model · W)^(-1/2),
0.0007 for the base model.
"""

import math

from course_lib.config import TrainConfig


def learning_rate(step: int, config: TrainConfig) -> float:
    """The rate that a run has after `step` steps, for update t = step + 1."""
    t, peak, warmup = step + 1, config.learning_rate, config.warmup
    if t <= warmup:
        return peak * (t / warmup)
    if config.schedule == "constant":
        return peak
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(warmup / t)
    done = min(1.0, (t - warmup) / (config.steps - warmup))
    if config.schedule == "linear":
        return peak * (1 - done)
    return peak * ((1 + math.cos(math.pi * done)) / 2)

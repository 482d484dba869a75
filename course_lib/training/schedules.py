r"""Learning-rate schedules, with a linear warm-up, in plain numbers.

Both wings hand these numbers to their optimizers, so they train at exactly the same
rates. `step` counts the steps already done, from 0; the update it makes is number
t = step + 1, which is what the equations count. `peak` is the rate after the `warmup`
updates, the last of which is at `peak`.
"""

import math

from course_lib.config import TrainConfig
from course_lib.config.training import FALLING


def constant(step: int, *, peak: float, warmup: int = 0) -> float:
    """Linear warm-up, then a constant rate."""
    return peak * min(1.0, (step + 1) / max(1, warmup))


def linear(
    step: int, *, peak: float, steps: int, warmup: int = 0, floor: float = 0.0
) -> float:
    """Linear warm-up, then a linear fall to `floor · peak`, where the last step is."""
    if step < warmup:
        return constant(step, peak=peak, warmup=warmup)
    done = min(1.0, (step + 1 - warmup) / (steps - warmup))
    return peak * (floor + (1 - floor) * (1 - done))


def cosine(
    step: int, *, peak: float, steps: int, warmup: int = 0, floor: float = 0.0
) -> float:
    """Linear warm-up, then a fall along half a cosine wave to `floor · peak`.

    Loshchilov and Hutter 2017, eq. 5, arXiv:1608.03983, without restarts. The last of
    the `steps` steps is at the floor.
    """
    if step < warmup:
        return constant(step, peak=peak, warmup=warmup)
    done = min(1.0, (step + 1 - warmup) / (steps - warmup))
    return peak * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done)))


def inverse_sqrt(step: int, *, peak: float, warmup: int) -> float:
    """Linear warm-up, then a fall with the root of the number of updates.

    Vaswani et al. 2017, eq. 3, arXiv:1706.03762, where the peak is (d_model ·
    warmup)^(-1/2), 0.0007 for the base model.
    """
    t = step + 1
    return peak * min(t / warmup, math.sqrt(warmup / t))


def learning_rate(step: int, config: TrainConfig) -> float:
    """The rate that a run of this configuration has at this step."""
    peak, warmup = config.learning_rate, config.warmup
    if config.schedule in FALLING:
        fall = linear if config.schedule == "linear" else cosine
        return fall(
            step, peak=peak, steps=config.steps, warmup=warmup, floor=config.floor
        )
    if config.schedule == "inverse_sqrt":
        return inverse_sqrt(step, peak=peak, warmup=warmup)
    return constant(step, peak=peak, warmup=warmup)

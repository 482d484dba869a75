r"""The learning rate as a function of the step, in plain numbers.

A schedule knows no framework: the wings ask it for the rate of each step and hand that
number to their optimizer, so both train at exactly the same rates. `step` counts from
0; the update it makes is number t = step + 1, which is what the equations count.
"""

import math

from course_lib.config import TrainConfig


def constant(step: int, *, peak: float, warmup: int = 0) -> float:
    """Rise in a straight line over the first `warmup` updates, then stay.

    Args:
        step: Steps already done.
        peak: The rate after warm-up.
        warmup: Updates that the rise takes; the last of them is at `peak`.

    Returns:
        The rate of this step.
    """
    return peak * min(1.0, (step + 1) / max(1, warmup))


def cosine(
    step: int, *, peak: float, steps: int, warmup: int = 0, floor: float = 0.0
) -> float:
    """Rise over the warm-up, then fall along half a cosine wave.

    Loshchilov and Hutter 2017, eq. 5, arXiv:1608.03983, without restarts.

    Args:
        step: Steps already done.
        peak: The rate after warm-up.
        steps: Steps in all; the last of them is at the floor.
        warmup: Updates that the rise takes.
        floor: Where the wave ends, as a share of `peak`.

    Returns:
        The rate of this step.
    """
    if step < warmup:
        return constant(step, peak=peak, warmup=warmup)
    done = min(1.0, (step + 1 - warmup) / (steps - warmup))
    return peak * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done)))


def inverse_sqrt(step: int, *, peak: float, warmup: int) -> float:
    """Rise over the warm-up, then fall with the root of the number of updates.

    Vaswani et al. 2017, eq. 3, arXiv:1706.03762, whose `peak` is `vaswani_peak`.

    Args:
        step: Steps already done.
        peak: The rate after warm-up.
        warmup: Updates that the rise takes, at least 1.

    Returns:
        The rate of this step.
    """
    t = step + 1
    return peak * min(t / warmup, math.sqrt(warmup / t))


def vaswani_peak(d_model: int, warmup: int) -> float:
    """The largest rate of Vaswani et al.'s schedule: (d_model · warmup)^(-1/2).

    >>> round(vaswani_peak(512, 4000), 6)
    0.000699
    """
    return (d_model * warmup) ** -0.5


def learning_rate(step: int, config: TrainConfig) -> float:
    """The rate that a training run of this configuration uses at this step.

    Args:
        step: Steps already done.
        config: Its `schedule`, `learning_rate`, `warmup`, `floor` and `steps` count.

    Returns:
        The rate, never above `config.learning_rate`.
    """
    peak, warmup = config.learning_rate, config.warmup
    if config.schedule == "cosine":
        return cosine(
            step, peak=peak, steps=config.steps, warmup=warmup, floor=config.floor
        )
    if config.schedule == "inverse_sqrt":
        return inverse_sqrt(step, peak=peak, warmup=warmup)
    return constant(step, peak=peak, warmup=warmup)

"""Exercises on scale: the loss of a batch that several processes share."""

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    def case(world):
        return rng.random(world), rng.integers(1, 23, world).astype(float)

    return {
        "two processes": case(2),
        "seven processes": case(7),
        "an idle process": (rng.random(3), np.array([5.0, 0.0, 11.0])),
    }


def _mean_loss(losses, counts):
    return losses @ counts / counts.sum()


EXERCISES["mean_over_processes"] = Exercise(
    call="f(losses, counts)",
    cases=_cases,
    oracle=_mean_loss,
    slips={
        "this is the mean of the means: tokens in a small part count for more": (
            "losses @ counts / counts.sum() -> losses.mean()"
        ),
        "the sum is not divided by the number of all tokens": " / counts.sum() ->",
        "the sum is divided by the number of processes; divide by that of tokens": (
            "counts.sum() -> len(losses)"
        ),
        "losses are means already: multiply each by its count before adding": (
            "losses @ counts -> losses.sum()"
        ),
    },
)

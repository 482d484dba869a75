"""Exercises on translation: what the decoder reads under teacher forcing."""

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    def case(n, t, start):
        return rng.integers(2, 13, (n, t)), start  # no token equals a start token

    return {
        "three targets of five tokens": case(3, 5, 1),
        "one target of one token": case(1, 1, 0),
        "two targets of seven tokens": case(2, 7, 1),
    }


def _shift(ids, start):
    first = np.full((len(ids), 1), start)
    return np.concatenate([first, ids[:, :-1]], axis=1)


EXERCISES["shift_right"] = Exercise(
    call="f(ids, start_id)",
    cases=_cases,
    oracle=_shift,
    slips={
        "nothing has moved: each place would read the token it is asked for": (
            "[first, ids[:, :-1]] -> [ids]"
        ),
        "the start token has replaced the first token; it belongs before it": (
            ":-1 -> 1:"
        ),
        "the last token has come round to the front; the start token belongs there": (
            "[first -> [ids[:, -1:]"
        ),
        "this moves to the left: each place would read the token after its own": (
            "[first, ids[:, :-1]] -> [ids[:, 1:], first]"
        ),
        "the last token is still there: one place too many": "[:, :-1] ->",
        "sequences have moved, not tokens: the shift runs along the second axis": (
            "(len(ids), 1) -> (1, ids.shape[1]); [:, :-1] -> [:-1]; axis=1 -> axis=0"
        ),
    },
)

"""Exercises on LoRA: a frozen linear layer and a low-rank update beside it.

Hu et al. 2021, section 4.1, arXiv:2106.09685.
"""

from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    def case(*batch, d_in=7, d_out=5, rank=2, alpha=6.0):
        shapes = (*batch, d_in), (d_out, d_in), (rank, d_in), (d_out, rank)
        return *(rng.standard_normal(shape) for shape in shapes), alpha

    return {
        "one vector": case(),
        "a batch": case(2, 3),
        "rank one": case(3, rank=1, alpha=0.5),
    }


def _lora(x, w, a, b, alpha):
    r = len(a)
    return x @ w.T + alpha / r * (x @ a.T) @ b.T


EXERCISES["lora"] = Exercise(
    call="f(x, w, a, b, alpha)",
    cases=_cases,
    oracle=lambda x, w, a, b, alpha: x @ (w + alpha / len(a) * b @ a).T,
    equation=(_lora,),
    slips={
        "the update is not scaled by alpha / r": " alpha / r * ->",
        "the update is scaled by alpha; divide by the rank r": " / r ->",
        "the update is divided by the rank r, but not multiplied by alpha": (
            "alpha / r -> 1 / r"
        ),
        "the update is divided by the root of the rank r; LoRA divides by r": (
            "/ r -> / math.sqrt(r)"
        ),
        "the update is scaled by r / alpha; it is alpha / r": "alpha / r -> r / alpha",
        "the frozen layer is missing: the update is added to it": "x @ w.T + ->",
        "the update is not used": "+ alpha -> + 0",
        "there is an activation between A and B; the update is linear": (
            "(x @ a.T) -> np.maximum(x @ a.T, 0)"
        ),
    },
)

"""One training, several seeds (Flax NNX)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from flax import nnx

from course_lib.config import TrainConfig
from course_lib.nnx.training.fit import fit
from course_lib.training.runs import Runs


def fit_many(
    make: Callable[[int], nnx.Module],
    batches: Callable[[int], Any] | Sequence[Any],
    loss: Callable[..., Any],
    *,
    seeds: Iterable[int] = range(3),
    config: TrainConfig | None = None,
    evaluate: Callable[[Any], float | dict[str, float]] | None = None,
) -> Runs:
    """Train one model from several seeds in turn, to see how much chance decides.

    Args:
        make: Called as `make(seed)`, returns a new model.
        batches: As for `fit`; every run sees the same ones.
        loss: As for `fit`.
        seeds: Each starts one model and its dropout, in place of `config.seed`.
        config: As for `fit`.
        evaluate: As for `fit`.

    Returns:
        The models and their records, with median and range over the runs.
    """
    config, runs = TrainConfig() if config is None else config, Runs([], [], [])
    for seed in seeds:
        model, own = make(seed), replace(config, seed=seed)
        runs.seeds.append(seed)
        runs.models.append(model)
        runs.histories.append(fit(model, batches, loss, config=own, evaluate=evaluate))
    return runs

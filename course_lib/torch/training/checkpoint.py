"""A model and its training in a file, and back (PyTorch).

What the file holds is described in `course_lib.training.checkpoint`. A run resumed in
the wing that wrote it goes on bit for bit. In the other wing it goes on with the same
weights, optimizer, step, learning rate, data and history; only dropout starts a stream
of its own there, since the frameworks draw random numbers differently.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from course_lib.arrays import to_numpy
from course_lib.checks import check_weights
from course_lib.config import TrainConfig
from course_lib.torch.bridge import parameters, uncompiled
from course_lib.torch.training.distributed import bare, place, placed_like, whole
from course_lib.training import checkpoint as checkpoints
from course_lib.training.checkpoint import Arrays, Checkpoint
from course_lib.training.history import History

__all__ = ["load_weights", "save_weights"]


def save_weights(model: nn.Module, path: str | Path) -> None:
    """Write a model's parameters to a file, safetensors, that either wing reads.

    So are its buffers, such as the running means of batch norm. bfloat16 is written as
    float32. A file that exists is replaced, all or nothing.
    """
    arrays = _read(_kept(bare(model)))
    if place(model)[0] == 0:
        checkpoints.save_arrays(path, arrays)


def load_weights(model: nn.Module, path: str | Path) -> None:
    """Read what `save_weights` or `fit` of either wing wrote into a model, in place.

    An error leaves the model as it was.
    """
    _write(_kept(bare(model)), checkpoints.load_arrays(path))


class Run:
    """What changes while a model is trained here, apart from the history."""

    def __init__(self, model: nn.Module, optimizer: Any):
        self.model, self.bare, self.optimizer = model, bare(model), optimizer
        self.rank, self.world = place(model)
        self.parameters, self.kept = parameters(self.bare), _kept(self.bare)
        self.device = next(iter(self.parameters.values())).device
        # Whether a loss or a gradient was NaN or infinite: no update is made any more.
        self.bad = torch.tensor(False, device=self.device)
        self.best: Arrays = {}

    def keep_best(self) -> None:
        """Remember the weights as they are now."""
        self.best = _read(self.kept)

    def put_best_back(self) -> None:
        """Return to the weights remembered, if any."""
        if self.best:
            _write(self.kept, self.best)

    def save(
        self, path: Any, config: TrainConfig, history: History, order: dict[str, Any]
    ) -> None:
        """Write all of it to a file; every process has to call this."""
        states = [_random_state(self.device)]
        if self.world > 1:
            states = [{} for _ in range(self.world)]
            dist.all_gather_object(states, _random_state(self.device))
        private = {}
        for rank, state in enumerate(states):
            private |= {f"random.{rank}.{kind}": a for kind, a in state.items()}
        checkpoint = Checkpoint(
            weights=_read(self.kept),
            exp_avg=_read(self._moments("exp_avg")),
            exp_avg_sq=_read(self._moments("exp_avg_sq")),
            best=self.best,
            private=private,
            wing="torch",
            config=config,
            history=history,
            order=order,
        )
        if self.rank == 0:
            checkpoints.save_run(path, checkpoint)
        if self.world > 1:
            dist.barrier()

    def load(self, path: Any, config: TrainConfig, order: dict[str, Any]) -> History:
        """Take up the run in a file; returns its history."""
        saved = checkpoints.load_run(path)
        checkpoints.check_same_run(path, saved, config, order)
        _check(self.parameters, saved.exp_avg)
        _check(self.parameters, saved.exp_avg_sq)
        _write(self.kept, saved.weights)
        for name, p in self.parameters.items():
            if p.requires_grad:
                self.optimizer.state[p] = {
                    "step": torch.tensor(float(saved.history.steps), device=p.device),
                    "exp_avg": placed_like(torch.tensor(saved.exp_avg[name]), p),
                    "exp_avg_sq": placed_like(torch.tensor(saved.exp_avg_sq[name]), p),
                }
        self.best = saved.best
        private = saved.private if saved.wing == "torch" else {}
        self.seed(config.seed, saved.history.steps)  # where no stream is to be had
        mine = f"random.{self.rank}."
        _set_random_state(
            self.device,
            {n.removeprefix(mine): a for n, a in private.items() if n.startswith(mine)},
        )
        return saved.history

    def seed(self, seed: int, step: int) -> None:
        """Start the random numbers of dropout: each process its own."""
        mixed = np.random.SeedSequence([seed, step, self.rank])
        torch.manual_seed(int(mixed.generate_state(1)[0]))

    def _moments(self, name: str) -> dict[str, Tensor]:
        state = self.optimizer.state
        return {
            path: state[p][name] if p in state else torch.zeros_like(p)
            for path, p in self.parameters.items()
        }


def _kept(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by path, all that a model is made of."""
    names = model.state_dict().keys()
    buffers = {uncompiled(n): b for n, b in model.named_buffers() if n in names}
    return parameters(model) | buffers


def _read(tensors: Mapping[str, Tensor]) -> Arrays:
    # An array of its own: the tensors go on changing.
    return {
        name: to_numpy(whole(tensor.detach())).copy()
        for name, tensor in tensors.items()
    }


def _check(tensors: Mapping[str, Tensor], arrays: Arrays) -> None:
    check_weights({name: tuple(t.shape) for name, t in tensors.items()}, arrays)


def _write(tensors: Mapping[str, Tensor], arrays: Arrays) -> None:
    _check(tensors, arrays)
    with torch.no_grad():
        for name, tensor in tensors.items():
            tensor.copy_(placed_like(torch.tensor(arrays[name]), tensor))


def _random_state(device: torch.device) -> Arrays:
    states = {"cpu": torch.get_rng_state().numpy()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device).numpy()
    return states


def _set_random_state(device: torch.device, states: Arrays) -> None:
    if "cpu" in states:
        torch.set_rng_state(torch.tensor(states["cpu"]))
    if "cuda" in states and device.type == "cuda":
        torch.cuda.set_rng_state(torch.tensor(states["cuda"]), device)

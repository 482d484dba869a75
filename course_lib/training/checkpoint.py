"""A training run in one file: what is in it, and how it is written all or nothing.

The file is safetensors (never pickle), so that reading it runs no code. Weights and the
optimizer's moments are stored in the course's exchange format, which either wing reads.
What only one wing understands, its random state and a model's own counters, is stored
beside them, and the other wing leaves it alone. A checksum over everything is stored in
the metadata and verified on reading; files of other tools, which have none, are read
without.
"""

import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass, field, fields
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.config import TrainConfig
from course_lib.config.training import FALLING
from course_lib.optional import missing
from course_lib.training.batches import fingerprint
from course_lib.training.history import History

_RUN, _WEIGHTS = "course_lib run 1", "course_lib weights 1"
_PARTS = ("weights", "exp_avg", "exp_avg_sq", "best", "private")
_HISTORY = ("losses", "learning_rates", "grad_norms")
_EVALUATIONS = ("eval_steps", "evals", "stopped")
# What may change when a run is taken up again, because no step's numbers depend on it.
_MAY_CHANGE = {"chunk", "checkpoint_every"}

Arrays = dict[str, np.ndarray]


@dataclass(kw_only=True)
class Checkpoint:
    """A run between two steps: everything that its next step depends on."""

    weights: Arrays  #: Parameters by path, in PyTorch's layout
    #: AdamW's running mean of each parameter's gradient, by the same paths.
    exp_avg: Arrays
    exp_avg_sq: Arrays  #: The same for the gradient's square
    #: Weights of the best evaluation if there is early stopping; else empty.
    best: Arrays
    private: Arrays  #: What only `wing` understands, by names of its own
    wing: str  #: "torch" or "nnx", which wrote it
    config: TrainConfig  #: How the run is made
    history: History  #: The run so far; its length is the step the run stands at
    #: What decides the order of the data; empty where that is not known.
    order: dict[str, Any] = field(default_factory=dict)


def save_run(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write a run to a file, all or nothing; a file that exists is replaced."""
    history = checkpoint.history
    tensors = {
        f"{part}.{name}": array
        for part in _PARTS
        for name, array in getattr(checkpoint, part).items()
    }
    for name in _HISTORY:
        tensors[f"history.{name}"] = np.asarray(getattr(history, name), "float64")
    about = {
        "wing": checkpoint.wing,
        "config": asdict(checkpoint.config),
        "order": checkpoint.order,
        **{name: getattr(history, name) for name in _EVALUATIONS},
    }
    _write(path, tensors, {"format": _RUN, "run": json.dumps(about)})


def load_run(path: str | Path) -> Checkpoint:
    """Read a run that `save_run` wrote, in either wing."""
    tensors, metadata = _read(path)
    if metadata.get("format") != _RUN or "run" not in metadata:
        raise ValueError(
            f"{path} must hold a training run that fit wrote: got "
            f"{metadata.get('format', 'a safetensors file of another kind')!r}. "
            "Weights alone are read with load_weights."
        )
    about = json.loads(metadata["run"])
    parts: dict[str, Arrays] = {name: {} for name in (*_PARTS, "history")}
    for name, array in tensors.items():
        part, _, rest = name.partition(".")
        parts.setdefault(part, {})[rest] = array
    lists = parts.pop("history")
    absent = [f"history.{name}" for name in _HISTORY if name not in lists]
    extra = sorted(parts.keys() - {f.name for f in fields(Checkpoint)})
    if absent or extra:
        raise ValueError(
            f"{path} must hold a whole training run: missing "
            f"{', '.join(absent) or 'nothing'}, not expected "
            f"{', '.join(extra) or 'nothing'}."
        )
    betas = tuple(about["config"].pop("betas"))  # JSON knows only lists
    config = TrainConfig(**about["config"], betas=betas)
    history = History(
        **{name: lists[name].tolist() for name in _HISTORY},
        **{name: about[name] for name in _EVALUATIONS},
    )
    saved = {"config": config, "history": history, "order": about["order"]}
    return Checkpoint(**parts, **saved, wing=about["wing"])


def check_same_run(
    path: str | Path, saved: Checkpoint, config: TrainConfig, order: dict[str, Any]
) -> None:
    """Refuse to resume a run with another configuration or other data.

    `chunk` and `checkpoint_every` may differ, and `steps` too, from those that are done
    on, where the schedule does not depend on it. An empty `order` is one that is not
    known.
    """
    longer = config.schedule not in FALLING and config.steps >= saved.history.steps
    may_change = _MAY_CHANGE | ({"steps"} if longer else set())
    differ = [
        f"{f.name} (saved {getattr(saved.config, f.name)!r}, "
        f"now {getattr(config, f.name)!r})"
        for f in fields(TrainConfig)
        if f.name not in may_change
        and getattr(saved.config, f.name) != getattr(config, f.name)
    ]
    if saved.order and order and saved.order != order:
        differ.append(f"order of the data (saved {saved.order}, now {order})")
    if differ:
        raise ValueError(
            f"a run must go on as it began: {path} differs in {', '.join(differ)}. "
            "To start a new run from its weights, read them with load_weights."
        )


def save_arrays(path: str | Path, weights: Arrays) -> None:
    """Write weights alone, as `get_weights` returns them, all or nothing."""
    _write(path, weights, {"format": _WEIGHTS})


def load_arrays(path: str | Path) -> Arrays:
    """Read weights, as `set_weights` takes them, from any safetensors file.

    Of a whole run they are the best ones, where it kept them, or else the last.
    """
    tensors, metadata = _read(path)
    if metadata.get("format") != _RUN:
        return tensors
    run = load_run(path)
    return run.best or run.weights


def check_place(path: str | Path) -> None:
    """Find out before a run whether its checkpoints can be written to this file."""
    _safetensors()
    path = _target(path)
    # A process that is killed while it writes leaves its half behind.
    for half in path.parent.glob(_half(escape(path.name)) + "*"):
        if time.time() - half.stat().st_mtime > 3600:  # none takes an hour to write
            shutil.rmtree(half, ignore_errors=True)
    with _new_folder(path):
        pass


def _safetensors() -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError as error:
        raise missing("Checkpoints need", "safetensors", "hub") from error
    return safetensors


def _target(path: str | Path) -> Path:
    path = Path(path).resolve()  # through a link to the file it stands for
    if not path.parent.is_dir():
        raise ValueError(
            f"a checkpoint needs a folder that exists: got {path}. "
            f"Make it with Path({str(path.parent)!r}).mkdir(parents=True)."
        )
    if path.is_dir():
        raise ValueError(
            f"a checkpoint is a file: got {path}, a folder. Name a file in it, such as "
            f"{path / 'run.safetensors'}."
        )
    return path


def _half(name: str) -> str:
    return f".{name}.half."


def _new_folder(path: Path) -> tempfile.TemporaryDirectory:
    """A folder of one's own beside the file, gone at the end of a `with`."""
    try:
        return tempfile.TemporaryDirectory(prefix=_half(path.name), dir=path.parent)
    except OSError as error:
        raise OSError(
            f"a checkpoint needs a folder that can be written to: {path.parent} "
            f"cannot ({error.strerror}). Name a file elsewhere."
        ) from error


def _write(path: str | Path, tensors: Arrays, metadata: dict[str, str]) -> None:
    safetensors, path = _safetensors(), _target(path)
    # safetensors writes the bytes as they lie, so a transposed array must be laid out.
    tensors = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    metadata = metadata | {"sha256": _checksum(tensors, metadata)}
    # In the same file system, so that the last act is a rename: readers see the old
    # file or the new one, whenever the power goes and however many write.
    with _new_folder(path) as folder:
        half, usual = Path(folder, "half"), Path(folder, "usual")
        usual.touch()  # with the mode that new files have here: safetensors has its own
        try:
            safetensors.numpy.save_file(tensors, half, metadata)
            with open(half, "rb+") as file:
                os.fsync(file.fileno())
        except (OSError, safetensors.SafetensorError) as error:
            raise OSError(
                f"{path} could not be written: {error}. What was there before is "
                "as it was. Free some space, or name a file on another disk."
            ) from error
        half.chmod((path if path.exists() else usual).stat().st_mode)
        os.replace(half, path)


def _read(path: str | Path) -> tuple[Arrays, dict[str, str]]:
    if not Path(path).is_file():
        raise ValueError(f"there must be a file to read: {path} is none.")
    safetensors = _safetensors()
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"{path} must be a safetensors file, and whole: {error}. "
            "Files of other kinds can run code when they are read, so none is."
        ) from None
    known = metadata.pop("sha256", None)
    if known is not None and known != _checksum(tensors, metadata):
        raise ValueError(
            f"{path} must hold what was written to it: its checksum is another, so "
            "some of its bytes have changed. Take a copy, or an earlier checkpoint."
        )
    return tensors, metadata


def _checksum(tensors: Arrays, metadata: dict[str, str]) -> str:
    names = sorted(tensors)
    about = json.dumps([names, sorted(metadata.items())]).encode()
    arrays = (tensors[name] for name in names)
    return fingerprint(np.frombuffer(about, "uint8"), *arrays)

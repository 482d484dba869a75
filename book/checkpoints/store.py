"""Where trained weights are stored, and how: with what is known of their training."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import save_file

import course_lib.torch as ct

TRAINED = Path(__file__).resolve().parents[2] / "course_lib" / "data" / "trained"


def store(model: torch.nn.Module, history: dict[str, Any], path: Path) -> None:
    """Write the weights and, as JSON in the file's metadata, how the training went."""
    metadata = {"format": "course_lib weights 1", "history": json.dumps(history)}
    save_file(ct.get_weights(model), path, metadata)


def run_command(main: Callable[[Path], None], folder: Path = TRAINED) -> None:
    """Run a command with the folder that was named, or with this one."""
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else folder)

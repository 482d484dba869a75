"""Where trained weights are stored, and how: with what is known of their training."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import save_file

import course_lib.torch as ct

ROOT = Path(__file__).resolve().parents[2]
TRAINED = ROOT / "course_lib" / "data" / "trained"
SCRIPTS = ROOT / "book" / "_static" / "explore" / "weights"  # for live figures


def store(model: torch.nn.Module, history: dict[str, Any], path: Path) -> None:
    """Write the weights and, as JSON in the file's metadata, how the training went."""
    metadata = {"format": "course_lib weights 1", "history": json.dumps(history)}
    save_file(ct.get_weights(model), path, metadata)


def write_script(name: str, given: Any, folder: Path) -> None:
    """Write what a live figure loads."""
    (folder / f"{name}.js").write_text(as_script(name, given), "utf-8")


def as_script(name: str, given: Any) -> str:
    """What a live figure is given, as a script: a page in a folder loads no data."""
    made = f"// Made by book/checkpoints/{name}.py, which says what it holds.\n"
    return f'{made}"use strict";\nexplore.given.{name} = {json.dumps(given)};\n'


def run_command(main: Callable[[Path], None], folder: Path = TRAINED) -> None:
    """Run a command with the folder that was named, or with this one."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else folder
    folder.mkdir(parents=True, exist_ok=True)  # now, and not after the training
    main(folder)

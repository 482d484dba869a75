"""The files of a checkpoint: finding them, and reading arrays without pickle."""

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.optional import missing

CONFIG = "config.json"
_WHOLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_WANTED = [CONFIG, _WHOLE, _INDEX, "model-*-of-*.safetensors"]

# Kinds of numbers in a safetensors file; bfloat16 is the upper half of a float32.
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_KINDS |= {"I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}


def find(path_or_name: str | Path, wanted: Sequence[str] = _WANTED) -> Path:
    """The folder of a checkpoint; of a name, such as "gpt2", files are fetched."""
    path = Path(path_or_name).expanduser()
    if path.is_dir():
        return path
    name = str(path_or_name)
    if isinstance(path_or_name, Path) or name.startswith((".", "/", "~")):
        raise ValueError(
            f"a checkpoint must be a folder with {CONFIG} and {_WHOLE} in it, or a "
            f"name on the Hugging Face Hub: {name} is no folder."
        )
    hub = need("huggingface_hub")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=list(wanted)))
    except Exception as error:  # of many kinds: no such name, no network, no right
        raise ValueError(
            f"a checkpoint must be a folder or a name on the Hugging Face Hub: {name} "
            f"is no folder in {Path.cwd()}, and could not be fetched ({error})."
        ) from error


def read_config(folder: Path) -> dict[str, Any]:
    """The fields of a checkpoint's config.json."""
    return read_json(folder / CONFIG)


def index(folder: Path) -> dict[str, Path]:
    """Which file each array of a checkpoint is in, by the array's name."""
    if (folder / _WHOLE).is_file():
        return dict.fromkeys(_header(folder / _WHOLE)[0], folder / _WHOLE)
    if (folder / _INDEX).is_file():
        return _shards(folder, read_json(folder / _INDEX).get("weight_map"))
    kinds = (".safetensors", ".bin", ".pt", ".pth", ".pkl")
    others = sorted(p.name for p in folder.iterdir() if p.suffix in kinds)
    way_out = ""
    if any("-of-" in name for name in others):
        way_out = f" Parts need {_INDEX}, which was written with them."
    elif any(name.endswith(".safetensors") for name in others):
        way_out = f" Give a file that is the whole model the name {_WHOLE}."
    elif others:
        way_out = (
            " Pickled weights (.bin, .pt) are never read, since they can run code. "
            "Write them as safetensors first: transformers' save_pretrained does, in "
            "an environment that you trust them in."
        )
    raise ValueError(
        f"{folder} must hold {_WHOLE}, or {_INDEX} and its parts: it holds neither"
        + (f", only {', '.join(others)}." if others else ".")
        + way_out
    )


def _shards(folder: Path, weight_map: Any) -> dict[str, Path]:
    if not isinstance(weight_map, dict) or not weight_map:
        raise ValueError(f"{folder / _INDEX} must have a weight_map of names to files.")
    files = sorted({str(file) for file in weight_map.values()})
    strange = [f for f in files if Path(f).name != f or not f.endswith(".safetensors")]
    if strange:
        raise ValueError(
            f"{folder / _INDEX} must name safetensors files beside it: got "
            f"{', '.join(strange)}."
        )
    if gone := [file for file in files if not (folder / file).is_file()]:
        raise ValueError(f"{folder} is not complete: it lacks {', '.join(gone)}.")
    held = {(name, f) for f in files for name in _header(folder / f)[0]}
    stated = set(weight_map.items())
    if held != stated:
        raise ValueError(
            f"{folder / _INDEX} must list what its files hold. Missing in the files: "
            f"{', '.join(sorted(n for n, _ in stated - held)) or 'none'}. Not expected "
            f"in them: {', '.join(sorted(n for n, _ in held - stated)) or 'none'}."
        )
    return {name: folder / file for name, file in weight_map.items()}


def read(files: dict[str, Path]) -> dict[str, np.ndarray]:
    """The arrays that `index` found, in their layout; bfloat16 as float32, exactly."""
    arrays = {}
    for path in dict.fromkeys(files.values()):
        header, start = _header(path)
        for name, about in header.items():
            if about["dtype"] not in _KINDS:
                raise ValueError(
                    f"{name} in {path} must be plain numbers "
                    f"({', '.join(_KINDS)}): got {about['dtype']}."
                )
            array = np.fromfile(
                path,
                dtype=_KINDS[about["dtype"]],
                count=int(np.prod(about["shape"], dtype=np.int64)),
                offset=start + about["data_offsets"][0],
            ).reshape(about["shape"])
            if about["dtype"] == "BF16":
                wide = np.empty(array.shape, np.uint32)  # no copy beside it
                array = np.left_shift(array, 16, out=wide, dtype=np.uint32)
                array = array.view(np.float32)
            arrays[name] = array
    return arrays


def _header(path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """What a safetensors file says about its arrays, and where the first begins."""
    safetensors = need("safetensors")
    try:
        # The library checks that sizes and places fit; it reads no bfloat16 in NumPy.
        with safetensors.safe_open(path, framework="numpy"):
            pass
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"{path} must be a safetensors file, and whole: {error}."
        ) from None
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return header, 8 + size


def read_json(path: Path) -> dict[str, Any]:
    """The fields of a file that must be there, and hold a JSON object."""
    if not path.is_file():
        raise ValueError(f"a checkpoint needs {path.name}: {path.parent} has none.")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be JSON: {error}.") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold a JSON object: got {values!r:.60}.")
    return values


def need(package: str) -> Any:
    """Import a package of the extra `hub`, or name it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise missing("Checkpoints of others need", package, "hub") from error

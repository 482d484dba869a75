"""The filter of system calls: what is refused fails, and what programs need goes on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HOMEWORK = Path(__file__).resolve().parents[2] / "homework"
TRIED = """
import ctypes, json, os, socket, subprocess, sys, threading
sys.path.insert(0, sys.argv[1])
from sandbox.calls import refuse

SYS_clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
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
found["clone"] = tried(lambda: called("syscall", SYS_clone, 0x10000011, 0, 0, 0, 0))
found["ptrace"] = tried(lambda: called("ptrace", 0, 0, None, None))
found["vsock"] = tried(lambda: socket.socket(40, socket.SOCK_STREAM))
found["unix"] = tried(lambda: socket.socketpair())
found["internet"] = tried(lambda: socket.socket())
def bare_clone3():
    number = 435  # on every machine
    if library.syscall(number, None, 0) < 0: raise OSError(ctypes.get_errno(), "")
found["clone3"] = tried(bare_clone3)
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
    done = subprocess.run(  # what isn't refused may wait for ever
        command, capture_output=True, text=True, check=True, timeout=30
    )
    said = done.stdout
    found = json.loads(said)
    if not found.pop("refused"):
        pytest.skip("this system has no filter, or no libseccomp")
    assert found.pop("child").startswith("PermissionError")
    assert found.pop("later") == [1]
    assert [found.pop(name) for name in ("unix", "internet")] == [0, 0]
    assert found.pop("clone3") == 38  # ENOSYS, so that the C library asks with clone
    assert set(found.values()) == {1}, found  # EPERM

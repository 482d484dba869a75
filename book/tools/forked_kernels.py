"""Kernels that start with everything imported: forks of a process that has done it.

The tests run some fifty pages, each in a kernel of its own. A fresh one spends seconds
on importing the frameworks; a fork of a process that only imported has them at once,
and nothing of another page. `multiprocessing`'s forkserver is that process, and a
provisioner is Jupyter's way to start a kernel otherwise.

What is stored in a notebook comes from a fresh kernel; so do the kernels of the weekly
run, which notice a page that forgets an import: `KERNELS=fresh make outputs`.
"""

import multiprocessing
import os
import signal
import sys
from importlib.metadata import EntryPoint
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest import mock

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

HERE = str(Path(__file__).parent)
# Only Linux forks safely once frameworks are loaded.
USABLE = sys.platform == "linux" and os.environ.get("KERNELS") != "fresh"


def use_forks(environment: dict[str, str]) -> None:
    """Let each kernel that this process starts be a fork.

    Args:
        environment: Of the kernels.
    """
    forkserver.set_forkserver_preload(["imported_by_pages"])
    path = os.pathsep.join(filter(None, [HERE, environment.get("PYTHONPATH")]))
    with mock.patch.dict(os.environ, environment | {"PYTHONPATH": path}):
        forkserver.ensure_running()
    entry = EntryPoint("forks", f"{__name__}:Forks", "jupyter_client")
    factory = KernelProvisionerFactory.instance()
    factory.provisioners["forks"] = entry  # type: ignore[attr-defined]
    factory.default_provisioner_name = "forks"


class Forks(LocalProvisioner):
    """Starts a kernel by forking; all else is as with any local kernel."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Fork, and let the fork be a kernel.

        Args:
            cmd: What would start a fresh kernel; its last word is the file that says
                how to reach it.
            **kwargs: `cwd` is where the kernel starts.
        """
        self.cwd = kwargs["cwd"]
        self.process: Any = Fork(cmd[cmd.index("-f") + 1], str(self.cwd))
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class Fork:
    """A forked kernel, with the face of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, connection_file: str, folder: str) -> None:
        context = multiprocessing.get_context("forkserver")
        self._process = context.Process(
            target=be_kernel, args=(connection_file, folder)
        )
        self._process.start()
        self.pid: int = self._process.pid or 0

    def poll(self) -> int | None:
        """Say how it ended, or None."""
        return self._process.exitcode

    def wait(self) -> int | None:
        """Wait until it ends."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        if self._process.is_alive():
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def be_kernel(connection_file: str, folder: str) -> None:
    """Become a kernel as `python -m ipykernel_launcher` is one (runs in the fork)."""
    import imported_by_pages
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # what it starts is ended with it
    # It ends with the process that asked for it: the server does, if nobody holds this.
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.chdir(folder)
    arguments = ["-f", connection_file, f"--IPKernelApp.parent_handle={os.getppid()}"]
    sys.argv = ["ipykernel_launcher.py", *arguments]
    sys.path[:] = imported_by_pages.PATH
    if others := os.environ.pop("PYTHONPATH").removeprefix(HERE).lstrip(os.pathsep):
        os.environ["PYTHONPATH"] = others
    del sys.modules[imported_by_pages.__name__]
    IPKernelApp.launch_instance(arguments)

"""Three ways to start a sandbox: bubblewrap, a container engine, or a bare process.

Each is given a room and a job, and gives back what the sandbox wrote, up to a limit,
and how it ended. Nothing else comes out of it.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sandbox import calls, wire

import course_lib

PYTHON = os.path.abspath(sys.executable)  # inside, no folder is above another
LIBRARY = Path(course_lib.__file__).resolve().parent
LARGEST = 2**26  # bytes of results
PROCESSES, THREADS = 200, 1000  # of one submission at a time
START = 900.0  # seconds until a sandbox is ready, which no student can lengthen
SCRATCH = 2**28  # bytes that it may write to its folder
SETTINGS = [f"/proc/{p}" for p in ("sys", "fs", "irq", "bus", "acpi", "scsi")]
SETTINGS += ["/proc/sysrq-trigger", "/proc/mtrr"]
TOO_LONG = "did not end within"
BARE = (
    "not isolated: a submission may read your files, use the network, and change "
    "other marks. Only for people whom you trust"
)


@dataclass(frozen=True)
class Times:
    """Seconds by the clock, after which a sandbox that says nothing is killed.

    Args:
        whole: For all that it does, from when it is ready.
        load: Until its first word after that.
        case: From then on from one word to the next.
    """

    whole: float
    load: float
    case: float

    def within(self, seconds: float) -> "Times":
        """The same, but not longer than so many seconds."""
        return Times(*(min(x, seconds) for x in (self.whole, self.load, self.case)))


@dataclass(frozen=True)
class Ended:
    """What a sandbox wrote, and how it ended, in words."""

    raw: bytes
    how: str


class Isolation:
    """A way to start the sandbox.

    Args:
        megabytes: What all processes of a submission may take together.
    """

    name = ""
    safe = True

    def __init__(self, megabytes: int = 6000):
        self.megabytes = megabytes
        self.user: dict[str, Any] = {}  # of the process, if not ours

    def missing(self) -> str:
        """Why it can't be used here; "" if it can."""
        return ""

    def command(self, room: Path, folder: Path, name: str) -> list[str]:
        """The command that starts Python in the room.

        Args:
            room: As `furnish` makes it.
            folder: An empty folder of this run.
            name: A word that no other run has.
        """
        raise NotImplementedError

    def told(self, room: Path | str, folder: Path | str) -> dict[str, str]:
        """What the environment of Python in the sandbox says."""
        return {
            **{"PYTHONPATH": str(room), "HOME": str(folder), "TMPDIR": str(folder)},
            **{"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "USER": "student"},
            **{"CUDA_VISIBLE_DEVICES": "", "COURSE_QUIET": "1", "LANG": "C.UTF-8"},
            **{"MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": "1"},
            "TORCHDYNAMO_DISABLE": "1",  # compiling takes longer than any answer
        }

    def environment(self, room: Path, folder: Path) -> dict[str, str]:
        """That of the process which is started."""
        return self.told(room, folder) | {"PATH": os.defpath}

    def end(self, name: str) -> None:
        """End whatever the process itself has not taken with it."""

    def run(self, room: Path, job: bytes, times: Times) -> Ended:
        """Run one job.

        Args:
            room: As `furnish` makes it.
            job: For the process's input.
            times: After which it is killed.
        """
        name = f"sandbox-{secrets.token_hex(8)}"
        with tempfile.TemporaryDirectory() as made, tempfile.TemporaryFile() as given:
            folder = Path(made)
            if self.user:
                folder.chmod(0o777)
            given.write(job)
            given.seek(0)
            process = subprocess.Popen(
                self.command(room, folder, name),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=self.environment(room, folder),
                start_new_session=True,
                **self.user,
            )
            try:
                return _watch(process, times, self.megabytes)
            finally:
                _kill(process)
                self.end(name)
                if process.stdout is not None:
                    process.stdout.close()


class Bubblewrap(Isolation):
    """Namespaces of its own, without privileges: Debian's `bubblewrap`."""

    name = "bubblewrap"
    inside = ("--unshare-user", "--disable-userns")  # no namespaces inside of it

    def missing(self) -> str:
        """Whether a sandbox starts at all: some systems forbid user namespaces."""
        if not shutil.which("bwrap"):
            return (
                "bwrap is not installed (on Debian and Ubuntu: apt install bubblewrap)"
            )
        if calls.library() is None:
            return "libseccomp.so.2 is not installed (there: apt install libseccomp2)"
        said = self._said()
        if "max_user_namespaces" in said:
            # Some systems deny this setting to it; there the filter of system
            # calls alone refuses namespaces.
            self.inside = ("--unshare-user",)
            said = self._said()
        for words, hint in _HINTS.items():
            said += f"; {hint}" if words in said else ""
        return f"bwrap does not start ({said})" * bool(said)

    def _said(self) -> str:
        """What bwrap complains of; "" if it starts."""
        with tempfile.TemporaryDirectory() as made:
            base = self._base(Path(made), Path(made))
            tried = subprocess.run(
                [*base, PYTHON, "-c", ""],
                capture_output=True,
                text=True,
                check=False,
            )
        said = tried.stderr.strip()[:200] or f"exit status {tried.returncode}"
        return said * bool(tried.returncode)

    def command(self, room: Path, folder: Path, name: str) -> list[str]:
        """Namespaces, and in them Python as it runs here."""
        return [*self._base(room, folder), *_python()]

    def _base(self, room: Path, folder: Path) -> list[str]:
        def read_only(path: str | Path) -> list[str]:
            return ["--ro-bind", str(path), str(path)]

        options = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
        options += self.inside
        options += ["--cap-drop", "ALL", "--uid", "1000", "--gid", "1000"]
        options += ["--hostname", "sandbox", *read_only("/usr")]
        for link in ("/bin", "/lib", "/lib32", "/lib64", "/sbin"):
            if os.path.islink(link):
                options += ["--symlink", os.readlink(link), link]
            elif os.path.isdir(link):
                options += read_only(link)
        options += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        options += ["--proc", "/proc", "--dev", "/dev"]
        # If the administrator marks, the user inside owns the kernel's settings.
        for part in SETTINGS:
            options += ["--ro-bind-try", part, part]
        options += ["--size", str(SCRATCH), "--tmpfs", "/tmp"]
        options += ["--size", str(SCRATCH), "--tmpfs", "/dev/shm"]
        options += ["--remount-ro", "/dev"]  # half of the memory fits into it
        for prefix in dict.fromkeys(
            map(os.path.abspath, (sys.base_prefix, sys.prefix))
        ):
            if not Path(prefix).is_relative_to("/usr"):
                options += read_only(prefix)
        if LIBRARY.is_relative_to(
            os.path.abspath(sys.prefix)
        ):  # installed, not in a clone
            options += ["--tmpfs", str(LIBRARY)]
        options += ["--size", str(SCRATCH), "--tmpfs", str(folder)]
        options += [*read_only(room), "--remount-ro", "/", "--chdir", str(folder)]
        return options


_HINTS = {
    "Unknown option": "version 0.8 or newer is due",
    "uid map": "on Ubuntu it needs a profile, which stands on the page on homework",
}


class Container(Isolation):
    """Docker or podman, with an image that has Python and the frameworks.

    `homework/Dockerfile` makes one, and the room is mounted.
    """

    name = "container"
    image = os.environ.get("COURSE_IMAGE", "course-homework")

    def __init__(self, megabytes: int = 6000):
        super().__init__(megabytes)
        self.engine = next((e for e in ("podman", "docker") if shutil.which(e)), "")

    def missing(self) -> str:
        """Whether the engine runs and has the image."""
        if not self.engine:
            return "neither podman nor docker is installed"
        tried = subprocess.run(
            [self.engine, "image", "inspect", self.image],
            capture_output=True,
            text=True,
            check=False,
        )
        return f"{self.engine}: {tried.stderr.strip()[:200]}" * bool(tried.returncode)

    def command(self, room: Path, folder: Path, name: str) -> list[str]:
        """No network, no privileges, nothing to write to but a folder in memory."""
        told = self.told("/room", "/tmp")
        return [
            *(self.engine, "run", "--rm", "-i", "--name", name, "--network", "none"),
            *("--read-only", "--cap-drop", "ALL", "--user", "65534:65534"),
            *("--security-opt", "no-new-privileges", "--ipc", "private"),
            *("--pids-limit", str(5 * PROCESSES), "--memory", f"{self.megabytes}m"),
            *("--memory-swap", f"{self.megabytes}m", "--cpus", "1"),
            *("--tmpfs", f"/tmp:rw,size={SCRATCH},mode=1777", "--workdir", "/tmp"),
            *("--volume", f"{room}:/room:ro"),
            *(x for pair in told.items() for x in ("--env", "=".join(pair))),
            *(self.image, "python", "-P", "-m", "sandbox"),
        ]

    def environment(self, room: Path, folder: Path) -> dict[str, str]:
        """That of the engine's client: the container is told its own on the line."""
        return dict(os.environ)

    def end(self, name: str) -> None:
        """The client may be dead while the container runs."""
        subprocess.run([self.engine, "kill", name], capture_output=True, check=False)


class Bare(Isolation):
    """A process like any other; if the administrator starts it, one of `nobody`."""

    name = "bare"
    safe = False

    def __init__(self, megabytes: int = 6000):
        super().__init__(megabytes)
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        if root and _reaches_python(_NOBODY):
            self.user = _NOBODY

    def command(self, room: Path, folder: Path, name: str) -> list[str]:
        """Python, as it runs here."""
        return _python()

    def environment(self, room: Path, folder: Path) -> dict[str, str]:
        """What finding Python and its libraries takes, too."""
        kept = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
        here = {name: os.environ[name] for name in kept if name in os.environ}
        return super().environment(room, folder) | here


_NOBODY: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}


def _reaches_python(user: dict[str, Any]) -> bool:
    """Whether Python and its packages can be read by this user."""
    with contextlib.suppress(OSError):
        command = [PYTHON, "-c", "import numpy"]
        made = subprocess.run(command, capture_output=True, check=False, **user)
        return made.returncode == 0
    return False


WAYS: dict[str, type[Isolation]] = {w.name: w for w in (Bubblewrap, Container, Bare)}


def choose(way: str = "", **limits: int) -> Isolation:
    """The way that is asked for, or bubblewrap.

    Raises:
        ValueError: It can't be had here, or there is none of this name.
    """
    if way and way not in WAYS:
        raise ValueError(
            f"a way to isolate must be one of {', '.join(WAYS)}: got {way}."
        )
    made = WAYS[way or "bubblewrap"](**limits)
    why = made.missing()
    if why:
        others = "Install it, take a container (--isolation container, see the page on "
        others += "homework), or mark without isolation people whom you trust (--bare)."
        raise ValueError(
            f"submissions must be isolated with {made.name}: {why}. {others}"
        )
    return made


def _python() -> list[str]:
    return [PYTHON, "-P", "-m", "sandbox"]


def _usage(pid: int) -> tuple[int, int, int]:
    """Processes, threads and bytes of all that a process started, as psutil sees it."""
    number = threads = memory = 0
    with contextlib.suppress(Exception):  # it may have ended
        import psutil

        top = psutil.Process(pid)
        for one in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                number += 1
                threads += one.num_threads()
                memory += one.memory_info().rss
    return number, threads, memory


def _watch(process: subprocess.Popen, times: Times, megabytes: int) -> Ended:
    """Read what comes, until the process ends, is too slow, too large or too many."""
    said = bytearray()
    reader = threading.Thread(target=_collect, args=(process.stdout, said), daemon=True)
    reader.start()
    whole = silence = (time.monotonic() + START, START)
    heard, words, how = 0, 0, ""
    while not how:
        with contextlib.suppress(subprocess.TimeoutExpired):
            how = _name(process.wait(timeout=0.2))
            break
        if len(said) > heard:
            if not heard:  # the first word is the sandbox's own
                whole = (time.monotonic() + times.whole, times.whole)
            heard, words = len(said), words + 1
            # Statements that explore are part of loading, which has one time for all.
            if words == 1 or wire.EXPLORES not in said or wire.LOADED in said:
                longest = times.load if words == 1 else times.case
                silence = (time.monotonic() + longest, longest)
        late = min(silence, whole)
        if time.monotonic() > late[0]:
            how = f"{TOO_LONG} {late[1]:.3g} s. Does every loop end?"
        elif len(said) >= LARGEST:
            how = "wrote more than a result can be."
        else:
            how = _too_much(process.pid, megabytes)
    _kill(process)
    reader.join(timeout=2)  # a process that escaped may hold the pipe open
    return Ended(bytes(said[:LARGEST]), how)


def _collect(stream: IO[bytes], said: bytearray) -> None:
    with contextlib.suppress(ValueError, OSError):
        while len(said) < LARGEST:
            came = os.read(stream.fileno(), 2**16)
            if not came:
                return
            said += came


def _too_much(pid: int, megabytes: int) -> str:
    """Whether all processes of a submission take more than they may, in words."""
    number, threads, memory = _usage(pid)
    if number > PROCESSES or threads > THREADS:
        return f"started more than {PROCESSES} processes or {THREADS} threads."
    if memory > megabytes * 2**20:
        return f"took more than {megabytes} MB. It needed too much memory."
    return ""


def _kill(process: subprocess.Popen) -> None:
    """End the process, and what it started in its session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _name(status: int) -> str:
    """An exit status in words; bubblewrap and containers add 128 to a signal."""
    number = -status if status < 0 else status - 128
    if 0 < number <= 64:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        memory = " It may have needed too much memory." if name == "SIGKILL" else ""
        return f"was killed by {name}.{memory}"
    return f"ended the process (exit status {status}). Return the result instead."

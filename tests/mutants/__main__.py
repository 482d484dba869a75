"""Do the tests notice a slip? Break single lines of the package and see.

`make mutants` draws lines of `course_lib` at random, changes one thing in each (`<` to
`<=`, `+` to `-`, a call left out, ...) and runs the tests that execute the line. A
mutant that no test fails is a survivor: either the change makes no difference, or a
test is missing. Which of the two, a person decides. A mutant that crashes is an easy
kill: such are counted apart.

Not part of `make test`: a mutant takes from some seconds to some minutes.
"""

import argparse
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from choose import Batch, Executed, batches
from draw import ROOT, Mutant, sample

KILLED, CRASHED, UNTRIED = 1, 10, 5  # exit codes of a batch; 1 and 5 are pytest's
VERDICTS = {0: "survived", UNTRIED: "survived", KILLED: "killed", None: "too slow"}


class Watch:
    """A pytest plugin: run the wanted tests alone, and note how one fails."""

    def __init__(self, batch: Batch):
        self.wanted = batch.wanted
        self.failed = ""
        self.crashed = False

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """NNX waits for PyTorch, which need not compile."""
        if self.wanted:
            items[:] = [item for item in items if item.nodeid in self.wanted]
        items.sort(key=lambda item: "nnx" in item.nodeid)

    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo
    ) -> None:
        asserted = (AssertionError, pytest.fail.Exception)
        passed = (pytest.skip.Exception, type(None))
        problem = call.excinfo.value if call.excinfo else None
        if not isinstance(problem, passed):
            self.failed = item.nodeid
            self.crashed = not isinstance(problem, asserted)


class Bench:
    """A copy of the tree that is broken and mended again, in a folder of its own."""

    def __init__(self, contexts: Path, limit: float, folder: str):
        self.executed = Executed(contexts, contexts.with_suffix(".xml"))
        self.limit = limit  # seconds for all tests of one mutant
        scratch = Path(tempfile.mkdtemp(dir=folder))
        self.copy, self.log, self.failed = (
            scratch / name for name in ("copy", "log", "failed")
        )
        tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
        for name in tracked.splitlines():
            (self.copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.copy / name)
        # What a test that is broken off leaves behind goes with the bench.
        os.environ |= {
            "PYTHONPATH": str(self.copy),
            "TMPDIR": str(scratch),
            "HYPOTHESIS_PROFILE": "mutants",
        }
        tempfile.tempdir = None
        for framework in ("torch", "jax", "flax.nnx", "optax", "scipy"):
            __import__(framework)  # each batch runs in a fork that has them already

    def verdict(self, mutant: Mutant) -> str:
        """Break the line and run batch after batch until a test fails."""
        source = mutant.path.read_text()
        broken = self.copy / mutant.path.relative_to(ROOT)
        broken.write_text(mutant.apply(source))
        deadline = time.monotonic() + self.limit
        code: int | None = 0
        for batch in batches(mutant, self.executed):
            code = self.run(batch, deadline)
            if code not in (0, UNTRIED):
                break
        broken.write_text(source)
        return VERDICTS.get(code, "crashed")

    def run(self, batch: Batch, deadline: float) -> int | None:
        """The exit code of these tests, in a fork; nothing if they took too long."""
        child = os.fork()
        if child == 0:
            os._exit(self.in_the_fork(batch))
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def in_the_fork(self, batch: Batch) -> int:
        os.setsid()
        with self.log.open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        os.chdir(self.copy)
        sys.path.insert(0, str(self.copy))
        watch = Watch(batch)
        try:
            options = ["-x", "-q", "-p", "no:cacheprovider", *batch.files]
            code = int(pytest.main(options, plugins=[watch]))
        except BaseException:  # whatever it was, the mutant did it
            return CRASHED
        self.failed.write_text(watch.failed)
        return CRASHED if code == KILLED and watch.crashed else code


BENCH: Bench  # of this process


class Trial(NamedTuple):
    """What became of a mutant, the test that noticed, and a line that tells of it."""

    verdict: str
    test: str
    line: str


def try_one(numbered: tuple[int, Mutant]) -> Trial:
    """Try one mutant on the bench of this process."""
    number, mutant = numbered
    began = time.monotonic()
    BENCH.failed.write_text("")
    verdict = BENCH.verdict(mutant)
    test = BENCH.failed.read_text()
    seconds = time.monotonic() - began
    source = mutant.path.read_text()
    old = " ".join(source[mutant.start : mutant.end].split())
    new = " ".join(mutant.new.split()) or "nothing"
    where = f"{mutant.path.relative_to(ROOT)}:{mutant.line}"
    line = f"{number:4} {verdict:8} {seconds:4.0f} s  {where}  {old} -> {new}  {test}"
    return Trial(verdict, test, line)


def all_pass(tests: set[str]) -> bool:
    """Whether these tests pass with nothing broken: else they have noticed nothing."""
    files = {test.partition("::")[0] for test in tests}
    batch = Batch(sorted(files), frozenset(tests))
    passed = BENCH.run(batch, time.monotonic() + 3600) in (0, UNTRIED)
    if not passed:
        print(f"fails with nothing broken: {BENCH.failed.read_text()}")
    return passed


def set_up(*options: Any) -> None:
    """Give each process a bench of its own."""
    global BENCH
    BENCH = Bench(*options)


def main() -> None:
    """Draw, try, and print each mutant with its verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("contexts", type=Path, help="what `make executed` wrote")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="course_lib")
    parser.add_argument("--without", default="", help="a folder to leave out")
    parser.add_argument("--only", type=int, nargs="*", help="numbers, to try again")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()

    drawn = sample(options.number, options.seed, options.folder, options.without)
    numbered = [
        (number, mutant)
        for number, mutant in enumerate(drawn, start=1)
        if options.only is None or number in options.only
    ]
    trials = []
    forks = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        bench = (options.contexts, options.limit, folder)
        with ProcessPoolExecutor(options.jobs, forks, set_up, bench) as pool:
            for trial in as_completed([pool.submit(try_one, one) for one in numbered]):
                trials.append(trial.result())
                print(trials[-1].line, flush=True)
            killers = {trial.test for trial in trials if trial.test}
            sound = pool.submit(all_pass, killers).result()
    counts = Counter(trial.verdict for trial in trials)
    print(f"{len(trials)} mutants:", ", ".join(f"{n} {v}" for v, n in counts.items()))
    sys.exit(0 if sound else "Some kills do not count: see above.")


if __name__ == "__main__":
    main()

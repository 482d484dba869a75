"""A run that is killed at random moments, and the same run left alone.

python killed_worker.py WING FOLDER KILLS

Frameworks are imported once, before any of their threads exist. Each life of the run
is then a process forked from here, which trains, and which SIGKILL ends.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

STEPS = 1_000_000  # more than all lives together get through


def train(wing_name, path, steps):
    """Take the run up where its file stands, and go on to the end."""
    if wing_name == "nnx":
        import jax

        # Each life finds what an earlier one compiled.
        jax.config.update("jax_compilation_cache_dir", str(path.parent / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    from tiny import summed_loss, tiny_data, tiny_model
    from wings import get_wing

    from course_lib.config import TrainConfig
    from course_lib.training import Batches

    wing = get_wing(wing_name)
    wing.lib.fit(
        tiny_model(wing, dropout=0.3, dtype="float32"),
        Batches(*tiny_data(), batch_size=12, seed=2),
        summed_loss(wing),
        config=TrainConfig(
            steps=steps, learning_rate=1e-3, checkpoint_every=2, chunk=4
        ),
        checkpoint=path,
        resume=path.exists(),
    )


def life(wing_name, path, steps, seconds=None):
    """One process; True if it was killed before it came to the end."""
    child = os.fork()
    if child == 0:
        try:
            train(wing_name, path, steps)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("the run failed by itself")
    return os.WIFSIGNALED(status)


def main(wing_name, folder, kills):
    import importlib

    importlib.import_module(f"course_lib.{wing_name}")
    draw, folder = random.Random(7), Path(folder)
    done, lives, stood, halves = 0, 0, [], 0
    life(wing_name, folder / "killed", 2)  # compiles, and leaves a first file
    start = time.monotonic()
    life(wing_name, folder / "killed", 4)
    ready = time.monotonic() - start  # how long a life takes to get going
    from course_lib.training.checkpoint import load_run

    while done < int(kills):
        seconds = ready * draw.uniform(0.2, 1.5)
        done += life(wing_name, folder / "killed", STEPS, seconds)
        lives += 1
        stood.append(load_run(folder / "killed").history.steps)  # whole, always
        halves = len(list(folder.glob(".killed.half.*")))
        if lives > 2 * int(kills):
            raise SystemExit("the run came to its end before the kills did")
    assert stood == sorted(stood)  # no kill threw the run back
    steps = stood[-1] + 10
    life(wing_name, folder / "killed", steps)
    life(wing_name, folder / "whole", steps)
    report = {
        "kills": done,
        "steps": steps,
        "kills after which the run had moved": len(set(stood)) - 1,
        "kills in the middle of a write": halves,
    }
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])

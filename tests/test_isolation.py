"""What an import brings along, looked at in a process of its own."""

import importlib.util
import subprocess
import sys

import pytest


def loaded_after(code: str) -> set[str]:
    """The packages that a fresh interpreter has loaded after running `code`."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in run.stdout.split()}


FRAMEWORKS = {"torch", "jax", "flax", "optax"}


ROOMS = [
    *("checks", "oracle", "plot", "homework", "config", "data", "tokens", "baselines"),
    "measurement",
    *("training", "hub", "generation.beam_search", "generation.inputs"),
]


def test_the_framework_free_rooms_load_no_framework():
    rooms = ", ".join(f"course_lib.{room}" for room in ROOMS)
    assert not loaded_after(f"import {rooms}") & FRAMEWORKS


def test_the_package_alone_loads_nothing_else():
    assert "numpy" not in loaded_after("import course_lib")


def test_the_torch_wing_loads_no_jax():
    pytest.importorskip("torch")
    loaded = loaded_after("import course_lib.torch")
    assert "torch" in loaded
    assert not loaded & {"jax", "flax", "optax"}


def test_the_nnx_wing_loads_no_torch():
    pytest.importorskip("flax")
    loaded = loaded_after("import course_lib.nnx")
    assert "flax" in loaded
    assert "torch" not in loaded


@pytest.mark.parametrize(("wing", "framework"), [("torch", "torch"), ("nnx", "flax")])
def test_a_missing_framework_is_named_with_the_way_out(wing, framework):
    # None in sys.modules makes an import fail as if the package were not installed.
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.modules[{framework!r}] = None; import course_lib.{wing}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert f"pip install -e '.[{wing}]'" in run.stderr


def test_a_wing_hides_no_error_of_its_own():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['course_lib.checks'] = None\n"
            "import course_lib.torch",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "course_lib.checks" in run.stderr
    assert "pip install" not in run.stderr

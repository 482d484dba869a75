"""Fixtures that every test may use, and settings that hold for all of them."""

import importlib.util
import os
from importlib.metadata import version
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
from compiled import forget_oldest, keep_compiled
from hypothesis import settings
from memory import stay_small
from packaging.version import Version
from wings import WINGS, get_wing

# Machines differ in speed; examples are drawn alike everywhere.
settings.register_profile("course", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("course")

HAS_JAX = importlib.util.find_spec("jax") is not None
if HAS_JAX:
    # Most of what the tests compile runs once: it is compiled in a third of the time
    # when it is left as it comes. Benchmarks and chapters run what users run, and so do
    # these tests with an older JAX, or with XLA_FLAGS set to nothing.
    if Version(version("jax")) >= Version("0.10"):
        os.environ.setdefault(
            "XLA_FLAGS",
            "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
            "--xla_llvm_disable_expensive_passes=true",
        )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # what the tests compare runs there
    import jax

    jax.config.update("jax_enable_x64", True)  # float64 stays float64, as in torch
    keep_compiled()


def pytest_sessionstart(session):
    """What is kept of earlier runs stays within its size: once, not in each worker."""
    if HAS_JAX and not hasattr(session.config, "workerinput"):
        forget_oldest()


@pytest.fixture(scope="session", params=list(WINGS))
def wing(request):
    """Each wing in turn: a test that takes it is run twice."""
    return get_wing(request.param)


@pytest.fixture(scope="session")
def both():
    """The two wings together, for tests that compare them."""
    return [get_wing(name) for name in WINGS]


@pytest.fixture
def rng():
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20170612)  # the day arXiv:1706.03762 appeared


@pytest.fixture
def converts_small_floats(request):
    """Skip where XLA is told to do without AVX: it can't convert float16 and E4M3 then.

    No processor is like that for JAX, which comes compiled for AVX.
    """
    limited = "xla_cpu_max_isa=SSE" in os.environ.get("XLA_FLAGS", "")
    if limited and "torch" not in request.node.name:
        pytest.skip("without AVX, XLA has no code that converts small floats")


@pytest.fixture
def no_hook():
    """Without the checks of shapes that run in every test: ours are to speak."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def a_process_stays_small():
    """See `memory`: a test that draws many sizes does so in between, too."""
    yield
    stay_small()


def pytest_terminal_summary(terminalreporter):
    """Write down why tests were skipped: `make test` ends with it."""
    if file := os.environ.get("SKIPPED"):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        with open(file, "a") as reasons:
            for report in terminalreporter.stats.get("skipped", ()):
                reasons.write(report.longrepr[2].removeprefix("Skipped: ") + "\n")

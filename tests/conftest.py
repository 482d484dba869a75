"""Fixtures that every test may use, and settings that hold for all of them."""

import gc
import importlib.util
import os
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
from hypothesis import settings
from wings import WINGS, get_wing

# Machines differ in speed; examples are drawn alike everywhere.
settings.register_profile("course", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("course")

if importlib.util.find_spec("jax") is not None:
    import jax

    jax.config.update("jax_enable_x64", True)  # float64 stays float64, as in torch
    # What was compiled once is kept on disk: a run that follows is twice as fast. Each
    # process has a folder of its own, for JAX writes there without a lock.
    compiled = Path(__file__).parents[1] / "_build" / "compiled"
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    jax.config.update("jax_compilation_cache_dir", str(compiled / worker))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


MANY_COMPILED = 500


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
def no_hook():
    """Without the checks of shapes that run in every test: ours are to speak."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def forget_compiled_functions():
    """JAX keeps what it compiles, a megabyte a function: gigabytes in a whole run."""
    yield
    if importlib.util.find_spec("jax") is not None:
        client = jax.devices()[0].client
        if len(client.live_executables()) > MANY_COMPILED:
            jax.clear_caches()
            gc.collect()

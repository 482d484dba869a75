"""Exact attention in tiles, against the plain equation: memory and time by length.

Memory is what the forward pass allocates beyond its inputs and its output: the peak of
the allocator in PyTorch, the compiler's plan in JAX.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

import course_lib.nnx as cn
import course_lib.torch as ct
from benchmarks.race import race

LENGTHS, HEADS, WIDTH = (1024, 2048, 4096, 8192), 1, 64


def inputs(length: int) -> list[np.ndarray]:
    """Queries, keys and values of one length."""
    rng = np.random.default_rng(0)
    shape = (HEADS, length, WIDTH)
    return [rng.standard_normal(shape).astype("float32") for _ in range(3)]


def torch_peak(call: Callable[[], object]) -> int:
    """Most bytes that were allocated at one time while `call` ran."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        call()
    events: Any = record.profiler
    now = peak = 0
    for event in events.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return peak


def in_torch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[dict, dict]:
    """Times and peaks of both ways in PyTorch."""
    calls = {
        "plain": lambda: ct.attention(q, k, v)[0],
        "tiled": lambda: ct.tiled_attention(q, k, v),
    }
    with torch.no_grad():
        times = race(calls, rounds=5)
        peaks = {name: torch_peak(call) - 4 * v.numel() for name, call in calls.items()}
    return times, peaks


def in_nnx(*arrays: jax.Array) -> tuple[dict, dict]:
    """Times and peaks of both ways in JAX."""
    programs: dict[str, Any] = {
        "plain": jax.jit(lambda q, k, v: cn.attention(q, k, v)[0]),
        "tiled": jax.jit(cn.tiled_attention),
    }
    compiled = {name: f.lower(*arrays).compile() for name, f in programs.items()}
    times = race(
        {
            name: lambda f=f: jax.block_until_ready(f(*arrays))
            for name, f in compiled.items()
        },
        rounds=5,
    )
    plans = {name: f.memory_analysis() for name, f in compiled.items()}
    return times, {name: plan.temp_size_in_bytes for name, plan in plans.items()}


def run() -> str:
    """Measure all lengths and lay the result out."""
    lines = [f"{'exact attention':<24}  time (tiled / plain)  memory (tiled / plain)"]
    for length in LENGTHS:
        arrays = inputs(length)
        result = in_torch(*map(torch.from_numpy, arrays))
        lines.append(row(f"PyTorch, n = {length}", *result))
        lines.append(row(f"NNX, n = {length}", *in_nnx(*map(jnp.asarray, arrays))))
    return "\n".join(lines)


def row(name: str, times: dict, peaks: dict[str, int]) -> str:
    """One line of the table."""
    slower = times["tiled"][0] / times["plain"][0]
    mib = {name: peak / 2**20 for name, peak in peaks.items()}
    return (
        f"{name:<24}  {slower:>20.2f}  {mib['tiled']:>8.1f} / {mib['plain']:.1f} MiB = "
        f"{mib['tiled'] / mib['plain']:.3f}"
    )

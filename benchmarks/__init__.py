"""How fast the pieces are, as ratios to what a reader would pick instead.

    make bench                                # everything
    .venv/bin/python -m benchmarks multihead  # one of them

A speed in seconds says more about the machine than about the code, so every figure is a
ratio within one run. The candidates take turns, medians are compared, and the first
calls, in which JAX compiles, are not counted.
"""

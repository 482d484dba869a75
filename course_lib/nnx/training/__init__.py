"""Training (Flax NNX): the loop, the optimizer, losses, checkpoints, processes."""

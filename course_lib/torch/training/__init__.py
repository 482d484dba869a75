"""Training (PyTorch): the loop, the optimizer, losses, checkpoints, processes."""

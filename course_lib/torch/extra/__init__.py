"""What stands beside the transformer (PyTorch)."""

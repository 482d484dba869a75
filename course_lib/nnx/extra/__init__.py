"""What stands beside the transformer (Flax NNX)."""

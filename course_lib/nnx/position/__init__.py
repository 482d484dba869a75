"""Position encodings: how attention, blind to order, is told it (Flax NNX)."""

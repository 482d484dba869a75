"""Generating sequences (Flax NNX): sampling, the KV cache, text and translations."""

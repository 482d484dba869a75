"""Generating sequences (PyTorch): sampling, the KV cache, text and translations."""

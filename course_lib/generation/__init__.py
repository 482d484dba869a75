"""Generating text, the half that needs no framework: inputs, stopping, beam search."""

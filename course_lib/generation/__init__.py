"""Generating text, the half that needs no framework: inputs and beam search."""

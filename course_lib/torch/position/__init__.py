"""Position encodings: how attention, blind to order, is told it (PyTorch).

Added to the tokens: `sinusoidal`, `learned`. In the scores: `rotary` (RoPE), `alibi`,
`relative`. What does not learn is computed where it is used, and no part of a model's
weights.
"""

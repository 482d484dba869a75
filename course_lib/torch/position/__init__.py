"""Position encodings: how attention, blind to order, is told it (PyTorch).

Added to the tokens: `sinusoidal`, `learned`. In the scores: `rotary` (RoPE), `alibi`,
`relative`. What does not learn is computed once for each device and dtype, then kept;
it is no part of a model's weights.
"""

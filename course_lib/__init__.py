"""Attention and transformers, every piece twice: PyTorch and Flax NNX side by side.

Choose a wing and import it by name; this module itself imports no framework.

    import course_lib.torch as ct
    import course_lib.nnx as cn
"""

__version__ = "0.1.0"

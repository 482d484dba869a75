"""The table of vectors that ids are looked up in (PyTorch)."""

from torch import nn

from course_lib.checks import check_sizes

__all__ = ["embedding"]


def embedding(n: int, d_model: int, *, std: float = 1.0) -> nn.Embedding:
    """Embedding table: a vector for each id from 0 to n - 1, drawn from N(0, std²)."""
    check_sizes(n=n, d_model=d_model)
    table = nn.Embedding(n, d_model)
    if std != 1.0:  # the framework's own start
        nn.init.normal_(table.weight, std=std)
    return table

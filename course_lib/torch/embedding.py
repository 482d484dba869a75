"""The table of vectors that ids are looked up in (PyTorch)."""

from jaxtyping import Float, Integer
from torch import Tensor, nn

from course_lib.checks import check_kind, check_noise, check_rows, check_sizes

__all__ = ["Embedding"]


class Embedding(nn.Embedding):
    """Embedding table: a vector for each id from 0 to N - 1, drawn from N(0, std²).

    The framework's own table with another start. With one of `std` 1, the vectors of a
    small model are so long that training finds them hard to move.
    """

    def __init__(self, vocab_size: int, d_model: int, std: float = 0.1):
        check_sizes(vocab_size=vocab_size, d_model=d_model)
        check_noise(std, "std")
        super().__init__(vocab_size, d_model)
        if std != 1.0:  # the framework's own start
            nn.init.normal_(self.weight, std=std)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, ids: Integer[Tensor, "*B"]
    ) -> Float[Tensor, "*B D"]:
        """The rows of ids of any whole numbers' dtype; the framework knows two."""
        check_kind(Tensor, "ids", ids)
        try:
            return super().forward(ids.long())
        except IndexError:  # on a processor; a GPU can't say which one it was
            check_rows("ids", ids, self.num_embeddings)
            raise

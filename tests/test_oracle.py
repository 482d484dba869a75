"""The oracle's own refusals; the wings' tests hold its numbers against theirs."""

from types import SimpleNamespace

import numpy as np
import pytest

from course_lib import oracle


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: oracle.activate(np.ones(3), "tanh"), "silu: got 'tanh'"),
        (lambda: oracle.kernel(0.5, "triangle"), "boxcar: got 'triangle'"),
        (
            lambda: oracle.gpt(
                np.zeros((1, 3), int),
                {"tokens.weight": np.zeros((5, 4))},
                SimpleNamespace(position="kerple", d_model=4, scale_embeddings=False),
            ),
            "no position scheme 'kerple'",
        ),
    ],
)
def test_unknown_names_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

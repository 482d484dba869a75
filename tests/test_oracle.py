"""The oracle's own refusals; the wings' tests hold its numbers against theirs."""

import numpy as np
import pytest

from course_lib import oracle


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: oracle.activate(np.ones(3), "tanh"), "silu: got 'tanh'"),
        (lambda: oracle.kernel(0.5, "triangle"), "boxcar: got 'triangle'"),
    ],
)
def test_unknown_names_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

"""Homework marks: right answers pass, every slip is called by its name."""

import numpy as np
import pytest
from wings import WINGS

from course_lib import homework
from course_lib.arrays import to_numpy
from course_lib.homework import EXERCISES, check
from course_lib.homework.marking import mark, to_wing

FUNCTIONS = [name for name, exercise in EXERCISES.items() if exercise.build is None]


def answer_with(equation, wing, arguments):
    """A student's answer in the wing's tensors, out of an equation in NumPy."""

    def f(*given):
        given = [to_numpy(x) if hasattr(x, "shape") else x for x in given]
        given += [None] * (arguments - len(given))
        return to_wing(np.asarray(equation(*given), dtype=np.float64), wing)

    return f


def n_arguments(exercise):
    cases = exercise.cases(np.random.default_rng(0))
    return len(next(iter(cases.values())))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_oracle_itself_passes(wing, name):
    exercise = EXERCISES[name]
    answer = answer_with(exercise.oracle, wing.name, n_arguments(exercise))
    report = check(answer, name, wing=wing.name)
    assert report, report
    assert "passed" in repr(report)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [(name, sentence) for name in EXERCISES for sentence in EXERCISES[name].slips],
)
def test_every_slip_is_called_by_its_name(wing, name, sentence):
    exercise = EXERCISES[name]
    answer = answer_with(exercise.slips[sentence], wing.name, n_arguments(exercise))
    # A class exercise is marked through its callable: the slip stands in for the layer.
    as_function = {name: homework.Exercise(**{**vars(exercise), "build": None})}
    with np.errstate(all="ignore"):
        report = mark(answer, name, as_function, wing.name)
    assert not report
    assert sentence in repr(report)


def test_the_librarys_own_pieces_pass(wing):
    lib = wing.lib
    assert check(lib.softmax, "softmax", wing=wing.name)
    assert check(
        lambda q, k, v, mask=None: lib.attention(q, k, v, mask=mask),
        "attention",
        wing=wing.name,
    )
    assert check(
        lambda q, k, v, h: lib.nadaraya_watson(q, k, v, bandwidth=h),
        "nadaraya_watson",
        wing=wing.name,
    )
    assert check(lib.MultiHeadAttention, "multihead", wing=wing.name)
    assert check(
        lambda d, h, f, **rngs: lib.Block(d, h, f, **rngs),
        "pre_norm_block",
        wing=wing.name,
    )
    assert check(lib.causal_mask, "causal", wing=wing.name)
    assert check(lib.sinusoidal, "sinusoidal", wing=wing.name)
    assert check(
        lambda x, offset=0: lib.Rotary(x.shape[-1])(x, offset),
        "rotary",
        wing=wing.name,
    )

    def masked_softmax(scores, mask):
        rule = np.where(to_numpy(mask), 0, -np.inf).astype(np.float32)
        return lib.softmax(scores + wing.array(rule))

    assert check(masked_softmax, "masked_softmax", wing=wing.name)
    assert check(
        lambda z, ids: lib.cross_entropy(z[:, :-1], ids[:, 1:]),
        "next_token_loss",
        wing=wing.name,
    )
    assert check(lib.sample, "draw", wing=wing.name)
    assert check(
        lambda z, p: lib.softmax(lib.keep_top_p(z, p)), "top_p", wing=wing.name
    )


def test_an_answer_that_breaks_is_reported_not_raised(wing):
    assert "ZeroDivisionError" in repr(
        check(lambda *a: 1 / 0, "softmax", wing=wing.name)
    )
    assert "return" in repr(check(lambda *a: None, "softmax", wing=wing.name))
    assert "could not be built" in repr(check(dict, "multihead", wing=wing.name))


def test_an_answer_in_the_wrong_framework_is_told_so(wing):
    report = check(lambda s: np.ones(s.shape), "softmax", wing=wing.name)
    assert "ndarray" in repr(report)


def test_an_answer_of_the_wrong_shape_is_told_both_shapes(wing):
    report = check(lambda s: s[..., :2], "softmax", wing=wing.name)
    assert "(2,)" in repr(report)
    assert "(5,)" in repr(report)


def test_an_answer_that_changes_its_input_is_told_so():
    if "torch" not in WINGS:
        pytest.skip("JAX arrays cannot be changed")
    torch = pytest.importorskip("torch")

    def greedy(scores):
        weights = torch.softmax(scores, -1)
        scores.zero_()
        return weights

    assert "its own input" in repr(check(greedy, "softmax", wing="torch"))


def test_an_unknown_mistake_gets_its_size():
    pytest.importorskip("torch")
    report = check(lambda s: s * 0 + 0.125, "softmax", wing="torch")
    assert "differs" in repr(report)
    assert "none of the known slips" in repr(report)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((len, "no such exercise", "torch"), "must be one of softmax"),
        ((len, "softmax", "tensorflow"), "torch, nnx"),
        ((3, "softmax", "torch"), "without calling it"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(arguments, message):
    answer, exercise, wing = arguments
    with pytest.raises(ValueError, match=message):
        check(answer, exercise, wing=wing)


@pytest.mark.parametrize("name", EXERCISES)
def test_every_slip_can_be_made_in_every_case(name):
    exercise = EXERCISES[name]
    for case in exercise.cases(np.random.default_rng(0)).values():
        for slip in exercise.slips.values():
            with np.errstate(all="ignore"):
                assert np.asarray(slip(*case)).size > 0


def test_the_librarys_lstm_passes(wing):
    def lstm(x, w, u, b):
        layer = wing.make(wing.lib.LSTM, x.shape[1], u.shape[1])
        names = ("x_proj.weight", "h_proj.weight", "x_proj.bias")
        numbers = (wing.numpy(part) for part in (w, u, b))
        wing.lib.set_weights(layer, dict(zip(names, numbers, strict=True)))
        return layer(x)[0]

    assert check(lstm, "lstm", wing=wing.name)

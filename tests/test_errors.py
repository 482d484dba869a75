"""Bad input: the rule, what came, the way out, in the same words from both wings."""

import numpy as np
import pytest

from course_lib import checks
from course_lib.config import BERTConfig


def arrays(wing, *shapes_, dtype="float32"):
    return [wing.array(np.ones(shape, dtype)) for shape in shapes_]


def heads(wing):
    return wing.make(wing.lib.MultiHeadAttention, 8, 2)


BERT = BERTConfig(vocab_size=7, max_len=5, d_model=4, n_layers=1, n_heads=2)

# Called on a wing: what is wrong, the call, and words that the error must hold.
BAD = {
    "widths differ": (
        lambda w: w.lib.attention(*arrays(w, (3, 7), (5, 11), (5, 7))),
        ["same width", "(3, 7)", "(5, 11)", "7 against 11"],
    ),
    "a key without its value": (
        lambda w: w.lib.attention(*arrays(w, (3, 7), (5, 7), (11, 7))),
        ["each key needs its value", "5 keys against 11 values"],
    ),
    "batches differ": (
        lambda w: w.lib.attention(*arrays(w, (2, 3, 7), (3, 5, 7), (3, 5, 7))),
        ["before the last two", "(2, 3, 7)"],
    ),
    "a vector": (
        lambda w: w.lib.attention(*arrays(w, (7,), (5, 7), (5, 7))),
        ["at least two axes", "q[None, :]"],
    ),
    "an empty sequence": (
        lambda w: w.lib.attention(*arrays(w, (3, 7), (0, 7), (0, 7))),
        ["must not be empty", "(0, 7)"],
    ),
    "integers": (
        lambda w: w.lib.attention(*arrays(w, (3, 7), (5, 7), (5, 7), dtype="int32")),
        ["floating-point", "int32", "embedding"],
    ),
    "mixed dtypes": (
        lambda w: w.lib.attention(
            *arrays(w, (3, 7)), *arrays(w, (5, 7), (5, 7), dtype="float64")
        ),
        ["one dtype", "float32", "float64"],
    ),
    "numpy where a tensor is due": (
        lambda w: w.lib.attention(np.ones((3, 7)), np.ones((5, 7)), np.ones((5, 7))),
        ["numpy.ndarray", "Convert it with"],
    ),
    "a float mask": (
        lambda w: w.lib.attention(
            *arrays(w, (3, 7), (5, 7), (5, 7)), mask=arrays(w, (3, 5))[0]
        ),
        ["mask must be boolean", "float32", "mask == 0"],
    ),
    "a mask of another shape": (
        lambda w: w.lib.attention(
            *arrays(w, (3, 7), (5, 7), (5, 7)), mask=arrays(w, (5, 3), dtype="bool")[0]
        ),
        ["broadcast", "(5, 3)", "(3, 5)"],
    ),
    "heads that do not divide": (
        lambda w: w.make(w.lib.MultiHeadAttention, 10, 3),
        ["n_heads must divide d_model", "d_model=10, n_heads=3", "n_heads=2"],
    ),
    "shared heads that do not divide": (
        lambda w: w.make(w.lib.MultiHeadAttention, 12, 6, n_kv_heads=4),
        ["n_kv_heads must divide n_heads", "remainder 2", "n_kv_heads=3"],
    ),
    "no heads": (
        lambda w: w.make(w.lib.MultiHeadAttention, 10, 0),
        ["n_heads must be a whole number of at least 1", "0"],
    ),
    "half a head": (
        lambda w: w.make(w.lib.MultiHeadAttention, 10, 2.0),
        ["n_heads must be a whole number", "2.0"],
    ),
    "all is dropped": (
        lambda w: w.make(w.lib.MultiHeadAttention, 10, 2, dropout=1.0),
        ["dropout must be at least 0 and less than 1", "1.0"],
    ),
    "another width than the layer's": (
        lambda w: w.make(w.lib.MultiHeadAttention, 10, 2)(*arrays(w, (2, 3, 7))),
        ["x must have shape (..., positions, d_model=10)", "(2, 3, 7)"],
    ),
    "an empty context": (
        lambda w: w.make(w.lib.MultiHeadAttention, 10, 2)(
            *arrays(w, (2, 3, 10), (2, 0, 10))
        ),
        ["context must hold at least one position", "(2, 0, 10)"],
    ),
    "a mask without its head axis": (
        lambda w: w.make(w.lib.MultiHeadAttention, 10, 2)(
            *arrays(w, (3, 3, 10)), mask=arrays(w, (3, 3, 3), dtype="bool")[0]
        ),
        ["2 axes (T S) or 4", "mask[:, None]"],
    ),
    "token ids instead of vectors": (
        lambda w: w.make(w.lib.MultiHeadAttention, 10, 2)(
            *arrays(w, (2, 3, 10), dtype="int64")
        ),
        ["x must hold floating-point numbers", "int64"],
    ),
    "a bandwidth of 0": (
        lambda w: w.lib.nadaraya_watson(
            *arrays(w, (3, 2), (5, 2), (5, 1)), bandwidth=0.0
        ),
        ["bandwidth must be positive", "0.0"],
    ),
    "a bandwidth that is NaN": (
        lambda w: w.lib.nadaraya_watson(
            *arrays(w, (3, 2), (5, 2), (5, 1)), bandwidth=float("nan")
        ),
        ["bandwidth must be positive", "nan"],
    ),
    "bandwidths in a list": (
        lambda w: w.lib.nadaraya_watson(
            *arrays(w, (3, 2), (5, 2), (5, 1)), bandwidth=[1.0, 2.0]
        ),
        ["bandwidth must be a", "got builtins.list", "Convert it with"],
    ),
    "bandwidths for other features": (
        lambda w: w.lib.nadaraya_watson(
            *arrays(w, (3, 2), (5, 2), (5, 1)), bandwidth=arrays(w, (3,))[0]
        ),
        ["one for each feature", "(3,)", "2 features"],
    ),
    "one negative bandwidth": (
        lambda w: w.lib.nadaraya_watson(
            *arrays(w, (3, 2), (5, 2), (5, 1)),
            bandwidth=w.array([1.0, -1.0], "float32"),
        ),
        ["bandwidth must be positive"],
    ),
    "a kernel nobody knows": (
        lambda w: w.lib.kernel_scores(*arrays(w, (3, 5)), kernel="tricube"),
        ["gaussian, epanechnikov, boxcar", "tricube"],
    ),
    "a bias of another shape": (
        lambda w: w.lib.attention(
            *arrays(w, (3, 7), (5, 7), (5, 7)), bias=arrays(w, (5, 3))[0]
        ),
        ["bias", "(5, 3)", "(3, 5)"],
    ),
    "a mask of another shape for heads": (
        lambda w: heads(w)(
            *arrays(w, (2, 3, 8)), mask=arrays(w, (5, 3), dtype="bool")[0]
        ),
        ["broadcast", "(5, 3)", "(2, 2, 3, 3)"],
    ),
    "a mask of three axes for maps": (
        lambda w: heads(w).maps(
            *arrays(w, (2, 3, 8)), mask=arrays(w, (2, 3, 3), dtype="bool")[0]
        ),
        ["mask must have 2 axes", "mask[:, None]"],
    ),
    "keys and values of another width": (
        lambda w: heads(w).project_kv(*arrays(w, (2, 3, 7))),
        ["8", "(2, 3, 7)"],
    ),
    "a layer that drops all": (
        lambda w: w.make(w.lib.FeedForward, 3, dropout=1.0),
        ["dropout must be at least 0 and less than 1", "1.0"],
    ),
    "no positions": (
        lambda w: w.make(w.lib.Learned, 5, 4)(0),
        ["n_positions must be a whole number of at least 1", "0"],
    ),
    "more queries than keys by distance": (
        lambda w: w.make(w.lib.RelativeBias, 2, 3)(5, 2),
        ["n_keys must be at least n_queries", "n_queries=5, n_keys=2"],
    ),
    "a negative base": (
        lambda w: w.lib.sinusoidal(3, 4, base=-1.0),
        ["base must be positive", "-1.0"],
    ),
    "documents that are no numbers of documents": (
        lambda w: w.lib.document_mask(*arrays(w, (2, 3))),
        ["documents must", "float32"],
    ),
    "logits of numpy, greedily": (
        lambda w: w.lib.greedy(np.ones((2, 5))),
        ["logits must be", "numpy.ndarray"],
    ),
    "logits of numpy, the likeliest few": (
        lambda w: w.lib.keep_top_k(np.ones((2, 5)), 2),
        ["logits must be", "numpy.ndarray"],
    ),
    "logits of numpy, a nucleus": (
        lambda w: w.lib.keep_top_p(np.ones((2, 5)), 0.5),
        ["logits must be", "numpy.ndarray"],
    ),
    "logits of numpy, none far below the likeliest": (
        lambda w: w.lib.keep_min_p(np.ones((2, 5)), 0.5),
        ["logits must be", "numpy.ndarray"],
    ),
    "logits of numpy, with a penalty": (
        lambda w: w.lib.penalize_repetition(np.ones((2, 5)), np.ones((2, 5), bool), 2),
        ["logits must be", "numpy.ndarray"],
    ),
    "a mean of nothing": (
        lambda w: w.lib.mean_loss(w.make(w.lib.FeedForward, 3), [], None),
        ["a mean needs at least one batch"],
    ),
    "segments that are no numbers of segments": (
        lambda w: w.make(w.lib.BERT, BERT)(
            *arrays(w, (2, 3), dtype="int32"), token_types=arrays(w, (2, 3))[0]
        ),
        ["token_types must", "float32"],
    ),
    "points of other dimensions": (
        lambda w: w.lib.nadaraya_watson(
            *arrays(w, (3, 2), (5, 3), (5, 1)), bandwidth=1.0
        ),
        ["queries and keys must have the same width", "2 against 3"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_the_rule_and_the_way_out(wing, no_hook, case):
    call, words = BAD[case]
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        call(wing)
    for word in words:
        assert word in str(error.value), str(error.value)


@pytest.mark.parametrize("case", BAD)
def test_both_wings_use_the_same_words(both, no_hook, case):
    messages = []
    for wing in both:
        with pytest.raises(ValueError) as error:  # noqa: PT011
            BAD[case][0](wing)
        message = str(error.value).replace("torch.float", "float")
        messages.append(message.replace("torch.int", "int"))
    if "Convert it with" in messages[0] or "converted with" in messages[0]:
        messages = [m.split("Convert it")[0].split("Token ids")[0] for m in messages]
        messages = [m.replace("torch.Tensor", "jax.Array") for m in messages]
    if "bandwidth must be positive" in messages[0]:  # a tensor prints as it likes
        messages = [m.split(":")[0] for m in messages]
    assert messages[0] == messages[1]


QKV = dict.fromkeys("qkv", (3, 7))
POINTS = dict.fromkeys(("queries", "keys", "values"), (3, 7))


@pytest.mark.parametrize(
    ("name", "shapes", "options"),
    [
        ("attention", QKV, {}),
        ("tiled_attention", QKV, {"tile": 2}),
        ("linear_attention", QKV, {}),
        ("window_attention", QKV, {"size": 2}),
        ("additive_attention", {**QKV, "w": (7,)}, {}),
        ("nadaraya_watson", POINTS, {"bandwidth": 1.0}),
    ],
)
def test_each_array_of_another_library_is_named(wing, no_hook, name, shapes, options):
    right = {key: arrays(wing, shape)[0] for key, shape in shapes.items()}
    getattr(wing.lib, name)(**right, **options)
    for key, shape in shapes.items():
        with pytest.raises(ValueError, match=rf"{key} must be .*numpy\.ndarray"):
            getattr(wing.lib, name)(**right | {key: np.ones(shape)}, **options)


def test_a_traced_bandwidth_is_let_through():
    jax = pytest.importorskip("jax")
    lib = pytest.importorskip("course_lib.nnx")
    x = jax.numpy.ones((3, 2))
    f = jax.jit(lambda h: lib.nadaraya_watson(x, x, x, bandwidth=h)[0].sum())
    assert np.isfinite(f(jax.numpy.ones(2)))


@pytest.mark.parametrize(
    ("whole", "near", "expected"), [(10, 3, 2), (12, 5, 4), (7, 3, 1), (12, 12, 12)]
)
def test_the_nearest_divisor_divides(whole, near, expected):
    assert checks.nearest_divisor(whole, near) == expected


def test_whole_numbers_are_converted_as_the_error_says(wing, no_hook):
    (q,) = arrays(wing, (2, 3), dtype="int64")
    with pytest.raises(ValueError, match="floating-point numbers") as refusal:
        wing.lib.attention(q, q, q)
    way_out = str(refusal.value).rpartition(" with ")[2].rstrip(".")
    assert way_out.startswith("q.")
    converted = eval(way_out, {"q": q, "float": float})
    assert wing.lib.attention(converted, converted, converted)[0].shape == (2, 3)

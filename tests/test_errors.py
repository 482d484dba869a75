"""Bad input: the rule, what came, the way out, in the same words from both wings."""

from functools import cache

import numpy as np
import pytest
from models import MODELS
from wings import assert_refused, each

from course_lib import checks
from course_lib.config import BERTConfig


def arrays(wing, *shapes_, dtype="float32"):
    return [wing.array(np.ones(shape, dtype)) for shape in shapes_]


def heads(wing):
    return wing.make(wing.lib.MultiHeadAttention, 8, 2)


def ids(wing, *shape, dtype="int64"):
    return wing.array(np.ones(shape, dtype))


@cache
def model(wing, name):
    return MODELS[name].build(wing)


BERT = BERTConfig(vocab_size=7, max_len=5, d_model=4, n_layers=1, n_heads=2)

# Called on a wing: what is wrong, the call, and words that the error must hold.
BAD = {
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
    "bandwidths in a list": (
        lambda w: w.lib.kernel_regression(
            *arrays(w, (3, 2), (5, 2), (5, 1)), bandwidth=[1.0, 2.0]
        ),
        ["bandwidth must be a", "got builtins.list", "Convert it with"],
    ),
    "a bias of another shape": (
        lambda w: w.lib.attention(
            *arrays(w, (3, 7), (5, 7), (5, 7)), bias=arrays(w, (5, 3))[0]
        ),
        ["bias", "(5, 3)", "(3, 5)"],
    ),
    "a mask of another shape for heads": (
        lambda w: heads(w)(
            *arrays(w, (2, 3, 8)), mask=arrays(w, (3, 5), dtype="bool")[0]
        ),
        ["broadcast", "(3, 5)", "(2, 2, 3, 3)"],
    ),
    "a mask with a row for each sequence": (
        lambda w: heads(w)(
            *arrays(w, (2, 3, 8)), mask=arrays(w, (2, 3), dtype="bool")[0]
        ),
        ["a row for each query (T S)", "(2, 3)", "mask[:, None, None]"],
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
    "a text longer than the table": (
        lambda w: model(w, "GPT")(ids(w, 2, 12)),
        ["max_len=11", "got 0 to 11", "Shorten"],
    ),
    "one text, not a batch": (
        lambda w: model(w, "GPT")(ids(w, 5)),
        ["batch of token ids", "(5,)", "ids[None]"],
    ),
    "no text": (
        lambda w: model(w, "GPT")(ids(w, 2, 0)),
        ["neither of them 0", "(2, 0)"],
    ),
    "ids in floats": (
        lambda w: model(w, "GPT")(ids(w, 2, 5, dtype="float64")),
        ["whole numbers", "float64"],
    ),
    "a text longer than BERT's table": (
        lambda w: model(w, "BERTForMaskedLM")(ids(w, 2, 12)),
        ["max_len=11", "0 to 11"],
    ),
    "segments of fewer tokens": (
        lambda w: model(w, "BERTForMaskedLM")(ids(w, 2, 5), token_types=ids(w, 2, 3)),
        ["one entry for each token", "(2, 3)", "(2, 5)"],
    ),
    "a pool without a pooler": (
        lambda w: model(w, "BERTForMaskedLM").bert.pool(*arrays(w, (2, 5, 12))),
        ["pooler=False", "hidden[:, 0]"],
    ),
    "a source longer than the table": (
        lambda w: model(w, "Seq2Seq").encode(ids(w, 2, 12)),
        ["max_len=11", "0 to 11"],
    ),
    "one target, not a batch": (
        lambda w: model(w, "Seq2Seq")(ids(w, 2, 5), ids(w, 5)),
        ["target must be a batch", "target[None]"],
    ),
    "an image on its side": (
        lambda w: model(w, "ViT")(*arrays(w, (2, 3, 6, 4))),
        ["(batch, 3, 4, 6)", "(2, 3, 6, 4)"],
    ),
    "channels at the end": (
        lambda w: model(w, "ViT")(*arrays(w, (2, 4, 6, 3))),
        ["channels before height", "(2, 4, 6, 3)"],
    ),
    "images without channels": (
        lambda w: model(w, "ViT")(*arrays(w, (2, 4, 6))),
        ["images[:, None]"],
    ),
    "images of whole numbers": (
        lambda w: model(w, "ViT")(ids(w, 2, 3, 4, 6)),
        ["floating-point", "int64"],
    ),
    "series before time": (
        lambda w: model(w, "Forecaster")(*arrays(w, (2, 3, 15))),
        ["(batch, 15, 3)", "(2, 3, 15)", "time before series"],
    ),
    "one series without its axis": (
        lambda w: model(w, "Forecaster")(*arrays(w, (2, 15))),
        ["past[..., None]"],
    ),
    "a past of whole numbers": (
        lambda w: model(w, "Forecaster")(ids(w, 2, 15, 3)),
        ["floating-point", "int64"],
    ),
    "segments that are no numbers of segments": (
        lambda w: w.make(w.lib.BERT, BERT)(
            *arrays(w, (2, 3), dtype="int32"), token_types=arrays(w, (2, 3))[0]
        ),
        ["token_types must", "float32"],
    ),
}


@each("case", BAD, nnx=[])  # that NNX says the same is the next test's
def test_bad_input_is_refused_with_the_rule_and_the_way_out(wing, no_hook, case):
    call, words = BAD[case]
    assert_refused(lambda: call(wing), words)


@pytest.mark.parametrize("case", BAD)
def test_both_wings_use_the_same_words(both, no_hook, case):
    messages = [assert_refused(lambda w=w: BAD[case][0](w), []) for w in both]
    messages = [m.replace("torch.float", "float") for m in messages]
    messages = [m.replace("torch.int", "int") for m in messages]
    if "Convert it with" in messages[0] or "converted with" in messages[0]:
        messages = [m.split("Convert it")[0].split("Token ids")[0] for m in messages]
        messages = [m.replace("torch.Tensor", "jax.Array") for m in messages]
    assert messages[0] == messages[1]


QKV = dict.fromkeys("qkv", (3, 7))
ATTENTIONS = [
    ("attention", QKV, {}),
    ("kernel_regression", QKV, {"bandwidth": 1.0}),
]
# Other shapes of queries, keys and values, what they hold, and what is said of it.
WRONG = {
    "widths differ": ([(3, 6)], "float32", r"same width: .*\(6 against 7\)\. Project"),
    "a key without its value": (
        [(3, 7), (3, 7), (2, 7)],
        "float32",
        r"each key needs its value: .*\(3 keys against 2 values\)",
    ),
    "batches differ": ([(1, 3, 7)], "float32", "before the last two: .* Expand the"),
    "a vector": ([(7,)], "float32", r"at least two axes .*\[None, :\]"),
    "nothing": ([(3, 7), (0, 7), (0, 7)], "float32", r"must not be empty: .*\(0, 7\)"),
    "whole numbers": ([(3, 7)] * 3, "int32", "floating-point .*int32.* embedding"),
    "mixed numbers": ([(3, 7)], "float64", "one dtype: .*float64.* Convert them"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize(("name", "shapes", "options"), ATTENTIONS)
def test_what_no_attention_takes(wing, no_hook, name, shapes, options, case):
    others, dtype, message = WRONG[case]
    given = {key: arrays(wing, shape)[0] for key, shape in shapes.items()}
    given |= dict(zip(shapes, arrays(wing, *others, dtype=dtype), strict=False))
    with pytest.raises(ValueError, match=message):
        getattr(wing.lib, name)(**given, **options)


@pytest.mark.parametrize(("name", "shapes", "options"), ATTENTIONS)
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
    f = jax.jit(lambda h: lib.kernel_regression(x, x, x, bandwidth=h)[0].sum())
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

"""No piece takes a size of 0, or half a size: each argument alone, in each wing."""

import inspect
from functools import partial

import numpy as np
import pytest

from course_lib import baselines, config
from course_lib.training import Batches, Windows

HEADS = (2, 3, 8, 4)  # B H T Dh
QKV = {"q": HEADS, "k": HEADS, "v": HEADS}
BERT = config.BERTConfig(vocab_size=7, max_len=5, d_model=4, n_layers=1, n_heads=2)
MASK = {"n_queries": 3, "n_keys": 5}


def a_linear(wing):
    return wing.make(wing.lib.linear, 6, 5)


# Arguments of every piece that has sizes; a tuple is the shape of a tensor, a function
# of a wing makes a part.
PIECES = {
    "ALiBi": {"n_heads": 3},
    "BERTForClassification": {"config": BERT, "n_classes": 3},
    "Block": {"d_model": 8, "n_heads": 2, "d_ff": 5, "n_kv_heads": 1},
    "Embedding": {"vocab_size": 5, "d_model": 3},
    "FeedForward": {"d_model": 3, "d_ff": 5},
    "KVCache": {
        "n_layers": 1, "batch": 2, "n_kv_heads": 3, "max_len": 5, "d_head": 4,
    },
    "LSTM": {"d_in": 3, "d_model": 5},
    "Learned": {"max_len": 5, "d_model": 3},
    "Learned2D": {"height": 3, "width": 5, "d_model": 4},
    "LearnedMetric": {"n_features": 3},
    "MixtureOfExperts": {
        "d_model": 4, "d_ff": 3, "experts": config.Experts(n_experts=5),
    },
    "MultiHeadAttention": {"d_model": 8, "n_heads": 2, "n_kv_heads": 1, "head_dim": 3},
    "QuantizedLinear": {"layer": a_linear, "group": 3},
    "RNN": {"d_in": 3, "d_model": 5},
    "RelativeBias": {"n_heads": 3, "max_distance": 5},
    "Rotary": {"d_head": 4},
    "SelfAttention": {"d_model": 4, "d_head": 3},
    "Sinusoidal": {"max_len": 5, "d_model": 4},
    "alibi_bias": {"n_heads": 3, **MASK},
    "causal_mask": MASK,
    "device_mesh": {"data": 1, "fsdp": 1, "tensor": 1},
    "linear": {"d_in": 3, "d_out": 5},
    "make_positions": {"config": BERT, "max_len": 5},
    "norm_layer": {"d_model": 3},
    "padding_mask": {"lengths": [1, 3], "n_keys": 5},
    "quantize": {"model": lambda wing: wing.make(wing.lib.FeedForward, 6), "group": 3},
    "quantize_weight": {"w": (2, 6), "group": 3},
    "repeat_heads": {"t": HEADS, "n_heads": 6},
    "sinusoidal": {"n_positions": 5, "d_model": 4},
    "split_heads": {"x": (2, 5, 12), "d_head": 4},
    "window_mask": {**MASK, "size": 2},
    "narrow_mask": {"mask": None, "q": HEADS, "k": HEADS, "window": 2},
}  # fmt: skip
# What the linear layer calls the sizes that it is the one to refuse.
SAID = {
    ("BERTForClassification", "n_classes"): "d_out",
    ("Block", "d_ff"): "d_out",
    ("FeedForward", "d_ff"): "d_out",
    ("FeedForward", "d_model"): "d_in",
}
# Functions of no wing: the arguments that are no sizes, then the sizes.
PLAIN = [
    (config.Experts, {}, {"n_experts": 3}),
    (config.Scoring, {}, {"window": 2}),
    (baselines.NGram, {}, {"order": 2, "vocab_size": 5}),
    (partial(Batches, np.ones(9)), {}, {"batch_size": 2}),
    (partial(Windows, np.ones(9)), {}, {"length": 3, "batch_size": 2}),
]
# Whole numbers that are no sizes, or those of a search, which are tried with it.
OTHERS = {
    "ignore_index", "k", "max_new_tokens", "n_beams", "n_draft", "n_residual", "offset",
    "pad_id", "rank", "seed", "start_id", "start_token", "stop_token", "top_k", "world",
}  # fmt: skip


def build(wing, name, arguments):
    piece = getattr(wing.lib, name)
    given = {
        key: wing.array(np.ones(value), "float32") if type(value) is tuple else value
        for key, value in arguments.items()
    }
    given |= {key: f(wing) for key, f in given.items() if inspect.isfunction(f)}
    if "rngs" in parameters(piece):
        from flax import nnx

        given["rngs"] = nnx.Rngs(0)
    return piece(**given)


def parameters(piece):
    made = piece.__init__ if inspect.isclass(piece) else piece
    return inspect.signature(made).parameters


def sizes(arguments):
    return [name for name, value in arguments.items() if type(value) is int]


@pytest.mark.parametrize("name", PIECES)
def test_the_arguments_are_right_otherwise(wing, name):
    build(wing, name, PIECES[name])


@pytest.mark.parametrize(
    ("name", "size"),
    [(name, size) for name, given in PIECES.items() for size in sizes(given)],
)
def test_a_piece_refuses_what_is_no_size(wing, no_hook, name, size):
    said = SAID.get((name, size), size)
    for wrong in (0, PIECES[name][size] + 0.5):
        with pytest.raises(ValueError, match=rf"\b{said}\b.*: got {wrong}"):
            build(wing, name, PIECES[name] | {size: wrong})


@pytest.mark.parametrize(("piece", "others", "right"), PLAIN)
def test_so_does_what_belongs_to_no_wing(piece, others, right):
    piece(**others, **right)
    for size in right:
        for wrong in (0, right[size] + 0.5):
            with pytest.raises(ValueError, match=rf"{size} must be .*: got {wrong}"):
                piece(**others, **right | {size: wrong})


def test_heads_that_do_not_come_out_even_are_refused(wing):
    with pytest.raises(ValueError, match=r"must divide.*n_heads=6, n_kv_heads=4"):
        wing.lib.repeat_heads(wing.array(np.ones((2, 4, 8, 3))), 6)
    with pytest.raises(ValueError, match=r"must divide.*d_model=12, d_head=5"):
        wing.lib.split_heads(wing.array(np.ones((2, 3, 12))), 5)


def is_whole(annotation) -> bool:
    return annotation in (int, "int", int | None, "int | None")


def test_every_size_is_tried(wing):
    for name in wing.lib.__all__:
        piece = getattr(wing.lib, name)
        if not callable(piece) or name == "LayerCache":
            continue
        given = parameters(piece).values()
        wanted = {p.name for p in given if is_whole(p.annotation)} - OTHERS
        assert wanted <= PIECES.get(name, {}).keys(), name

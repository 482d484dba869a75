"""Reference implementations in NumPy float64: slow and obvious.

Tests and homework compare with them. No function calls another library than NumPy;
where the wings take the last two axes of a tensor, these loop.
"""

from course_lib.oracle.attention import (
    additive_attention,
    attention,
    multihead,
    softmax,
)
from course_lib.oracle.block import (
    activate,
    block,
    feed_forward,
    layer_norm,
    rms_norm,
)
from course_lib.oracle.efficient_attention import linear_attention
from course_lib.oracle.graph import graph_attention
from course_lib.oracle.kernel_regression import kernel, leave_one_out, nadaraya_watson
from course_lib.oracle.masks import causal_mask, mask, padding_mask
from course_lib.oracle.models import (
    bert,
    bert_mlm,
    bert_pool,
    forecaster,
    gpt,
    seq2seq,
    vit,
)
from course_lib.oracle.position import (
    alibi_bias,
    alibi_slopes,
    relative_bias,
    rotary,
    sinusoidal,
)
from course_lib.oracle.recurrent import dilated_cnn, lstm, rnn
from course_lib.oracle.sampling import keep_top_k, keep_top_p, sample
from course_lib.oracle.weights import part

__all__ = [
    "activate",
    "additive_attention",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "bert",
    "bert_mlm",
    "bert_pool",
    "block",
    "causal_mask",
    "dilated_cnn",
    "feed_forward",
    "forecaster",
    "gpt",
    "graph_attention",
    "keep_top_k",
    "keep_top_p",
    "kernel",
    "layer_norm",
    "leave_one_out",
    "linear_attention",
    "lstm",
    "mask",
    "multihead",
    "nadaraya_watson",
    "padding_mask",
    "part",
    "relative_bias",
    "rms_norm",
    "rnn",
    "rotary",
    "sample",
    "seq2seq",
    "sinusoidal",
    "softmax",
    "vit",
]

"""The PyTorch wing: every piece of the course, one module each.

The public names of the modules are here too: `course_lib.torch.attention` is the
function (its module is imported with `from course_lib.torch.attention import ...`).
"""

from course_lib.optional import missing

try:
    import torch as _framework  # noqa: F401
except ImportError as error:
    raise missing("course_lib.torch needs", "PyTorch", "torch") from error

from course_lib.torch.attention import attention, softmax
from course_lib.torch.attention_maps import attention_maps
from course_lib.torch.bert import BERT, BERTForClassification, BERTForMaskedLM
from course_lib.torch.block import Block
from course_lib.torch.bridge import from_builtin, get_weights, set_weights
from course_lib.torch.evaluation import evaluating
from course_lib.torch.extra.additive_attention import (
    AdditiveAttention,
    additive_attention,
)
from course_lib.torch.extra.dilated_cnn import DilatedCNN
from course_lib.torch.extra.efficient_attention import (
    linear_attention,
    tiled_attention,
    window_attention,
)
from course_lib.torch.extra.graph import AttentionPooling, GraphAttention
from course_lib.torch.extra.kernel_regression import (
    LearnedMetric,
    kernel_scores,
    leave_one_out,
    nadaraya_watson,
)
from course_lib.torch.extra.recurrent import LSTM, RNN
from course_lib.torch.extra.recurrent_seq2seq import RecurrentCache, RecurrentSeq2Seq
from course_lib.torch.feed_forward import FeedForward, activate
from course_lib.torch.final_norm import final_norm
from course_lib.torch.forecaster import Forecaster
from course_lib.torch.fused_attention import fused_attention, repeat_heads, with_causal
from course_lib.torch.generation.cache import KVCache, LayerCache
from course_lib.torch.generation.generate import beam_search, generate
from course_lib.torch.generation.sampling import greedy, keep_top_k, keep_top_p, sample
from course_lib.torch.generation.translate import beam_translate, translate
from course_lib.torch.gpt import GPT
from course_lib.torch.init import normal_start
from course_lib.torch.linear import linear
from course_lib.torch.masks import (
    causal_mask,
    dilated_mask,
    document_mask,
    global_mask,
    padding_mask,
    padding_mask_from_ids,
    prefix_mask,
    strided_mask,
    window_mask,
)
from course_lib.torch.multihead import MultiHeadAttention, merge_heads, split_heads
from course_lib.torch.norm import norm_layer
from course_lib.torch.position import (
    Learned,
    Learned2D,
    RelativeBias,
    Rotary,
    Sinusoidal,
    added_positions,
    alibi_bias,
    alibi_slopes,
    sinusoidal,
)
from course_lib.torch.seq2seq import Seq2Seq, shift_right
from course_lib.torch.training.checkpoint import load_weights, save_weights
from course_lib.torch.training.distributed import (
    device_mesh,
    distribute,
    init_distributed,
    shutdown,
)
from course_lib.torch.training.fit import fit, mean_loss, perplexity
from course_lib.torch.training.loss import cross_entropy, cross_entropy_sum
from course_lib.torch.training.many import fit_many
from course_lib.torch.training.optim import adamw, clip_gradient
from course_lib.torch.vit import ViT

__all__ = [
    "BERT",
    "GPT",
    "LSTM",
    "RNN",
    "AdditiveAttention",
    "AttentionPooling",
    "BERTForClassification",
    "BERTForMaskedLM",
    "Block",
    "DilatedCNN",
    "FeedForward",
    "Forecaster",
    "GraphAttention",
    "KVCache",
    "LayerCache",
    "Learned",
    "Learned2D",
    "LearnedMetric",
    "MultiHeadAttention",
    "RecurrentCache",
    "RecurrentSeq2Seq",
    "RelativeBias",
    "Rotary",
    "Seq2Seq",
    "Sinusoidal",
    "ViT",
    "activate",
    "adamw",
    "added_positions",
    "additive_attention",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "attention_maps",
    "beam_search",
    "beam_translate",
    "causal_mask",
    "clip_gradient",
    "cross_entropy",
    "cross_entropy_sum",
    "device_mesh",
    "dilated_mask",
    "distribute",
    "document_mask",
    "evaluating",
    "final_norm",
    "fit",
    "fit_many",
    "from_builtin",
    "fused_attention",
    "generate",
    "get_weights",
    "global_mask",
    "greedy",
    "init_distributed",
    "keep_top_k",
    "keep_top_p",
    "kernel_scores",
    "leave_one_out",
    "linear",
    "linear_attention",
    "load_weights",
    "mean_loss",
    "merge_heads",
    "nadaraya_watson",
    "norm_layer",
    "normal_start",
    "padding_mask",
    "padding_mask_from_ids",
    "perplexity",
    "prefix_mask",
    "repeat_heads",
    "sample",
    "save_weights",
    "set_weights",
    "shift_right",
    "shutdown",
    "sinusoidal",
    "softmax",
    "split_heads",
    "strided_mask",
    "tiled_attention",
    "translate",
    "window_attention",
    "window_mask",
    "with_causal",
]

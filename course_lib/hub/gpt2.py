"""GPT-2's checkpoints: `GPT2LMHeadModel` becomes `GPT`.

Its linear maps are stored input by output, the other way round than in other files, and
queries, keys and values lie side by side in one of them. Old checkpoints hold the
causal mask as if it were a weight. Layers are numbered in `h`.
"""

import numpy as np

from course_lib.config import GPTConfig
from course_lib.hub.conversion import Arrays, Conversion, generic
from course_lib.hub.fields import Fields

ARCHITECTURES: tuple[str, ...] = ("GPT2LMHeadModel",)

_TABLE = {
    "wte": "tokens",
    "wpe": "positions.table",
    "h.#.ln_1": "blocks.#.attention_norm",
    "h.#.attn.q": "blocks.#.attention.q_proj",
    "h.#.attn.k": "blocks.#.attention.k_proj",
    "h.#.attn.v": "blocks.#.attention.v_proj",
    "h.#.attn.c_proj": "blocks.#.attention.o_proj",
    "h.#.ln_2": "blocks.#.feed_forward_norm",
    "h.#.mlp.c_fc": "blocks.#.feed_forward.up_proj",
    "h.#.mlp.c_proj": "blocks.#.feed_forward.down_proj",
    "ln_f": "norm",
}
_FIELDS = """
    vocab_size           vocab_size
    n_positions          max_len
    n_embd               d_model
    n_layer              n_layers
    n_head               n_heads
    n_inner              d_ff        null
    resid_pdrop          dropout     0.1
    activation_function  activation  gelu_new
    layer_norm_epsilon   norm_eps    1e-5
"""
_INPUT_FIRST = ("h.#.attn.c_attn", "h.#.attn.c_proj", "h.#.mlp.c_fc", "h.#.mlp.c_proj")
# The causal mask and its -10,000, in the files of earlier versions.
_MASKS = frozenset({"h.#.attn.bias", "h.#.attn.masked_bias"})


def conversion(fields: Fields, architecture: str, names: set[str]) -> Conversion:
    """Translate GPT-2's configuration."""
    fields.must("scale_attn_weights", True, default=True)
    fields.must("scale_attn_by_inverse_layer_idx", False)
    tied = fields.take("tie_word_embeddings", True)
    options = fields.read(_FIELDS)
    options["d_ff"] = options["d_ff"] or 4 * options["d_model"]
    config = GPTConfig(**options, tie_head=tied)
    # `n_ctx` is the length again, `reorder_and_upcast_attn` a matter of rounding in 16
    # bits, and what begins with `summary` belongs to another head.
    silent = "attn_pdrop embd_pdrop n_ctx reorder_and_upcast_attn"
    summary = (name for name in fields.values if name.startswith("summary_"))
    fields.finish(" ".join([silent, *summary]))
    return Conversion(
        model="GPT",
        config=config,
        prefix="transformer.",
        table=_TABLE | {"lm_head": "tokens" if tied else "head"},
        unused=_MASKS,
        packed={f"blocks.#.attention.{x}_proj": "h.#.attn.c_attn" for x in "qkv"},
        prepare=_unpack,
    )


def _unpack(arrays: Arrays) -> Arrays:
    """Transpose the linear maps; split queries, keys and values."""
    found = {}
    for name, array in arrays.items():
        part, _, leaf = generic(name.removeprefix("transformer.")).rpartition(".")
        if part in _INPUT_FIRST:
            array = array.T
        if part == "h.#.attn.c_attn" and len(array) % 3 == 0:
            stem = name.removesuffix(f"c_attn.{leaf}")
            for one, rows in zip("qkv", np.split(array, 3), strict=True):
                found[f"{stem}{one}.{leaf}"] = rows
        else:
            found[name] = array
    return found

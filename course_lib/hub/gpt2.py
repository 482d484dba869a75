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
_INPUT_FIRST = ("h.#.attn.c_attn", "h.#.attn.c_proj", "h.#.mlp.c_fc", "h.#.mlp.c_proj")
# The causal mask and its -10,000, in the files of earlier versions.
_MASKS = frozenset({"h.#.attn.bias", "h.#.attn.masked_bias"})


def conversion(fields: Fields, architecture: str, names: set[str]) -> Conversion:
    """Translate GPT-2's configuration."""
    fields.must("scale_attn_weights", True, default=True)
    fields.must("scale_attn_by_inverse_layer_idx", False)
    tied = fields.take("tie_word_embeddings", True)
    d_model = fields.take("n_embd")
    config = GPTConfig(
        vocab_size=fields.take("vocab_size"),
        max_len=fields.take("n_positions"),
        d_model=d_model,
        n_layers=fields.take("n_layer"),
        n_heads=fields.take("n_head"),
        d_ff=fields.take("n_inner", None) or 4 * d_model,
        dropout=fields.take("resid_pdrop", 0.1),
        activation=fields.activation("activation_function", "gelu_new"),
        norm_eps=fields.take("layer_norm_epsilon", 1e-5),
        tie_head=tied,
    )
    # `n_ctx` is the length again, `reorder_and_upcast_attn` a matter of rounding in 16
    # bits, and what begins with `summary` belongs to another head.
    fields.finish(
        silent=(
            *("attn_pdrop", "embd_pdrop", "n_ctx", "reorder_and_upcast_attn"),
            *(name for name in fields.values if name.startswith("summary_")),
        )
    )
    return Conversion(
        model="GPT",
        config=config,
        prefix="transformer.",
        table=_TABLE | {"lm_head": "tokens" if tied else "head"},
        unused=_MASKS,
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

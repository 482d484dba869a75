"""Marian's checkpoints, the translators of OPUS-MT: `MarianMTModel` becomes `Seq2Seq`.

One table of tokens may be stored up to four times. Positions are sines and then
cosines, computed and not learned; a file that stores them is checked to hold those.
"""

import numpy as np

from course_lib.config import Seq2SeqConfig
from course_lib.hub.conversion import Arrays, Conversion
from course_lib.hub.fields import Fields

ARCHITECTURES: tuple[str, ...] = ("MarianMTModel",)

_SIDES = ("encoder", "decoder")
_PARTS = {
    "self_attn.q_proj": "attention.q_proj",
    "self_attn.k_proj": "attention.k_proj",
    "self_attn.v_proj": "attention.v_proj",
    "self_attn.out_proj": "attention.o_proj",
    "self_attn_layer_norm": "attention_norm",
    "fc1": "feed_forward.up_proj",
    "fc2": "feed_forward.down_proj",
    "final_layer_norm": "feed_forward_norm",
}
_CROSS = {
    theirs.replace("self", "encoder"): f"cross_{ours}"
    for theirs, ours in _PARTS.items()
    if theirs.startswith("self")
}
_TABLE = {
    f"{side}.layers.#.{theirs}": f"{side}.#.{ours}"
    for side, parts in zip(_SIDES, (_PARTS, _PARTS | _CROSS), strict=True)
    for theirs, ours in parts.items()
}


_FIELDS = """
    vocab_size               vocab_size
    decoder_vocab_size       target_vocab_size  null
    max_position_embeddings  max_len
    d_model                  d_model
    encoder_layers           n_layers
    decoder_layers           n_decoder_layers
    encoder_attention_heads  n_heads
    encoder_ffn_dim          d_ff
    dropout                  dropout            0.1
    activation_function      activation         gelu
    scale_embedding          scale_embeddings   false
"""


def conversion(fields: Fields, architecture: str, names: set[str]) -> Conversion:
    """Translate Marian's configuration."""
    vocab_size = fields.take("vocab_size")
    for name in ("attention_heads", "ffn_dim"):
        both = fields.take(f"encoder_{name}")
        fields.must(f"decoder_{name}", both, default=both)
    fields.must("is_encoder_decoder", True, default=True)
    # Named by earlier versions, for models of the same family that were never written.
    fields.must("static_position_embeddings", True, default=True)
    fields.must("normalize_before", False)
    fields.must("normalize_embedding", False)
    fields.must("add_final_layer_norm", False)
    shared = fields.take("share_encoder_decoder_embeddings", True)
    tied = fields.take("tie_word_embeddings", True)
    if shared:
        fields.must("tie_word_embeddings", True, default=True)
        fields.must("decoder_vocab_size", vocab_size, default=None)
    config = Seq2SeqConfig(
        **fields.read(_FIELDS),
        share_embeddings=shared,
        tie_head=tied,
        head_bias="final_logits_bias" in names,
        interleaved=False,
    )
    # The biases of the logits are in the file or not, whatever `add_bias_logits` says;
    # `num_hidden_layers` is the encoder's depth again, positions need no room for more.
    fields.finish(
        "activation_dropout attention_dropout classifier_dropout classif_dropout "
        "encoder_layerdrop decoder_layerdrop add_bias_logits num_hidden_layers "
        "extra_pos_embeddings"
    )
    target = "source_tokens" if shared else "target_tokens"
    tables = {
        "shared": "source_tokens",
        "encoder.embed_tokens": "source_tokens",
        "decoder.embed_tokens": target,
        "lm_head": target if tied else "head",
        "final_logits_bias": "head_bias",
    }

    def prepare(arrays: Arrays) -> Arrays:
        return _check_waves(arrays, config.d_model, str(fields.where))

    return Conversion(
        model="Seq2Seq",
        config=config,
        prefix="model.",
        table=_TABLE | tables,
        unused=frozenset(f"{side}.embed_positions" for side in _SIDES),
        squeeze={"final_logits_bias": (0,)},
        prepare=prepare,
    )


def _check_waves(arrays: Arrays, d_model: int, where: str) -> Arrays:
    """Refuse positions that are not the sines and cosines that ours will compute."""
    for side in _SIDES:
        name = f"model.{side}.embed_positions.weight"
        if name not in arrays:
            continue
        stored = arrays[name].astype(np.float64)
        angles = np.arange(len(stored))[:, None]
        angles = angles / 10000.0 ** (np.arange(0, d_model, 2) / d_model)
        waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        # 16 bits are wrong by up to 2^-9 near 1.
        if stored.shape != waves.shape or abs(stored - waves).max() > 4e-3:
            raise ValueError(
                f"{name} beside {where} must hold sines and then cosines: it holds "
                "something else, and our model computes its positions."
            )
    return arrays

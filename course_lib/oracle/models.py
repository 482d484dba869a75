"""Whole models in evaluation mode, put together from the pieces.

Everywhere, `weights` are the model's parameters by path, in PyTorch's layout, `config`
is its configuration, and in a mask True = may attend.
"""

import math
from typing import Any

import numpy as np

from course_lib.config import GPTConfig
from course_lib.oracle.block import activate, block
from course_lib.oracle.masks import causal_mask
from course_lib.oracle.norm import norm
from course_lib.oracle.position import alibi_bias, relative_bias, sinusoidal
from course_lib.oracle.weights import Weights, linear, part

__all__ = ["bert", "bert_mlm", "bert_pool", "forecaster", "gpt", "seq2seq", "vit"]


def _stack(
    x: np.ndarray,
    weights: Weights,
    config: Any,
    mask: np.ndarray | None = None,
    *,
    blocks: str = "blocks",
    positions: str = "positions",
    final: str = "norm",
    n_layers: int | None = None,
    memory: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
) -> np.ndarray:
    """Every block in turn, then the final norm unless the form is "post"."""
    bias = None
    if config.position == "alibi":
        bias = alibi_bias(config.n_heads, x.shape[-2], x.shape[-2])
    if config.position == "relative":
        table = weights[f"{positions}.table.weight"]
        bias = relative_bias(table, x.shape[-2], x.shape[-2])
    base = getattr(config, "rope_base", 10000.0)
    turned: dict[str, Any] = {
        "rotary_base": base if config.position == "rotary" else None
    }
    for i in range(n_layers or config.n_layers):
        today: dict[str, Any] = {}
        if isinstance(config, GPTConfig):
            today = _today(config, i)
        x = block(
            x,
            part(weights, f"{blocks}.{i}"),
            config.n_heads,
            n_kv_heads=config.n_kv_heads,
            form=config.norm,
            activation=config.activation,
            eps=config.norm_eps,
            mask=mask,
            bias=bias,
            memory=memory,
            memory_mask=memory_mask,
            **(turned | today),
        )
    return x if config.norm == "post" else norm(x, weights, final, config.norm_eps)


def _today(config: GPTConfig, layer: int) -> dict[str, Any]:
    """What the layers of a decoder of today have besides, each of its own kind."""
    local = config.has_window(layer)
    found: dict[str, Any] = {"scale": config.attention_scale, "cap": config.score_cap}
    found |= {"window": config.window if local else None}
    if config.position == "rotary" and local and config.local_rope_base is not None:
        found |= {"rotary_base": config.local_rope_base}
    else:
        found |= {"scaling": config.rope_scaling}
    if not config.turns(layer):
        found |= {"rotary_base": None}
    if config.n_experts is not None:
        found["routing"] = {
            "top_k": config.experts_per_token,
            "gate": config.expert_gate,
            "normalize": config.normalize_gates,
        }
    return found


def _positions(
    n: int, weights: Weights, config: Any, name: str = "positions"
) -> np.ndarray | float:
    """What is added to the tokens, 0 with schemes that are at work elsewhere.

    Raises:
        ValueError: If the oracle doesn't know the scheme: a new one is added here, too.
    """
    if config.position == "learned":
        return weights[f"{name}.table.weight"][:n]
    if config.position == "sinusoidal":
        interleaved = getattr(config, "interleaved", True)
        return sinusoidal(n, config.d_model, interleaved=interleaved)
    if config.position in ("rotary", "alibi", "relative", "learned_2d", "none"):
        return 0.0
    raise ValueError(f"the oracle has no position scheme {config.position!r}.")


def gpt(
    ids: np.ndarray, weights: Weights, config: Any, mask: np.ndarray | None = None
) -> np.ndarray:
    """GPT, a decoder-only language model: logits of the next token, `B T V`.

    Radford et al. 2018, section 3.1; Radford et al. 2019, section 2.3. Token ids are
    `B T`; `mask` is a second mask besides the causal one.
    """
    n = ids.shape[-1]
    past = causal_mask(n, n)
    x = weights["tokens.weight"][ids]
    x = x * (math.sqrt(config.d_model) if config.scale_embeddings else 1.0)
    x = x + _positions(n, weights, config)
    x = _stack(x, weights, config, past if mask is None else past & mask)
    if config.tie_head:
        logits = x @ weights["tokens.weight"].T
    else:
        logits = linear(x, weights, "head")
    cap = config.logit_cap
    return logits if cap is None else cap * np.tanh(logits / cap)


def bert(
    ids: np.ndarray,
    weights: Weights,
    config: Any,
    token_types: np.ndarray | None = None,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    """BERT, a bidirectional encoder: one vector a token, `B T D`.

    Devlin et al. 2019, section 3, arXiv:1810.04805. Token ids and their types (the
    segments; None means all 0) are `B T`; `mask` is the padding mask.
    """
    types = np.zeros_like(ids) if token_types is None else token_types
    x = weights["tokens.weight"][ids] + weights["token_types.weight"][types]
    x = x + _positions(ids.shape[-1], weights, config)
    x = norm(x, weights, "embedding_norm", config.norm_eps)
    return _stack(x, weights, config, mask)


def bert_pool(hidden: np.ndarray, weights: Weights) -> np.ndarray:
    """BERT's pooler: tanh of a linear map of the first token's vector, `B D`."""
    return np.tanh(linear(hidden[:, 0], weights, "pooler"))


def bert_mlm(hidden: np.ndarray, weights: Weights, config: Any) -> np.ndarray:
    """BERT's head for masked language modeling, with a tied table: logits, `B T V`.

    Devlin et al. 2019, section 3.1; the extra layer is in the authors' code.
    """
    activation = "gelu" if config.activation == "swiglu" else config.activation
    x = activate(linear(hidden, weights, "transform"), activation)
    x = norm(x, weights, "transform_norm", config.norm_eps)
    return x @ weights["bert.tokens.weight"].T + weights["bias"]


def vit(images: np.ndarray, weights: Weights, config: Any) -> np.ndarray:
    """Vision transformer (ViT): logits of the classes, `B V`, from images `B C H W`.

    Dosovitskiy et al. 2021, eq. 1 to 4, arXiv:2010.11929.
    """
    size, (rows, columns) = config.patch_size, config.grid
    kernel, bias = weights["patches.weight"], weights["patches.bias"]
    x = np.zeros((len(images), 1 + rows * columns, config.d_model))
    x[:, 0] = weights["cls"]
    for i, j in np.ndindex(rows, columns):
        patch = images[:, :, i * size : (i + 1) * size, j * size : (j + 1) * size]
        place = 1 + i * columns + j
        x[:, place] = patch.reshape(len(images), -1) @ kernel.reshape(len(kernel), -1).T
        x[:, place] += bias
        if config.position == "learned_2d":
            x[:, place] += np.concatenate(
                [
                    weights["positions.rows.weight"][i],
                    weights["positions.columns.weight"][j],
                ]
            )
    x = _stack(x + _positions(x.shape[1], weights, config), weights, config)
    return linear(x[:, 0], weights, "head")


def forecaster(past: np.ndarray, weights: Weights, config: Any) -> np.ndarray:
    """Patch transformer for forecasting (PatchTST): `B H C *Q` from a past `B P C`.

    Nie et al. 2023, section 3.1, arXiv:2211.14730.
    """
    size, steps = config.patch_size, [config.horizon, config.n_series]
    if config.n_quantiles is not None:
        steps.append(config.n_quantiles)
    tokens = []
    for i in range(config.n_patches):
        patch = past[:, i * size : (i + 1) * size].reshape(len(past), -1)
        tokens.append(linear(patch, weights, "patches"))
    x = np.stack(tokens, axis=1) + _positions(config.n_patches, weights, config)
    x = _stack(x, weights, config)
    read = x.mean(axis=1)
    if config.reading == "all":
        read = np.concatenate(list(x.swapaxes(0, 1)), axis=-1)
    return linear(read, weights, "head").reshape(len(past), *steps)


def seq2seq(
    source: np.ndarray,
    target: np.ndarray,
    weights: Weights,
    config: Any,
    source_mask: np.ndarray | None = None,
) -> np.ndarray:
    """The encoder-decoder transformer: logits of the target's next tokens, `B T V`.

    Vaswani et al. 2017, section 3, arXiv:1706.03762. Source ids are `B S`, target ids
    `B T`; `source_mask` is the source's padding mask.
    """

    def embed(ids, side):
        table = "source" if config.share_embeddings else side
        x = weights[f"{table}_tokens.weight"][ids]
        x = x * (math.sqrt(config.d_model) if config.scale_embeddings else 1.0)
        return x + _positions(ids.shape[-1], weights, config, f"{side}_positions")

    n = target.shape[-1]
    memory = _stack(
        embed(source, "source"),
        weights,
        config,
        source_mask,
        blocks="encoder",
        positions="source_positions",
        final="encoder_norm",
    )
    x = _stack(
        embed(target, "target"),
        weights,
        config,
        causal_mask(n, n),
        blocks="decoder",
        positions="target_positions",
        final="decoder_norm",
        n_layers=config.n_decoder_layers,
        memory=memory,
        memory_mask=source_mask,
    )
    if config.tie_head:
        table = "source" if config.share_embeddings else "target"
        logits = x @ weights[f"{table}_tokens.weight"].T
    else:
        logits = linear(x, weights, "head")
    return logits + (weights["head_bias"] if config.head_bias else 0.0)

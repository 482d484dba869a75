"""Whole models for tests: other weights than the start's, the same in both wings."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from wings import assert_close

from course_lib import oracle
from course_lib.config import (
    BERTConfig,
    ForecasterConfig,
    GPTConfig,
    Seq2SeqConfig,
    TransformerConfig,
    ViTConfig,
)

B, T, S, V = 2, 5, 7, 13
SIZES = {"d_model": 12, "n_layers": 2, "n_heads": 3, "d_ff": 17}
WORDS = {"vocab_size": V, "max_len": 11}


@dataclass(frozen=True)
class Model:
    """A model: how it is built, what it reads, what it returns by the oracle.

    Args:
        name: Its class.
        config: Its configuration.
        draw: Inputs, drawn at random.
        expected: The oracle's output for weights, a configuration and inputs.
        more: Arguments of the class behind the configuration.
        mask: Keyword of the mask over the first input, if there is one.
        names: Keywords of the last inputs; the others are given in order.
    """

    name: str
    config: TransformerConfig
    draw: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    expected: Callable[..., np.ndarray]
    more: tuple = ()
    mask: str = ""
    names: tuple[str, ...] = ()

    def build(self, wing, **options) -> Any:
        """The wing's model in evaluation mode, with other options."""
        config = replace(self.config, **options)
        return wing.make(getattr(wing.lib, self.name), config, *self.more)

    def call(self, wing, model, inputs, *, dtype="float64", padded=False) -> Any:
        """The model's output; `padded` hides the end of the first sequence."""
        arrays = [wing.array(x, dtype if x.dtype.kind == "f" else None) for x in inputs]
        first = len(arrays) - len(self.names)
        named = dict(zip(self.names, arrays[first:], strict=True))
        if padded:
            length = inputs[0].shape[1]
            named[self.mask] = wing.lib.padding_mask([3, length], length)
        return model(*arrays[:first], **named)


def _ids(*lengths: int) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    return lambda rng: tuple(rng.integers(0, V, (B, length)) for length in lengths)


def _segments(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return rng.integers(0, V, (B, T)), rng.integers(0, 2, (B, T))


def _floats(*shape: int) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    return lambda rng: (rng.standard_normal((B, *shape)),)


def _masked_words(weights, config, ids, types):
    hidden = oracle.bert(ids, oracle.part(weights, "bert"), config, types)
    return oracle.bert_mlm(hidden, weights, config)


def _classes(weights, config, ids):
    bert = oracle.part(weights, "bert")
    pooled = oracle.bert_pool(oracle.bert(ids, bert, config), bert)
    return pooled @ weights["head.weight"].T + weights["head.bias"]


MODELS = {
    model.name: model
    for model in (
        Model(
            "GPT",
            GPTConfig(**SIZES, **WORDS),
            _ids(T),
            lambda weights, config, ids: oracle.gpt(ids, weights, config),
            mask="mask",
        ),
        Model(
            "BERTForMaskedLM",
            BERTConfig(**SIZES, **WORDS),
            _segments,
            _masked_words,
            mask="mask",
            names=("token_types",),
        ),
        Model(
            "BERTForClassification",
            BERTConfig(**SIZES, **WORDS),
            _ids(T),
            _classes,
            more=(3,),
            mask="mask",
        ),
        Model(
            "Seq2Seq",
            Seq2SeqConfig(**SIZES, **WORDS),
            _ids(S, T),
            lambda weights, config, source, target: oracle.seq2seq(
                source, target, weights, config
            ),
            mask="source_mask",
        ),
        Model(
            "ViT",
            ViTConfig(**SIZES, image_size=(4, 6), patch_size=2, n_classes=5),
            _floats(3, 4, 6),
            lambda weights, config, images: oracle.vit(images, weights, config),
        ),
        Model(
            "Forecaster",
            ForecasterConfig(**SIZES, past=15, horizon=7, patch_size=5, n_series=3),
            _floats(15, 3),
            lambda weights, config, past: oracle.forecaster(past, weights, config),
        ),
    )
}


def dropouts(wing, model) -> dict[str, Any]:
    """Every dropout layer of a model, by its path."""
    if wing.name == "torch":
        from torch import nn

        named = model.named_modules()
        return {path: part for path, part in named if isinstance(part, nn.Dropout)}
    from flax import nnx

    return {
        ".".join(map(str, path)): part
        for path, part in nnx.iter_graph(model)
        if isinstance(part, nnx.Dropout)
    }


def set_rates(wing, layers: dict[str, Any], rates: dict[str, float]) -> None:
    """Give each dropout layer its rate, and all others 0."""
    for path, layer in layers.items():
        setattr(layer, "p" if wing.name == "torch" else "rate", rates.get(path, 0.0))


def rates_of(wing, layers: dict[str, Any]) -> dict[str, float]:
    """The rate of each dropout layer."""
    name = "p" if wing.name == "torch" else "rate"
    return {path: getattr(layer, name) for path, layer in layers.items()}


def randomize(wing, model, seed=0, size=0.3):
    """Draw every parameter anew, in float64: no zero biases, no unit scales.

    Returns the model and its weights as they are now.
    """
    rng = np.random.default_rng(seed)
    wing.cast(model, "float64")
    weights = wing.lib.get_weights(model)
    drawn = {
        name: size * rng.standard_normal(weights[name].shape)
        + (weights[name].ndim == 1 and name.endswith("norm.weight"))
        for name in sorted(weights)
    }
    wing.lib.set_weights(model, drawn)
    return model, drawn


def assert_wings_agree(both, build, call):
    """The same weights give the same output and the same gradients, to 1e-10.

    Args:
        both: The two wings.
        build: A wing's model in evaluation mode.
        call: What to do with a wing and its model; returns its output.
    """
    models = [randomize(wing, build(wing))[0] for wing in both]
    outputs = [w.numpy(call(w, m)) for w, m in zip(both, models, strict=True)]
    assert_close(outputs[1], outputs[0])
    # Weights of the sum that differ, or a softmax or norm at the end would hide it.
    ramp = np.sin(np.arange(outputs[0].size)).reshape(outputs[0].shape)
    grads = [
        w.parameter_grads(m, lambda m, w=w: (call(w, m) * w.array(ramp)).sum())
        for w, m in zip(both, models, strict=True)
    ]
    assert grads[0].keys() == grads[1].keys()
    scale = max(np.abs(g).max() for g in grads[0].values())
    assert scale > 1e-3
    for name in grads[0]:
        np.testing.assert_allclose(
            grads[1][name], grads[0][name], rtol=0, atol=1e-10 * scale, err_msg=name
        )


def count(wing, name, config, *more) -> int:
    """Parameters of a model that is never given memory.

    In JAX, whose time grows with the square of the depth, the second block counts for
    the others.
    """
    model = getattr(wing.lib, name)
    if wing.name == "torch":
        import torch

        with torch.device("meta"):
            return sum(p.numel() for p in model(config, *more).parameters())
    import jax
    from flax import nnx

    def size(depth: int) -> int:
        shallow = replace(config, n_layers=depth)
        shapes = nnx.eval_shape(lambda: model(shallow, *more, rngs=nnx.Rngs(0)))
        return sum(p.size for p in jax.tree.leaves(nnx.state(shapes, nnx.Param)))

    return size(1) + (config.n_layers - 1) * (size(2) - size(1))

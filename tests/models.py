"""Whole models for tests: other weights than the start's, the same in both wings."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from wings import assert_close

from course_lib.config import (
    ACTIVATIONS,
    ADDED_POSITIONS,
    GRID_POSITIONS,
    NORM_KINDS,
    NORMS,
    POSITIONS,
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
THREE = ("learned", "rotary", "relative")  # one adds, one turns, one biases


@dataclass(frozen=True)
class Model:
    """A model: how it is built and what it reads.

    Args:
        name: Its class.
        config: Its configuration.
        inputs: Inputs for a configuration, drawn at random; `small` is one of length 1.
        choices: Values of fields that change no input's shape.
        small: Fields of a configuration whose sizes are 1.
        more: Arguments of the class behind the configuration.
        mask: Keyword of the mask over the first input, if there is one.
        names: Keywords of the last inputs; the others are given in order.
    """

    name: str
    config: TransformerConfig
    inputs: Callable[..., tuple[np.ndarray, ...]]
    choices: dict[str, tuple] = field(default_factory=dict)
    small: dict[str, Any] = field(default_factory=dict)
    more: tuple = ()
    mask: str = ""
    names: tuple[str, ...] = ()

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Inputs of the model as it is."""
        return self.inputs(rng, self.config)

    def build(self, wing, **options) -> Any:
        """The wing's model in evaluation mode, with other options."""
        config = replace(self.config, **options)
        return wing.make(getattr(wing.lib, self.name), config, *self.more)

    def random(self, wing, **options) -> Any:
        """The same with other weights than the start's."""
        return randomize(wing, self.build(wing, **options))[0]

    def call(self, wing, model, inputs, *, dtype="float64", mask=None) -> Any:
        """The model's output; the mask is of the first input."""
        arrays = [wing.array(x, dtype if x.dtype.kind == "f" else None) for x in inputs]
        first = len(arrays) - len(self.names)
        named = dict(zip(self.names, arrays[first:], strict=True))
        if mask is not None:
            named[self.mask] = wing.array(mask)
        return model(*arrays[:first], **named)


def _ids(*lengths: int) -> Callable[..., tuple[np.ndarray, ...]]:
    def draw(rng, config, small=False):
        shapes = [(1, 1) if small else (B, length) for length in lengths]
        return tuple(rng.integers(0, V, shape) for shape in shapes)

    return draw


def _segments(rng, config, small=False):
    shape = (1, 1) if small else (B, T)
    return rng.integers(0, V, shape), rng.integers(0, 2, shape)


def _images(rng, config, small=False):
    shape = (1 if small else B, config.n_channels, *config.image_shape)
    return (rng.standard_normal(shape),)


def _windows(rng, config, small=False):
    shape = (1 if small else B, config.past, config.n_series)
    return (rng.standard_normal(shape),)


FORMS = {"norm": NORMS, "activation": ACTIVATIONS}
CHOICES = {
    **{**FORMS, "position": POSITIONS, "norm_kind": NORM_KINDS},
    "n_kv_heads": (None, 1),
}
MODELS = {
    model.name: model
    for model in (
        Model(
            "GPT",
            GPTConfig(**SIZES, **WORDS),
            _ids(T),
            {**CHOICES, "bias": (True, False), "tie_head": (True, False)},
            mask="mask",
        ),
        Model(
            "BERTForMaskedLM",
            BERTConfig(**SIZES, **WORDS),
            _segments,
            CHOICES,
            mask="mask",
            names=("token_types",),
        ),
        Model(
            "BERTForClassification",
            BERTConfig(**SIZES, **WORDS),
            _segments,
            more=(3,),
            mask="mask",
            names=("token_types",),
        ),
        Model(
            "Seq2Seq",
            Seq2SeqConfig(**SIZES, **WORDS),
            _ids(S, T),
            {
                **CHOICES,
                **{"tie_head": (True, False), "head_bias": (True, False)},
                **{"scale_embeddings": (True, False), "interleaved": (True, False)},
                **{"n_decoder_layers": (None, 1), "share_embeddings": (True, False)},
            },
            {"share_embeddings": False, "target_vocab_size": 17},
            mask="source_mask",
        ),
        Model(
            "ViT",
            ViTConfig(**SIZES, image_size=(4, 6), patch_size=2, n_classes=5),
            _images,
            {**FORMS, "position": GRID_POSITIONS},
            {"image_size": 2, "n_channels": 1},
        ),
        Model(
            "Forecaster",
            ForecasterConfig(**SIZES, past=15, horizon=7, patch_size=5, n_series=3),
            _windows,
            {
                **FORMS,
                "position": ADDED_POSITIONS,
                "n_quantiles": (None, 1, 2),
            },
            {"past": 1, "horizon": 1, "patch_size": 1, "n_series": 1},
        ),
    )
}


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

    Returns:
        The gradients of a sum over the outputs, by path.
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
    for name, grad in grads[0].items():
        size = max(np.abs(grad).max(), 1e-3 * scale)  # a key's bias has 0 in theory
        np.testing.assert_allclose(
            grads[1][name], grad, rtol=0, atol=1e-10 * size, err_msg=name
        )
    return grads[0]


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

"""Whole models for tests: other weights than the start's, the same in both wings."""

import numpy as np
from wings import assert_close


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


def count(wing, build) -> int:
    """Parameters of a model that is never given memory."""
    if wing.name == "torch":
        import torch

        with torch.device("meta"):
            return sum(p.numel() for p in build().parameters())
    import jax
    from flax import nnx

    model = nnx.eval_shape(lambda: build(rngs=nnx.Rngs(0)))
    return sum(p.size for p in jax.tree.leaves(nnx.state(model, nnx.Param)))

"""Tiny checkpoints of `transformers`, made here, for the tests of the hub."""

import json
import os

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when the libraries are imported

pytest.importorskip("safetensors")
transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

from safetensors.numpy import load_file, save_file  # noqa: E402

from course_lib.hub import load  # noqa: E402

V, MAX = 13, 11
BEFORE_5 = int(transformers.__version__.split(".")[0]) < 5


def randomize(model, seed=0):
    """Every number drawn anew: no zero biases, no unit scales, no small logits.

    Some tables are loud, so that a greedy text depends on what it goes on from.
    """
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" in name or not p.is_floating_point():
                continue  # fixed sines, counters
            norm = name.endswith("weight") and p.ndim == 1
            loud = any(table in name for table in ("wpe", "shared", "embed_tokens"))
            size = 1.5 if loud else 0.1 if p.ndim == 1 else 0.3
            p.copy_(size * torch.randn(p.shape, generator=draw) + norm)
    return model.eval()


def save(model, folder, **options):
    model.save_pretrained(folder, **options)
    return folder


def edit(folder, **changes):
    """Change fields of config.json; a field that becomes `...` is taken out."""
    path = folder / "config.json"
    fields = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in fields.items() if v is not ...}))
    return folder


def rewrite(folder, change):
    """Change the arrays of a checkpoint."""
    path = folder / "model.safetensors"
    arrays = change(load_file(path))
    # The format holds bytes as they lie.
    save_file({k: np.ascontiguousarray(a) for k, a in arrays.items()}, path)
    return folder


def assert_logits(got, expected):
    got, expected = np.asarray(got), expected.detach().float().numpy()
    assert got.shape == expected.shape
    assert got.dtype == np.float32
    assert np.abs(expected).max() > 0.2  # else 1e-4 would say little
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4)


def logits(wing, model, *arrays, **masks):
    """What our model says, as NumPy."""
    given = [wing.array(a) for a in arrays]
    named = {name: wing.array(a) for name, a in masks.items() if a is not None}
    return wing.numpy(model(*given, **named))


def assert_same_logits(wing, folder, theirs, ids):
    """What is loaded from the folder says what their model says; returns it."""
    ours = load(folder, wing.name)
    assert_logits(logits(wing, ours, ids), theirs(torch.from_numpy(ids)).logits)
    return ours


def assert_read_alike(both, folder):
    """Both wings read the same configuration, and the same numbers."""
    ours = [load(folder, wing.name) for wing in both]
    assert ours[0].config == ours[1].config
    first, second = (w.lib.get_weights(m) for w, m in zip(both, ours, strict=True))
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(second[name], first[name])


def greedy(theirs, prompts, n):
    """The n likeliest tokens after each prompt, one after the other, by their model."""
    return [
        theirs.generate(
            torch.from_numpy(p[None]),
            attention_mask=torch.ones(1, len(p), dtype=torch.long),
            max_new_tokens=n,
            do_sample=False,
            pad_token_id=0,
        )[0, len(p) :].tolist()
        for p in prompts
    ]


def refuse(folder, match):
    with pytest.raises(ValueError, match=match):
        load(folder)

"""Translation: what is written is what the model finds likeliest, in both wings."""

from dataclasses import replace

import numpy as np
import pytest
from models import randomize
from wings import assert_close, each, get_wing

from course_lib.config import Seq2SeqConfig

B, S, V, START, STOP = 3, 5, 11, 1, 2
CONFIG = Seq2SeqConfig(vocab_size=V, max_len=13, d_model=12, n_layers=1, n_heads=3)


def build(wing, config=CONFIG):
    return randomize(wing, wing.make(wing.lib.Seq2Seq, config), size=0.6)[0]


@pytest.fixture(scope="module")
def models():
    """A model for each wing, made once."""
    made = {}

    def get(wing):
        if wing.name not in made:
            made[wing.name] = build(wing)
        return made[wing.name]

    return get


def source(rng, length=S, batch=B):
    return rng.integers(3, V, (batch, length))


def write(wing, model, ids, n=7, **options):
    options = {"start_token": START, "stop_token": STOP, **options}
    return wing.lib.translate(model, wing.array(ids), max_new_tokens=n, **options)


def unwritten(wing, model, ids, n):
    """A token that does not end a text of n tokens."""
    return next(
        t for t in range(V) if len(write(wing, model, ids, n, stop_token=t)[0]) == n
    )


def test_each_token_is_the_likeliest_given_those_before(wing, rng, models):
    ids, model = source(rng), models(wing)
    for row, target in zip(ids, write(wing, model, ids), strict=True):
        given = np.full((1, 8), START)  # of one length: one shape for JAX
        given[0, 1 : 1 + len(target)] = target
        logits = wing.numpy(model(wing.array(row[None]), wing.array(given)))[0]
        likeliest = logits.argmax(-1).tolist()
        assert likeliest[: len(target)] == target
        assert len(target) == 7 or likeliest[len(target)] == STOP


def test_both_wings_write_the_same(both, rng, models):
    ids = source(rng)
    texts = [write(w, models(w), ids) for w in both]
    assert texts[0] == texts[1]


def test_padding_the_source_changes_nothing(wing, rng, models):
    ids, model = source(rng), models(wing)
    # What stands there is not even the padding id: the mask alone says what counts.
    padded = np.concatenate([ids, source(rng, length=8)], axis=1)
    mask = wing.array(np.tile(np.arange(13) < S, (B, 1, 1, 1)))
    expected = write(wing, model, ids)
    assert write(wing, model, padded, source_mask=mask) == expected


@each("position", ["sinusoidal", "none"], nnx=["sinusoidal"])
def test_writing_in_parts_equals_writing_at_once(wing, rng, position):
    model = build(wing, replace(CONFIG, position=position))
    model = wing.cast(model, "float64")
    memory = model.encode(wing.array(source(rng)))
    target = rng.integers(3, V, (B, 7))
    whole = wing.numpy(model.decode(wing.array(target), memory))
    cache = model.begin(memory, 7)
    parts = [
        wing.numpy(model.read(wing.array(target[:, i:j]), cache))
        for i, j in ((0, 1), (1, 4), (4, 5), (5, 7))
    ]
    assert_close(np.concatenate(parts, axis=1), whole)


def test_no_more_is_begun_than_there_are_positions(wing, rng, models):
    model = models(wing)
    memory = model.encode(wing.array(source(rng)))
    model.begin(memory, CONFIG.max_len)
    with pytest.raises(ValueError, match="13"):
        model.begin(memory, CONFIG.max_len + 1)
    with pytest.raises(ValueError, match="n_positions must be a whole number"):
        model.begin(memory, 0)


def test_the_longest_target_fills_all_positions(wing, rng, models):
    model, ids = models(wing), source(rng, batch=1)
    whole = CONFIG.max_len
    never = unwritten(wing, model, ids, whole)
    (target,) = write(wing, model, ids, whole, stop_token=never)
    assert len(target) == whole


def test_the_source_is_encoded_and_projected_once():
    torch, lib = pytest.importorskip("torch"), pytest.importorskip("course_lib.torch")
    model, source = lib.Seq2Seq(CONFIG).eval(), np.array([[3, 4, 5]])
    never = unwritten(get_wing("torch"), model, source, 9)
    calls = {"encoder.0": 0, "decoder.0.cross_attention.k_proj": 0}
    for name in calls:

        def count(*_, name=name):
            calls[name] += 1

        model.get_submodule(name).register_forward_hook(count)
    target = lib.translate(
        model,
        torch.tensor(source),
        start_token=START,
        stop_token=never,
        max_new_tokens=9,
    )
    assert len(target[0]) == 9
    assert set(calls.values()) == {1}


def test_a_size_or_token_that_makes_no_sense_is_refused(wing, rng, models, no_hook):
    model = models(wing)
    with pytest.raises(ValueError, match="max_new_tokens must be"):
        write(wing, model, source(rng), n=0)
    for bad in (-1, V, 1.5):
        with pytest.raises(ValueError, match=f"got {bad} in a stop token"):
            write(wing, model, source(rng), stop_token=bad)


def test_a_token_outside_its_vocabulary_is_refused(wing, models):
    model = models(wing)
    for bad in (V, -1):
        with pytest.raises(ValueError, match=f"0 to {V - 1}: got {bad} in source"):
            write(wing, model, np.array([[3, bad]]))
    with pytest.raises(ValueError, match=f"0 to {V - 1}: got {V} in a start token"):
        write(wing, model, np.array([[3]]), start_token=V)

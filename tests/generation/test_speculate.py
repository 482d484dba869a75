"""Speculative decoding: fewer readings, and exactly the target's texts."""

import dataclasses
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import randomize
from wings import each

from course_lib import oracle
from course_lib.config import GPTConfig
from course_lib.config.sampling import Sampling
from course_lib.generation import speculative
from course_lib.generation.inputs import generation_inputs

V = 13
CONFIG = GPTConfig(
    vocab_size=V, max_len=61, d_model=12, n_layers=2, n_heads=6, n_kv_heads=3
)
SMALL = dataclasses.replace(CONFIG, d_model=8, n_layers=1, n_heads=2, n_kv_heads=None)
PROMPTS = [[1, 2, 3], [4], [1, 2, 7, 8, 9]]


def gpt(wing, config, seed=0):
    return randomize(wing, wing.make(wing.lib.GPT, config), seed=seed, size=0.6)[0]


@pytest.fixture(scope="module")
def models():
    """Target and draft for each wing, made once."""
    made = {}

    def pair(wing):
        if wing.name not in made:
            made[wing.name] = gpt(wing, CONFIG), gpt(wing, SMALL, seed=1)
        return made[wing.name]

    return pair


def law(write):
    """Every outcome of `write(choose)` with its probability, by following each draw."""
    found, open_paths = {}, [((), 1.0)]
    while open_paths:
        path, mass = open_paths.pop()
        steps = iter(path)

        def choose(weights, steps=steps):
            place = next(steps, None)
            if place is None:
                raise LookupError(weights)
            return place

        try:
            outcome = write(choose)
        except LookupError as fork:
            (weights,) = fork.args
            shares = weights / weights.sum()
            open_paths += [((*path, i), mass * s) for i, s in enumerate(shares) if s]
        else:
            found[outcome] = found.get(outcome, 0.0) + mass
    return found


distributions = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any)


@given(distributions, distributions)
def test_a_drafted_token_becomes_the_targets(p, q):
    p, q = np.array(p) / sum(p), np.array(q) / sum(q)
    accept, rest = oracle.speculative_rule(p, q)
    np.testing.assert_allclose(q * accept + (1 - q @ accept) * rest, p, atol=1e-12)

    def one(choose):
        drafted = choose(q)
        rows = np.stack([p, np.eye(4)[3]])
        return tuple(speculative._verify(rows, q[None], [drafted], choose))

    found = law(one)
    assert {text[1:] for text in found} <= {(), (3,)}
    for token in range(4):
        mass = sum(m for text, m in found.items() if text[0] == token)
        np.testing.assert_allclose(mass, p[token], atol=1e-12)
        kept = found.get((token, 3), 0.0)
        np.testing.assert_allclose(kept, q[token] * accept[token], atol=1e-12)


def sized(vocab_size):
    """What is asked of a model before it reads."""
    return SimpleNamespace(
        config=SimpleNamespace(vocab_size=vocab_size),
        positions=SimpleNamespace(max_len=None),
    )


def tables(seed, vocab):
    """A reader whose next token depends on all of the text."""

    def read(text, n):
        ends = range(len(text) - n + 1, len(text) + 1)
        rows = [np.random.default_rng([seed, *text[:end]]) for end in ends]
        return np.stack([rng.dirichlet(np.ones(vocab)) for rng in rows])

    return read


@pytest.mark.parametrize("n_draft", [1, 2, 3])
def test_the_law_of_a_text_is_the_targets(n_draft):
    target, draft, words = tables(1, 3), tables(2, 3), [[2, 0]]
    inputs = generation_inputs([[0, 1]], sized(3), max_new_tokens=3, stop=words)

    def write(choose):
        found = speculative.speculate(
            target, draft, inputs, 0, n_draft=n_draft, choose=choose
        )
        return tuple(found.tokens)

    expected = {}
    for text in product(range(3), repeat=3):
        mass = np.prod([target([0, 1, *text[:i]], 1)[0, x] for i, x in enumerate(text)])
        kept = text[:0] if text[:2] == (2, 0) else text
        kept = text[:1] if text[1:] == (2, 0) else kept
        expected[kept] = expected.get(kept, 0.0) + mass
    found = law(write)
    assert found.keys() == expected.keys()
    for text, mass in expected.items():
        np.testing.assert_allclose(found[text], mass, atol=1e-12)


@each("n_draft", [2], nnx=[])
def test_the_law_of_a_gpts_text_is_its_own(wing, n_draft):
    config = dataclasses.replace(SMALL, vocab_size=2, max_len=7)
    target, draft = gpt(wing, config), gpt(wing, config, seed=1)
    inputs = generation_inputs([[0, 1]], sized(2), max_new_tokens=3)
    reader = wing.module("generation.speculate").Reader
    readers = [reader(m, 7, Sampling()) for m in (target, draft)]

    def write(choose):
        found = speculative.speculate(
            *readers, inputs, 0, n_draft=n_draft, choose=choose
        )
        return tuple(found.tokens)

    found = law(write)
    for text in product(range(2), repeat=3):
        z = wing.numpy(target(wing.array(np.array([[0, 1, *text]]))))[0]
        shares = [oracle.softmax(z[1 + i])[x] for i, x in enumerate(text)]
        np.testing.assert_allclose(found[text], np.prod(shares), rtol=1e-5)


@each(
    ("position", "n_draft"),
    list(product(["learned", "rotary", "alibi"], [1, 4, 17])),
    nnx=[("learned", 4)],
)
def test_greedy_is_greedy_whatever_the_draft(wing, position, n_draft):
    target = gpt(wing, dataclasses.replace(CONFIG, position=position))
    draft = gpt(wing, dataclasses.replace(SMALL, position=position), seed=1)
    expected = wing.lib.generate(target, PROMPTS, max_new_tokens=11, temperature=0.0)
    found = wing.lib.speculate(
        target, draft, PROMPTS, max_new_tokens=11, n_draft=n_draft, temperature=0.0
    )
    assert [one.tokens for one in found] == expected
    assert any(one.n_accepted < one.n_tested for one in found)


SETTINGS = [
    {},
    {"n_draft": 1, "seed": 3},
    {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "min_p": 0.05},
    {"stop_token": 2, "stop": [[3, 4], [5]]},
]


@each("n_draft", [4], nnx=[])
def test_a_draft_like_the_target_is_always_right(wing, models, n_draft):
    target, _ = models(wing)
    (found,) = wing.lib.speculate(
        target, target, [[1, 2]], max_new_tokens=13, n_draft=n_draft, **SETTINGS[2]
    )
    assert found.n_reads == 3  # 5 + 5 + 3
    assert found.n_accepted == found.n_tested == 10
    assert len(found.tokens) == 13


@pytest.mark.parametrize("settings", SETTINGS)
def test_both_wings_write_the_same(both, models, settings):
    found = [
        w.lib.speculate(*models(w), PROMPTS, max_new_tokens=11, **settings)
        for w in both
    ]
    assert found[0] == found[1]


def test_the_company_changes_nothing(wing, models):
    pair = models(wing)
    texts = wing.lib.speculate(*pair, PROMPTS, max_new_tokens=11)
    first = wing.lib.speculate(*pair, PROMPTS[:1], max_new_tokens=11)
    assert [one.tokens for one in first] == [texts[0].tokens]


def test_stop_words_end_the_text_and_the_reading(wing, models):
    pair = models(wing)
    how = {"max_new_tokens": 11, "temperature": 0.0}
    (free,) = wing.lib.speculate(*pair, PROMPTS[:1], **how)
    words = [free.tokens[3:5]]
    (found,) = wing.lib.speculate(*pair, PROMPTS[:1], stop=words, **how)
    expected = wing.lib.generate(pair[0], PROMPTS[:1], stop=words, **how)
    assert [found.tokens] == expected
    assert found.n_reads < free.n_reads


@each("rate", [0.5], nnx=[])
def test_both_models_are_left_in_training(wing, rate):
    pair = [
        gpt(wing, dataclasses.replace(c, dropout=rate), seed)
        for seed, c in enumerate((CONFIG, SMALL))
    ]
    expected = wing.lib.speculate(*pair, PROMPTS, max_new_tokens=5)
    for model in pair:
        model.train()
    assert wing.lib.speculate(*pair, PROMPTS, max_new_tokens=5) == expected
    ids = wing.array(np.array([[1, 2, 3]]))
    for model in pair:
        first, second = (wing.numpy(model(ids)) for _ in range(2))
        assert np.abs(first - second).max() > 1e-6


def test_what_cannot_be_drafted_is_refused(wing, models):
    target, draft = models(wing)
    other = gpt(wing, dataclasses.replace(SMALL, vocab_size=11))
    with pytest.raises(
        ValueError, match=r"share a vocabulary: got vocab_size=13 and 1"
    ):
        wing.lib.speculate(target, other, PROMPTS, max_new_tokens=3)
    with pytest.raises(ValueError, match=r"n_draft must be .*: got 0"):
        wing.lib.speculate(target, draft, PROMPTS, max_new_tokens=3, n_draft=0)
    with pytest.raises(ValueError, match=r"repetition_penalty: got 1\.5"):
        wing.lib.speculate(
            target, draft, PROMPTS, max_new_tokens=3, repetition_penalty=1.5
        )
    short = gpt(wing, dataclasses.replace(SMALL, max_len=7))
    with pytest.raises(ValueError, match="fit into max_len=7: got 5 and 3"):
        wing.lib.speculate(target, short, PROMPTS, max_new_tokens=3)

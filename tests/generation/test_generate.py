"""Writing text: one seed, one text, whatever the wing, the cache or the company."""

import dataclasses
import math

import numpy as np
import pytest
from models import randomize
from wings import each, get_wing

from course_lib import oracle
from course_lib.config import POSITIONS, GPTConfig

V = 13
CONFIG = GPTConfig(
    vocab_size=V, max_len=61, d_model=12, n_layers=2, n_heads=6, n_kv_heads=3
)
PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9]]
N = 11  # with the longest prompt 16, the least that NNX compiles for


def gpt(wing, config=CONFIG):
    return randomize(wing, wing.make(wing.lib.GPT, config), size=0.6)[0]


@pytest.fixture(scope="module")
def models(request):
    """A model for each wing, made once."""
    made = {}
    return lambda wing: made.setdefault(wing.name, gpt(wing))


def by_hand(wing, model, prompt, n, penalty=1.0):
    """Greedy search, by reading everything again for each token."""
    rows = list(prompt)
    for _ in range(n):
        # What is to come is zeros, which the past can't see: one shape for JAX.
        read = np.zeros((1, 12), int)
        read[0, : len(rows)] = rows
        logits = wing.numpy(model(wing.array(read)))[0, len(rows) - 1]
        logits = oracle.penalize_repetition(logits, rows, penalty)
        rows.append(int(logits.argmax()))
    return rows[len(prompt) :]


def test_temperature_zero_is_greedy_search(wing, models):
    model = models(wing)
    found = wing.lib.generate(model, PROMPTS, max_new_tokens=7, temperature=0.0)
    assert found == [by_hand(wing, model, prompt, 7) for prompt in PROMPTS]


@pytest.mark.parametrize("name", ["temperature", "top_p"])
@pytest.mark.parametrize("value", [1e-46, 1.2e-38, 1e-30])
def test_the_smallest_settings_are_greedy(wing, models, name, value):
    how = {"max_new_tokens": 7, name: value, "top_k": 2**40}
    greedy = {"max_new_tokens": 7, "temperature": 0.0}
    model, (prompt, *_) = models(wing), PROMPTS
    expected = wing.lib.generate(model, [prompt], **greedy)
    assert wing.lib.generate(model, [prompt], **how) == expected
    (found,) = wing.lib.speculate(model, model, [prompt], n_draft=2, **how)
    assert [found.tokens] == expected


@each("position", POSITIONS, nnx=["learned", "relative"])
def test_the_cache_changes_nothing(wing, position):
    model = gpt(wing, dataclasses.replace(CONFIG, position=position))
    texts = [
        wing.lib.generate(model, PROMPTS, max_new_tokens=N, use_cache=cached)
        for cached in (True, False)
    ]
    assert texts[0] == texts[1]
    assert [len(text) for text in texts[0]] == [N] * 3


SETTINGS = [
    {},
    {"temperature": 0.7},
    {"top_k": 3},
    {"top_p": 0.8},
    {"temperature": 1.3, "top_k": 7, "top_p": 0.9, "seed": 5},
    {"stop_token": 2},
    {"stop_token": 2, "stop": [[3, 4], [5], [7, 8, 9]]},
    {"min_p": 0.3},
    {"repetition_penalty": 2.0},
    {"repetition_penalty": 1.5, "temperature": 0.0},
    {"repetition_penalty": 1.5, "top_k": 5, "top_p": 0.9, "min_p": 0.1},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_both_wings_write_the_same_text(both, models, settings):
    texts = [
        w.lib.generate(models(w), PROMPTS, max_new_tokens=N, **settings) for w in both
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"use_cache": False, "seed": 3},
        {"stop_token": 2, "stop": [[3, 4], [5], [7, 8, 9]], "repetition_penalty": 1.5},
    ],
)
def test_a_stream_is_what_generate_returns(wing, models, settings):
    model, texts = models(wing), [[] for _ in PROMPTS]
    for row, token in wing.lib.stream(model, PROMPTS, max_new_tokens=N, **settings):
        texts[row].append(token)
    assert texts == wing.lib.generate(model, PROMPTS, max_new_tokens=N, **settings)


def test_a_stream_writes_on_as_it_is_asked(wing, models):
    model = models(wing)
    (whole,) = wing.lib.generate(model, [[3, 4]], max_new_tokens=N)
    words = [whole[:1] + [(whole[1] + 1) % V] * 2, whole[4:6]]  # begun; and complete
    model.train()
    tokens = wing.lib.stream(model, [[3, 4]], max_new_tokens=N, stop=words)
    drawn = []
    for token in tokens:
        drawn.append(token)
        dropouts = wing.dropouts(model).values()
        mode = "training" if wing.name == "torch" else "deterministic"
        assert {getattr(part, mode) for part in dropouts} == {wing.name == "torch"}
    model.eval()
    assert drawn == [(0, token) for token in whole[:4]]


def test_a_token_comes_before_the_next_is_computed():
    pytest.importorskip("torch")
    wing = get_wing("torch")
    model, calls = gpt(wing, CONFIG), []
    model.register_forward_hook(lambda *_: calls.append(1))
    tokens = wing.lib.stream(model, [[3, 4]], max_new_tokens=5)
    assert not calls
    for n, _ in enumerate(tokens, 1):
        assert len(calls) == n


def cropped_by_hand(wing, model, prompt, n, most):
    """Greedy search with the last `most` tokens read as if they were all."""
    rows = list(prompt)
    for _ in range(n):
        read = rows[-most:]
        filled = np.array([read + [0] * (most - len(read))])
        logits = wing.numpy(model(wing.array(filled)))[0, len(read) - 1]
        rows.append(int(logits.argmax()))
    return rows[len(prompt) :]


@each("position", ["learned", "sinusoidal"], nnx=["learned"])
def test_past_the_positions_the_last_are_read_as_if_they_were_all(wing, position):
    config = dataclasses.replace(CONFIG, max_len=7, position=position)
    model = gpt(wing, config)
    prompts = [[1, 2, 3], [4, 5, 6, 7, 8, 9, 1, 2, 3]]  # one is too long already
    how = {"max_new_tokens": N, "temperature": 0.0, "crop": True}
    expected = [cropped_by_hand(wing, model, prompt, N, 7) for prompt in prompts]
    for cached in (True, False):
        for given, texts in (
            (prompts, expected),
            (prompts[:1], expected[:1]),
            (prompts[1:], expected[1:]),
        ):
            assert wing.lib.generate(model, given, **how, use_cache=cached) == texts
    found = list(wing.lib.stream(model, prompts[:1], **how))
    assert found == [(0, token) for token in expected[0]]
    with pytest.raises(ValueError, match=r"max_len=7: got 3 and 11.* crop=True"):
        wing.lib.generate(model, prompts[:1], max_new_tokens=N)


def test_no_text_depends_on_its_company(wing, models):
    model = models(wing)
    together = wing.lib.generate(model, PROMPTS, max_new_tokens=9)
    first = wing.lib.generate(model, PROMPTS[:1], max_new_tokens=9)
    assert together[:1] == first


def test_a_seed_is_a_text_and_another_seed_another(wing, models):
    model = models(wing)
    once, again, other = (
        wing.lib.generate(model, PROMPTS, max_new_tokens=N, seed=seed)
        for seed in (1, 1, 2)
    )
    assert once == again != other


@pytest.mark.parametrize("only", [{"top_k": 1}, {"min_p": 1.0}])
def test_the_likeliest_alone_is_greedy_search(wing, models, only):
    assert wing.lib.generate(models(wing), PROMPTS, max_new_tokens=7, **only) == (
        wing.lib.generate(models(wing), PROMPTS, max_new_tokens=7, temperature=0.0)
    )


def test_the_penalty_counts_the_prompt_and_what_was_written(wing, models):
    model = models(wing)
    found = wing.lib.generate(
        model, PROMPTS, max_new_tokens=7, temperature=0.0, repetition_penalty=1.5
    )
    assert found == [by_hand(wing, model, prompt, 7, penalty=1.5) for prompt in PROMPTS]
    assert found != [by_hand(wing, model, prompt, 7) for prompt in PROMPTS]


def test_nothing_is_computed_after_the_last_text_has_ended():
    pytest.importorskip("torch")
    wing = get_wing("torch")
    model, calls = gpt(wing, CONFIG), []
    model.register_forward_hook(lambda *_: calls.append(1))
    (text,) = wing.lib.generate(model, [[3, 4]], max_new_tokens=9)
    stop, before = text[2], text.index(text[2])
    calls.clear()
    wing.lib.generate(model, [[3, 4]], max_new_tokens=9, stop_token=stop)
    assert len(calls) == before + 1 < 9


def test_texts_end_at_the_stop_token_and_leave_it_out(wing, models):
    model = models(wing)
    free = wing.lib.generate(model, PROMPTS, max_new_tokens=N)
    stop = free[0][3]
    stopped = wing.lib.generate(model, PROMPTS, max_new_tokens=N, stop_token=stop)
    assert stopped == [t[: t.index(stop)] if stop in t else t for t in free]
    assert len(stopped[0]) <= 3


def ends(text, words):
    """What remains of a text that any of the words ends, by looking at each place."""
    for end in range(len(text) + 1):
        for word in sorted(words, key=len, reverse=True):
            if end >= len(word) and text[end - len(word) : end] == word:
                return text[: end - len(word)]
    return text


def test_texts_end_with_the_first_stop_word_and_leave_it_out(wing, models):
    model = models(wing)
    free = wing.lib.generate(model, PROMPTS, max_new_tokens=N)
    for words in (
        [free[0][3:5], free[1][6:9]],
        [free[1][2:5], free[1][3:5]],  # both are complete at the same place
        [free[2][:1], free[0][N - 3 :]],
    ):
        for cached in (True, False):
            found = wing.lib.generate(
                model, PROMPTS, max_new_tokens=N, stop=words, use_cache=cached
            )
            assert found == [ends(text, words) for text in free]
            assert min(map(len, found)) < N


def test_a_stop_word_that_begins_in_the_prompt_ends_nothing(wing, models):
    model = models(wing)
    free = wing.lib.generate(model, PROMPTS, max_new_tokens=5)
    words = [
        [prompt[-1], *text[:1]] for prompt, text in zip(PROMPTS, free, strict=True)
    ]
    found = wing.lib.generate(model, PROMPTS, max_new_tokens=5, stop=words)
    assert found == [ends(text, words) for text in free]
    assert [len(text) for text in found] == [5] * 3


@each("n", [4000], nnx=[])
def test_frequencies_of_a_drawn_token_are_the_models_probabilities(wing, models, n):
    model = models(wing)
    drawn = wing.lib.generate(model, [[1, 2]] * n, max_new_tokens=1)
    logits = wing.numpy(model(wing.array(np.array([[1, 2]]))))[0, -1]
    p = np.exp(logits - logits.max())
    p /= p.sum()
    frequencies = np.bincount(np.concatenate(drawn), minlength=V) / n
    assert (np.abs(frequencies - p) <= 4 * np.sqrt(p * (1 - p) / n) + 1e-12).all()


def test_a_model_in_training_is_used_as_in_evaluation_and_left_in_training(wing):
    config = dataclasses.replace(CONFIG, dropout=0.5)
    model = gpt(wing, config)
    expected = wing.lib.generate(model, PROMPTS, max_new_tokens=7)
    model.train()
    assert wing.lib.generate(model, PROMPTS, max_new_tokens=7) == expected
    ids = wing.array(np.array([[1, 2, 3]]))
    first, second = (wing.numpy(model(ids)) for _ in range(2))
    assert np.abs(first - second).max() > 1e-6, "dropout is off after generate"


@each("n_beams", [27], nnx=[])
def test_beams_of_full_width_find_the_most_probable_text(wing, n_beams):
    config = GPTConfig(vocab_size=3, max_len=7, d_model=6, n_layers=1, n_heads=2)
    model = gpt(wing, config)
    best, *rest = wing.lib.beam_search(model, [0], n_beams=n_beams, max_new_tokens=3)
    assert len(rest) == n_beams - 1
    log_probs = {}
    for tokens in np.ndindex(3, 3, 3):
        rows = wing.array(np.array([[0, *tokens[:2]]]))
        z = wing.numpy(model(rows))[0]
        z = z - np.log(np.exp(z).sum(-1, keepdims=True))
        log_probs[tokens] = sum(z[i, token] for i, token in enumerate(tokens))
    assert best.tokens == max(log_probs, key=log_probs.get)
    np.testing.assert_allclose(
        [h.log_prob for h in [best, *rest]], sorted(log_probs.values())[::-1], atol=1e-9
    )
    greedy = wing.lib.generate(model, [[0]], max_new_tokens=3, temperature=0.0)[0]
    assert best.log_prob >= log_probs[tuple(greedy)] - 1e-9


def test_both_wings_find_the_same_beams(both, models):
    found = [
        w.lib.beam_search(
            models(w),
            [1, 2],
            n_beams=4,
            max_new_tokens=7,
            stop_token=3,
            length_penalty=0.6,
        )
        for w in both
    ]
    assert [h.tokens for h in found[0]] == [h.tokens for h in found[1]]
    np.testing.assert_allclose(
        [h.score for h in found[0]], [h.score for h in found[1]], atol=1e-9
    )


def test_nnx_compiles_once_for_any_prompt_and_any_setting(models):
    pytest.importorskip("flax")
    wing = get_wing("nnx")
    module = wing.module("generation.write")
    model = models(wing)
    wing.lib.generate(model, [[1, 2]], max_new_tokens=9)
    before = module._compiled._cache_size()
    for prompt, settings in (
        ([3], {}),
        ([1] * 7, {"seed": 3}),
        ([4, 5], {"temperature": 0.5, "top_k": 3, "top_p": 0.5}),
        ([4, 5], {"min_p": 0.2, "repetition_penalty": 1.3}),
        ([4, 5], {"temperature": 0.0, "stop_token": 2, "max_new_tokens": 6}),
    ):
        wing.lib.generate(model, [prompt], **({"max_new_tokens": 9} | settings))
    assert module._compiled._cache_size() == before


BAD = {
    "an empty prompt": ({"prompts": [[1], []]}, "at least one token"),
    "no prompt": ({"prompts": []}, "must be a prompt: got none"),
    "a token that does not exist": ({"prompts": [[1, V]]}, "from 0 to 12: got 13"),
    "a token below 0": ({"prompts": [[1, -2]]}, "from 0 to 12: got -2"),
    "half a token": ({"prompts": [[3, 1.5]]}, r"whole numbers .* got 1\.5"),
    "no number": ({"prompts": [[1, float("nan")]]}, "whole numbers .* got nan"),
    "texts": ({"prompts": ["ab", "c"]}, r"the text 'ab'\. .* tokenizer\.encode"),
    "one text": ({"prompts": "ab"}, r"the text 'ab'\. .* tokenizer\.encode"),
    "letters": ({"prompts": [["a", "b"]]}, r"the text \['a', 'b'\]"),
    "a prompt without its list": (
        {"prompts": [1, 2, 3]},
        r"a sequence of token ids: got 1\. .* so is a single one: \[\[1, 2, 3\]\]",
    ),
    "a list too many": ({"prompts": [[[1, 2]]]}, r"got \[\[1, 2\]\]\. Several"),
    "rows of different lengths": ({"prompts": [[[1, 2], [3]]]}, r"got \[\[1, 2\], "),
    "nothing in a place": ({"prompts": [[None, 1]]}, r"got \[None, 1\]"),
    "more than the positions": (
        {"max_new_tokens": 60},
        "fit into max_len=61: got 5 and 60.* the last 61 tokens alone with crop=True",
    ),
    "nothing to write": ({"max_new_tokens": 0}, "max_new_tokens must be"),
    "a negative temperature": ({"temperature": -1.0}, "temperature must be"),
    "no token to draw from": ({"top_k": 0}, "top_k must be"),
    "no mass to draw from": ({"top_p": 0.0}, "top_p must be"),
    "a share above one": ({"min_p": 1.5}, "min_p must be"),
    "an empty stop word": (
        {"stop": [[1], []]},
        r"at least one token: got \[\[1\], \[\]\]",
    ),
    "a stop word of a token that does not exist": (
        {"stop": [[1, V]]},
        "from 0 to 12: got 13 in a stop word",
    ),
    "a stop word without its list": (
        {"stop": [1, 2]},
        r"a stop word must be a sequence of token ids: got 1\. Several stop words are",
    ),
    "no penalty": ({"repetition_penalty": 0.0}, "repetition_penalty must be"),
    "a stop token below 0": (
        {"stop_token": -1},
        "from 0 to 12: got -1 in a stop token",
    ),
    "a stop token of none": ({"stop_token": V}, "0 to 12: got 13 in a stop token"),
    "half a stop token": ({"stop_token": 1.5}, r"got 1\.5 in a stop token"),
    "NumPy's 0 tokens": ({"max_new_tokens": np.int64(0)}, "max_new_tokens must be"),
    "NumPy's no token to draw from": ({"top_k": np.int64(0)}, "top_k must be"),
    "NumPy's temperature": ({"temperature": np.float32(-1)}, "temperature must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_written_is_refused(wing, models, no_hook, case):
    options, message = BAD[case]
    options = {"prompts": PROMPTS, "max_new_tokens": 3} | options
    prompts = options.pop("prompts")
    with pytest.raises(ValueError, match=message):
        wing.lib.generate(models(wing), prompts, **options)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("ab", "the text 'ab'"),
        (5, "got 5"),
        ([[1, 2]], r"got \[\[1, 2\]\]"),
        ([V], "from 0 to 12: got 13 in a prompt"),
        ([], "at least one token"),
    ],
)
def test_beams_begin_with_one_prompt(wing, models, no_hook, prompt, message):
    with pytest.raises(ValueError, match=message):
        wing.lib.beam_search(models(wing), prompt, n_beams=2, max_new_tokens=3)


def test_a_prompt_may_be_any_sequence_of_whole_numbers(wing, models):
    row = [1, 2, 3]
    kinds = [row, tuple(row), np.array(row), np.array(row, "int32"), wing.array(row)]
    texts = wing.lib.generate(models(wing), kinds[:1], max_new_tokens=3, seed=7)
    for kind in kinds[1:]:
        found = wing.lib.generate(models(wing), [kind], max_new_tokens=3, seed=7)
        assert found == texts
    rows = wing.array(np.array([row, row, row]))
    assert wing.lib.generate(models(wing), rows, max_new_tokens=3, seed=7)[:1] == texts


def test_numpys_numbers_are_settings_as_pythons_are(wing, models, no_hook):
    plain = {"max_new_tokens": 3, "seed": 7, "stop_token": 2, "top_k": 5, "top_p": 0.5}
    numpys = {
        k: (np.float32 if k == "top_p" else np.int64)(v) for k, v in plain.items()
    }
    expected = wing.lib.generate(models(wing), PROMPTS, **plain)
    assert wing.lib.generate(models(wing), PROMPTS, **numpys) == expected


def no_number(wing, value):
    """A model whose scores are NaN, or infinite, from some token on."""
    model = wing.make(wing.lib.GPT, CONFIG)
    weights = wing.lib.get_weights(model)
    weights["norm.weight"][0] = value
    wing.lib.set_weights(model, weights)
    return model


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_scores_that_are_no_numbers_are_refused(wing, temperature, value):
    model, how = no_number(wing, value), {"temperature": temperature}
    how["max_new_tokens"] = 3
    said = "score each next token with a number: got NaN or infinity for "
    with pytest.raises(ValueError, match=said + "token 3 of row 0"):
        wing.lib.generate(model, [[1, 2, 3], [1, 2, 3, 4]], **how)
    with pytest.raises(ValueError, match=said):
        wing.lib.speculate(model, model, [[1, 2, 3]], **how)
    with pytest.raises(ValueError, match=said):
        wing.lib.beam_search(model, [1, 2], n_beams=2, max_new_tokens=3)


def test_64_bits_are_made_on_the_cpu_alone(monkeypatch):
    """Apple's devices have none."""
    torch, lib = pytest.importorskip("torch"), pytest.importorskip("course_lib.torch")
    moved, cpu, double = [], torch.Tensor.cpu, torch.Tensor.double

    def to_cpu(tensor):
        moved.append(cpu(tensor).clone())
        return moved[-1]

    def to_double(tensor):
        assert any(tensor is t for t in moved)
        return double(tensor)

    monkeypatch.setattr(torch.Tensor, "cpu", to_cpu)
    monkeypatch.setattr(torch.Tensor, "double", to_double)
    model = lib.GPT(CONFIG)
    lib.beam_search(model, [1, 2], n_beams=2, max_new_tokens=3)
    lib.speculate(model, model, [[1, 2]], max_new_tokens=3)
    assert moved


def test_no_kernel_that_plans_for_a_length_reads_on_a_gpu():
    """In 16 bits cuDNN's would be first, and a cache's length is always new."""
    torch = pytest.importorskip("torch")
    write = get_wing("torch").module("generation.write")
    flags = torch.backends.cuda
    kernels = (flags.cudnn_sdp_enabled, flags.flash_sdp_enabled, flags.math_sdp_enabled)
    before = [enabled() for enabled in kernels]
    with write.any_length(torch.device("cuda")):
        assert [enabled() for enabled in kernels] == [False, True, True]
    assert [enabled() for enabled in kernels] == before
    with write.any_length(torch.device("cpu")):
        assert [enabled() for enabled in kernels] == before

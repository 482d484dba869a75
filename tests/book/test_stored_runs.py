"""What pages read from files: whole, of the command that has its name, and of the page.

A file in `course_lib/data/trained` is written by a command in `book/checkpoints`, whose
trainings take minutes. Here each is held to its command by what is cheap: settings,
shapes, first steps, a loss. Its page loads it, trains a part of it again and compares.
The published encoder that Part I quotes is measured again.
"""

import dataclasses
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from book_scripts import as_stored, cell, load, stored_run
from book_scripts import page as text_of
from safetensors.numpy import load_file

from course_lib import data, hub
from course_lib.baselines import NGram
from course_lib.config import GPTConfig, TrainConfig


@cache
def command(name: str) -> Any:
    """The command that wrote the file."""
    return load(name, "checkpoints")


def file(name: str):
    return data.trained(name.replace("_", "-"))


@cache
def stored(name: str) -> dict[str, np.ndarray]:
    return load_file(file(name))


@cache
def history(name: str) -> dict[str, Any]:
    """How the training went that made the file."""
    return stored_run(file(name))


@cache
def page(name: str) -> dict[str, Any]:
    """What the cells of its page define that the command runs."""
    return command(name).task()


# Trained models: settings, first steps, and the loss they end with


def errors(made, model):
    images, labels = made.images(made.N_TEST, made.TEST)
    with torch.no_grad():
        guesses = model(torch.from_numpy(images)).argmax(dim=-1).numpy()
    return (guesses != labels).mean()


def surprise(made, model):
    names = page("rewards")
    ids = torch.from_numpy(names["examples"](made.N_TEST, seed=1))
    with torch.no_grad():
        return -names["log_prob"](model, ids).mean().item()


def masked(made, model):
    rows = data.masked_segments(made.N_TEST, made.T, seed=1)[1]
    return made.ct.mean_loss(model, [rows], made.loss)


# How each is built, and judged at the end of its run; and how far its first losses (a
# share) and its last judgment may be from the file's on another processor.
TRAINED = {
    "bert": (lambda made: made.ct.BERTForMaskedLM(made.MODEL), masked, 1e-4, 1e-4),
    "quantization": (
        lambda made: made.ct.GPT(made.MODEL),
        lambda made, model: made.ct.mean_loss(model, [(made.rows(),)], made.loss),
        1e-4,
        1e-4,
    ),
    "rewards": (lambda made: made.ct.GPT(made.MODEL).double(), surprise, 1e-7, 1e-9),
    "vit": (lambda made: made.vit(), errors, 1e-3, 0.002),
}


def first_losses(name: str, run: TrainConfig) -> list[float]:
    """The losses of a run, trained as the command does."""
    made = command(name)
    if name == "bert":
        model = made.ct.BERTForMaskedLM(made.MODEL)
        made.ct.set_weights(model, made.start(made.MODEL))
        run = dataclasses.replace(run, evaluate_every=None)
        return made.ct.fit(model, made.batch, made.loss, config=run).losses
    if name == "vit":
        return made.train(made.vit, run)[1].losses
    return made.train(run)[1]["losses"]


def run_of(name: str) -> TrainConfig:
    made = command(name)
    if name == "vit":
        return made.settings(made.LONG, made.best(history(name)["rates"]["ViT"]))
    return made.RUN


@pytest.mark.parametrize("name", TRAINED)
def test_the_file_is_of_the_command(name):
    made, told, run = command(name), history(name), run_of(name)
    # What a configuration has learned since has its default in the file.
    assert type(made.MODEL)(**told["model"]) == made.MODEL
    assert told["run"] == as_stored(run)
    steps = run.steps
    if name == "bert":
        assert told["cool"] == as_stored(made.COOL)
        assert len(told["losses"]) == made.LIVE
        steps += made.COOL.steps
    assert told["eval_steps"][-1] == steps


@pytest.mark.parametrize("name", TRAINED)
def test_the_first_steps_are_those_of_the_file(name):
    run = run_of(name)
    # Only a constant rate may end while it warms up.
    schedule = "constant" if run.schedule == "cosine" else run.schedule
    few = dataclasses.replace(run, steps=3, schedule=schedule, evaluate_every=3)
    again, (_, _, rtol, _) = first_losses(name, few), TRAINED[name]
    np.testing.assert_allclose(again, history(name)["losses"][:3], rtol=rtol)


@pytest.mark.parametrize("name", TRAINED)
def test_the_weights_have_the_loss_that_the_file_says(name):
    made, (build, judge, _, atol) = command(name), TRAINED[name]
    model = build(made).eval()
    made.ct.load_weights(model, file(name))
    evals = history(name)["evals"]
    said = (evals["errors"] if name == "vit" else evals)[-1]
    assert abs(judge(made, model) - said) < atol


def test_the_page_on_rewards_loads_that_model_in_double_precision():
    made = command("rewards")
    names = {"GPTConfig": GPTConfig, "ct": made.ct, "data": data, "WIDTH": 4}
    exec(cell("rewards", "config = GPTConfig("), names)
    assert names["config"] == made.MODEL
    for name, weights in made.ct.get_weights(names["base"]).items():
        assert weights.dtype == np.float64, name
        assert (weights != weights.astype(np.float32)).any(), name


def test_vit_s_page_in_depth_has_the_command_s_shapes():
    made, names = command("vit"), page("vit_in_depth")
    assert names["shapes_config"] == made.MODEL
    shown = names["shapes"], names["what"]
    for mine, theirs in zip(shown, made.images(made.N_TEST, made.TEST), strict=True):
        np.testing.assert_array_equal(mine, theirs)


# Sweeps: every training is there, and no two are one


def modern_variants(made):
    names: dict[str, Any] = {"GPTConfig": GPTConfig, "data": data}
    names["replace"] = dataclasses.replace
    exec(cell("modern-block", "CHANGES = {"), names)
    return made.all_variants(names), names["CHANGES"]


# Of each file its arrays, and the axes that count runs: None for any number of them.
SWEEPS = {
    "assistants": lambda made: dict.fromkeys(stored("assistants"), (len(made.STARTS),)),
    "depth": lambda made: dict.fromkeys(
        made.KINDS, (len(made.LENGTHS), len(made.RATES), len(made.STARTS))
    ),
    "modern_block": lambda made: {
        **dict.fromkeys(modern_variants(made)[0], (len(made.RATES), len(made.STARTS))),
        **{f"{n}, {made.LONG} steps": (len(made.LONG_STARTS),) for n in made.LONGER},
    },
    "peers": lambda made: {
        "quarters": (len(made.SIZES),),
        **dict.fromkeys(
            ("averages", "trees", "torch", "nnx", "logit"),
            (len(made.ECONOMIES), len(made.SIZES)),
        ),
    },
    "seq2seq": lambda made: {"Bahdanau": (len(made.STARTS),)},
}


@pytest.mark.parametrize("name", SWEEPS)
def test_the_file_has_every_training_and_no_two_are_one(name):
    arrays = SWEEPS[name](command(name))
    assert set(stored(name)) == set(arrays)
    for array, axes in arrays.items():
        found = stored(name)[array]
        assert np.isfinite(found).all(), array
        there = found.shape[: len(axes)]
        assert there == tuple(b or a for a, b in zip(there, axes, strict=True)), array
        runs = found.reshape(math.prod(there), -1)
        assert len(np.unique(runs, axis=0)) == len(runs), array


def test_every_start_of_the_weekend_is_stored():
    made, kept = command("starts"), stored("starts")
    due = {
        f"{Path(sweep.page).stem}/{wing}/{name}": (sweep.starts,)
        for sweep in made.SWEEPS
        for wing in made.WINGS
        for name in sweep.keep
    }
    assert {name: array.shape for name, array in kept.items()} == due
    for name, array in kept.items():
        assert np.isfinite(array).all(), name


def test_what_is_taken_out_of_a_page_of_the_weekend_stands_on_it():
    made = command("starts")
    for sweep in made.SWEEPS:
        text = "\n".join(cell.source for cell in made.cells(sweep.page))
        for old, _ in sweep.edits:
            assert old in text, (sweep.page, old)


@pytest.fixture
def single_precision():
    """As in a kernel; the other tests have JAX compute in float64."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


@pytest.mark.slow
@pytest.mark.usefixtures("single_precision", "no_hook")
@pytest.mark.parametrize("n", range(len(load("starts", "checkpoints").SWEEPS)))
def test_the_first_start_is_what_the_file_says(n):
    """Shares and losses of chaotic trainings: two in a hundred, and other rounding."""
    sweep = command("starts").SWEEPS[n]
    for name, end in command("starts").run(sweep, 0).items():
        said = stored("starts")[f"{Path(sweep.page).stem}/{name}"][0]
        assert abs(end - said) < 0.05 * max(1, abs(said)), name


def test_the_recap_s_longer_text_has_every_start_and_its_own_counts():
    made, kept = command("recap"), stored("recap")
    assert {name: array.shape for name, array in kept.items()} == {
        "counts": (len(made.MEMORIES),),
        "settings": (3,),
        **{wing: (n,) for wing, n in made.STARTS.items()},
    }
    read, unseen, n_letters = made.parts()
    counted = NGram(made.MEMORIES[0] + 1, n_letters).fit(read).losses(unseen)[64:]
    assert abs(counted.mean() - kept["counts"][0]) < 1e-4


def test_each_kind_of_start_has_every_number_of_heads_and_no_single_result():
    made, kept = command("multi_head_in_depth"), stored("multi_head_in_depth")
    assert set(kept) == set(made.STARTS)
    for reached in kept.values():
        assert reached.shape == (len(made.HEADS), len(made.SEEDS))
        assert (reached <= 1).all()
        assert (np.ptp(reached, axis=1) > 0).all()


def test_the_contests_of_bert_have_every_draw():
    made, told = command("bert"), history("bert")
    for name, found in told["contest"].items():
        sizes = ["256"] if name == "the same for longer" else map(str, made.SIZES)
        counted = {n: len(marks) for n, marks in found.items()}
        assert counted == dict.fromkeys(sizes, len(made.DRAWS)), name


def test_a_draw_of_bert_s_contest_is_what_the_file_says():
    made, told = command("bert"), history("bert")["contest"]
    weights = {n: a for n, a in stored("bert").items() if n.startswith("bert.")}
    exam, task = data.continuations(1000, seed=1), data.continuations(64, seed=10)
    for name, features in (("counts", made.counts), ("products", made.products)):
        assert made.by_regression(features, task, exam) == told[name]["64"][0]
    ours = made.by_bert(task, exam, 10, made.TUNE, 16, weights)
    assert abs(ours - told["BERT, pre-trained"]["64"][0]) < 0.03


def test_the_races_of_vit_are_complete_and_its_rates_inside_their_ranges():
    made, told = command("vit"), history("vit")
    for name, tried in made.RATES.items():
        assert list(told["rates"][name]) == [f"{rate:g}" for rate in tried]
        assert min(tried) < made.best(told["rates"][name]) < max(tried)
    assert [(row["model"], row["images"], row["start"]) for row in told["race"]] == [
        (name, made.BATCH * steps, start)
        for name in made.BUILD
        for steps in made.BUDGETS[name]
        for start in made.STARTS
    ]


def test_what_is_taken_away_from_the_modern_block_is_taken_away():
    variants, changes = modern_variants(command("modern_block"))
    old, today = variants["GPT-2"], variants["all six"]
    for name, fields in changes.items():
        without = variants[f"without {name}"]
        for field in {f for every in changes.values() for f in every}:
            source = old if field in fields else today
            assert getattr(without, field) == getattr(source, field)


def test_the_vits_in_depth_are_those_of_the_page():
    made, names = command("vit_in_depth"), page("vit_in_depth")
    told = history("vit_in_depth")
    code = cell("vit-in-depth", "stored = nn.ModuleDict()").rpartition("---\n")[2]
    lines, below, _ = code.partition("\n\n")
    assert below  # the models as the page loads them, without its trainings
    names = dict(names)
    exec(lines, names)
    models = names["stored"]
    assert names["vits"] == list(models["still"])
    assert names["patient"] == list(models["patient"])
    assert told["model"] == as_stored(names["config"])
    sizes = {name: n for name, (n, _) in told["runs"].items()}
    assert {name: len(kept) for name, kept in models.items()} == sizes
    assert told["runs"] == made.runs(names)
    # Each misreads what the file says, but for a tie: one image.
    for found, expected in (
        (made.errors(names, models), told["errors"]),
        (made.losses(names, made.train(names, steps=made.FEW)), told["first"]),
    ):
        atol = 0.2 if expected is told["errors"] else 0
        assert found.keys() == expected.keys()
        for name, each in found.items():
            np.testing.assert_allclose(each, expected[name], rtol=1e-4, atol=atol)
    tables = [m.positions.table.weight for kept in models.values() for m in kept]
    for i, table in enumerate(tables):  # no run was stored under another's name
        assert not any(bool((table == other).all()) for other in tables[:i])


# A published encoder


def test_the_stored_vectors_are_those_of_the_paragraphs():
    made, texts = command("text_as_data"), data.paragraphs().text
    assert history("text_as_data") == {
        "sha256": made.digest(texts),
        "longest": made.LONGEST,
    }
    vectors = stored("text_as_data")["minilm"].astype(np.float32)
    assert vectors.shape == (len(texts), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=2e-3)
    some = np.random.default_rng(0).choice(len(texts), size=13, replace=False)
    again = made.embed([texts[n] for n in some])
    np.testing.assert_allclose(vectors[some], again, atol=5e-4)


def test_the_stored_decades_are_those_of_the_held_out_paragraphs():
    p, made = data.paragraphs(), command("text_as_data")
    held_out, losses = np.flatnonzero(p.held_out), stored("text_as_data")["decades"]
    assert losses.shape == (len(held_out), made.DECADES)
    again = made.by_decade([p.text[n] for n in held_out[[4, 7]]])  # the second is long
    np.testing.assert_allclose(losses[[4, 7]], again, atol=0.02)


def test_the_nearest_words_are_those_of_the_published_table():
    folder = hub.fetch(hub.MINILM)
    words = (folder / "vocab.txt").read_text("utf-8").split("\n")
    name = "embeddings.word_embeddings.weight"
    rows = load_file(folder / "model.safetensors")[name].astype(float)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    _, _, table = text_of("embeddings").partition(":name: tab-embeddings-real")
    table = table.partition("```")[0]
    listed = dict(re.findall(r"^\* - (\w+)\n  - (.+)$", table, re.MULTILINE)[1:])
    assert list(listed) == ["inflation", "bank", "bond", "like"]
    for word, nearest in listed.items():
        order = np.argsort(-rows @ rows[words.index(word)])
        assert [words[i] for i in order[1:6]] == nearest.split(", ")
    like, eat, green = (rows[words.index(word)] for word in ("like", "eat", "green"))
    assert like @ green < like @ eat < 0.2  # far from both

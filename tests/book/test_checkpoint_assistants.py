"""Where the trainings of the page on assistants ended: as their command finds it."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")  # the page's first cell imports both

START = 5  # the page runs start 0 again


@pytest.fixture(scope="module")
def page(command):
    return command.task()


@pytest.fixture(scope="module")
def gpt(page):
    return page["pretrain"](START)


def nats(page, log_p):
    return float(page["sizes"](log_p.astype(float))[2])


def test_the_file_has_every_training_from_every_start(command, stored):
    for name, found in stored.items():
        assert len(found) == len(command.STARTS), name
        assert np.isfinite(found).all(), name
        assert len(np.unique(found, axis=0)) == len(found), name  # no two runs are one
    answers = [x for name, x in stored.items() if x.ndim == 4 and name != "said"]
    assert {found.shape[1:] for found in answers} == {(200, 2, 3)}


def test_the_fifty_examples_of_two_starts_have_none_in_common(command, page):
    assert 50 * len(command.STARTS) <= len(page["train"])


def test_tuning_and_preferring_end_where_the_file_says(command, page, gpt, stored):
    model = page["tune"](copy.deepcopy(gpt), page["train"], START)
    again = nats(page, page["log_six"](model))
    assert abs(again - nats(page, stored["tuned"][START])) < 0.05
    said = stored["said"][START, page["SPEAKERS"].index("tuned")]
    same = (page["say"](model, page["heard"]) == said).all(axis=-1)
    assert same.mean() > 0.9  # a draw at the edge of two words may go either way
    pairs = page["comparisons"](page["new_phrases"], START)
    again = page["prefer"](model, pairs, 1.0, START)
    gap = np.exp(page["log_six"](again)) - np.exp(stored["beta 1"][START].astype(float))
    assert np.abs(gap.mean(axis=0)).max() < 0.05


def test_three_rows_alone_are_trained_and_end_where_the_file_says(
    command, page, gpt, stored
):
    model = command.tune_rows(page, gpt, START)
    table, before = (m.tokens.weight.detach() for m in (model, gpt))
    changed = (table != before).any(dim=1).nonzero()[:, 0].tolist()
    assert changed == [page["USER"], page["ASSISTANT"], page["END"]]
    n = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert n == 9_216 + 3 * 64
    again = nats(page, page["log_six"](model))
    assert abs(again - nats(page, stored["LoRA, rows"][START])) < 0.1

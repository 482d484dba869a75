"""The numbers that a seed gives: stored outputs of the pages depend on every one.

Floats are compared after rounding to three decimals, as the last bits of an exponential
differ from one machine to the next.
"""

import dataclasses
import hashlib

import numpy as np
import pytest

from course_lib import data

SIZES = {"n_train": 23, "n_random": 7, "n_combinations": 7}


def masked():
    g = data.grammar()
    return data.mask_words(
        g.sample(23, 13, seed=1), seed=2, vocab_size=g.vocab_size, mask_id=g.mask_id
    )


def economy(**options):
    e = data.economy(seed=1, n_quarters=3, n_firms=7, **options)
    return e.inputs, e.network, e.next_return, e.next_roa


def households(sample):
    return sample.features, sample.values, sample.truth


def labelled(task):
    return task.tokens, task.lengths, task.labels


def windows(d):
    return d.past, d.future, d.clean, d.floor


def warehouses(days):
    return days.is_open, days.ties, days.change


def shapes(s):
    return s.images, s.labels, s.center, s.radius, s.angle, s.brightness


def digits(d):
    return d.images, d.labels, d.test_images, d.test_labels


def segments(drawn):
    return drawn[0].inputs, drawn[0].targets, *drawn[1]


def number_values(task):
    parts = (task.train, task.random, task.combinations)
    return *(part.values for part in parts), np.array(task.unseen)


def continuations(pairs):
    return pairs.tokens, pairs.token_types, pairs.labels, pairs.kinds


DRAWS = {
    "wave": (lambda: households(data.draw_wave(11, seed=1)), "4cb2273d4393"),
    "spending": (
        lambda: households(data.draw_spending(11, n_noise=3, seed=[1, 2])),
        "172bd0e6c883",
    ),
    "which came first": (
        lambda: labelled(data.which_came_first(22, seed=1)),
        "b9d4da90f615",
    ),
    "majority": (lambda: labelled(data.majority(23, seed=1)), "fc4e2f8ae944"),
    "late majority": (lambda: labelled(data.late_majority(22, seed=1)), "e416f4e13923"),
    "shapes": (lambda: shapes(data.drawn_shapes(11, seed=1, size=13)), "aa8a1edae448"),
    "economy": (lambda: economy(), "015623a4b703"),
    "peers of peers": (
        lambda: economy(second_order=1.5, same_firms=True),
        "f7428e3b8740",
    ),
    "grammar": (lambda: (data.grammar().sample(11, 23, seed=1),), "1038f6341ab8"),
    "grammar's table": (lambda: (data.grammar().source.table,), "c921393278fa"),
    "masked words": (lambda: (masked().inputs, masked().targets), "c36dd54a07e0"),
    "masked segments": (
        lambda: segments(data.masked_segments(7, 11, seed=1)),
        "5d4bbfb653e4",
    ),
    "continuations": (
        lambda: continuations(data.continuations(23, seed=1)),
        "dfabdf4e227d",
    ),
    "induction": (lambda: (data.induction(11, seed=1).tokens,), "010880cc5583"),
    "recall": (lambda: (data.recall(11, seed=1, distance=3).targets,), "e5cbe3e4f0d1"),
    "reversal": (lambda: (data.reversal(11, seed=1).targets,), "57b88bc6cfdc"),
    "sinusoids": (lambda: windows(data.sinusoids(7, seed=1)), "dcc3a8dd2661"),
    "some sinusoids": (
        lambda: windows(data.sinusoids(7, seed=1, n_active=2)),
        "3ca74b549a88",
    ),
    "warehouses": (
        lambda: warehouses(data.draw_warehouses(11, seed=1)),
        "b2ec1559215b",
    ),
    "digits": (lambda: digits(data.digits(seed=1)), "96ae02525869"),
    "few digits": (
        lambda: digits(data.digits(seed=5, n_train=101, n_test=53)),
        "fe45af76a037",
    ),
    "numbers": (lambda: number_values(data.numbers(seed=1, **SIZES)), "6c10ec623d9f"),
    "macro": (lambda: (data.macro().values,), "5161729c4f4d"),
    "Engel": (lambda: data.engel(), "41fe36ea7c11"),
}
LIBRARIES = {
    "digits": "sklearn",
    "few digits": "sklearn",
    "numbers": "num2words",
    "macro": "statsmodels",
    "Engel": "statsmodels",
}


def digest(arrays) -> str:
    """A short hash of shapes and numbers."""
    found = hashlib.sha256()
    for array in arrays:
        whole = np.rint(1000 * np.asarray(array, dtype=np.float64)).astype(np.int64)
        found.update(repr(whole.shape).encode() + whole.tobytes())
    return found.hexdigest()[:12]


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_numbers_that_the_pages_were_written_with(name):
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    draw, expected = DRAWS[name]
    assert digest(draw()) == expected


RECORDS = [kind for kind in vars(data).values() if dataclasses.is_dataclass(kind)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_no_field_of_a_data_set_can_be_assigned_to(record):
    some = object.__new__(record)
    for field in dataclasses.fields(record):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(some, field.name, None)

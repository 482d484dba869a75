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
PEERS = {"second_order": 1.5, "same_firms": True}
FIRMS = {"n_quarters": 3, "n_firms": 7}


def masked(seed):
    g = data.grammar()
    masks = {"vocab_size": g.vocab_size, "mask_id": g.mask_id}
    return data.mask_words(g.sample(23, 13, seed=1), seed=seed, **masks)


DRAWS = {
    "masked words": (masked, "6cc65d309ccf"),
    "spending": (
        lambda seed: data.draw_spending(11, n_noise=3, seed=[seed, 2]),
        "cddcd53c3af0",
    ),
    "shapes": (lambda seed: data.drawn_shapes(11, seed=seed, size=13), "ca9bfd78b1e9"),
    "economy": (lambda seed: data.economy(seed=seed, **FIRMS), "d88572350998"),
    "peers of peers": (
        lambda seed: data.economy(seed=seed, **FIRMS, **PEERS),
        "c3fb01c5835c",
    ),
    "grammar": (lambda seed: data.grammar().sample(11, 23, seed=seed), "1038f6341ab8"),
    "masked segments": (
        lambda seed: data.masked_segments(7, 11, seed=seed),
        "a9c57ba20fcd",
    ),
    "continuations": (lambda seed: data.continuations(23, seed=seed), "dfabdf4e227d"),
    "induction": (lambda seed: data.induction(11, seed=seed), "44f3abed5e56"),
    "reversal": (lambda seed: data.reversal(11, seed=seed), "221e14a0bcd8"),
    "ledger": (lambda seed: data.ledger(seed=seed), "81229c9746d1"),
    "digits": (lambda seed: data.digits(seed=seed), "96ae02525869"),
    "phrases": (lambda seed: data.phrases(11, 8, seed=seed), "83f812c49b20"),
    "twins": (lambda seed: data.twins(11, 8, seed=seed), "6a4b78cf0c18"),
    "numbers": (lambda seed: data.numbers(seed=seed, **SIZES), "7894341ea96f"),
}
FIXED = {
    "grammar's table": (lambda: data.grammar().source.table, "c921393278fa"),
    "macro": (data.macro, "5161729c4f4d"),
    "Engel": (data.engel, "41fe36ea7c11"),
}
NEEDS = {"digits": "sklearn", "numbers": "num2words"}
NEEDS |= {"macro": "statsmodels", "Engel": "statsmodels"}


def numbers(drawn):
    """Every number of what was drawn, array after array."""
    if dataclasses.is_dataclass(drawn):
        drawn = [getattr(drawn, field.name) for field in dataclasses.fields(drawn)]
    if isinstance(drawn, (list, tuple)):
        for part in drawn:
            yield from numbers(part)
    elif np.asarray(drawn).dtype.kind in "biuf":
        yield np.asarray(drawn, dtype=np.float64)


def digest(drawn) -> str:
    """A short hash of shapes and numbers."""
    found = hashlib.sha256()
    for array in numbers(drawn):
        whole = np.rint(1000 * np.nan_to_num(array)).astype(np.int64)
        found.update(repr(whole.shape).encode() + whole.tobytes())
    return found.hexdigest()[:12]


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_numbers_that_the_pages_were_written_with(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    draw, expected = DRAWS[name]
    assert digest(draw(1)) == expected
    assert digest(draw(2)) != expected


@pytest.mark.parametrize("name", FIXED)
def test_what_has_no_seed_stays_as_it_was(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    read, expected = FIXED[name]
    assert digest(read()) == expected


RECORDS = [kind for kind in vars(data).values() if dataclasses.is_dataclass(kind)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_no_field_of_a_data_set_can_be_assigned_to(record):
    some = object.__new__(record)
    for field in dataclasses.fields(record):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(some, field.name, None)

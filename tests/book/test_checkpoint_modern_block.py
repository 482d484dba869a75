"""Where the race on the page about today's block ended: as its command finds it."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from course_lib import data

pytest.importorskip("torch")
pytest.importorskip("jax")  # the page's first cell imports both
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def page(command):
    return command.task()


@pytest.fixture(scope="module")
def ends():
    return load_file(data.trained("modern-block"))


def test_the_file_has_every_variant_at_both_rates_from_every_start(command, page, ends):
    assert set(ends) == set(command.all_variants(page))
    for name, found in ends.items():
        assert found.shape == (len(command.RATES), len(command.STARTS)), name
        assert len(np.unique(found)) == found.size, name  # no two runs are one


# Two that the page doesn't run again: at the higher rate another processor may end some
# thousandths of a nat away, variants are a tenth apart.
@pytest.mark.parametrize(
    ("name", "rate", "start"), [("QK-norm", 1, 5), ("without RoPE", 0, 15)]
)
def test_a_run_ends_where_the_file_says(command, page, ends, name, rate, start):
    config = command.all_variants(page)[name]
    found = page["excess"](config, command.STARTS[start], command.RATES[rate])
    assert abs(found - ends[name][rate, start]) < 0.02


def test_what_is_taken_away_is_taken_away(command, page):
    variants = command.all_variants(page)
    old, today = variants["GPT-2"], variants["all six"]
    for name, fields in page["CHANGES"].items():
        for field in fields:
            assert getattr(variants[f"without {name}"], field) == getattr(old, field)
        others = {f for c, fs in page["CHANGES"].items() if c != name for f in fs}
        for field in others:
            assert getattr(variants[f"without {name}"], field) == getattr(today, field)

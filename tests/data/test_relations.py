"""Warehouses on a ring: the data are what they say, and the bound is one."""

import numpy as np
import pytest

from course_lib.data import relations

N, T = 11, 7


@pytest.fixture
def days():
    return relations.draw_warehouses(N, n_firms=T, seed=3)


def test_each_firm_has_one_supplier_and_one_buyer_and_neither_is_itself(days):
    assert days.ties.shape == (N, 2, T, T)
    assert (days.ties.sum(axis=-1) == 1).all()
    assert (days.ties.sum(axis=-2) == 1).all()
    assert not days.ties[..., range(T), range(T)].any()
    assert not (days.ties[:, 0] & days.ties[:, 1]).any()


def test_my_supplier_is_who_sells_to_me(days):
    np.testing.assert_array_equal(days.ties[:, 0], days.ties[:, 1].swapaxes(1, 2))


def test_going_from_supplier_to_supplier_meets_every_firm(days):
    for ties in days.ties[:, 0]:
        met, firm = [], 0
        for _ in range(T):
            firm = int(np.flatnonzero(ties[firm])[0])
            met.append(firm)
        assert sorted(met) == list(range(T))


def test_the_change_is_what_came_in_minus_what_went_out(days):
    for is_open, ties, change in zip(days.is_open, days.ties, days.change, strict=True):
        for i in range(T):
            supplier, buyer = (int(np.flatnonzero(r[i])[0]) for r in ties)
            assert change[i] == is_open[supplier] - is_open[buyer]


def test_rings_and_openings_are_drawn_evenly():
    days = relations.draw_warehouses(4000, n_firms=5, seed=5)
    elsewhere = ~np.eye(5, dtype=bool)
    assert np.abs(days.ties.mean(axis=0)[:, elsewhere] - 1 / 4).max() < 0.03
    assert np.abs(days.is_open.mean(axis=0) - 1 / 2).max() < 0.03


def test_every_day_is_listed_once():
    days = relations.every_day(T)
    assert len(np.unique(days.is_open, axis=0)) == len(days.is_open) == 2**T
    assert days.change.mean() == 0
    assert days.change.var() == 0.5


def explained(weights, days):
    """R² of the best that single heads with these maps, `... n T S`, can predict.

    A firm is open or closed, so a head's values are two vectors, and what leaves the
    head is one of them plus the weight on open firms times their difference. Whatever
    follows linearly is a regression of the change on that one weight.
    """
    on_open = np.einsum("...nts,ns->...nt", weights, days.is_open)
    on_open = on_open.reshape(*on_open.shape[:-2], -1)
    centered = on_open - on_open.mean(axis=-1, keepdims=True)
    change = days.change.ravel()
    covariance = (centered * change).mean(axis=-1)
    return covariance**2 / ((centered**2).mean(axis=-1) * change.var() + 1e-30)


def maps(supplier, buyer, own, is_open, alike, days):
    """A head's weights, from what it adds to the score of each kind of key."""
    shape = (*np.shape(supplier), 1, 1, 1)
    supplier, buyer, own, is_open, alike = (
        np.reshape(x, shape) for x in (supplier, buyer, own, is_open, alike)
    )
    scores = (
        supplier * days.ties[:, 0]
        + buyer * days.ties[:, 1]
        + own * np.eye(days.is_open.shape[1])
        + is_open * days.is_open[:, None, :]
        + alike * (days.is_open[:, None, :] == days.is_open[:, :, None])
    )
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


def test_no_single_head_explains_more_than_half():
    days, rng = relations.every_day(4), np.random.default_rng(7)
    best = 0.0
    for size in (0.3, 1, 3, 10):
        scores = rng.normal(0, size, (5, 4000))
        found = explained(maps(*scores, days), days)
        assert found.max() <= 1 / 2 + 1e-9
        best = max(best, found.max())
    assert best > 1 / 2 - 1e-3


def test_looking_at_both_alike_explains_nothing():
    days = relations.every_day(5)
    assert explained(days.ties.mean(axis=1), days) == pytest.approx(0)


def test_the_difference_of_two_heads_explains_everything():
    days = relations.every_day(5)
    heads = np.einsum("nrts,ns->rnt", days.ties, days.is_open)
    np.testing.assert_array_equal(heads[0] - heads[1], days.change)


@pytest.mark.parametrize("sizes", [{"n": 0}, {"n": 3, "n_firms": 2}])
def test_sizes_that_make_no_ring_are_refused(sizes):
    with pytest.raises(ValueError, match=r"must be at least|must be a whole number"):
        relations.draw_warehouses(**sizes, seed=0)

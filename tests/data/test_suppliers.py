"""Firms and suppliers: one decisive supplier each, and the bound is a bound."""

from itertools import product

import numpy as np
import pytest

from course_lib.data import suppliers

N, MAKERS, FIRMS = 11, 3, 18
HIT = suppliers.FEATURES.index("hit")
KINDS = len(suppliers.PRODUCTS)


@pytest.fixture
def networks():
    return suppliers.draw_suppliers(N, makers=MAKERS, seed=3)


def products(networks):
    return networks.features[..., :KINDS]


def needs(networks):
    return networks.features[..., KINDS : 2 * KINDS]


def test_each_product_has_its_makers(networks):
    assert networks.features.shape == (N, FIRMS, len(suppliers.FEATURES))
    assert (products(networks).sum(axis=-1) == 1).all()
    assert (products(networks).sum(axis=1) == MAKERS).all()


def test_a_firm_buys_four_products_and_nothing_from_itself(networks):
    bought = networks.edges.astype(float) @ products(networks)
    assert (bought.sum(axis=-1) == 4).all()
    assert bought.max() == 1
    assert not networks.edges[:, range(FIRMS), range(FIRMS)].any()


def test_the_decisive_supplier_alone_makes_what_the_firm_needs(networks):
    assert (needs(networks).sum(axis=-1) == 1).all()
    makes_it = needs(networks) @ products(networks).swapaxes(1, 2) > 0
    found = networks.edges & makes_it
    assert (found.sum(axis=-1) == 1).all()
    np.testing.assert_array_equal(found.argmax(axis=-1), networks.decisive)


def test_the_decisive_supplier_decides(networks):
    hit = np.take_along_axis(networks.features[..., HIT], networks.decisive, 1)
    np.testing.assert_array_equal(networks.at_risk, hit > 0)


def test_own_features_are_unrelated_to_the_label():
    networks = suppliers.draw_suppliers(2000, seed=7)
    own = networks.features.reshape(-1, len(suppliers.FEATURES))
    label = networks.at_risk.ravel()
    for column in own.T:
        assert abs(np.corrcoef(column, label)[0, 1]) < 0.03


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_the_bound_of_the_average_is_that_of_the_best_rule(n):
    # Another way to the number: each way the suppliers can be, and each rule's table.
    right = {}
    for hits in product((0, 1), repeat=n):
        key = sum(hits), hits[0]
        right[key] = right.get(key, 0) + 1 / 2**n
    best = sum(max(right.get((m, 0), 0), right.get((m, 1), 0)) for m in range(n + 1))
    assert suppliers.average_bound(n) == pytest.approx(best)


def test_counting_hits_reaches_the_bound_of_the_average():
    networks = suppliers.draw_suppliers(2000, seed=11)
    hits = (networks.edges @ networks.features[..., HIT][..., None])[..., 0]
    undecided = hits == 0
    right = np.where(undecided, 0.5, (hits > 0) == networks.at_risk)
    assert right.mean() == pytest.approx(suppliers.average_bound(), abs=0.01)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": 3, "makers": 1}])
def test_networks_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be"):
        suppliers.draw_suppliers(**wrong, seed=0)

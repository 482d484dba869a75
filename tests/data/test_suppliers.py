"""Firms and suppliers: one decisive supplier each, and the bounds are bounds."""

from itertools import product

import numpy as np
import pytest

from course_lib.data import suppliers

N, MAKERS, FIRMS = 11, 3, 18
HIT = suppliers.FEATURES.index("hit")


@pytest.fixture
def networks():
    return suppliers.draw_suppliers(N, makers=MAKERS, noise=0.0, seed=3)


def products(networks):
    return networks.features[..., : len(suppliers.PRODUCTS)]


def is_specific(networks):
    columns = [suppliers.PRODUCTS.index(name) for name in suppliers.SPECIFIC]
    return products(networks)[..., columns].sum(axis=-1) > 0


def test_each_product_has_its_makers(networks):
    assert networks.features.shape == (N, FIRMS, len(suppliers.FEATURES))
    assert (products(networks).sum(axis=-1) == 1).all()
    assert (products(networks).sum(axis=1) == MAKERS).all()


def test_a_firm_has_four_suppliers_and_is_not_one_of_them(networks):
    assert (networks.edges.sum(axis=-1) == 4).all()
    assert not networks.edges[:, range(FIRMS), range(FIRMS)].any()


def test_exactly_one_supplier_is_specific_and_it_is_the_decisive_one(networks):
    found = networks.edges & is_specific(networks)[:, None]
    assert (found.sum(axis=-1) == 1).all()
    np.testing.assert_array_equal(found.argmax(axis=-1), networks.decisive)


def test_without_noise_the_decisive_supplier_decides(networks):
    hit = np.take_along_axis(networks.features[..., HIT], networks.decisive, 1)
    np.testing.assert_array_equal(networks.at_risk, hit > 0)


def test_the_noise_flips_its_share_of_the_labels():
    networks = suppliers.draw_suppliers(400, noise=0.2, seed=5)
    hit = np.take_along_axis(networks.features[..., HIT], networks.decisive, 1)
    assert np.mean(networks.at_risk != (hit > 0)) == pytest.approx(0.2, abs=0.02)


def test_own_features_are_unrelated_to_the_label():
    networks = suppliers.draw_suppliers(2000, noise=0.0, seed=7)
    own = networks.features.reshape(-1, len(suppliers.FEATURES))
    label = networks.at_risk.ravel()
    for column in own.T:
        assert abs(np.corrcoef(column, label)[0, 1]) < 0.03


@pytest.mark.parametrize(("n", "noise"), [(2, 0.0), (3, 0.1), (5, 0.3), (7, 0.5)])
def test_the_bound_of_the_average_is_that_of_the_best_rule(n, noise):
    # Another way to the number: each way the suppliers can be, and each rule's table.
    right = {}
    for hits in product((0, 1), repeat=n):
        for label, share in ((hits[0], 1 - noise), (1 - hits[0], noise)):
            key = sum(hits), label
            right[key] = right.get(key, 0) + share / 2**n
    best = sum(max(right.get((m, 0), 0), right.get((m, 1), 0)) for m in range(n + 1))
    assert suppliers.average_bound(n, noise) == pytest.approx(best)


def test_counting_hits_reaches_the_bound_of_the_average():
    networks = suppliers.draw_suppliers(2000, noise=0.1, seed=11)
    hits = (networks.edges @ networks.features[..., HIT][..., None])[..., 0]
    undecided = hits == 0
    right = np.where(undecided, 0.5, (hits > 0) == networks.at_risk)
    assert right.mean() == pytest.approx(suppliers.average_bound(), abs=0.01)


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"n": 3, "makers": 1}, {"n": 3, "noise": 0.7}]
)
def test_networks_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be"):
        suppliers.draw_suppliers(**wrong, seed=0)

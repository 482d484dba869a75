"""The economy of firms: its network, its oracle, and the best attainable R²."""

import numpy as np
import pytest

from course_lib import data

Q, N = 23, 13


def fit(y, columns):
    """Fitted values of a regression over all quarters and firms."""
    X = np.stack([np.ones_like(y), *columns], -1).reshape(y.size, -1)
    return (X @ np.linalg.lstsq(X, y.ravel(), rcond=None)[0]).reshape(y.shape)


def average(weights, values):
    return np.einsum("...ij,...j->...i", weights, values)


def test_relevance_equals_its_formula_firm_by_firm():
    e = data.economy(seed=3, n_quarters=2, n_firms=5)
    for q in range(2):
        for i in range(5):
            scores = {}
            for j in set(range(5)) - {i}:
                same = e.sector[q, i] == e.sector[q, j]
                slope = 0.8 + 0.5 * e.size[q, i]
                rd = e.rd[q, i] * e.rd[q, j]
                scores[j] = 2 * same + slope * e.size[q, j] + 0.5 * rd
            total = sum(np.exp(s) for s in scores.values())
            for j, s in scores.items():
                assert e.relevance[q, i, j] == pytest.approx(np.exp(s) / total)


def test_rows_of_the_relevance_are_distributions_over_the_others():
    e = data.economy(seed=3, n_quarters=Q, n_firms=N)
    assert (e.relevance[:, np.eye(N, dtype=bool)] == 0).all()
    np.testing.assert_allclose(e.relevance.sum(-1), 1, rtol=1e-12)


def test_many_look_to_giants_and_giants_look_to_few():
    e = data.economy(seed=3)
    giant = e.size > 1.5
    looked_at = e.relevance.sum(1)
    n_peers = 1 / (e.relevance**2).sum(-1)  # 1 / Herfindahl index
    assert looked_at[giant].mean() > 3 * looked_at[~giant].mean()
    assert n_peers[giant].mean() < 0.4 * n_peers[~giant].mean()
    # A direction, not a distance: what i gives to j says little of what j gives to i.
    assert np.abs(e.relevance - e.relevance.mT).sum() > e.relevance.sum()


def test_relevance_is_one_attention_head():
    """The scores are q k^T with as many columns as eq. 1 has terms."""
    e = data.economy(seed=5, n_quarters=2, n_firms=N)
    sectors = e.inputs[..., len(data.firms.FEATURES) :]
    q = np.concatenate(
        [2 * sectors, 0.8 + 0.5 * e.size[..., None], 0.5 * e.rd[..., None]], -1
    )
    k = np.concatenate([sectors, e.size[..., None], e.rd[..., None]], -1)
    scores = q @ k.mT
    scores[:, np.eye(N, dtype=bool)] = -np.inf
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, e.relevance, rtol=1e-10)


@pytest.mark.parametrize("second_order", [0.0, 1.5])
def test_what_the_oracle_misses_is_the_noise(second_order):
    e = data.economy(seed=7, n_quarters=997, n_firms=N, second_order=second_order)
    miss = e.next_return - e.oracle
    assert abs(np.mean(miss**2) - e.noise**2) < 4 * np.sqrt(2 / miss.size) * e.noise**2
    assert abs(np.corrcoef(miss.ravel(), e.oracle.ravel())[0, 1]) < 4 / miss.size**0.5


def test_without_noise_the_oracle_is_right():
    e = data.economy(seed=7, n_quarters=Q, n_firms=N, second_order=1.5, noise=0)
    np.testing.assert_allclose(e.oracle, e.next_return)
    assert data.r_squared(e.next_return, e.oracle) == 1


def test_a_leak_beats_the_oracle():
    """Without knowing any peer, a firm's own future gives its return away."""
    e = data.economy(seed=17)
    columns = [*np.moveaxis(e.inputs, -1, 0)]
    honest = fit(e.next_return, [*columns, average(e.network, e.last_return)])
    leaky = fit(e.next_return, [*columns, e.next_roa])
    best = data.r_squared(e.next_return, e.oracle)
    assert data.r_squared(e.next_return, honest) < best + 0.05
    assert data.r_squared(e.next_return, leaky) > best + 0.2


def test_the_inputs_hold_nothing_of_the_future():
    quiet, loud = (data.economy(seed=19, noise=noise) for noise in (0.0, 3.0))
    assert (quiet.inputs == loud.inputs).all()
    assert (quiet.next_return != loud.next_return).any()
    assert quiet.inputs.shape == (120, 40, len(quiet.names))
    assert quiet.names[:5] == ("size", "leverage", "rd", "roa", "last_return")


def test_pair_features_and_their_coefficients_make_the_relevance():
    e = data.economy(seed=3, n_quarters=2, n_firms=N)
    scores = e.pairs @ np.array(data.firms.TRUE_THETA)
    scores[:, np.eye(N, dtype=bool)] = -np.inf
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, e.relevance, rtol=1e-10)


def test_rivals_equal_their_formula_firm_by_firm():
    e = data.economy(seed=3, n_quarters=2, n_firms=5, rivalry=1.5)
    for q, i in np.ndindex(2, 5):
        others = [j for j in range(5) if j != i]
        heights = {j: np.exp(2 * e.rd[q, i] * e.rd[q, j]) for j in others}
        for j in others:
            share = heights[j] / sum(heights.values())
            assert e.rivals[q, i, j] == pytest.approx(share)
            gained = 1.5 * e.relevance[q, i, j] - 1.5 * share
            assert e.network[q, i, j] == pytest.approx(gained)


def test_rivals_change_the_returns_and_nothing_else():
    plain, rival = (data.economy(seed=5, n_quarters=Q, rivalry=r) for r in (0.0, 1.5))
    np.testing.assert_array_equal(plain.inputs, rival.inputs)
    np.testing.assert_array_equal(plain.relevance, rival.relevance)
    lost = 1.5 * average(plain.rivals, plain.last_return)
    np.testing.assert_allclose(plain.next_return - lost, rival.next_return)


def test_characteristics_have_their_units():
    e = data.economy(seed=23, n_quarters=499)
    for name in ("size", "leverage", "rd", "roa", "last_return"):
        x = getattr(e, name)
        assert abs(x.mean()) < 0.05
        assert abs(x.std() - 1) < 0.05
    assert set(np.unique(e.sector)) == {0, 1, 2, 3}


def test_sector_weights_average_the_others_of_the_sector():
    e = data.economy(seed=29, n_quarters=Q, n_firms=7)
    for q in range(Q):
        for i in range(7):
            peers = [j for j in range(7) if j != i and e.sector[q, j] == e.sector[q, i]]
            expected = [1 / len(peers) if j in peers else 0.0 for j in range(7)]
            np.testing.assert_allclose(e.sector_weights[q, i], expected)


def test_quarters_are_cut_from_every_array():
    e = data.economy(seed=31, n_quarters=Q, n_firms=N)
    train, test = e[:17], e[17:]
    assert train.inputs.shape[0] == 17
    assert (test.oracle == e.oracle[17:]).all()
    assert test.noise == e.noise


def test_numbering_firms_by_size_changes_nothing_else():
    e = data.economy(seed=41, n_quarters=Q, n_firms=N, second_order=1.5)
    by_size = e.largest_first
    assert (np.diff(by_size.size, axis=1) <= 0).all()
    assert (np.sort(e.size, axis=1) == np.sort(by_size.size, axis=1)).all()
    # What holds of the firms holds under any numbering of them.
    again = data.firms.true_relevance(by_size.size, by_size.rd, by_size.sector)
    np.testing.assert_allclose(by_size.relevance, again)
    np.testing.assert_allclose(
        by_size.next_return - by_size.oracle,
        np.take_along_axis(e.next_return - e.oracle, np.argsort(-e.size, axis=1), 1),
        atol=1e-12,
    )


def test_the_network_needs_one_matrix_only():
    """With q = k the same weights come out: the rows' softmax makes the direction."""
    e = data.economy(seed=43, n_quarters=Q, n_firms=N)
    size = np.sqrt(0.5) * (e.size[..., None] + 0.8 / 0.5)
    sectors = np.sqrt(2) * e.inputs[..., len(data.firms.FEATURES) :]
    q = np.concatenate([sectors, size, np.sqrt(0.5) * e.rd[..., None]], -1)
    scores = q @ q.mT
    scores[:, np.eye(N, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, e.relevance, rtol=1e-8)


def test_the_same_firms_keep_their_network():
    e = data.economy(seed=37, n_quarters=Q, n_firms=N, same_firms=True)
    assert (e.relevance == e.relevance[:1]).all()
    assert (e.last_return[0] != e.last_return[1]).any()

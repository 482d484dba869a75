"""Tasks on sequences: the rule holds in every row, and the best loss is the best."""

import math

import numpy as np
import pytest

from course_lib import data


def induction_predictor(tokens, n_symbols):
    """The best predictor, one row at a time: copy where the key is known."""
    predictions = np.full((*tokens.shape, n_symbols + 1), 1 / n_symbols)
    predictions[..., 0] = 0
    for row, sequence in enumerate(tokens):
        code = {}
        for t, token in enumerate(sequence):
            if t % 2 == 1:
                code[sequence[t - 1]] = token
            elif token in code:
                predictions[row, t] = np.eye(n_symbols + 1)[code[token]]
    return predictions


def test_induction_pays_its_best_loss():
    task = data.induction(4001, seed=3, n_pairs=11, n_symbols=5)
    p = np.take_along_axis(
        induction_predictor(task.tokens, 5), task.targets[..., None], -1
    )[..., 0]
    losses = -np.log(p)
    assert np.isfinite(losses).all()  # a copy is never wrong
    error = losses.std(0) / np.sqrt(len(losses))
    assert (np.abs(losses.mean(0) - task.best_loss) <= 4 * error + 1e-12).all()


def test_induction_best_loss_equals_enumeration():
    """Three pairs, two symbols: every code and every row of keys, each as likely."""
    task = data.induction(1, seed=1, n_pairs=3, n_symbols=2)
    total = np.zeros(5)
    for code in range(4):
        for keys in range(8):
            key = [(keys >> i) % 2 for i in range(3)]
            row = [s for k in key for s in (k + 1, (code >> k) % 2 + 1)]
            p = induction_predictor(np.array([row[:-1]]), 2)[0]
            total -= np.log(p[np.arange(5), row[1:]])
    np.testing.assert_allclose(total / 32, task.best_loss, rtol=1e-12)


def test_induction_targets_are_the_next_tokens():
    task = data.induction(7, seed=5)
    assert (task.targets[:, :-1] == task.tokens[:, 1:]).all()
    assert task.tokens.shape == (7, 31)
    assert task.tokens.min() >= 1
    assert task.tokens.max() < task.vocab_size


def test_reversal_reverses_and_pads_on_the_right():
    task = data.reversal(101, seed=11, max_length=7, min_length=3)
    assert set(task.lengths) == {3, 4, 5, 6, 7}
    for source, target, length in zip(
        task.sources, task.targets, task.lengths, strict=True
    ):
        assert (source[:length] > 0).all()
        assert (source[length:] == 0).all()
        answer = [task.start_id, *source[:length][::-1], task.end_id]
        assert list(target) == answer + [0] * (7 - length)
    assert task.targets.max() == task.vocab_size - 1


def test_chance_and_loss_agree_for_a_key():
    task = data.induction(3, seed=1, n_symbols=7)
    assert task.best_loss[1] == pytest.approx(math.log(7))
    assert task.chance == 1 / 7

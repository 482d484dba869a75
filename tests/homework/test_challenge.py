"""Open-ended tasks: a score between a baseline and a known bound, on hidden data."""

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.preprocessing import scale

from course_lib import homework
from course_lib.data.firms import _others_softmax, true_relevance
from course_lib.data.households import _spending
from course_lib.homework import CHALLENGES, Challenge, check
from course_lib.homework.challenge import Draw, Trial
from course_lib.homework.running import Outcome

HOMEWORK = Path(__file__).parents[2] / "homework"
GUESS = Challenge(
    call="f(x)",
    draw=lambda rng: {
        name: Draw(
            arguments=(rng.standard_normal((7, 2)),),
            truth=np.full(7, 3.0),
            shape=(7,),
            baseline=5.0,
            bound=1.0,
        )
        for name in ("one", "two")
    },
    score=lambda got, truth: float(np.abs(got - truth).mean()) + 1,
    measure="distance",
    baseline="always 7",
    bound="always right",
    full=0.5,
)


def report(*outcomes, **changes):
    trial = Trial("guess", dataclasses.replace(GUESS, **changes), "torch", 3)
    made = [
        o if isinstance(o, Outcome) else Outcome(outputs=(np.asarray(o),))
        for o in outcomes
    ]
    return trial.report(made)


def guess(value):
    return np.full(7, float(value))


@pytest.mark.parametrize(
    ("value", "share"),
    [(7, 0), (9, 0), (6, 0.5), (6.1, 0.4), (6.9, 0), (5, 1), (3, 1)],
)
def test_points_are_tenths_of_the_way_to_the_goal(value, share):
    made = report(guess(value), guess(value))
    assert made.share == share
    assert made.passed == (share == 1)
    assert made.score.value == pytest.approx(1 + abs(value - 3))


def test_no_way_at_all_is_said_without_a_sign():
    """The bound lies below the baseline: 0 divided by a negative number is -0."""
    assert "That is 0% of the way" in report(guess(7), guess(7)).message


def test_a_high_score_may_be_better():
    made = report(guess(5), guess(5), score=lambda got, truth: 5 - 0.5 * got.mean())
    assert made.score.value == 2.5
    assert made.share == 1
    draws = GUESS.draw(np.random.default_rng(0))
    turned = {
        n: dataclasses.replace(d, baseline=1.0, bound=5.0) for n, d in draws.items()
    }
    made = report(guess(6), guess(6), draw=lambda rng: turned, score=lambda g, t: 2.0)
    assert made.share == 0.5


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(trouble="it raised."), "Called as f(x), it raised."),
        (np.zeros((7, 1)), "it returned shape (7, 1) where (7,) is due."),
        (np.zeros(7, dtype=int), "it returned int64 where floating-point"),
        (np.full(7, np.nan), "7 of its 7 numbers are NaN or infinite."),
    ],
)
def test_a_draw_without_a_result_counts_as_the_baseline(outcome, words):
    made = report(guess(3), outcome)
    assert words in made.message
    assert made.score.value == 3
    assert made.share == 1  # 2 of 4 on the way from 5 to 1, and half of it is enough
    assert not made.passed
    neither = report(outcome, outcome)
    assert neither.share == 0
    assert neither.score is None


def test_a_score_that_is_no_number_earns_nothing():
    assert report(guess(3), guess(3), score=lambda got, truth: np.nan).share == 0


def test_the_truth_stays_with_the_marker():
    trial = Trial("guess", GUESS, "torch", 3)
    secret = np.full(7, 3.0).tobytes()
    assert secret in pickle.dumps(trial.draws["one"].truth)
    assert secret not in pickle.dumps(trial.task())


def test_check_scores_a_challenge(wing, monkeypatch):
    monkeypatch.setitem(homework.CHALLENGES, "guess", GUESS)
    made = check(lambda x: 0 * x[:, 0] + 5, "guess", wing=wing.name)
    assert made.share == 1
    assert repr(made).startswith("guess: full points. The distance is 3. The baseline")
    assert made.as_dict()["score"]["bound"] == 1
    blank = check(lambda x: None, "guess", wing=wing.name)
    assert "not yet" in repr(blank)


@pytest.mark.parametrize("name", CHALLENGES)
def test_a_bound_is_known_and_no_baseline_reaches_it(name):
    challenge = CHALLENGES[name]
    seeds = [Trial(name, challenge, "torch", seed).draws for seed in (7, 7, 8)]
    for draws in seeds:
        for draw in draws.values():
            assert np.isfinite([draw.baseline, draw.bound]).all()
            assert draw.baseline != draw.bound
    first, again, other = ([pickle.dumps(d) for d in s.values()] for s in seeds)
    assert first == again
    assert not set(first) & set(other)
    ways = {np.sign(d.bound - d.baseline) for draws in seeds for d in draws.values()}
    assert len(ways) == 1
    assert 0 < challenge.full <= 1


@pytest.mark.parametrize("name", CHALLENGES)
def test_arrays_have_the_shapes_that_the_assignment_names(name):
    texts = [" ".join(path.read_text().split()) for path in HOMEWORK.glob("*.md")]
    (text,) = [text for text in texts if name in text]
    for draw in Trial(name, CHALLENGES[name], "torch", 7).draws.values():
        sizes = {size: "V" for size in draw.arguments if isinstance(size, int)}
        shapes = [a.shape for a in draw.arguments if isinstance(a, np.ndarray)]
        # The vocabulary goes by its name, and only as the last axis of logits.
        result = (*draw.shape[:-1], sizes.get(draw.shape[-1], draw.shape[-1]))
        for shape in (*shapes, result):
            assert f"`{' '.join(map(str, shape))}`" in text


def one_bandwidth(x, y, x_new):
    """Nadaraya and Watson's average with the leave-one-out choice, by scipy."""
    x, x_new = scale(x), (x_new - x.mean(0)) / x.std(0)
    near, far = cdist(x, x, "sqeuclidean"), cdist(x_new, x, "sqeuclidean")
    np.fill_diagonal(near, np.inf)
    errors = {
        h: ((softmax(-near / (2 * h * h), axis=1) @ y - y) ** 2).mean()
        for h in np.geomspace(0.5, 10, 15)
    }
    h = min(errors, key=errors.__getitem__)
    return softmax(-far / (2 * h * h), axis=1) @ y


def with_others(x):
    others = [np.delete(x, i, axis=1).mean(1) for i in range(x.shape[1])]
    return np.concatenate([x, np.stack(others, axis=1)], -1).reshape(x[..., 0].size, -1)


def own_row_and_the_others(x, y, x_new):
    fitted = LinearRegression().fit(with_others(x), y.ravel())
    return fitted.predict(with_others(x_new)).reshape(x_new.shape[:2])


def with_sector_news(x):
    """A firm's own row, and what the others of its sector that are listed heard."""
    rows = []
    for firms in x:
        news, sector, listed = firms[:, 4], firms[:, 5:-1].argmax(1), firms[:, -1]
        for i, firm in enumerate(firms):
            peers = (sector == sector[i]) & (listed == 1)
            peers[i] = False
            rows.append([*firm, news[peers].mean() if peers.any() else 0.0])
    return np.array(rows)


def own_row_and_the_sectors_news(x, y, x_new):
    fitted = LinearRegression().fit(with_sector_news(x), y.ravel())
    return fitted.predict(with_sector_news(x_new))


def mean_after_the_code(x, y, x_new):
    means = {code: y[x == code].mean() for code in np.unique(x)}
    return np.vectorize(means.__getitem__)(x_new)


@pytest.mark.parametrize(
    ("name", "predict", "measure"),
    [
        ("new_households", one_bandwidth, mean_squared_error),
        ("private_firms", own_row_and_the_sectors_news, r2_score),
        ("supply_chain", own_row_and_the_others, r2_score),
        ("rating_news", mean_after_the_code, r2_score),
    ],
)
def test_a_baseline_scores_what_its_rule_scores(name, predict, measure):
    for draw in Trial(name, CHALLENGES[name], "torch", 7).draws.values():
        got = measure(draw.truth.ravel(), predict(*draw.arguments).ravel())
        np.testing.assert_allclose(draw.baseline, got, rtol=1e-6)


def by_the_packages_surface(x, y, x_new):
    """Spending as `course_lib` draws it, on the two columns that it fits best."""
    low, high = x.min(0), x.max(0)
    old, new = ((2 * (z - low) / (high - low) - 1) for z in (x, x_new))
    pairs = [[i, j] for i in range(x.shape[1]) for j in range(x.shape[1]) if i != j]
    best = min(pairs, key=lambda p: ((_spending(old[:, p]) - y) ** 2).mean())
    return _spending(new[:, best])


def by_the_packages_networks(x, y, x_new):
    """Peers and rivals as `course_lib` draws them, if the columns say what they are."""
    size, leverage, rd, roa, news = np.moveaxis(x_new[..., :5], -1, 0)
    peers = true_relevance(size, rd, x_new[..., 5:-1].argmax(-1))
    rivals = _others_softmax(2 * rd[:, :, None] * rd[:, None])
    seen = 1.5 * (peers - rivals) @ news[..., None]
    return 0.4 * roa - 0.3 * leverage + seen[..., 0]


@pytest.mark.parametrize(
    ("name", "predict"),
    [
        ("new_households", by_the_packages_surface),
        ("private_firms", by_the_packages_networks),
    ],
)
def test_no_truth_is_to_be_had_from_the_package(name, predict):
    """Whatever is imported or copied, what counts has to be learned from the data."""
    for seed in (7, 8):
        trial = Trial(name, CHALLENGES[name], "torch", seed)
        outputs = [predict(*draw.arguments) for draw in trial.draws.values()]
        made = trial.report([Outcome(outputs=(np.asarray(o),)) for o in outputs])
        assert made.share < 0.5, made.message


def test_a_score_above_the_bound_is_a_flag_and_no_mark():
    made = report(guess(3), guess(3), score=lambda got, truth: 0.9)
    assert made.share == 0
    assert not made
    assert "102% of the way" in made.flag
    assert made.as_dict()["flag"] == made.flag
    assert not report(guess(3), guess(3), score=lambda got, truth: 0.95).flag


def test_an_empty_result_is_none():
    made = report(Outcome(outputs=()), Outcome(outputs=()))
    assert made.share == 0
    assert "it returned 0 tensors where one is due." in made.message

"""Audits for leaks: a leak that is planted shows, and none where there is none."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from course_lib.measurement import leave_future_out, leave_groups_out

NEAREST = KNeighborsRegressor(1)  # looks up what is most alike
LINE = LinearRegression()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def panel(rng, n_groups=60, size=6, leak=1.0):
    """Groups with an outcome of their own, and features that name the group."""
    group = np.repeat(np.arange(n_groups), size)
    style = rng.standard_normal(n_groups)[group]
    known = rng.standard_normal(len(group))
    own = leak * rng.standard_normal(n_groups)[group]
    y = known + own + 0.5 * rng.standard_normal(len(group))
    return pd.DataFrame({"group": group, "style": style, "known": known, "y": y})


def test_a_planted_leak_shows_and_its_size_is_known(rng):
    frame = panel(rng, n_groups=500)
    given = NEAREST, frame, ["style"], "y", "group"
    found = leave_groups_out(*given)
    # Two rows of one group differ by 2 (1 + 0.25), of two groups by 2 more.
    assert found.estimate["random rows"] == pytest.approx(2.5, abs=0.6)
    assert found.estimate["whole groups"] == pytest.approx(4.5, abs=0.6)
    assert found.low["difference"] > 0.5


@pytest.mark.parametrize("audit", [leave_groups_out, leave_future_out])
def test_without_a_leak_there_is_no_gap(rng, audit):
    found = [
        audit(LINE, panel(rng, leak=0), ["known"], "y", "group").loc["difference"]
        for _ in range(40)
    ]
    inside = np.mean([row.low <= 0 <= row.high for row in found])
    assert inside > 0.8
    assert abs(np.mean([row.estimate for row in found])) < 0.02


def test_the_past_cannot_see_the_future(rng):
    """Outcomes that drift are looked up by time, unless the time is yet to come."""
    frame = panel(rng, leak=0).assign(time=lambda t: t.group)
    frame["y"] += np.cumsum(rng.standard_normal(60))[frame.time]
    found = leave_future_out(NEAREST, frame, ["time"], "y", "time")
    assert found.low["difference"] > 1
    seen = []

    class Spy(KNeighborsRegressor):
        def fit(self, x, y):
            self.last = x.time.max()
            return super().fit(x, y)

        def predict(self, x):
            seen.append((self.last, x.time.min(), len(x)))
            return super().predict(x)

    leave_future_out(Spy(1), frame, ["time"], "y", "time")
    honest = [(last, first) for last, first, n in seen if last < first]
    assert len(honest) == 4  # each block but the first, by all that was before


def test_each_way_learns_from_as_many_rows(rng):
    sizes = []

    class Spy(LinearRegression):
        def fit(self, x, y):
            sizes.append(len(x))
            return super().fit(x, y)

    leave_future_out(Spy(), panel(rng), ["known"], "y", "group")
    assert sorted(sizes[:8])[::2] == sorted(sizes[8:])


def test_a_group_is_never_on_both_sides(rng):
    frame, sides = panel(rng), []

    class Spy(LinearRegression):
        def fit(self, x, y):
            self.groups = set(x.group)
            return super().fit(x, y)

        def predict(self, x):
            sides.append(bool(self.groups & set(x.group)))
            return super().predict(x)

    leave_groups_out(Spy(), frame, ["known", "group"], "y", "group")
    assert sides == [True] * 5 + [False] * 5


def test_a_classifier_gives_probabilities_and_a_name_its_column(rng):
    frame = panel(rng).assign(y=lambda t: (t.y > 0).astype(float))
    frame["text"] = np.where(frame.known > 0, "good news", "bad news")
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    found = leave_groups_out(model, frame, "text", "y", "group")
    assert 0.1 < found.estimate["whole groups"] < 0.25


@pytest.mark.parametrize(
    ("audit", "options", "words"),
    [
        (leave_groups_out, {"group": "text"}, "at least two groups"),
        (leave_future_out, {"time": "text"}, "at least two groups or times"),
        (leave_groups_out, {"features": ["absent"]}, "Columns must be"),
        (leave_future_out, {"outcome": "text"}, "must hold numbers"),
        (leave_future_out, {"time": "gaps"}, "name a group"),
    ],
)
def test_what_they_refuse(rng, audit, options, words):
    frame = panel(rng).assign(text="a", gaps=None)
    by = "group" if audit is leave_groups_out else "time"
    given = {"features": ["known"], "outcome": "y", by: "group"} | options
    with pytest.raises(ValueError, match=words):
        audit(LINE, frame, **given)

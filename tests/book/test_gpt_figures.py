"""The picture of two heads, held to the task: they look where the answer stands."""

import book_scripts
import pytest

from course_lib import data


@pytest.fixture(scope="module")
def gpt():
    return book_scripts.load("gpt")


def test_the_two_heads_find_the_answer_wherever_there_is_one(gpt):
    task = data.induction(37, seed=5, n_symbols=5, n_pairs=7)
    found = 0
    for tokens, targets in zip(task.tokens, task.targets, strict=True):
        for t in range(0, len(tokens), 2):
            places = gpt.look_up(tuple(tokens[: t + 1]))
            assert {int(tokens[i]) for i in places} <= {int(targets[t])}
            assert bool(places) == (tokens[t] in tokens[:t:2])
            found += bool(places)
    assert 0 < found < task.targets.size


def test_the_pictures_own_key_returns_once(gpt):
    assert len(gpt.look_up(gpt.TOKENS)) == 1

"""Sentences that people have coded: which they are, and in which codes."""

import hashlib

import numpy as np

from course_lib import data
from course_lib.data.coded_sentences import CODES


def test_every_topic_has_one_code():
    topics = [topic for some in CODES.values() for topic in some]
    assert len(topics) == len(set(topics)) == 22


def test_five_hundred_sentences_in_the_order_of_time():
    p = data.coded_sentences()
    assert {len(x) for x in (p.text, p.code, p.year, p.president, p.party)} == {500}
    assert len(set(p.text)) == 500
    assert all(len(text.split()) >= 8 for text in p.text)
    assert (np.diff(p.year) >= 0).all()
    assert (p.year[0], p.year[-1]) == (1947, 2016)
    assert set(p.code) == set(CODES)
    assert set(p.party) == {"Democratic", "Republican"}


def test_they_are_these_sentences():
    p = data.coded_sentences()
    text = "\n".join(
        f"{code} {text}" for code, text in zip(p.code, p.text, strict=True)
    )
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == "d0bc2874d223"

"""Receipts and questions: texts with known answers."""

from course_lib.data import economics_questions, receipts
from course_lib.data.receipts import DIVISIONS


def test_every_division_has_as_many_lines_as_any_other():
    labelled, others = receipts()
    for found, each in ((labelled, 8), (others, 6)):
        counts = [found.divisions.count(i) for i in range(len(DIVISIONS))]
        assert counts == [each] * len(DIVISIONS)
        assert len(found.texts) == len(found.prices) == each * len(DIVISIONS)


def test_no_line_stands_twice_and_every_price_is_positive():
    labelled, others = receipts()
    texts = labelled.texts + others.texts
    assert len(set(texts)) == len(texts) == 112
    assert min(labelled.prices + others.prices) > 0
    assert all(text.strip() == text and text for text in texts)


def test_every_question_has_its_passage():
    questions, passages = economics_questions()
    assert len(questions) == len(passages) == 20
    assert all(question.endswith("?") for question in questions)
    assert all(passage.endswith(".") for passage in passages)
    assert len(set(questions)) == len(set(passages)) == 20

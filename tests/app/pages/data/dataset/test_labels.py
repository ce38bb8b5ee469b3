"""Balance of labels, in a sentence."""

import pytest
from PySide6.QtGui import QFontMetricsF

from app.pages.data.dataset.cards import LabelsCard
from app.pages.data.dataset.labels import Balance, LabelBars


@pytest.mark.parametrize(
    "labels, begins",
    [
        ({"a": 10, "b": 11}, "Balanced"),
        ({"a": 90, "b": 10}, "Imbalanced: “a” is 9.0 × as frequent"),
        ({"a": 90}, "There is only one label"),
        ({"": 80, "a": 10, "b": 11}, "Balanced"),
        ({"": 80, "a": 11}, "There is only one label"),
    ],
)
def test_imbalance_is_named(labels: dict[str, int], begins: str) -> None:
    assert Balance().sentence(labels).startswith(begins)


def test_rows_without_a_label_are_named_in_full(qtbot) -> None:
    bars = LabelBars()
    qtbot.addWidget(bars)
    bars.show_labels({"": 80, "0": 23, "1": 17})
    shown = bars.model().index(0, 0).data()
    assert shown == "(empty)"
    assert bars.columnWidth(0) > QFontMetricsF(bars.font()).horizontalAdvance(shown)


@pytest.mark.parametrize(
    "without, missing_answers, said",
    [
        (0, 0, "Every question has an answer in its passage."),
        (1, 0, "1 question(s) without an answer in the passage."),
        (0, 3, "3 answer(s) that the passage does not contain."),
    ],
)
def test_answers_are_counted_that_the_passage_does_not_contain(
    qtbot, without: int, missing_answers: int, said: str
) -> None:
    card = LabelsCard()
    qtbot.addWidget(card)
    card.show_answers(without, missing_answers)
    assert card.balance.text() == said

"""Cards of a data set: balance of its labels, answers, lengths."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app import theme
from app.pages.data.dataset.cards import LabelsCard
from app.pages.data.dataset.histogram import LengthHistogram, length_bars
from app.pages.data.dataset.lengths import Lengths
from app.widgets.forms.label_keys import LabelKeys, assign_keys
from app.widgets.forms.target_box import TargetBox
from app.widgets.label_bars import LabelBarsView, balance_text
from engine.config.codebook import Code
from engine.config.dataset import DatasetSpec, Mapping, Reading, Split, Target
from tests.engine.data.importing import import_files, write_lines


def test_the_balance_of_labels_is_described(qtbot):
    for labels, start in (
        ({"a": 10, "b": 11}, "Balanced"),
        ({"a": 90, "b": 10}, "Imbalanced: “a” is 9.0 × as frequent"),
        ({"a": 90}, "Only one class"),
        ({"": 80, "a": 10, "b": 11}, "Balanced"),
        ({"": 80, "a": 11}, "Only one class"),
    ):
        assert balance_text(labels).startswith(start)
    bars = LabelBarsView()
    qtbot.addWidget(bars)
    bars.show_labels({"": 80, "0": 23, "1": 17})
    assert [bars.model().index(row, 0).data() for row in range(2)] == ["0", "1"]
    text = bars.model().index(2, 0).data()
    assert text == "No label"
    assert bars.columnWidth(0) > QFontMetricsF(bars.font()).horizontalAdvance(text)


def test_bars_of_labels_have_one_scale(qtbot):
    """“500 33.3 %” leaves more space for its bar than “1,000 66.7 %”."""
    bars = LabelBarsView()
    qtbot.addWidget(bars)
    bars.resize(400, 100)
    bars.show_labels({"often": 1_000, "rarely": 500})
    bars.show()
    image, model = bars.viewport().grab().toImage(), bars.model()
    lengths = []
    for row in range(2):
        box = bars.visualRect(model.index(row, 1))
        y, color = box.center().y(), theme.colour(theme.Role.CHART_1).rgb()
        lengths.append(sum(image.pixel(x, y) == color for x in range(box.left(), box.right())))
    assert lengths[1] == pytest.approx(lengths[0] / 2, abs=2) and lengths[0] > 50


def test_answers_missing_from_their_passage_are_counted(qtbot):
    card = LabelsCard()
    qtbot.addWidget(card)
    for unanswered, missing, text in (
        (0, 0, "Every question has an answer in its passage."),
        (1, 0, "1 question(s) without an answer in the passage."),
        (0, 3, "3 answer(s) that the passage does not contain."),
    ):
        card.show_answers(unanswered, missing)
        assert card.balance.text() == text


def test_rows_without_tags_or_flags_are_counted_apart(qtbot, tmp_path):
    flags = [f"film {n},{'' if n < 4 else n % 2},{'' if n < 4 else 1}" for n in range(20)]
    tags = [f"film {n},{'' if n < 5 else 'B-a O'}" for n in range(20)]
    shown = []
    for name, mapping, lines in (
        ("flags", Mapping(text="text", flags=("rude", "long")), ["text,rude,long", *flags]),
        ("tags", Mapping(text="text", tags="tags"), ["text,tags", *tags]),
    ):
        file = write_lines(tmp_path / f"{name}.csv", *lines)
        dataset = import_files(file, tmp_path / name / "1", mapping=mapping)
        card = LabelsCard()
        qtbot.addWidget(card)
        card.show_spec(dataset.spec)
        shown.append(card)
        assert len(dataset.find(label="")) == sum(dataset.spec.unlabelled.values())
    model = shown[0].bars.model()
    assert [model.index(row, 0).data() for row in range(3)] == ["long", "rude", "No label"]
    assert "1.5 on average" in shown[0].balance.text()
    assert shown[1].balance.text().endswith("5 row(s) have no tags.")


def test_label_columns_are_offered_with_that_of_the_import_first(qtbot):
    outer, box, picked = QWidget(), TargetBox(), []
    QVBoxLayout(outer).addWidget(box)
    qtbot.addWidget(outer)
    box.picked.connect(picked.append)
    targets = {name: Target(labels={"a": 1, "b": 1}) for name in ("team", "kind")}
    spec = {"name": "x", "version": 1, "sources": {}, "reading": Reading(), "split": Split()}
    spec |= {"rows": {}, "fingerprint": "", "labels": {}, "targets": targets}
    columns = ("text", "kind", "label", "rude", "long", "team")
    for mapping, own in (
        (Mapping(text="text", label="label"), "label"),
        (Mapping(text="text", flags=("rude", "long")), "yes/no columns"),
        (Mapping(text="text"), "none"),
    ):
        dataset = DatasetSpec(mapping=mapping, columns=columns, **spec)
        box.show_spec(dataset, "team")
        names = [box.box.itemText(index) for index in range(box.box.count())]
        assert names == [own, "kind", "team"] and box.box.currentText() == "team"
        for index in (0, 1):
            box.box.setCurrentIndex(index)
            box.box.activated.emit(index)
    assert picked == [None, "kind"] * 3 and not box.isHidden()
    box.show_spec(dataset.model_copy(update={"targets": {}}))
    assert box.isHidden()


def test_lengths_are_counted_and_the_histogram_holds_every_row(qtbot):
    lengths = Lengths(np.bincount([3, 3, 4, 5, 200]))
    assert (lengths.rows, lengths.median(), lengths.maximum) == (5, 4, 200)
    assert lengths.count_longer(128) == 1
    assert lengths.count_longer(200) == 0
    histogram = LengthHistogram()
    qtbot.addWidget(histogram)
    for rows in ([3], [0, 1, 2], list(range(2_000)), [5] * 1_000 + [9_000]):
        lengths = Lengths(np.bincount(rows))
        histogram.show_lengths(lengths, 128)
        assert length_bars(lengths, 128)[0].sum() == len(rows)
        assert sum(bars.y.sum() for bars in histogram.chart.series) == len(rows)
        histogram.grab()
    histogram.show_lengths(None, 128)
    assert not histogram.accessibleDescription()


def test_ten_labels_fit_on_their_buttons(qtbot):
    outer = QWidget()
    column = QVBoxLayout(outer)
    keys = LabelKeys()
    column.addWidget(keys)
    column.addStretch(1)
    qtbot.addWidget(outer)
    outer.resize(500, 400)
    outer.show()
    for labels in (("a", "b"), tuple(f"animals and plants {n}" for n in range(9))):
        keys.show_labels(assign_keys([Code(label=x) for x in labels]), labels, "no label")
        qtbot.waitUntil(lambda: len(keys.findChildren(QPushButton)) == len(keys.labels) + 1)
        buttons = keys.findChildren(QPushButton)
        qtbot.waitUntil(lambda items=buttons: all(b.width() >= b.sizeHint().width() for b in items))
        assert all(b.mapTo(keys, QPoint(b.width(), 0)).x() <= keys.width() for b in buttons)


def test_a_label_that_is_a_digit_is_its_own_key(qtbot):
    for labels, keys in (
        (("bad", "good"), {"1": "bad", "2": "good", "0": ""}),
        (("0", "1"), {"0": "0", "1": "1", "-": ""}),
        (("1", "4", "5"), {"1": "1", "4": "4", "5": "5", "0": ""}),
        (("0", "10"), {"1": "0", "2": "10", "0": ""}),
    ):
        outer = QWidget()
        qtbot.addWidget(outer)
        label_keys = LabelKeys(outer)
        codes = assign_keys([Code(label=label) for label in labels])
        label_keys.show_labels(codes, labels, "no label")
        for key in "-0123456789":
            assert label_keys.find_label(ord(key)) == keys.get(key)
        buttons = [(b.text(), b.icon().isNull()) for b in label_keys.findChildren(QPushButton)]
        assert buttons == [(label or "no label", key == label) for key, label in keys.items()]
        assert label_keys.find_label(Qt.Key.Key_Return) is None

"""The field of class weights."""

import pytest
from PySide6.QtCore import Qt

from app.widgets.forms.fields import Weights
from app.widgets.forms.form import SpecForm
from engine.config.tasks.text_classification import TextClassification
from tests.app.accessible import assert_accessible


@pytest.fixture
def form(qtbot) -> SpecForm:
    form = SpecForm(TextClassification, ["balanced", "class_weights", "label_smoothing"])
    qtbot.addWidget(form)
    form.show()
    return form


def weights(form: SpecForm) -> Weights:
    field = form.fields["class_weights"]
    assert isinstance(field, Weights)
    return field


def test_weights_are_added_for_unused_labels_changed_and_removed(qtbot, form):
    field = weights(form)
    field.set_names(["bad", "good"])
    field.add.click()
    field.add.click()
    assert form.value()["class_weights"] == {"bad": 2.0, "good": 2.0}
    with qtbot.waitSignal(form.changed):
        field.rows[1].number.set_number(0.5)
    assert form.value()["class_weights"] == {"bad": 2.0, "good": 0.5}
    assert_accessible(form)
    field.rows[0].remove.click()
    assert form.value()["class_weights"] == {"good": 0.5}
    assert form.is_valid()


def test_a_weight_that_is_not_positive_is_refused(form):
    weights(form).put({"bad": 1.0})
    for typed in ("0", "-1", "much", "1e9"):
        weights(form).rows[0].number.lineEdit().setText(typed)
        assert "class_weights" in form.problems(), typed


def test_set_values_are_shown(form):
    field = weights(form)
    form.set_value({"class_weights": {"a": 1.5, "b": 3.0}})
    assert [(row.name.currentText(), row.number.number()) for row in field.rows] == [
        ("a", 1.5), ("b", 3),
    ]  # fmt: skip
    field.set_names(["b", "c"])
    assert form.value()["class_weights"] == {"a": 1.5, "b": 3.0}
    form.set_value({"class_weights": {}})
    assert form.value()["class_weights"] == {} and not field.rows


def test_enter_keeps_a_name_as_it_was_typed(qtbot):
    """It is neither completed to a longer name nor written like another one."""
    field = Weights("Class weights")
    qtbot.addWidget(field)
    field.set_names(["positive", "pos", "NEG"])
    field.put({"x": 2.0})
    field.show()
    box = field.rows[0].name
    for text in ("posi", "POSITIVE", "neg"):
        box.setFocus()
        box.lineEdit().selectAll()
        qtbot.keyClicks(box.lineEdit(), text)
        qtbot.keyClick(box.lineEdit(), Qt.Key.Key_Return)
        assert field.get() == {text: 2.0}

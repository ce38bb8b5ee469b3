"""A form built from a spec has its fields, titles and bounds."""

from typing import Literal

import pytest
from pydantic import BaseModel, Field, model_validator
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from app.widgets.forms.controls import (
    NumberField,
    ProbabilityBox,
    number_text,
)
from app.widgets.forms.fields import ChoiceField, NumberChoice, OptionalField, SwitchField
from app.widgets.forms.form import SpecForm
from app.widgets.text.spec_texts import problem_text
from engine.config.families.bert import BertSpec
from engine.config.fields import get_level, get_settings, is_fraction
from engine.config.problems import Problem
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec
from engine.config.typed_numbers import parse_probability, parse_typed_number
from tests.app.accessible import accessible_name, assert_accessible


@pytest.fixture
def form(qtbot) -> SpecForm:
    form = SpecForm(TrainingSpec)
    qtbot.addWidget(form)
    form.show()
    return form


def number(form: SpecForm, name: str) -> NumberChoice:
    field = form.fields[name]
    assert isinstance(field, NumberChoice)
    return field


def test_a_new_form_has_the_defaults_titles_and_help_of_its_spec(form):
    assert TrainingSpec.model_validate(form.value()) == TrainingSpec()
    assert form.is_valid()
    shown = {label.text() for label in form.findChildren(QLabel)}
    for info in TrainingSpec.model_fields.values():
        is_here = get_level(info) != "elsewhere"
        assert (info.title in shown) == (info.description in shown) == is_here
    assert accessible_name(number(form, "seed").number) == "Random seed"
    assert_accessible(form)


def test_paper_values_are_buttons_and_others_are_typed(qtbot, form):
    field = number(form, "learning_rate")
    assert field.segments is not None and not field.number.isVisible()
    with qtbot.waitSignal(form.changed):
        field.segments.group.button(2).click()
    assert form.value()["learning_rate"] == 2e-5
    assert field.segments is not None
    field.segments.group.button(3).click()
    assert field.number.isVisible()
    field.number.lineEdit().selectAll()
    qtbot.keyClicks(field.number.lineEdit(), "7.5e-4")
    assert form.value()["learning_rate"] == 7.5e-4
    segments = number(form, "batch_size").segments
    assert segments is not None
    segments.group.button(1).setFocus()
    qtbot.keyClick(segments.group.button(1), Qt.Key.Key_Left)
    assert form.value()["batch_size"] == 16 and segments.group.button(0).hasFocus()


def test_problems_are_shown_next_to_the_field(qtbot, form):
    form.set_value({"batch_size": 0, "warmup_ratio": 200})
    number(form, "seed").number.lineEdit().setText("many")
    assert form.problems() == {
        "batch_size": "Must be at least 1.",
        "warmup_ratio": "Must be at most 1.",
        "seed": "Must be a whole number.",
    }
    message = next(w for w in form.findChildren(QLabel) if w.text() == "Must be at least 1.")
    qtbot.waitUntil(message.isVisible)
    form.set_value({"batch_size": 8, "warmup_ratio": 0.1, "seed": 1})
    assert message.isHidden()
    assert form.problems() == {}


def test_an_empty_value_is_a_separate_choice(form):
    field = form.fields["dropout"]
    assert isinstance(field, OptionalField)
    assert form.value()["dropout"] is None and field.box.isChecked()
    field.box.click()
    assert form.value()["dropout"] == 0 and field.inner.isVisible()
    form.set_value({"dropout": None})
    assert form.value()["dropout"] is None and not field.inner.isVisible()


def test_literals_are_a_combo_box_and_invalid_cores_are_reported(qtbot):
    form = SpecForm(HardwareSpec)
    qtbot.addWidget(form)
    field = form.fields["device"]
    assert isinstance(field, ChoiceField)
    assert [field.combo.itemText(n) for n in range(2)] == ["Automatic", "CPU"]
    form.set_value({"device": "cpu"})
    assert HardwareSpec.model_validate(form.value()).device == "cpu"
    form.set_value({"cores": "0-1,3"})
    assert HardwareSpec.model_validate(form.value()).cores == "0-1,3"
    assert form.is_valid()
    form.set_value({"cores": "3-1"})
    assert form.problems() == {"cores": "“3-1” runs backwards: write 1-3."}


def test_a_problem_of_several_fields_is_shown_below_them(qtbot):
    form = SpecForm(BertSpec, ["hidden_size", "heads"])
    qtbot.addWidget(form)
    form.set_value({"hidden_size": 100, "heads": 12})
    assert form.problems() == {"": "The hidden size 100 is not divisible by 12 attention heads."}
    assert not form.form_problem.isHidden()
    assert problem_text(Problem("Not a URL", ())) == "Not a URL."


class MixedSpec(BaseModel):
    on: bool = Field(False, title="On")
    name: str = Field("x", title="Name", min_length=1)
    kind: Literal["a", "b"] = "b"

    @model_validator(mode="after")
    def _rule(self) -> "MixedSpec":
        return self


def test_switches_and_text_fields_work_and_other_types_are_refused(qtbot):
    form = SpecForm(MixedSpec)
    qtbot.addWidget(form)
    switch = form.fields["on"]
    assert isinstance(switch, SwitchField)
    switch.switch.click()
    form.set_value({"name": ""})
    assert form.value() == {"on": True, "name": "", "kind": "b"}
    assert form.problems() == {"name": "Is required."}

    class UnsupportedSpec(BaseModel):
        places: list[int] = []

    with pytest.raises(TypeError):
        SpecForm(UnsupportedSpec)


@pytest.mark.parametrize(
    "text,whole,value",
    [
        ("5e-5", False, 5e-5),
        ("0,1", False, 0.1),
        (" 512 ", True, 512),
        ("1e3", True, 1000),
        ("9007199254740993", True, 9007199254740993),
        ("1 000", True, 1000),
        ("2.5", True, 2.5),
        ("", False, None),
        ("nan", False, None),
        ("inf", False, None),
        ("1_000", True, None),
        ("0x10", True, None),
    ],
)
def test_numbers_are_read_as_people_write_them(text, whole, value):
    assert parse_typed_number(text, whole) == value


@pytest.mark.parametrize(
    "value,text",
    [
        (5e-5, "5e-5"),
        (2.5e-7, "2.5e-7"),
        (0.1, "0.1"),
        (3.0, "3"),
        (128, "128"),
        (1 / 3, "0.3333333333"),
    ],
)
def test_numbers_are_written_briefly(value, text):
    assert number_text(value) == text


@pytest.mark.parametrize(
    "field,steps,expected",
    [
        ({"value": 5e-5, "stepping": "decades"}, 1, 1e-4),
        ({"value": 5e-5, "stepping": "decades"}, -2, 2e-5),
        ({"value": 32, "stepping": "double", "integer": True}, 1, 64),
        ({"value": 48, "stepping": "double", "integer": True}, -1, 32),
        ({"value": 0, "stepping": "decades", "integer": True}, 2, 2),
        ({"value": 0.3, "stepping": 0.1}, 1, 0.4),
        ({"value": 9, "stepping": 1.0, "high": 10}, 5, 10),
        ({"value": 1, "stepping": "decades", "integer": True, "low": 0}, -3, 0),
    ],
)
def test_arrows_step_to_sensible_values(qtbot, field, steps, expected):
    number = NumberField(**field)  # type: ignore[arg-type]
    qtbot.addWidget(number)
    number.stepBy(steps)
    assert number.number() == pytest.approx(expected, rel=1e-12)


def test_a_fraction_may_be_typed_in_per_cent_in_every_box(qtbot):
    """80, 80 % and 0.8 are the same; a rate or an epsilon is no part of a whole."""
    fractions = 0
    for spec in (TrainingSpec, BertSpec, *TASKS.values()):
        names = [name for name, info in get_settings(spec).items() if is_fraction(info)]
        for name in names:
            form = SpecForm(spec, [name], varies=True)
            qtbot.addWidget(form)
            field = form.fields[name]
            inner = field.inner if isinstance(field, OptionalField) else field
            assert isinstance(inner, NumberChoice)
            fractions += 1
            for text in ("80", "80 %", "80%", "0.8", "0,8"):
                inner.number.lineEdit().setText(text)
                assert inner.get() == pytest.approx(0.8), (name, text)
            several = form.several[name]
            assert [several._parse(part) for part in ("5 %", "10")] == [0.05, 0.1]
    assert fractions >= 12
    assert not any(is_fraction(TrainingSpec.model_fields[name]) for name in ("beta1", "epsilon"))


def test_a_probability_box_takes_per_cent_and_fractions(qtbot):
    box = ProbabilityBox("Unsure below", 0.5)
    qtbot.addWidget(box)
    box.setSpecialValueText("off")
    for text in ("80", "80 %", "0.8"):
        box.selectAll()
        qtbot.keyClicks(box, text)
        qtbot.keyClick(box, Qt.Key.Key_Return)
        assert (box.value(), box.text()) == (pytest.approx(0.8), "80 %")
        box.setValue(0)
        assert box.text() == "off"
    for text in ("", "x", "101 %", "-1", "150"):
        assert parse_probability(text) is None
    assert parse_probability("1") == 1 and parse_probability("1 %") == 0.01
    assert parse_probability("1", 0.95) == 0.01 and parse_probability("0.97", 0.95) is None
    box.setValue(0.8)
    box.stepUp()
    assert box.text() == "85 %"

"""Every setting of a spec has a control in the window; none can be forgotten."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QCheckBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.pages.data.view import DataPage
from app.pages.train.choices import Step, goals
from app.pages.train.settings_step import SettingsStep
from app.pages.train.view import TrainPage
from app.studio import Studio
from app.widgets.forms.fields import OneOf
from app.widgets.forms.form import SpecForm
from engine.config.dataset import Mapping, Reading, Split
from engine.config.families.bert import BertSpec
from engine.config.features import Features
from engine.config.fields import branch_fields, fields_at, settings_of
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec


@pytest.fixture
def wizard(qtbot: QtBot, studio: Studio) -> TrainPage:
    made = TrainPage(studio)
    qtbot.addWidget(made)
    return made


@pytest.fixture
def step(wizard: TrainPage) -> SettingsStep:
    return wizard.settings


def test_the_step_is_made_when_it_is_gone_to(wizard: TrainPage) -> None:
    assert not wizard.findChildren(SettingsStep)
    wizard._go(Step.DATA)
    assert not wizard.findChildren(SettingsStep)
    wizard._go(Step.SETTINGS)
    assert wizard.findChildren(SettingsStep) == [wizard.settings]


def test_every_setting_of_the_training_is_simple_or_advanced(step: SettingsStep) -> None:
    for simple in (step.fine_tuning, step.pre_training):
        assert set(simple.fields) | set(step.more.fields) == set(settings_of(TrainingSpec))
        assert not set(simple.fields) & set(step.more.fields)


def test_every_setting_of_hardware_and_features_has_a_control(step: SettingsStep) -> None:
    assert set(step.hardware.fields) == set(settings_of(HardwareSpec))
    assert set(step.features.fields) == set(fields_at(Features, "simple", "advanced"))


def test_every_setting_of_a_task_has_a_control(wizard: TrainPage, step: SettingsStep) -> None:
    assert {goal.kind for goal in goals()} == set(TASKS)
    for goal in goals():
        wizard.state.set(replace(wizard.state.choices, goal=goal))
        shown = set(step.tasks[goal.kind].fields) if goal.kind in step.tasks else set()
        assert shown == set(fields_at(TASKS[goal.kind], "simple", "advanced")), goal.kind


def test_the_metrics_of_the_task_are_offered_for_the_best_checkpoint(
    wizard: TrainPage, step: SettingsStep
) -> None:
    field = step.more.fields["best_metric"]
    assert isinstance(field, OneOf)
    usual = wizard.state.choices.task
    for kind in ("regression", usual.kind):
        goal = next(goal for goal in goals() if goal.kind == kind)
        wizard.state.set(replace(wizard.state.choices, goal=goal))
        metrics = [metric.name for metric in goal.task.info.metrics]
        shown = [field.combo.itemText(place) for place in range(field.combo.count())]
        assert field.values == ("", *metrics) and field.get() == ""
        assert shown[0].startswith("Default (") and len(shown) == len(metrics) + 1
    field.put("loss")
    field.changed.emit()
    assert wizard.state.choices.training.best_metric == "loss"


def test_every_size_of_a_new_network_has_a_control(wizard: TrainPage) -> None:
    form = wizard.base_model.scratch
    assert set(form.custom.fields) == set(fields_at(BertSpec, "simple", "advanced"))


def test_every_form_can_show_what_a_branch_may_change(qtbot: QtBot) -> None:
    form = SpecForm(TrainingSpec, branch_fields(TrainingSpec))
    qtbot.addWidget(form)
    assert set(form.fields) == set(branch_fields(TrainingSpec))


def said_in(section: QWidget) -> set[str]:
    labels = {label.text() for label in section.findChildren(QLabel)}
    return labels | {box.text().replace("&", "") for box in section.findChildren(QCheckBox)}


def test_every_setting_of_an_import_has_a_control(qtbot: QtBot, studio: Studio) -> None:
    page = DataPage(studio)
    qtbot.addWidget(page)
    shown = page.importing
    for section, spec in ((shown.format, Reading), (shown.columns, Mapping), (shown.split, Split)):
        titles = {info.title for info in settings_of(spec).values()}
        assert titles <= said_in(section), spec

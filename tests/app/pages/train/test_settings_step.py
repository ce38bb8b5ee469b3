"""Every setting of a spec has a control in the window; none can be forgotten."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QCheckBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.pages.data.view import DataPage
from app.pages.train.choices import Step, goals
from app.pages.train.job import compose_job
from app.pages.train.preview import Preview
from app.pages.train.settings_step import SettingsStep
from app.pages.train.summary import warnings
from app.pages.train.view import TrainPage
from app.studio import Studio
from app.widgets.forms.controls import number_text
from app.widgets.forms.fields import ChoiceField
from app.widgets.forms.form import SpecForm
from engine.config.dataset import Mapping, Reading, Split
from engine.config.families.bert import BertSpec
from engine.config.features import Features
from engine.config.fields import branch_fields, fields_at, get_settings
from engine.config.sentence import SentenceSpec
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec
from engine.data.lengths import Lengths
from tests.app.pages.train.conftest import go_to_review, pick, press
from tests.app.pages.train.examples import INFO, MODEL, PAIR, SCRATCH, SENTENCE, data, with_training


@pytest.fixture
def wizard(qtbot: QtBot, studio: Studio) -> TrainPage:
    wizard = TrainPage(studio)
    qtbot.addWidget(wizard)
    return wizard


def test_the_step_is_built_when_first_opened_with_a_control_for_every_setting(wizard, qtbot):
    assert not wizard.findChildren(SettingsStep)
    wizard._open_step(Step.DATA)
    assert not wizard.findChildren(SettingsStep)
    wizard._open_step(Step.SETTINGS)
    step = wizard.settings
    assert wizard.findChildren(SettingsStep) == [step]
    initial = wizard.state.choices.task
    for simple in (step.fine_tuning, step.pre_training):
        assert set(simple.fields) | set(step.more.fields) == set(get_settings(TrainingSpec))
        assert not set(simple.fields) & set(step.more.fields)
    assert set(step.hardware.fields) == set(get_settings(HardwareSpec))
    assert set(step.features.fields) == set(fields_at(Features, "simple", "advanced"))
    custom = wizard.base_model.scratch.custom
    assert set(custom.fields) == set(fields_at(BertSpec, "simple", "advanced"))
    assert {goal.kind for goal in goals()} == set(TASKS)
    for goal in goals():
        wizard.state.set(replace(wizard.state.choices, goal=goal))
        fields = set(step.tasks[goal.kind].fields) if goal.kind in step.tasks else set()
        assert fields == set(fields_at(TASKS[goal.kind], "simple", "advanced")), goal.kind

    # metrics are offered for the best checkpoint
    field = step.more.fields["best_metric"]
    assert isinstance(field, ChoiceField)
    for kind in ("regression", initial.kind):
        goal = next(goal for goal in goals() if goal.kind == kind)
        wizard.state.set(replace(wizard.state.choices, goal=goal))
        metrics = [metric.name for metric in goal.task.info.metrics]
        items = [field.combo.itemText(index) for index in range(field.combo.count())]
        assert field.values == ("", *metrics) and field.get() == ""
        assert items[0].startswith("Default (") and len(items) == len(metrics) + 1
    field.put("loss")
    field.changed.emit()
    assert wizard.state.choices.training.best_metric == "loss"
    form = SpecForm(TrainingSpec, branch_fields(TrainingSpec))
    qtbot.addWidget(form)
    assert set(form.fields) == set(branch_fields(TrainingSpec))


def test_quick_is_offered_with_its_figures_where_it_was_measured(wizard, qtbot):
    size = INFO.model_copy(update={"layers": 6, "hidden_size": 384, "intermediate_size": 1536})
    chosen = replace(wizard.state.choices, goal=SENTENCE, data=data())
    wizard.state.set(replace(chosen, model=replace(MODEL, info=size)))
    wizard._open_step(Step.SETTINGS)
    step, state = wizard.settings, wizard.state
    assert step.recipe.choice() == 0 and not step.recipe_row.isHidden()
    quick = state.choices.quick
    assert f"{number_text(quick.speed)} times as fast" in step.recipe_text.text()
    step.recipe.group.button(1).click()
    assert state.choices.recipe == "quick"
    rate = step.fine_tuning.fields["learning_rate"]
    assert rate.get() == quick.rate and rate.segments.choice() == 0, "it is the recommended one"
    assert step.more.fields["frozen_layers"].get() == round(6 * quick.frozen)
    assert step.changes.isHidden(), "they are values of the recipe"
    step.more.fields["frozen_layers"].put(1)
    step.more.fields["frozen_layers"].changed.emit()
    assert "Frozen layers 1" in step.changes.text()
    step.reset.click()
    assert state.choices.training.frozen_layers == round(6 * quick.frozen)
    state.set(replace(state.choices, model=MODEL))
    assert step.recipe_row.isHidden() and state.choices.training.frozen_layers == 0


def read_texts(section: QWidget) -> set[str]:
    labels = {label.text() for label in section.findChildren(QLabel)}
    return labels | {box.text().replace("&", "") for box in section.findChildren(QCheckBox)}


def test_every_setting_of_an_import_has_a_control(qtbot, studio):
    page = DataPage(studio)
    qtbot.addWidget(page)
    view = page.importing
    for section, spec in ((view.format, Reading), (view.columns, Mapping), (view.split, Split)):
        titles = {info.title for info in get_settings(spec).values()}
        assert titles <= read_texts(section), spec


def test_simple_offers_recommended_values_and_advanced_lists_its_changes(page, qtbot, screen):
    go_to_review(qtbot, page)
    press(qtbot, page.back)
    form, best = page.settings.fine_tuning, page.state.choices.defaults
    assert (best.batch_size, best.epochs) == (32, 10), "the test has few rows"
    texts = {
        name: [button.text() for button in field.segments.group.buttons()]
        for name, field in form.fields.items()
        if getattr(field, "segments", None)
    }
    rate, epochs = number_text(best.learning_rate), number_text(best.epochs)
    assert texts == {
        "batch_size": [f"Recommended: {best.batch_size}", "16", "Other"],
        "learning_rate": [f"Recommended: {rate}", "5e-5", "3e-5", "2e-5", "Other"],
        "epochs": [f"Recommended: {epochs}", "2", "3", "4", "Other"],
        "seeds": ["1", "3", "5", "Other"],
    }
    for name in ("batch_size", "learning_rate", "epochs"):
        assert form.fields[name].segments.choice() == 0
    labels = [label.text() for label in form.findChildren(QLabel) if label.isVisible()]
    assert any("over 48 rows are 20 updates" in text for text in labels)
    press(qtbot, form.fields["batch_size"].segments.group.button(1))
    press(qtbot, page.settings.quick_trial)
    assert page.state.choices.training.batch_size == 16
    assert page.state.choices.training.train_fraction == 0.1
    seed = form.fields["seed"].number.lineEdit()
    seed.setText("often")
    assert not page.next.isEnabled()
    assert page.reason.text() == "Must be a whole number."
    seed.setText("7")
    assert page.next.isEnabled()
    assert page.state.choices.training.seed == 7

    # Advanced shows more fields and lists its changes
    settings = page.settings
    press(qtbot, settings.reset)
    assert settings.advanced.isHidden() and settings.changes.isHidden()
    press(qtbot, settings.mode.group.button(1))
    assert not settings.advanced.isHidden()
    settings.more.fields["warmup_ratio"].put(0.3)
    assert page.state.choices.training.warmup_ratio == 0.3
    assert settings.changes.text() == "Changed in Advanced: Warm-up ratio 0.3 (default 0.1)"
    press(qtbot, settings.mode.group.button(0))
    assert not settings.changes.isHidden()
    press(qtbot, settings.mode.group.button(1))
    fields = settings.features.fields
    assert [name for name, field in fields.items() if not field.isHidden()] == ["vectors"]
    fields["vectors"].combo.setCurrentText("One layer")
    assert not fields["layer"].isHidden() and not fields["probe_size"].isHidden()
    fields["layer"].put(2)
    fields["probe"].combo.setCurrentText("Linear")
    assert fields["probe_size"].isHidden()
    probe = page.state.job().features
    assert (probe.vectors, probe.layer, probe.probe) == ("one layer", 2, "linear")
    screen(settings.features_card, "probe")
    press(qtbot, settings.reset)
    assert page.state.choices.training.warmup_ratio == 0.1
    assert page.state.choices.features == Features()
    assert settings.changes.isHidden()
    assert [name for name, field in fields.items() if not field.isHidden()] == ["vectors"]
    page.resize(1000, 520)
    bar = page._settings_area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.setValue(bar.maximum())
    page._open_step(Step.REVIEW)
    page._open_step(Step.SETTINGS)
    qtbot.waitUntil(lambda: bar.value() == 0)


def test_advanced_settings_are_found_by_their_words(page, qtbot):
    go_to_review(qtbot, page)
    press(qtbot, page.back)
    step = page.settings
    assert step.search.isHidden(), "Simple shows a few"
    step.mode.choose(1)
    step.mode.chosen.emit(1)
    before = len(shown_fields(step))
    qtbot.keyClicks(step.search, "learning RATE peak")
    assert shown_fields(step) == ["learning_rate"] and step.hardware_card.isHidden()
    step.search.setText("gradient clipping")
    assert "max_grad_norm" in shown_fields(step) and step.simple_card.isHidden()
    page.state.set(with_training(page.state.choices, epochs=2))
    assert "epochs" not in shown_fields(step), "a change keeps the search"
    step.search.setText("qqq")
    assert shown_fields(step) == [] and not step.nothing.isHidden()
    step.search.clear()
    assert len(shown_fields(step)) == before and step.nothing.isHidden()
    step.search.setText("qqq")
    step.mode.choose(0)
    step.mode.chosen.emit(0)
    assert "epochs" in shown_fields(step), "Simple is not searched"


def shown_fields(step: SettingsStep) -> list[str]:
    forms = step.findChildren(SpecForm)
    return [
        name for form in forms for name, field in form.fields.items() if field.isVisibleTo(step)
    ]


def test_pretraining_has_its_own_values_and_hides_mask_settings_for_clm(page, qtbot):
    press(qtbot, page.task.cards[SCRATCH])
    page.arrive({"task": "pretraining"})
    assert page.step is Step.TASK and page.state.choices.goal == SCRATCH
    settings = page.settings
    assert settings.fine_tuning.isHidden() and not settings.pre_training.isHidden()
    rate = settings.pre_training.fields["learning_rate"].segments
    texts = [button.text() for button in rate.group.buttons()]
    assert texts == ["Recommended: 5e-4", "1e-4", "3e-4", "Other"]
    assert rate.choice() == 0
    assert not settings.task_card.isHidden()
    fields = settings.tasks["pretraining"].fields
    fields["mlm_probability"].put(0.2)
    assert page.state.choices.task.mlm_probability == 0.2
    fields["objective"].put("clm")
    assert page.state.choices.is_causal
    visible = {name for name, field in fields.items() if not field.isHidden()}
    assert visible == {"objective", "long_length", "long_share"}
    warm = page.base_model.scratch.warm_init
    assert not warm.isEnabled() and "MLM" in warm.toolTip()
    fields["objective"].put("mlm")
    assert not any(field.isHidden() for field in fields.values())
    assert warm.isEnabled()


def test_sizes_and_vocabularies_from_scratch_are_chosen(page, qtbot):
    press(qtbot, page.task.cards[SCRATCH])
    press(qtbot, page.next)
    pick(qtbot, page.data.list, "films")
    press(qtbot, page.next)
    form = page.base_model.scratch
    press(qtbot, form.sizes.group.button(0))
    assert page.state.choices.scratch.size == "tiny"
    assert form.custom.isHidden()
    press(qtbot, form.sizes.group.button(6))
    assert not form.custom.isHidden()
    form.custom.fields["layers"].put(3)
    assert page.state.choices.scratch.custom.layers == 3
    form.custom.fields["heads"].put(5)
    assert "not divisible" in page.reason.text() and not page.next.isEnabled()
    form.custom.fields["heads"].put(4)
    assert page.next.isEnabled()
    press(qtbot, form.source.group.button(1))
    assert page.state.choices.scratch.vocabulary.name == "little"
    press(qtbot, form.source.group.button(0))
    form.vocab_size.setValue(500)
    press(qtbot, form.lowercase)
    press(qtbot, form.warm_init)
    scratch = page.state.choices.scratch
    assert scratch.warm_init
    assert (scratch.vocabulary, scratch.vocab_size, scratch.lowercase) == (None, 500, False)


def test_windows_are_offered_for_long_texts_with_the_words_that_truncation_never_reads(wizard):
    wizard.state.set(replace(wizard.state.choices, goal=SENTENCE, data=data(), model=MODEL))
    wizard._open_step(Step.SETTINGS)
    step, preview = wizard.settings, wizard.state.preview
    lengths = Lengths((64,) * 8 + (576,) * 2)
    preview.result = Preview((), lengths, 100)
    preview.changed.emit()
    length = wizard.state.choices.training.max_length
    assert f"About 20 % of the inputs are longer than {length} tokens" in step.length.text()
    unread = 100 * 2 * (576 - length) / (64 * 8 + 576 * 2)
    assert f"{number_text(round(unread, 1))} % of all tokens" in step.length.text()
    form = step.tasks["text_classification"]
    shown = {name for name, field in form.fields.items() if not field.isHidden()}
    assert "long_texts" in shown and not shown & {"doc_stride", "aggregate", "windows_per_text"}
    step.long_texts.group.button(1).click()
    task = wizard.state.choices.task
    assert task.reads_windows and "overlapping windows" in step.length.text()
    assert not form.fields["aggregate"].isHidden() and step.changes.isHidden()
    for way, cautions in ((1, 0), (0, 1)):
        step.long_texts.group.button(way).click()
        texts = [caution.text for caution in warnings(wizard.state.choices, lengths)]
        assert sum("never read" in text for text in texts) == cautions
    other = next(goal for goal in goals() if goal.kind == "multiple_choice")
    wizard.state.set(replace(wizard.state.choices, goal=other))
    assert step.long_texts.isHidden()


def test_contrastive_fine_tuning_is_offered_for_few_labelled_rows(wizard):
    step_data = data()
    few = step_data.spec.model_copy(update={"rows": {"train": 40, "validation": 10}})
    chosen = replace(wizard.state.choices, goal=SENTENCE, data=replace(step_data, spec=few))
    wizard.state.set(replace(chosen, model=MODEL))
    wizard._open_step(Step.SETTINGS)
    step, state = wizard.settings, wizard.state
    assert not step.few_row.isHidden() and not step.few_switch.isChecked()
    assert step.few_text.text().startswith("You have 40 labelled row")
    assert "a sentence encoder such as MiniLM" in step.few_text.text()
    size = {"layers": 6, "hidden_size": 384, "intermediate_size": 1536, "sentence": SentenceSpec()}
    state.set(replace(state.choices, model=replace(MODEL, info=INFO.model_copy(update=size))))
    assert "contrastive fine-tuning is the best" in step.few_text.text()
    assert "with 64 rows" in step.few_text.text() and "0 to +20" in step.few_text.text()
    step.few_switch.click()
    choices = state.choices
    assert choices.probe.vectors == "contrastive" and step.recipe_row.isHidden()
    assert choices.training.batch_size == 16 and choices.training.epochs == 10
    assert step.fine_tuning.fields["epochs"].get() == 10, "as recommended for 40 rows"
    assert "Contrastive fine-tuning" in step.changes.text()
    assert compose_job(choices).features.vectors == "contrastive"
    step.few_switch.click()
    assert state.choices.probe.vectors == "fine-tuned" and not step.recipe_row.isHidden()
    state.set(replace(state.choices, goal=PAIR))
    assert step.few_row.isHidden()
    state.set(replace(state.choices, goal=SENTENCE, data=step_data))
    assert step.few_row.isHidden(), "many rows"

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QLabel, QPushButton, QWidget
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app import drops
from app.pages.train.choices import Choices, Step
from app.pages.train.job import job
from app.pages.train.obstacles import CHECKS, Check, Obstacle
from app.pages.train.pickers import Pick, PickList
from app.pages.train.view import TrainPage
from app.studio import Studio
from app.theme import Choice
from app.widgets.card_list import ITEM
from app.widgets.forms.controls import number_text
from engine.config.job import JobSpec
from engine.messages.estimating import Estimated
from tests.app.accessible import assert_accessible
from tests.app.pages.train.cards import ONWARD, PAIR, SCRATCH, SENTENCE
from tests.app.pages.train.conftest import AskedWorker, MakeData, choose_all

HOSTILE = '<img src="file:///CANARY.png"><b>x</b>&amp; R&D'


@pytest.fixture
def page(
    studio: Studio, qtbot: QtBot, sentences: Path, model: Path, one_time_workers: list[AskedWorker]
) -> TrainPage:
    """The visible wizard, with its lists read."""
    made = TrainPage(studio)
    qtbot.addWidget(made)
    made.resize(1180, 760)
    with qtbot.waitExposed(made):
        made.show()
    qtbot.waitUntil(lambda: made.state.lists.datasets is not None)
    return made


def test_a_worker_is_kept_ready_while_a_run_is_composed_unless_switched_off(
    studio: Studio, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("stand_by", "stand_down"):
        monkeypatch.setattr(studio.dispatcher, name, lambda name=name: asked.append(name))
    made = TrainPage(studio)
    qtbot.addWidget(made)
    assert not asked
    with qtbot.waitExposed(made):
        made.show()
    assert asked == ["stand_by"]
    studio.settings.set("stand_by", False)
    assert asked == ["stand_by", "stand_down"]
    made.hide()
    made.show()
    assert len(asked) == 2


def press(qtbot: QtBot, button: QAbstractButton) -> None:
    assert button.isEnabled(), button.text()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def pick(qtbot: QtBot, picks: PickList, title: str) -> None:
    """Click the entry of this title."""
    model = picks.model()
    for row in range(model.rowCount()):
        index = model.index(row, 0)
        if index.data() == title:
            place = picks.visualRect(index).center()
            qtbot.mouseClick(picks.viewport(), Qt.MouseButton.LeftButton, pos=place)
            return
    raise AssertionError(f"no {title!r} in the list")


def go_through(qtbot: QtBot, page: TrainPage) -> None:
    """Choose everything for a fine-tuning with the mouse; ends at the review."""
    press(qtbot, page.task.cards[SENTENCE])
    press(qtbot, page.next)
    pick(qtbot, page.data.list, "films")
    press(qtbot, page.next)
    pick(qtbot, page.base_model.list, "little")
    press(qtbot, page.next)
    press(qtbot, page.next)
    assert page.step is Step.REVIEW
    qtbot.waitUntil(lambda: not page.state.preview.is_reading)


def go_to_review(qtbot: QtBot, page: TrainPage) -> None:
    """The same without the mouse."""
    choose_all(page.state, qtbot)
    page._go(Step.REVIEW)


def test_the_way_through_ends_with_a_run(page: TrainPage, studio: Studio, qtbot: QtBot) -> None:
    go_through(qtbot, page)
    page.review.name.setFocus()
    qtbot.keyClicks(page.review.name, "my first")
    composed = page.state.job()
    assert composed is not None and composed.name == "my first"
    with qtbot.waitSignal(studio.go) as gone:
        press(qtbot, page.next)
    assert gone.args[0] == "runs"
    with studio.record.read() as session:
        from engine.record.runs import run

        found = run(session, gone.args[1]["run"])
        assert found is not None and found.asked() == composed


def test_next_is_disabled_with_a_reason_until_something_is_chosen(
    page: TrainPage, qtbot: QtBot
) -> None:
    assert page.state.choices.model is not None, "the only model is chosen"
    assert not page.next.isEnabled()
    assert page.why.text() == "Choose a task."
    press(qtbot, page.task.cards[PAIR])
    assert page.next.isEnabled() and not page.why.text()
    press(qtbot, page.next)
    assert not page.next.isEnabled()
    assert page.why.text().startswith("Choose a data set")
    pick(qtbot, page.data.list, "films")
    assert not page.next.isEnabled()
    assert "a pair needs two" in page.why.text()
    assert any("a pair needs two" in p.remark for p in page.data.list.cards.rows)
    (fix,) = page.fixes.findChildren(QPushButton)
    assert fix.text() == "Change the task to “Text classification”"
    press(qtbot, fix)
    assert page.state.choices.goal == SENTENCE
    assert page.next.isEnabled() and page.fixes.isHidden()


def test_back_loses_nothing(page: TrainPage, qtbot: QtBot) -> None:
    go_through(qtbot, page)
    before = page.state.choices
    for _ in range(4):
        press(qtbot, page.back)
    assert page.step is Step.TASK and not page.back.isEnabled()
    assert page.task.cards[SENTENCE].isChecked()
    press(qtbot, page.next)
    assert page.data.list.chosen() == before.data.source.folder  # type: ignore[union-attr]
    press(qtbot, page.next)
    assert page.base_model.list.chosen() == before.model.path  # type: ignore[union-attr]
    assert page.state.choices == before


def test_the_keyboard_alone_goes_through(page: TrainPage, qtbot: QtBot) -> None:
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.task.cards[SENTENCE].setFocus()
    qtbot.keyClick(page.task.cards[SENTENCE], Qt.Key.Key_Space)
    qtbot.keyClick(page.task.cards[SENTENCE], Qt.Key.Key_Return)
    assert page.step is Step.DATA
    qtbot.keyClick(page.data.list, Qt.Key.Key_Down)
    assert page.data.list.chosen() is not None
    qtbot.keyClick(page.data.list, Qt.Key.Key_Return)
    assert page.step is Step.BASE_MODEL
    pick(qtbot, page.base_model.list, "little")
    qtbot.keyClick(page.base_model.list, Qt.Key.Key_Return)
    assert page.step is Step.SETTINGS
    qtbot.keyClick(page, Qt.Key.Key_B, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: page.step is Step.BASE_MODEL)
    qtbot.keyClick(page, Qt.Key.Key_N, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: page.step is Step.SETTINGS)


def test_the_bar_leads_to_steps_within_reach_only(page: TrainPage, qtbot: QtBot) -> None:
    assert not page.bar.steps[Step.BASE_MODEL].isEnabled()
    assert "Choose a task" in page.bar.steps[Step.BASE_MODEL].toolTip()
    go_through(qtbot, page)
    press(qtbot, page.bar.steps[Step.DATA])
    assert page.step is Step.DATA
    press(qtbot, page.bar.steps[Step.REVIEW])
    assert page.step is Step.REVIEW


def test_after_the_start_enter_does_not_start_the_same_job_again(
    page: TrainPage, studio: Studio, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[JobSpec] = []
    monkeypatch.setattr(studio.dispatcher, "start", lambda job: started.append(job) or "run")
    go_to_review(qtbot, page)
    page.next.setFocus()
    for _ in range(3):
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Return)
    assert len(started) == 1
    assert page.step < Step.REVIEW and page.state.choices.data is not None


def test_start_validates_and_shows_each_step_once(
    page: TrainPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_to_review(qtbot, page)
    qtbot.waitUntil(lambda: page.state.estimate.progress is not None)
    page.state.set_name("named")
    validated: list[Step] = []

    def counted(step: Step, check: Check) -> Check:
        def call(choices: Choices) -> Obstacle | None:
            validated.append(step)
            return check(choices)

        return call

    for step, check in CHECKS.items():
        monkeypatch.setitem(CHECKS, step, counted(step, check))
    steps = (page.task, page.data, page.base_model, page.settings, page.review)
    shows = {
        getattr(type(step), name).__code__: f"{type(step).__name__}.{name}"
        for step in steps
        for name in ("_show", "_show_list")
        if hasattr(step, name)
    }
    shown: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in shows:
            shown.append(shows[frame.f_code])

    sys.setprofile(watch)
    try:
        press(qtbot, page.next)
    finally:
        sys.setprofile(None)
    assert validated == list(CHECKS)
    assert sorted(shown) == sorted(shows.values())


def test_the_settings_are_shown_from_their_top(page: TrainPage, qtbot: QtBot) -> None:
    go_to_review(qtbot, page)
    page.resize(1000, 520)
    page.settings.mode.group.button(1).click()
    bar = page._settings_area.verticalScrollBar()
    page._go(Step.SETTINGS)
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.setValue(bar.maximum())
    page._go(Step.REVIEW)
    page._go(Step.SETTINGS)
    qtbot.waitUntil(lambda: bar.value() == 0)


def test_the_review_shows_what_was_changed_and_folds_the_job_file(
    page: TrainPage, qtbot: QtBot
) -> None:
    go_to_review(qtbot, page)
    assert "learning rate 5e-4" in page.review.summary.text()
    assert page.review.changed.isHidden() and page.review.changed.shown() == []
    training = page.state.choices.training.model_copy(update={"learning_rate": 1e-4})
    page.state.set(page.state.choices.with_training(training))
    assert page.review.changed.shown() == ["Learning rate 1e-4 (default 5e-4)"]
    assert not page.review.changed.isHidden()
    assert page.review.file.isHidden()
    press(qtbot, page.review.fold)
    assert page.review.file.isVisible()


def test_a_saved_job_that_is_dropped_opens_in_the_wizard(
    page: TrainPage, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    go_to_review(qtbot, page)
    wanted = page.state.job()
    assert wanted is not None
    file = tmp_path / "job.json"
    file.write_bytes(wanted.model_copy(update={"name": "Saved"}).model_dump_json().encode())
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([{"text": "a", "label": "b"}]))
    assert drops.page_for([file]) == "train" and drops.page_for([rows]) == "data"
    assert not page.accept_drop([rows])
    assert page.accept_drop([file])
    qtbot.waitUntil(lambda: page.state.choices.name == "Saved" and page.step is Step.SETTINGS)
    assert page.state.job() == wanted.model_copy(update={"name": "Saved"})
    file.write_text(json.dumps({"task": 1, "base_model": 2, "data": 3}))
    with qtbot.waitSignal(studio.notices.added) as told:
        page.accept_drop([file])
    assert told.args[0].is_error and "job.json" in told.args[0].problem


def test_the_review_shows_the_job_the_command_and_the_estimate(
    page: TrainPage,
    qtbot: QtBot,
    one_time_workers: list[AskedWorker],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_to_review(qtbot, page)
    assert JobSpec.model_validate_json(page.review.file.toPlainText()) == page.state.job()
    assert page.review.command.text() == "bert-studio train films-little.json --into films-little"
    many = "bert-studio cluster films-little.json --into films-little"
    assert page.review.cluster.text() == many
    qtbot.waitUntil(lambda: len(one_time_workers) == 1)
    assert not page.review.estimate.cancel.isHidden()
    one_time_workers[0].done(
        Estimated(
            steps=20,
            seconds_per_step=0.25,
            seconds=90,
            memory=900_000_000,
            available=1_000_000_000,
            parameters=4_400_000,
            device="cpu",
            precision="fp32",
            threads=2,
            checkpoint=53_000_000,
            checkpoints=4,
        )
    )
    assert page.review.estimate.facts.text().endswith(
        "Needs up to 212 MB of disk (4 checkpoints of 53.0 MB)."
    )
    assert page.review.estimate.verdict.text() == "Barely fits in memory. Takes about 1 min 30 s."
    assert "4.4 M parameters on CPU, fp32, 2 thread(s)." in page.review.estimate.facts.text()
    assert page.next.text() == "&Start anyway"  # tight memory is worth a warning
    press(qtbot, page.bar.steps[Step.BASE_MODEL])
    assert "tight" in [p.verdict for p in page.base_model.list.cards.rows]
    press(qtbot, page.bar.steps[Step.REVIEW])
    monkeypatch.setattr(page.state, "first_obstacle", lambda: (Step.DATA, "It has no rows."))
    page.state.changed.emit()
    assert page.next.text() == "&Start" and not page.next.isEnabled(), "nothing starts anyway"


def test_leaving_the_estimate_is_possible_at_once(
    page: TrainPage, qtbot: QtBot, one_time_workers: list[AskedWorker]
) -> None:
    go_to_review(qtbot, page)
    qtbot.waitUntil(lambda: len(one_time_workers) == 1)
    press(qtbot, page.review.estimate.cancel)
    assert one_time_workers[0].cancelled
    assert not page.review.estimate.measure.isHidden()
    page.state.estimate.measure_unasked()
    assert len(one_time_workers) == 1
    press(qtbot, page.review.estimate.measure)
    assert len(one_time_workers) == 2


def test_the_job_file_is_copied_and_saved(page: TrainPage, qtbot: QtBot, tmp_path: Path) -> None:
    go_to_review(qtbot, page)
    press(qtbot, page.review.copy_job)
    assert json.loads(QGuiApplication.clipboard().text())["name"] == "films · little"
    file = tmp_path / "my job.json"
    page.review.save_to(str(file))
    qtbot.waitUntil(lambda: "my job.json" in page.review.command.text())
    assert JobSpec.model_validate_json(file.read_bytes()) == page.state.job()
    assert f"'{file}'" in page.review.command.text()


PAPERS_RATES = ("5e-5", "3e-5", "2e-5")


def test_the_simple_settings_are_the_recommended_and_the_papers_grid(
    page: TrainPage, qtbot: QtBot
) -> None:
    go_to_review(qtbot, page)
    press(qtbot, page.back)
    form, best = page.settings.fine_tuning, page.state.choices.defaults
    assert (best.batch_size, best.epochs) == (32, 10), "the test has few rows"
    texts = {
        name: [b.text() for b in field.segments.group.buttons()]  # type: ignore[attr-defined]
        for name, field in form.fields.items()
        if getattr(field, "segments", None)
    }
    assert texts == {
        "batch_size": [f"Recommended: {best.batch_size}", "16", "Other"],
        "learning_rate": [
            f"Recommended: {number_text(best.learning_rate)}",
            *PAPERS_RATES,
            "Other",
        ],
        "epochs": [f"Recommended: {number_text(best.epochs)}", "2", "3", "4", "Other"],
        "seeds": ["1", "3", "5", "Other"],
    }
    for name in ("batch_size", "learning_rate", "epochs"):
        assert form.fields[name].segments.choice() == 0  # type: ignore[attr-defined]
    said = [label.text() for label in form.findChildren(QLabel) if label.isVisible()]
    assert any("over 48 rows are 20 updates" in text for text in said)
    press(qtbot, form.fields["batch_size"].segments.group.button(1))  # type: ignore[attr-defined]
    press(qtbot, page.settings.quick)
    assert page.state.choices.training.batch_size == 16
    assert page.state.choices.training.train_fraction == 0.1


def test_a_probe_is_chosen_under_advanced(
    page: TrainPage, qtbot: QtBot, screen: Callable[[QWidget, str], Path]
) -> None:
    go_to_review(qtbot, page)
    press(qtbot, page.back)
    settings = page.settings
    press(qtbot, settings.mode.group.button(1))
    fields = settings.features.fields
    assert [name for name, field in fields.items() if not field.isHidden()] == ["vectors"]
    fields["vectors"].combo.setCurrentText("One layer")  # type: ignore[attr-defined]
    assert not fields["layer"].isHidden() and not fields["probe_size"].isHidden()
    fields["layer"].put(2)
    fields["probe"].combo.setCurrentText("Linear")  # type: ignore[attr-defined]
    assert fields["probe_size"].isHidden()
    composed = page.state.job()
    assert composed is not None
    asked = composed.features
    assert (asked.vectors, asked.layer, asked.probe) == ("one layer", 2, "linear")
    screen(settings.features_card, "probe")
    press(qtbot, settings.reset)
    assert page.state.choices.features == type(asked)()
    assert [name for name, field in fields.items() if not field.isHidden()] == ["vectors"]


def test_advanced_shows_more_fields_and_lists_its_changes(page: TrainPage, qtbot: QtBot) -> None:
    go_to_review(qtbot, page)
    press(qtbot, page.back)
    settings = page.settings
    assert settings.advanced.isHidden() and settings.changes.isHidden()
    press(qtbot, settings.mode.group.button(1))
    assert not settings.advanced.isHidden()
    settings.more.fields["warmup_ratio"].put(0.3)
    assert page.state.choices.training.warmup_ratio == 0.3
    assert settings.changes.text() == "Changed in Advanced: Warm-up ratio 0.3 (default 0.1)"
    press(qtbot, settings.mode.group.button(0))
    assert not settings.changes.isHidden()
    press(qtbot, settings.reset)
    assert page.state.choices.training.warmup_ratio == 0.1
    assert settings.changes.isHidden()


def test_an_invalid_value_stops_the_wizard_with_its_reason(page: TrainPage, qtbot: QtBot) -> None:
    go_to_review(qtbot, page)
    press(qtbot, page.back)
    seed = page.settings.fine_tuning.fields["seed"]
    seed.number.lineEdit().setText("often")  # type: ignore[attr-defined]
    assert not page.next.isEnabled()
    assert page.why.text() == "Must be a whole number."
    seed.number.lineEdit().setText("7")  # type: ignore[attr-defined]
    assert page.next.isEnabled()
    assert page.state.choices.training.seed == 7


def test_pretraining_has_other_ticks_and_the_masking_in_advanced(
    page: TrainPage, qtbot: QtBot
) -> None:
    press(qtbot, page.task.cards[SCRATCH])
    page.arrive({"task": "pretraining"})
    assert page.step is Step.TASK and page.state.choices.goal == SCRATCH
    settings = page.settings
    assert settings.fine_tuning.isHidden() and not settings.pre_training.isHidden()
    rate = settings.pre_training.fields["learning_rate"].segments  # type: ignore[attr-defined]
    assert [b.text() for b in rate.group.buttons()] == [
        "Recommended: 5e-4",
        "1e-4",
        "3e-4",
        "Other",
    ]
    assert rate.choice() == 0
    assert not settings.task_card.isHidden()
    settings.tasks["pretraining"].fields["mlm_probability"].put(0.2)
    assert page.state.choices.task.mlm_probability == 0.2


def test_causal_language_modelling_shows_no_masks(page: TrainPage, qtbot: QtBot) -> None:
    press(qtbot, page.task.cards[SCRATCH])
    fields = page.settings.tasks["pretraining"].fields
    fields["objective"].put("clm")
    assert page.state.choices.is_causal
    shown = {name for name, field in fields.items() if not field.isHidden()}
    assert shown == {"objective", "long_length", "long_share"}
    warm = page.base_model.scratch.warm_init
    assert not warm.isEnabled() and "MLM" in warm.toolTip()
    fields["objective"].put("mlm")
    assert not any(field.isHidden() for field in fields.values())
    assert warm.isEnabled()


def test_from_scratch_sizes_and_vocabularies_are_chosen(page: TrainPage, qtbot: QtBot) -> None:
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
    assert "not divisible" in page.why.text() and not page.next.isEnabled()
    form.custom.fields["heads"].put(4)
    assert page.next.isEnabled()
    press(qtbot, form.source.group.button(1))
    chosen = page.state.choices.scratch.vocabulary
    assert chosen is not None and chosen.name == "little"
    press(qtbot, form.source.group.button(0))
    form.vocab_size.setValue(500)
    press(qtbot, form.lowercase)
    press(qtbot, form.warm_init)
    scratch = page.state.choices.scratch
    assert scratch.warm_init
    assert (scratch.vocabulary, scratch.vocab_size, scratch.lowercase) == (None, 500, False)


def test_import_leads_to_the_page_for_it(page: TrainPage, studio: Studio, qtbot: QtBot) -> None:
    press(qtbot, page.task.cards[SENTENCE])
    press(qtbot, page.next)
    with qtbot.waitSignal(studio.go) as gone:
        press(qtbot, page.data.import_button)
    assert gone.args == ["data", {"import": True}]


def test_the_step_of_the_base_model_leads_to_the_shelf(
    page: TrainPage, studio: Studio, qtbot: QtBot
) -> None:
    (button,) = [
        one for one in page.base_model.findChildren(QPushButton) if one.text() == "&Get a model…"
    ]
    with qtbot.waitSignal(studio.go) as gone:
        button.click()
    assert gone.args == ["models", {"get": True}]


def test_without_data_the_page_offers_a_way_on(studio: Studio, qtbot: QtBot, model: Path) -> None:
    page = TrainPage(studio)
    qtbot.addWidget(page)
    with qtbot.waitExposed(page):
        page.show()
    qtbot.waitUntil(lambda: page.state.lists.datasets == [])
    press(qtbot, page.task.cards[SENTENCE])
    press(qtbot, page.next)
    with qtbot.waitSignal(page.state.lists.changed, timeout=20_000):
        press(qtbot, page.data.sample_button)
    qtbot.waitUntil(lambda: page.data.list.chosen() is not None)
    assert page.next.isEnabled()


def test_requests_of_other_pages_are_loaded(
    page: TrainPage, qtbot: QtBot, sentences: Path, model: Path
) -> None:
    go_to_review(qtbot, page)
    composed = job(page.state.choices)
    for request, value, step in [
        ("data", sentences, Step.DATA),
        ("model", model, Step.TASK),
        ("job", composed, Step.SETTINGS),
    ]:
        page._go(Step.REVIEW)
        with qtbot.waitSignal(page.state.changed):
            page.arrive({request: value})
        assert page.step is step
        assert page.state.job() == composed


def test_names_with_markup_are_shown_as_they_are(
    page: TrainPage, studio: Studio, qtbot: QtBot, make_data: MakeData
) -> None:
    make_data(HOSTILE)
    with qtbot.waitSignal(page.state.lists.changed):
        page.state.lists.read()
    press(qtbot, page.task.cards[SENTENCE])
    press(qtbot, page.next)
    pick(qtbot, page.data.list, HOSTILE)
    press(qtbot, page.next)
    pick(qtbot, page.base_model.list, "little")
    press(qtbot, page.next)
    press(qtbot, page.next)
    assert HOSTILE in page.review.summary.text()
    assert page.bar.steps[Step.DATA].accessibleDescription() == HOSTILE
    for label in page.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText or HOSTILE not in label.text()
    qtbot.waitUntil(lambda: not page.state.preview.is_reading)


def test_everything_has_a_name_in_every_step(page: TrainPage, qtbot: QtBot) -> None:
    go_to_review(qtbot, page)
    assert_accessible(page)


def test_a_pick_list_is_a_sound_model(qtbot: QtBot, qtmodeltester: ModelTester) -> None:
    picks = PickList("Things")
    qtbot.addWidget(picks)
    shown = [Pick(1, "one", "1 row"), Pick(2, "two", "2 rows", reason="It does not fit.")]
    picks.show_picks(shown, chosen=1)
    qtmodeltester.check(picks.cards)
    assert picks.chosen() == 1
    assert picks.model().index(1, 0).data(ITEM) == shown[1]
    with qtbot.assertNotEmitted(picks.picked):
        picks.show_picks(shown, chosen=2)  # it cannot be chosen
    assert picks.chosen() is None


def test_every_step_draws_itself_in_both_themes(
    page: TrainPage, qtbot: QtBot, looks: Callable[[Choice], None], screen: Any
) -> None:
    go_to_review(qtbot, page)
    themes: tuple[Choice, ...] = ("light", "dark")
    for theme in themes:
        looks(theme)
        for step in Step:
            press(qtbot, page.bar.steps[step])
            screen(page, f"train-{step.name.lower()}-{theme}")


def test_a_task_set_by_a_data_set_is_visible_and_can_be_undone(
    page: TrainPage, qtbot: QtBot, make_data: MakeData, screen: Callable[[QWidget, str], Path]
) -> None:
    page.resize(1000, 420)  # the last cards are below the fold
    assert page.adjusted.isHidden()
    page.arrive({"data": make_data("bare", label=False)})
    qtbot.waitUntil(lambda: page.state.choices.goal == ONWARD)
    assert page.step is Step.TASK
    card = page.task.cards[ONWARD]
    assert card.isChecked() and page.task.cards[ONWARD].visibleRegion().boundingRect().height() > 40
    assert not page.adjusted.isHidden()
    assert "suits “bare”" in page.adjusted.sentence.text()
    screen(page, "adjusted")
    press(qtbot, page.adjusted.undo)
    assert page.state.choices.goal is None and page.adjusted.isHidden()

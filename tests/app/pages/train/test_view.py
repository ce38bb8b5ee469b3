"""The wizard as a whole: its steps by mouse and keys, the start, requests, themes."""

import json
import sys
from dataclasses import replace
from types import FrameType

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from app import drops
from app.pages.train.choices import Choices, Step
from app.pages.train.job import compose_job
from app.pages.train.obstacles import CHECKS, Check, Obstacle
from app.pages.train.pickers import Pick, PickList
from app.pages.train.view import TrainPage
from app.widgets.card_list import ITEM
from app.widgets.dialogs import Question
from app.widgets.text.labels import Text
from engine.config.job import JobSpec
from engine.record.runs import find_run
from tests.app.pages.train.conftest import go_to_review, pick, press
from tests.app.pages.train.examples import CONTINUE, LEVELS, ORDERED, PAIR, SENTENCE, choose, data

HOSTILE = '<img src="file:///CANARY.png"><b>x</b>&amp; R&D'


def test_a_worker_is_kept_ready_while_a_run_is_composed(studio, qtbot, monkeypatch):
    calls: list[str] = []
    for name in ("stand_by", "stand_down"):
        monkeypatch.setattr(studio.dispatcher, name, lambda name=name: calls.append(name))
    page = TrainPage(studio)
    qtbot.addWidget(page)
    assert not calls
    with qtbot.waitExposed(page):
        page.show()
    assert calls == ["stand_by"]
    studio.settings.set("stand_by", False)
    assert calls == ["stand_by", "stand_down"]
    page.hide()
    page.show()
    assert len(calls) == 2


def test_going_back_keeps_all_choices_and_start_queues_a_run(page, studio, qtbot):
    assert not page.bar.steps[Step.BASE_MODEL].isEnabled()
    assert "Choose a task" in page.bar.steps[Step.BASE_MODEL].toolTip()
    press(qtbot, page.task.cards[SENTENCE])
    press(qtbot, page.next)
    pick(qtbot, page.data.list, "films")
    press(qtbot, page.next)
    pick(qtbot, page.base_model.list, "little")
    press(qtbot, page.next)
    press(qtbot, page.next)
    assert page.step is Step.REVIEW
    qtbot.waitUntil(lambda: not page.state.preview.is_reading)
    press(qtbot, page.bar.steps[Step.DATA])
    assert page.step is Step.DATA
    press(qtbot, page.bar.steps[Step.REVIEW])
    before = page.state.choices
    for _ in range(4):
        press(qtbot, page.back)
    assert page.step is Step.TASK and not page.back.isEnabled()
    assert page.task.cards[SENTENCE].isChecked()
    press(qtbot, page.next)
    assert page.data.list.chosen() == before.data.source.folder
    press(qtbot, page.next)
    assert page.base_model.list.chosen() == before.model.path
    assert page.state.choices == before
    press(qtbot, page.bar.steps[Step.REVIEW])
    page.review.name.setFocus()
    qtbot.keyClicks(page.review.name, "my first")
    spec = page.state.job()
    assert spec is not None and spec.name == "my first"
    with qtbot.waitSignal(studio.navigate) as signal:
        press(qtbot, page.next)
    assert signal.args[0] == "runs"
    with studio.record.read() as session:
        assert find_run(session, signal.args[1]["run"]).parse_job() == spec


def test_next_is_disabled_with_a_reason_until_something_is_chosen(page, studio, qtbot):
    assert page.state.choices.model is not None, "the only model is chosen"
    assert not page.next.isEnabled()
    assert page.reason.text() == "Choose a task."
    press(qtbot, page.task.cards[PAIR])
    assert page.next.isEnabled() and not page.reason.text()
    press(qtbot, page.next)
    assert not page.next.isEnabled()
    assert page.reason.text().startswith("Choose a data set")
    with qtbot.waitSignal(studio.navigate) as signal:
        press(qtbot, page.data.import_button)
    assert signal.args == ["data", {"import": True}]
    pick(qtbot, page.data.list, "films")
    assert not page.next.isEnabled()
    assert "a pair needs two" in page.reason.text()
    assert any("a pair needs two" in p.remark for p in page.data.list.cards.rows)
    (fix,) = page.fixes.findChildren(QPushButton)
    assert fix.text() == "Change the task to “Text classification”"
    press(qtbot, fix)
    assert page.state.choices.goal == SENTENCE
    assert page.next.isEnabled() and page.fixes.isHidden()
    assert page.window().focusWidget() is page.next, "the pressed button is gone"
    buttons = page.base_model.findChildren(QPushButton)
    with qtbot.waitSignal(studio.navigate) as signal:
        next(button for button in buttons if button.text() == "&Get a model…").click()
    assert signal.args == ["models", {"get": ""}]
    assert page.base_model.multilingual.isHidden()
    preview = page.state.preview
    qtbot.waitUntil(lambda: preview.result is not None and not preview.is_reading)
    known = preview.result.lengths
    assert known.scripts == "Scripts: Latin 100 %"
    preview.result = replace(preview.result, lengths=replace(known, unknown=0.4))
    preview.changed.emit()
    texts = [text.text() for text in page.base_model.about.findChildren(Text)]
    assert known.scripts in texts and any(text.startswith("40 % of the tokens") for text in texts)
    with qtbot.waitSignal(studio.navigate) as signal:
        page.base_model.multilingual.click()
    assert signal.args == ["models", {"get": "multilingual"}]


def test_the_wizard_is_completed_by_keyboard(page, qtbot):
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


def test_enter_starts_a_job_once_and_shows_each_step_once(page, studio, qtbot, monkeypatch):
    started: list[JobSpec] = []
    monkeypatch.setattr(studio.dispatcher, "start", lambda job: started.append(job) or "run")
    go_to_review(qtbot, page)
    qtbot.waitUntil(lambda: page.state.estimate.progress is not None)
    page.state.set_name("named")
    validated: list[Step] = []

    def count_calls(step: Step, check: Check) -> Check:
        def call(choices: Choices) -> Obstacle | None:
            validated.append(step)
            return check(choices)

        return call

    for step, check in CHECKS.items():
        monkeypatch.setitem(CHECKS, step, count_calls(step, check))
    steps = (page.task, page.data, page.base_model, page.settings, page.review)
    methods = {
        getattr(type(step), name).__code__: f"{type(step).__name__}.{name}"
        for step in steps
        for name in ("_show", "_show_list")
        if hasattr(step, name)
    }
    calls: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in methods:
            calls.append(methods[frame.f_code])

    sys.setprofile(watch)
    page.next.setFocus()
    try:
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: page.step is Step.TASK)  # once no such run was found
    finally:
        sys.setprofile(None)
    assert validated == list(CHECKS)
    assert sorted(calls) == sorted(methods.values())
    for _ in range(2):
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Return)
    assert len(started) == 1
    assert page.step < Step.REVIEW and page.state.choices.data is not None


def test_the_same_job_is_asked_about_and_opened(page, studio, qtbot):
    go_to_review(qtbot, page)
    with qtbot.waitSignal(studio.navigate) as first:
        press(qtbot, page.next)
    assert page.last_model.isVisible()
    assert page.last_model.sentence.text() == "The base model “little” is from your last job."
    press(qtbot, page.last_model.choose)
    assert page.step is Step.BASE_MODEL
    page._open_step(Step.REVIEW)
    qtbot.waitUntil(lambda: page.next.isEnabled() and page.state.job() is not None)
    with qtbot.waitSignal(page.state.repeated):
        press(qtbot, page.next)
    question = page.window().findChild(Question)
    assert question.buttons["seed"].text() == "Start with &seed 43"
    with qtbot.waitSignal(studio.navigate) as second:
        question.buttons["open"].click()
    assert second.args == first.args, "the run that exists is opened"


def test_a_dropped_job_file_opens_in_the_wizard(page, studio, qtbot, tmp_path):
    go_to_review(qtbot, page)
    expected = page.state.job().model_copy(update={"name": "Saved"})
    file, rows = tmp_path / "job.json", tmp_path / "rows.json"
    file.write_bytes(expected.model_dump_json().encode())
    rows.write_text(json.dumps([{"text": "a", "label": "b"}]))
    assert drops.page_for([file]) == "train" and drops.page_for([rows]) == "data"
    assert not page.accept_drop([rows])
    assert page.accept_drop([file])
    qtbot.waitUntil(lambda: page.state.choices.name == "Saved" and page.step is Step.SETTINGS)
    assert page.state.job() == expected
    file.write_text(json.dumps({"task": 1, "base_model": 2, "data": 3}))
    with qtbot.waitSignal(studio.notices.added) as notice:
        page.accept_drop([file])
    assert notice.args[0].is_error and "job.json" in notice.args[0].problem


def test_without_data_the_page_offers_the_sample(studio, qtbot, model):
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


def test_names_with_markup_are_shown_literally(page, qtbot, make_data):
    make_data(HOSTILE)
    with qtbot.waitSignal(page.state.lists.changed):
        page.state.lists.read()
    press(qtbot, page.task.cards[SENTENCE])
    press(qtbot, page.next)
    pick(qtbot, page.data.list, HOSTILE)
    press(qtbot, page.bar.steps[Step.REVIEW])
    assert HOSTILE in page.review.summary.text()
    assert page.bar.steps[Step.DATA].accessibleDescription() == HOSTILE
    for label in page.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText or HOSTILE not in label.text()
    qtbot.waitUntil(lambda: not page.state.preview.is_reading)


def test_a_pick_list_is_a_valid_model(qtbot, qtmodeltester):
    picks = PickList("Things")
    qtbot.addWidget(picks)
    entries = [Pick(1, "one", "1 row"), Pick(2, "two", "2 rows", reason="It does not fit.")]
    picks.show_picks(entries, chosen=1)
    qtmodeltester.check(picks.cards)
    assert picks.chosen() == 1
    assert picks.model().index(1, 0).data(ITEM) == entries[1]
    with qtbot.assertNotEmitted(picks.picked):
        picks.show_picks(entries, chosen=2)  # it cannot be chosen
    assert picks.chosen() is None


def test_a_pick_shows_all_its_words_in_as_many_lines_as_they_need(qtbot):
    picks = PickList("Things")
    qtbot.addWidget(picks)
    facts = " · ".join(["best checkpoint", *(f"a long fact {n}" for n in range(9))])
    picks.show_picks([Pick(1, "one", "1 row"), Pick(2, "two", facts, verdict="fits")])
    picks.show()
    heights = []
    for width in (2_000, 600, 300):
        picks.resize(width, 400)
        qtbot.wait(1)
        heights.append(picks.sizeHintForRow(1) - picks.sizeHintForRow(0))
    assert 0 == heights[0] < heights[1] < heights[2]


def test_picks_do_not_overlap_once_a_scroll_bar_makes_them_narrower(qtbot):
    picks = PickList("Things")
    qtbot.addWidget(picks)
    picks.resize(600, 700)
    picks.show()
    facts = " · ".join(f"a long fact {n}" for n in range(5))
    picks.show_picks([Pick(n, f"thing {n}", facts) for n in range(4)])
    cards = [picks.model().index(n, 0) for n in range(4)]
    qtbot.waitUntil(lambda: picks.visualRect(cards[3]).top() > 0)

    def are_apart() -> bool:
        tops = [picks.visualRect(card).top() for card in cards]
        heights = [picks.sizeHintForIndex(card).height() for card in cards]
        return all(tops[n] + heights[n] <= tops[n + 1] for n in range(3))

    for size in ((600, 300), (420, 300), (360, 300)):
        picks.resize(*size)
        qtbot.waitUntil(are_apart, timeout=3_000)


def test_steps_are_drawn_and_requests_loaded(page, qtbot, set_theme, screen, sentences, model):
    go_to_review(qtbot, page)
    set_theme("dark")
    for step in Step:
        press(qtbot, page.bar.steps[step])
        screen(page, f"train-{step.name.lower()}")
    spec = compose_job(page.state.choices)
    for request, value, step in [
        ("data", sentences, Step.DATA),
        ("model", model, Step.TASK),
        ("job", spec, Step.SETTINGS),
    ]:
        page._open_step(Step.REVIEW)
        with qtbot.waitSignal(page.state.changed):
            page.arrive({request: value})
        assert page.step is step
        assert page.state.job() == spec


def test_a_task_set_by_a_data_set_is_visible_and_undone(page, qtbot, make_data, screen):
    page.resize(1000, 420)  # the last cards are below the fold
    assert page.adjusted.isHidden()
    page.arrive({"data": make_data("bare", label=False)})
    qtbot.waitUntil(lambda: page.state.choices.goal == CONTINUE)
    assert page.step is Step.DATA and "suits “bare”" in page.adjusted.sentence.text()
    press(qtbot, page.bar.steps[Step.TASK])
    card = page.task.cards[CONTINUE]
    assert card.isChecked() and card.visibleRegion().boundingRect().height() > 40
    assert not page.adjusted.isHidden()
    assert "suits “bare”" in page.adjusted.sentence.text()
    screen(page, "adjusted")
    press(qtbot, page.adjusted.undo)
    assert page.state.choices.goal is None and page.adjusted.isHidden()


def test_the_order_of_labels_is_asked_about_and_shown(page, qtbot):
    step = page.data
    page.state.set(choose(SENTENCE))
    assert step.hint.isHidden() and step.learn_order.isHidden()
    labels = {"agree": 300, "disagree": 300, "neutral": 300}
    films = data()
    page.state.set(
        replace(
            choose(SENTENCE),
            data=replace(films, spec=films.spec.model_copy(update={"labels": labels})),
        )
    )
    assert "an order, from “disagree” to “agree”" in step.hint.text()
    assert not step.learn_order.isHidden()
    step.learn_order.click()
    assert page.state.choices.goal == ORDERED
    assert step.hint.text() == "Order of the labels: disagree < neutral < agree"
    assert step.learn_order.isHidden()


def test_the_levels_of_labels_are_asked_about(page):
    step = page.data
    labels = {"sport > football": 300, "sport > tennis": 300, "news": 300}
    films = data()
    spec = films.spec.model_copy(update={"labels": labels})
    page.state.set(replace(choose(SENTENCE), data=replace(films, spec=spec)))
    assert "paths of a hierarchy with 2 levels" in step.hint.text()
    assert step.learn_order.isHidden() and not step.learn_levels.isHidden()
    step.learn_levels.click()
    assert page.state.choices.goal == LEVELS
    assert step.learn_levels.isHidden() and step.hint.isHidden()

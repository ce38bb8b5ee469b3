"""The “Use it” tab: predictions of texts and files with a tiny model."""

import csv
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from app.using.applying_state import DATASET
from app.using.applying_view import ApplyingDialog
from app.using.tab import UseTab
from engine.checkpoints.heads import TEXTS
from engine.checkpoints.prediction_settings import FILE, save_settings
from engine.config.prediction import PredictionSettings
from engine.data.datasets.store import open_dataset
from engine.messages.applying import FirstPredicted
from engine.messages.question import Refused, Working
from engine.models.checkpoint import load, write_copy
from tests.app.accessible import assert_accessible
from tests.engine.fine_tuned import KINDS, FineTuned

PATIENCE = 90_000  # ms; a worker loads torch first


def open_tab(qtbot, tab: UseTab, model: FineTuned) -> UseTab:
    tab.show_model(model.checkpoint, "films")
    qtbot.waitUntil(lambda: tab.try_view is not None)
    return tab


@pytest.mark.usefixtures("in_threads")
def test_a_text_is_predicted_and_a_file_becomes_a_data_set(qtbot, tab, tuned, tmp_path, studio):
    open_tab(qtbot, tab, tuned("text_classification"))
    predict_while_typing(qtbot, tab)
    predict_a_file(qtbot, tab, tmp_path)
    create_a_data_set(qtbot, tab, tmp_path, studio)


def predict_while_typing(qtbot, tab):
    trying = tab.try_view
    qtbot.keyClicks(trying.text, "a lovely warm film")
    qtbot.waitUntil(lambda: len(trying.words.shown) == 4, timeout=PATIENCE)
    assert trying.prediction.isVisible()
    assert trying.prediction.verdict.full_text().split(" · ")[0] in ("good", "bad")
    assert [word.text for word in trying.words.shown] == ["a", "lovely", "warm", "film"]
    assert "lovely" in trying.words.accessibleDescription()
    assert "Effect of each word on" in trying.words_title.text()
    sure = trying._state.predicted
    trying._state.predicted = sure.model_copy(update={"certainty": 0.62, "unsure_below": 0.8})
    trying.show_state()
    unsure = "Unsure: a probability of 62.0 % is below the threshold of 80.0 %."
    assert trying.status.text() == unsure and trying.prediction.isVisible()
    assert not trying.prediction.labels_in_set.isVisible()
    for chosen, text in ((("good", "bad"), "good, bad"), ((), "none, as no label is likely")):
        with_set = {"coverage": 0.9, "prediction_set": chosen}
        trying._state.predicted = sure.model_copy(update=with_set)
        trying.show_state()
        shown = trying.prediction.labels_in_set.text()
        assert shown.startswith(f"Prediction set (90.0 %): {text}")
    trying._state.predicted = sure
    trying.show_state()
    assert not trying.status.isVisible()
    trying.text.clear()
    qtbot.waitUntil(lambda: not trying.words.shown and not trying.prediction.isVisible())
    assert_accessible(tab)


def predict_a_file(qtbot, tab, tmp_path):
    file = tmp_path / "new.csv"
    file.write_text("id,text\n" + "".join(f"{n},a lovely film\n" for n in range(30)))
    save_settings(tab.checkpoint, PredictionSettings(unsure_below=0.99))
    tab.apply_to(file)
    (tab.checkpoint / FILE).unlink()
    dialog: ApplyingDialog = tab.dialog
    state = dialog.state
    assert dialog.choices.threshold.text() == "99 %", "the threshold chosen for the model"
    qtbot.waitUntil(lambda: state.preview is not None, timeout=PATIENCE)
    table = dialog.choices.model
    assert table.rowCount() == 10
    headers = [table.headerData(n, Qt.Orientation.Horizontal) for n in range(table.columnCount())]
    assert headers == ["id", "text", "label", "probability", "p(bad)", "p(good)", "unsure"]
    dialog.choices.threshold.selectAll()
    qtbot.keyClicks(dialog.choices.threshold, "98")
    qtbot.keyClick(dialog.choices.threshold, Qt.Key.Key_Tab)
    assert state.threshold == 0.98 and dialog.choices.threshold.text() == "98 %"
    qtbot.waitUntil(lambda: state.preview and not state.is_loading, timeout=PATIENCE)
    assert_accessible(dialog)
    qtbot.mouseClick(dialog.choices.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: state.applied is not None, timeout=PATIENCE)
    with open(tmp_path / "new-predicted.csv", encoding="utf-8", newline="") as out:
        rows = list(csv.DictReader(out))
    assert [row["id"] for row in rows] == [str(n) for n in range(30)]
    assert "30 row(s) written to" in dialog.outcome.summary.text()
    assert not dialog.outcome.notes.isVisibleTo(dialog.outcome)
    state.applied = state.applied.model_copy(update={"notes": ("2 inputs are truncated.",)})
    dialog.outcome.show_state()
    assert dialog.outcome.notes.text() == "2 inputs are truncated."
    assert dialog.outcome.notes.isVisibleTo(dialog.outcome)
    assert [row["unsure"] for row in rows].count("true") == state.applied.unsure
    dialog.close()


def test_choice_columns_are_toggled_in_an_open_menu(qtbot, tab, tuned, studio, monkeypatch):
    monkeypatch.setattr(studio.explorer, "ask", lambda _: 1)
    model = tuned("multiple_choice")
    open_tab(qtbot, tab, model)
    tab.apply_to(model.file)
    dialog: ApplyingDialog = tab.dialog
    state, box = dialog.state, dialog.choices.endings
    qtbot.waitUntil(lambda: state.mapping is not None)
    chosen = box.chosen()
    assert chosen == ("ending0", "ending1") and box.currentText() == "ending0, ending1"
    state.recognised = state.recognised._replace(notes=("It was read as cp1252.",))
    state.changed.emit()
    assert dialog.choices.status.text().endswith("\nIt was read as cp1252.")
    qtbot.keyClick(box, Qt.Key.Key_Space)
    qtbot.waitUntil(box.menu.isVisible)
    for action in box.menu.actions():
        if action.text() in chosen:
            point = box.menu.actionGeometry(action).center()
            qtbot.mouseClick(box.menu, Qt.MouseButton.LeftButton, pos=point)
    assert box.menu.isVisible() and box.chosen() == () and box.currentText() == "none"
    assert state.mapping.endings == ()
    qtbot.keyClick(box.menu, Qt.Key.Key_Escape)
    assert_accessible(dialog)
    dialog.close()


def create_a_data_set(qtbot, tab, tmp_path, studio):
    tab.apply_to(tmp_path / "new.csv")
    state = tab.dialog.state
    qtbot.waitUntil(lambda: state.preview is not None, timeout=PATIENCE)
    state.set_format(DATASET)
    qtbot.waitUntil(lambda: not state.is_loading, timeout=PATIENCE)
    state.start()
    qtbot.waitUntil(lambda: state.dataset is not None, timeout=PATIENCE)
    spec = open_dataset(state.dataset).spec
    assert spec.mapping.label == "label" and sum(spec.rows.values()) == 30
    assert set(spec.labels) <= {"good", "bad"}
    assert list((studio.home.cache / "applied").iterdir()) == []
    tab.dialog.close()


def test_a_stopped_prediction_can_be_resumed(
    qtbot, tab, tuned, tmp_path, studio, monkeypatch, one_time_workers
):
    numbers = iter(range(1000, 2000))
    monkeypatch.setattr(studio.explorer, "ask", lambda _: next(numbers))
    open_tab(qtbot, tab, tuned("text_classification"))
    file = tmp_path / "new.csv"
    file.write_text("text\na film\n")
    tab.apply_to(file)
    dialog, state = tab.dialog, tab.dialog.state
    qtbot.waitUntil(lambda: state.mapping is not None)

    def emit_first_rows(cached: int) -> None:
        studio.explorer.answered.emit(
            FirstPredicted(
                to=state._question, columns=("text", "label"), rows=(("a film", "good"),),
                predicted=1, cached=cached,
            )
        )  # fmt: skip

    emit_first_rows(0)
    assert dialog.choices.start.text() == "&Apply"
    state.start()
    assert not one_time_workers[-1].question.resume
    one_time_workers[-1].working(Working(stage="5 rows predicted", done=1, total=2))
    assert dialog.progress.bar.value() == 500
    qtbot.mouseClick(dialog.progress.close_button, Qt.MouseButton.LeftButton)
    assert one_time_workers[-1].cancelled
    emit_first_rows(5)
    assert dialog.choices.start.text() == "&Resume"
    assert "5 row(s) have already been predicted" in dialog.choices.status.text()
    state.start()
    assert one_time_workers[-1].question.resume
    one_time_workers[-1].refused(Refused(problem="The disk is full.", advice="Free some space."))
    assert "The disk is full." in dialog.choices.status.text()
    dialog.close()


def test_the_fields_depend_on_the_task(qtbot, tab, tuned, monkeypatch, studio):
    monkeypatch.setattr(studio.explorer, "ask", lambda _: 1)
    for kind in KINDS:
        tab.show_model(tuned(kind).checkpoint, "films")
        qtbot.waitUntil(lambda: tab.try_view is not None and tab.try_view._state.task == kind)  # noqa: B023
        trying = tab.try_view
        if kind in ("pair_classification", "question_answering", "multiple_choice"):
            assert not trying.pair.isHidden(), kind
        if kind == "token_classification":
            assert trying.pair.isHidden()
        assert trying.prediction.isHidden() == (kind != "multiple_choice"), kind
        assert_accessible(tab)


def test_a_tab_without_a_fine_tuned_model_says_so(qtbot, tab, tuned):
    assert not tab.apply_button.isEnabled() and "no checkpoint yet" in tab.placeholder.text()
    tab.show_model(Path(__file__).parent, "nothing")
    qtbot.waitUntil(lambda: "not been fine-tuned" in tab.placeholder.text())


def test_the_code_and_the_card_can_be_copied(qtbot, tab, tuned):
    model = tuned("text_classification")
    open_tab(qtbot, tab, model)
    qtbot.mouseClick(tab.code_button, Qt.MouseButton.LeftButton)
    dialog = tab.code_dialog
    qtbot.waitUntil(lambda: "# Good or bad" in dialog.card.text.toPlainText())
    assert_accessible(dialog)
    qtbot.mouseClick(dialog.tabs.widget(0).copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert repr(str(model.checkpoint)) in copied and "AutoModel" in copied
    dialog.close()


def test_the_command_for_every_night_follows_the_choices(qtbot, tab, tuned, tmp_path):
    model = tuned("text_classification")
    open_tab(qtbot, tab, model)
    qtbot.mouseClick(tab.nightly_button, Qt.MouseButton.LeftButton)
    dialog = tab.nightly_dialog
    assert_accessible(dialog)
    dialog._set_file(tmp_path / "new.csv")
    dialog.threshold.setValue(0.8)
    dialog.time.setTime(dialog.time.time().addSecs(3600))
    line = dialog.cron.text.toPlainText()
    assert line.startswith("0 3 * * * ") and "--threshold 0.8" in line
    assert str(model.checkpoint) in line and str(tmp_path / "new-predicted.csv") in line
    assert "Register-ScheduledTask" in dialog.windows.text.toPlainText()
    assert "3: an error of BERT Studio" in dialog.codes.text()
    qtbot.mouseClick(dialog.cron.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == line
    dialog.close()


@pytest.mark.usefixtures("in_threads")
def test_each_column_that_a_model_joins_has_a_field(qtbot, tab, tuned, tmp_path):
    model = tuned("pair_classification")
    model = model._replace(checkpoint=tmp_path / "model")
    loaded = load(tuned("pair_classification").checkpoint)
    texts = loaded.config[TEXTS] = {"text": "{title} ({channel})", "pair": "{body}"}
    model.checkpoint.mkdir()
    write_copy(loaded, model.checkpoint, model.checkpoint)
    trying = open_tab(qtbot, tab, model).try_view
    title, channel, body = [box for boxes in trying.boxes.values() for box in boxes]
    assert [box.accessibleName() for box in (title, channel, body)] == ["title", "channel", "body"]
    assert_accessible(tab)
    qtbot.keyClicks(body, "a dull cold film")
    qtbot.waitUntil(lambda: trying._state.predicted is not None, timeout=PATIENCE)
    assert (trying._state.text, trying._state.asked_pair) == ("", "a dull cold film")
    qtbot.keyClicks(channel, "web")
    qtbot.keyClicks(title, "a lovely film")
    qtbot.waitUntil(lambda: trying._state.text == "a lovely film (web)")
    body.clear()
    qtbot.waitUntil(lambda: trying._state.asked_pair == "")
    file = tmp_path / "new.csv"
    file.write_text("title,channel,body\na lovely film,web,\na,b,c\n")
    tab.apply_to(file)
    state = tab.dialog.state
    qtbot.waitUntil(lambda: state.preview is not None, timeout=PATIENCE)
    assert state.mapping.texts == (*texts.values(),)
    assert tab.dialog.choices.boxes["pair"].currentText() == "{body}"
    typed = [item.probability for item in trying._state.predicted.predictions[0].ranked]
    probabilities = [float(cell) for cell in state.preview.rows[0][-2:]]
    assert sorted(typed) == pytest.approx(sorted(probabilities), abs=1e-4)
    tab.dialog.close()
    file.write_text("title,body\na,b\n")
    tab.apply_to(file)
    qtbot.waitUntil(lambda: tab.dialog.state.recognised is not None)
    assert "there is no column “channel”" in tab.dialog.choices.status.text()
    tab.dialog.close()

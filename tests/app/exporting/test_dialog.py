"""The export dialog, with stubs of its workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from app.exporting.state import ExportState
from app.exporting.view import ExportDialog, open_dialog
from app.studio import Studio
from app.widgets.text.labels import Text
from engine.messages.exporting import Exported
from engine.messages.question import Refused, Working
from engine.messages.reports import Comparison, ExportReport
from tests.app.accessible import assert_accessible


@pytest.fixture
def dialog(qtbot, studio: Studio, tmp_path: Path) -> Iterator[ExportDialog]:
    """The open dialog of a model “little”; exports go to `tmp_path`."""
    owner = QWidget()
    qtbot.addWidget(owner)
    owner.show()
    state = ExportState(studio, studio.home.models / "little", "little", parent=owner)
    state.set_folder(tmp_path)
    dialog = open_dialog(owner, state)
    qtbot.waitUntil(dialog.isVisible)
    yield dialog
    owner.close()


def report(**changes: object) -> ExportReport:
    values: dict[str, object] = {
        "checkpoint": "/models/little",
        "form": "hf",
        "precision": "float32",
        "heads": ("mlm",),
        "tensors": 12,
        "parameters": 3456,
        "labels": (),
        "weights_equal": True,
        "texts": ("a", "b"),
        "sources": ("2 built in",),
        "comparisons": (Comparison(output="logits", rows=2, difference=1e-6, scale=3, bound=1e-5),),
        "versions": {},
    }
    return ExportReport.model_validate(values | changes)


def outcome_text(dialog: ExportDialog) -> str:
    return "\n".join(text.text() for text in dialog.outcome.findChildren(Text))


def choose(qtbot, box, data: str) -> None:
    """Pick an entry of a combo box as the user does."""
    box.setCurrentIndex(box.findData(data))
    box.activated.emit(box.currentIndex())


def test_precisions_depend_on_the_form(qtbot, dialog):
    choices = dialog.choices

    def precisions() -> list[str]:
        return [choices.precision.itemData(n) for n in range(choices.precision.count())]

    assert precisions() == ["float32", "float16", "bfloat16"]
    choose(qtbot, choices.precision, "float16")
    assert "half the size" in choices.precision_help.text()
    assert dialog.state.target.name == "little-hf-float16"
    choose(qtbot, choices.form, "onnx")
    assert precisions() == ["float32", "int8"]
    assert dialog.state.precision == "float32"
    choose(qtbot, choices.form, "tf1")
    assert not choices.precision.isEnabled()
    assert choices.target.text().startswith("little-tf1 in /")


def test_half_precision_is_the_default_for_half_precision_models(studio, tmp_path):
    state = ExportState(studio, tmp_path, "m", "bfloat16")
    assert (state.form, state.precision) == ("hf", "bfloat16")
    assert ExportState(studio, tmp_path, "m", "float64").precision == "float32"


def test_folder_and_texts_can_be_chosen(qtbot, dialog, tmp_path):
    other = tmp_path / "other"
    (other / "little-hf").mkdir(parents=True)
    qtbot.mouseClick(dialog.choices.choose_folder, Qt.MouseButton.LeftButton)
    dialog.findChild(QFileDialog).fileSelected.emit(str(other))
    assert dialog.state.target == other / "little-hf-2", "the first free name"
    qtbot.mouseClick(dialog.choices.choose_texts, Qt.MouseButton.LeftButton)
    dialog.findChildren(QFileDialog)[-1].fileSelected.emit(str(tmp_path / "rows.csv"))
    assert "rows.csv" in dialog.choices.texts.full_text()
    assert dialog.state.texts == tmp_path / "rows.csv"
    qtbot.mouseClick(dialog.choices.no_texts, Qt.MouseButton.LeftButton)
    assert dialog.state.texts is None
    for file_dialog in dialog.findChildren(QFileDialog):
        file_dialog.close()


def test_the_chosen_export_runs_and_its_report_is_shown(qtbot, one_time_workers, dialog, tmp_path):
    choose(qtbot, dialog.choices.form, "onnx")
    choose(qtbot, dialog.choices.precision, "int8")
    qtbot.mouseClick(dialog.choices.start, Qt.MouseButton.LeftButton)
    (worker,) = one_time_workers
    question = worker.question
    assert (question.form, question.precision) == ("onnx", "int8")
    assert question.into == tmp_path / "little-onnx-int8"
    assert question.checkpoint.name == "little"
    one_time_workers[-1].working(Working(stage="Running the model", done=1, total=4))
    assert dialog.parts.currentWidget() is dialog.progress
    assert dialog.progress.stage.text() == "Running the model …"
    assert dialog.progress.bar.value() / dialog.progress.bar.maximum() == 0.25
    with_note = report(notes=("A note.",), weights_equal=None)
    one_time_workers[-1].done(Exported(folder=question.into, bytes=5_000_000, report=with_note))
    assert dialog.parts.currentWidget() is dialog.outcome
    folder = str(question.into)
    for part in ("5.0 MB", folder, "logits: largest difference", "2 built in", "A note."):
        assert part in outcome_text(dialog)
    assert "tensors" not in outcome_text(dialog)
    assert dialog.outcome.folder.isVisible()
    assert not dialog.outcome.back.isVisible()


def test_the_report_compares_the_weights(one_time_workers, dialog):
    for precision, phrase in (("float32", "bit for bit"), ("float16", "rounded to float16")):
        dialog.state.start()
        equal = report(precision=precision)
        one_time_workers[-1].done(Exported(folder=dialog.state.target, bytes=1, report=equal))
        assert "12 tensors" in outcome_text(dialog)
        assert phrase in outcome_text(dialog)
        dialog.state.discard_result()


def test_a_failure_is_explained_and_can_be_retried(qtbot, one_time_workers, dialog, tmp_path):
    leftover = tmp_path / f".{dialog.state.target.name}.tmp-0a"
    leftover.mkdir()
    unrelated = tmp_path / ".other.tmp-0a"
    unrelated.mkdir()
    dialog.state.start()
    one_time_workers[-1].refused(
        Refused(problem="It was <b>broken</b>.", advice="Do so.", details="line\n" * 9)
    )
    assert "It was <b>broken</b>." in outcome_text(dialog)
    assert "Do so." in outcome_text(dialog)
    qtbot.waitUntil(lambda: not leftover.exists())
    assert unrelated.exists(), "files of other exports stay"
    assert not dialog.outcome.folder.isVisible()
    qtbot.mouseClick(dialog.outcome.back, Qt.MouseButton.LeftButton)
    assert dialog.parts.currentWidget() is dialog.choices
    dialog.state.start()
    assert len(one_time_workers) == 2


def test_closing_cancels_an_export_and_removes_its_files(qtbot, one_time_workers, dialog, tmp_path):
    dialog.state.start()
    leftover = tmp_path / f".{dialog.state.target.name}.tmp-0a"
    leftover.mkdir()
    with qtbot.waitSignal(dialog.destroyed):
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert one_time_workers[-1].cancelled
    qtbot.waitUntil(lambda: not leftover.exists())


def test_quitting_cancels_an_export(qapp, one_time_workers, dialog):
    dialog.state.start()
    qapp.aboutToQuit.emit()
    assert one_time_workers[-1].cancelled


def test_every_stage_is_accessible_in_both_themes(one_time_workers, dialog, screen, set_theme):
    for theme in ("light", "dark"):
        set_theme(theme)
        screen(dialog, f"export-choices-{theme}")
        dialog.state.start()
        one_time_workers[-1].working(Working(stage="Writing the export", done=2, total=4))
        screen(dialog, f"export-progress-{theme}")
        one_time_workers[-1].done(
            Exported(folder=dialog.state.target, bytes=34_000_000, report=report())
        )
        screen(dialog, f"export-done-{theme}")
        dialog.state.discard_result()
        dialog.state.start()
        one_time_workers[-1].refused(
            Refused(problem="There is something here.", advice="Choose another.")
        )
        screen(dialog, f"export-failed-{theme}")
        assert_accessible(dialog)
        dialog.state.discard_result()

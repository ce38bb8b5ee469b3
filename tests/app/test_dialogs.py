"""Every dialog of the window: initial focus, Enter and Escape, size."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QScreen
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMainWindow,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app import palette
from app.exporting import view as exporting
from app.exporting.state import ExportState
from app.pages.data.view import DataPage
from app.pages.models.view import ModelsPage
from app.pages.runs import questions
from app.pages.runs.list_menus import Layout, ViewMenu, Views
from app.pages.runs.questions import ask_for_columns
from app.pages.runs.rows import RunRow, read_row
from app.pages.runs.run.checkpoints_tab import (
    CheckpointsState,
    CheckpointsTab,
    ask_to_branch,
    read_checkpoints,
)
from app.pages.runs.run.smaller import SmallerDialog
from app.pages.runs.run.smaller_state import SmallerState
from app.pages.runs.run.state import RunState
from app.pages.runs.state import RunsState
from app.running import RunningRun
from app.sample import sample_entry
from app.studio import Studio
from app.uses import Uses
from app.widgets import dialogs as file_dialogs
from app.widgets.dialogs import FIELDS, Dialog, Question
from app.widgets.help import open_help
from app.widgets.screen import available_area
from app.window import ask_to_close
from engine.config.job import FromCheckpoint
from engine.data.word_vectors import reading
from engine.files.shipped import starter_model
from tests.app.asking import question
from tests.app.pages.runs.conftest import MakeRun, make_run  # noqa: F401  # a fixture
from tests.app.pseudo import horizontal_overflow
from tests.engine.models.small import folder as small_checkpoint
from tests.engine.runs import fake_worker

ROOT = Path(__file__).parents[2]
QUESTIONS = "app/widgets/dialogs.py"  # base of all questions
ASKING = {"ask", "confirm", "ask_for_name"}
WIDE = 700  # px; dialogs at least this wide do not scroll sideways
NORMAL, SMALL = (1280, 800), (640, 400)  # px of the screen; the second at a scale of 200 %


class Stage:
    """A window, a run in its record, and other objects that dialogs need."""

    def __init__(self, studio: Studio, run_id: str, qtbot: QtBot) -> None:
        self.studio, self.run_id = studio, run_id
        self.window = QMainWindow()
        qtbot.addWidget(self.window)
        self.window.resize(600, 360)
        with qtbot.waitExposed(self.window):
            self.window.show()
        self.runs = RunsState(studio, self.window)  # type: ignore[arg-type]
        row = read_row(studio.record, run_id)
        assert row is not None
        self.row: RunRow = row

    def checkpoints(self) -> CheckpointsState:
        state = RunState(self.studio, self.runs, self.run_id)
        state.setParent(self.window)
        state.row = self.row
        return CheckpointsState(self.studio, state)

    def show(self, widget: QWidget) -> Any:
        self.window.setCentralWidget(widget)
        return widget


def rename(stage: Stage) -> None:
    questions.ask_name(stage.window, stage.runs, [stage.row])


def notes(stage: Stage) -> None:
    questions.ask_notes(stage.window, stage.runs, [stage.row])


def tags(stage: Stage) -> None:
    questions.ask_tags(stage.window, stage.runs, [stage.row, stage.row])


def export_runs(stage: Stage) -> None:
    questions.ask_export(stage.window, stage.runs, [stage.row, stage.row])


def choose_columns(stage: Stage) -> None:
    ask_for_columns(stage.window, ["name", "training.learning_rate"], lambda _: None)


def name_view(stage: Stage) -> None:
    stage.show(ViewMenu(Views(stage.studio.settings), Layout))._ask_name()


def delete_run(stage: Stage) -> None:
    questions.ask_delete(stage.window, stage.runs, [stage.row, stage.row])


def order_queue(stage: Stage) -> None:
    waiting = [
        replace(stage.row, id=name, name=name, state="queued", priority=0) for name in ("a", "b")
    ]
    stage.runs.rows = {row.id: row for row in waiting}
    questions.ask_order(stage.window, stage.runs)


def start_after(stage: Stage) -> None:
    questions.ask_after(stage.window, stage.runs, [stage.row])


def branch(stage: Stage) -> None:
    ask_to_branch(stage.window, stage.checkpoints(), 10)


def delete_checkpoint(stage: Stage) -> None:
    saved = read_checkpoints(stage.studio.record, stage.run_id)[0]
    tab = stage.show(CheckpointsTab(stage.checkpoints()))
    tab._on_deletion_requested(saved, "No run can resume from it.")


def delete_data(stage: Stage) -> None:
    entry = sample_entry(stage.studio.home)
    stage.show(DataPage(stage.studio))._ask_to_delete(entry, Uses(("One run",), ("Another",)))


def delete_model(stage: Stage) -> None:
    folder = stage.studio.home.models / "little"
    if not folder.exists():
        small_checkpoint(folder)
    page = stage.show(ModelsPage(stage.studio))
    page.state.models = stage.studio.models()
    page.open_model(folder)
    page._ask_to_delete(page.model.state.model, Uses(("One run",), ("Another",)))


def import_vectors(stage: Stage) -> None:
    page = stage.show(ModelsPage(stage.studio))
    page._ask_to_import(Path("glove.6B.300d.txt"), reading.Layout(False, False, 300, 400_000, 40))


def close(stage: Stage) -> None:
    runs = [
        RunningRun(id="a", name=state, state=state, step=1, steps=9)
        for state in ("running", "queued")
    ]
    ask_to_close(stage.window, stage.studio.settings, runs, lambda: None)


def export(stage: Stage) -> None:
    state = ExportState(stage.studio, starter_model(), "starter", parent=stage.window)
    exporting.open_dialog(stage.window, state)


def smaller(stage: Stage) -> None:
    state = SmallerState(stage.studio, stage.checkpoints().run.folder.path, "One run")
    SmallerDialog(state, stage.studio, stage.window).show()


def help_page(stage: Stage) -> None:
    open_help("attention", stage.window)


def search(stage: Stage) -> None:
    palette.Palette([], stage.window).open()


DIALOGS: dict[str, Callable[[Stage], None]] = {
    "app/pages/runs/questions.py ask_name": rename,
    "app/pages/runs/questions.py ask_notes": notes,
    "app/pages/runs/questions.py ask_tags": tags,
    "app/pages/runs/questions.py ask_export": export_runs,
    "app/pages/runs/questions.py ask_for_columns": choose_columns,
    "app/pages/runs/list_menus.py _ask_name": name_view,
    "app/pages/runs/questions.py ask_delete": delete_run,
    "app/pages/runs/questions.py ask_order": order_queue,
    "app/pages/runs/questions.py ask_after": start_after,
    "app/pages/runs/run/checkpoints_tab.py ask_to_branch": branch,
    "app/pages/runs/run/checkpoints_tab.py _on_deletion_requested": delete_checkpoint,
    "app/pages/data/view.py _ask_to_delete": delete_data,
    "app/pages/models/view.py _ask_to_delete": delete_model,
    "app/pages/models/view.py _ask_to_import": import_vectors,
    "app/window.py ask_to_close": close,
    "app/exporting/view.py ExportDialog": export,
    "app/pages/runs/run/smaller.py SmallerDialog": smaller,
    "app/widgets/help.py HelpWindow": help_page,
    "app/palette.py Palette": search,
}
# dialogs that need results, edits or a hub, and the tests that open them
TESTED_ELSEWHERE = {
    "app/pages/train/view.py _on_repeated": "app/pages/train/test_view.py",
    "app/results/view.py _on_test": "app/results/test_view.py",
    "app/results/correcting.py ask_for_label": "app/results/test_corrections.py",
    "app/pages/data/dataset/view.py _ask_for_model": "app/using/test_applying_rows.py",
    "app/using/applying_view.py _ask_for_dataset": "app/using/test_applying_rows.py",
    "app/using/nightly.py NightlyDialog": "app/using/test_tab.py",
    "app/results/filter_bar.py _ask_name": "app/results/test_view.py",
    "app/results/comparison.py _on_comparable": "app/results/test_view.py",
    "app/widgets/results/slices.py _ask_name": "app/results/test_view.py",
    "app/hub.py ask_consent": "app/pages/models/getting/test_view.py",
    "app/hub.py HubDialog": "app/pages/data/test_getting.py",
    "app/pages/data/getting.py _ask_name": "app/pages/data/test_getting.py",
    "app/pages/data/getting.py _ask_subset": "app/pages/data/test_getting.py",
    "app/pages/data/getting.py _confirm": "app/pages/data/test_getting.py",
    "app/pages/models/getting/view.py _confirm_download": "app/pages/models/getting/test_view.py",
    "app/pages/models/view.py ask": "app/pages/models/getting/test_view.py",
    "app/pages/models/view.py _confirm": "app/pages/models/getting/test_view.py",
    "app/pages/settings/elsewhere.py _ask_for_token": "app/pages/test_settings.py",
    "app/using/tab.py CodeDialog": "app/using/test_tab.py",
    "app/using/applying_view.py ApplyingDialog": "app/using/test_tab.py",
    "app/using/estimating_view.py EstimateDialog": "app/using/test_estimating.py",
    "app/pages/data/dataset/exporting.py ask_to_export": "app/pages/data/dataset/test_export.py",
    "app/pages/data/dataset/view.py _ask_to_fix": "app/pages/data/dataset/test_checks.py",
    "app/pages/data/dataset/agreement/part.py _ask_for_majority": (
        "app/pages/data/dataset/test_agreement.py"
    ),
    "app/pages/data/dataset/editing/codebook_dialog.py _on_rename": (
        "app/pages/data/dataset/test_coding.py"
    ),
    "app/pages/data/dataset/editing/codebook_dialog.py _on_split": (
        "app/pages/data/dataset/test_coding.py"
    ),
    "app/pages/data/dataset/packets/part.py ask_to_call_back": (
        "app/pages/data/dataset/test_packets.py"
    ),
    "app/pages/data/dataset/packets/fields.py ask_to_hand_out": (
        "app/pages/data/dataset/test_packets.py"
    ),
    "app/pages/data/dataset/packets/fields.py ask_to_take_in": (
        "app/pages/data/dataset/test_packets.py"
    ),
    "app/pages/data/packets.py _ask_for_coder": "app/pages/data/dataset/test_packets.py",
    "app/pages/data/dataset/splitting.py ask_for_split": "app/pages/data/dataset/test_view.py",
}
OPEN_AFTER_ENTER = {"app/widgets/help.py HelpWindow", "app/exporting/view.py ExportDialog",
                    "app/pages/runs/run/smaller.py SmallerDialog",
                    "app/palette.py Palette"}  # fmt: skip


def find_dialogs() -> set[str]:
    """Every function that asks a question, and every concrete class of dialogs."""
    askers, bases = set(), {}
    for file in sorted((ROOT / "app").rglob("*.py")):
        name, source = file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
        if not re.search(
            r"\b(ask(_for_name)?|confirm)\(|\((Stages)?Dialog|\(Question|\(Palette", source
        ):
            continue  # parsing takes long
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                bases[f"{name} {node.name}"] = {ast.unparse(base) for base in node.bases}
            if isinstance(node, ast.FunctionDef) and name != QUESTIONS:
                calls = {ast.unparse(c.func) for c in ast.walk(node) if isinstance(c, ast.Call)}
                if {call.removeprefix("dialogs.") for call in calls} & ASKING:
                    askers.add(f"{name} {node.name}")
    dialogs = {"QDialog"}
    while subclasses := {
        key for key, parents in bases.items() if parents & dialogs and _class(key) not in dialogs
    }:
        dialogs |= set(map(_class, subclasses))
    used = {base for parents in bases.values() for base in parents}
    leaves = {key for key in bases if _class(key) in dialogs - used}
    return askers | {key for key in leaves if not key.startswith(QUESTIONS)}


def _class(key: str) -> str:
    return key.rpartition(" ")[2]


@pytest.fixture
def stage(qtbot: QtBot, studio: Studio, make_run: MakeRun) -> Stage:  # noqa: F811
    return Stage(studio, make_run("One run", job=fake_worker.job("One run", steps=20)), qtbot)


@pytest.fixture
def open_dialog(stage: Stage, qtbot: QtBot) -> Iterator[Callable[[str], Dialog]]:
    """`open_dialog(name)` opens a dialog over a window and returns it."""

    def show(name: str) -> Dialog:
        DIALOGS[name](stage)

        def visible_dialogs() -> list[Dialog]:
            return [d for d in stage.window.findChildren(Dialog) if d.isVisible()]

        qtbot.waitUntil(lambda: bool(visible_dialogs()))
        (dialog,) = visible_dialogs()
        qtbot.waitActive(dialog)
        return dialog

    yield show
    for dialog in stage.window.findChildren(Dialog):
        dialog.reject()


def default_button(dialog: Dialog) -> QPushButton | None:
    buttons = (b for b in dialog.findChildren(QPushButton) if b.isVisible() and b.isDefault())
    return next(buttons, None)


def test_every_dialog_is_tested():
    assert set(DIALOGS) | set(TESTED_ELSEWHERE) == find_dialogs()
    assert not set(DIALOGS) & set(TESTED_ELSEWHERE)
    assert all((ROOT / "tests" / test).is_file() for test in TESTED_ELSEWHERE.values())


def assert_fits(dialog: Dialog, size: tuple[int, int]) -> None:
    """Fail if a part lies outside the dialog, or the dialog outside the screen."""
    assert dialog.width() <= size[0] and dialog.height() <= available_area(dialog).height()
    inside = dialog.rect()
    QApplication.processEvents()  # scroll areas resize their content
    if size[0] >= WIDE:
        for widget in dialog.findChildren(QWidget):
            overflow = widget.isVisible() and horizontal_overflow(widget)
            assert not overflow, widget.metaObject().className()
    for button in dialog.findChildren(QPushButton):
        if button.isVisible() and not button.visibleRegion().isEmpty():
            corner = button.mapTo(dialog, button.rect().topLeft())
            assert inside.contains(QRect(corner, button.size())), button.text()
    for button in getattr(dialog, "buttons", {}).values():
        assert button.visibleRegion().boundingRect() == button.rect(), button.text()


def initial_focus(dialog: Dialog) -> QWidget:
    """The focused widget, which is the first field or else the default button."""
    focus = dialog.focusWidget()
    fields = [w for w in dialog.findChildren(QWidget) if isinstance(w, FIELDS) and w.isVisible()]
    fields = [w for w in fields if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    if fields:
        assert focus is fields[0]
    elif (default := default_button(dialog)) is not None:
        assert focus is default
    assert focus is not None and focus.isEnabled()
    if isinstance(focus, QLineEdit):
        assert focus.selectedText() == focus.text()
    return focus


@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog_fits_and_handles_escape_and_enter(open_dialog, qtbot, name, monkeypatch):
    """Escape cancels; Ctrl+Enter presses the default button."""
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _: QRect(0, 0, *SMALL))
    dialog = open_dialog(name)
    assert_fits(dialog, SMALL)
    answers: list[str] = []
    if isinstance(dialog, Question):
        cancel_answer = dialog._answer
        dialog._on_answer = answers.append
    with qtbot.waitSignal(dialog.finished):
        qtbot.keyClick(initial_focus(dialog), Qt.Key.Key_Escape)
    assert answers in ([], [cancel_answer] if isinstance(dialog, Question) else [])
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _: QRect(0, 0, *NORMAL))
    dialog = open_dialog(name)
    assert_fits(dialog, NORMAL)
    focus = initial_focus(dialog)
    if name in OPEN_AFTER_ENTER:
        return
    assert isinstance(dialog, Question)
    default = default_button(dialog)
    assert default is not None and default.isEnabled()
    answers.clear()
    dialog._on_answer = answers.append
    expected = next(key for key, button in dialog.buttons.items() if button is default)
    assert default.property("kind") in ("primary", "plain")  # Enter never deletes
    with qtbot.waitSignal(dialog.finished):
        qtbot.keyClick(focus, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert answers == [expected]


def test_typed_notes_are_saved(open_dialog, stage, qtbot, monkeypatch):
    saved: list[str] = []
    monkeypatch.setattr(stage.runs, "set_notes", lambda _, text: saved.append(text))
    dialog = open_dialog("app/pages/runs/questions.py ask_notes")
    focus = dialog.focusWidget()
    assert focus is not None
    qtbot.keyClicks(focus, "a b")
    qtbot.keyClick(focus, Qt.Key.Key_Return)
    qtbot.keyClicks(focus, "c")
    qtbot.keyClick(focus, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert saved == ["a b\nc"]


def test_escape_asks_before_typed_notes_are_dropped(open_dialog, stage, qtbot):
    dialog = open_dialog("app/pages/runs/questions.py ask_notes")
    focus = dialog.focusWidget()
    assert focus is not None
    for key, stays in (("back", True), ("discard", False)):
        qtbot.keyClicks(focus, "a")
        qtbot.keyClick(focus, Qt.Key.Key_Escape)
        assert dialog.isVisible()
        question(qtbot, "Discard").buttons[key].click()
        qtbot.waitUntil(lambda stays=stays: dialog.isVisible() == stays)
    unchanged = open_dialog("app/pages/runs/questions.py ask_notes")
    qtbot.keyClick(unchanged.focusWidget(), Qt.Key.Key_Escape)
    assert not unchanged.isVisible(), "nothing would be lost"


def test_a_branch_at_the_last_step_cannot_be_started(stage, qtbot):
    ask_to_branch(stage.window, stage.checkpoints(), stage.row.steps)
    dialog = stage.window.findChildren(Question)[0]
    assert not dialog.buttons["branch"].isEnabled()
    dialog.reject()


def test_deleting_a_run_names_its_dependents(
    stage,
    make_run,  # noqa: F811
):
    base = FromCheckpoint(path=stage.row.folder / "checkpoints" / "step-00000020")
    job = fake_worker.job("Later").model_copy(update={"base_model": base})
    for name, outcome in (("Later", "stopped"), ("Done", "finished")):
        row = read_row(stage.studio.record, make_run(name, outcome=outcome, job=job))
        assert row is not None
        stage.runs.rows[row.id] = replace(row, name=name)
    questions.ask_delete(stage.window, stage.runs, [stage.row])
    dialog = stage.window.findChildren(Question)[0]
    text = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "can no longer start: “Later”." in text and "trash" in text
    dialog.reject()


def test_file_dialogs_begin_in_the_folder_of_the_last_one(qtbot, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(file_dialogs, "application_settings", lambda: settings)
    owner, chosen = QWidget(), []
    qtbot.addWidget(owner)
    owner.show()
    for name in ("texts", "results"):
        (tmp_path / name).mkdir()

    def answer(file: Path) -> Path:
        """Answer the open dialog; returns the folder in which it began."""
        dialog = owner.findChild(QFileDialog)
        folder = Path(dialog.directory().absolutePath())
        dialog.fileSelected.emit(str(file))
        dialog.filesSelected.emit([str(file)])
        dialog.deleteLater()
        dialog.setParent(None)
        return folder

    file_dialogs.choose_file(owner, "Open", chosen.append)
    answer(tmp_path / "texts" / "a.csv")
    file_dialogs.ask_for_file(owner, "Save", "a.csv", [".csv"], chosen.append)
    answer(tmp_path / "results" / "a.csv")
    file_dialogs.choose_files(owner, "Open", chosen.append)
    assert answer(tmp_path / "texts" / "b.csv") == tmp_path / "texts"
    file_dialogs.ask_for_file(owner, "Save", "b.csv", [".csv"], chosen.append)
    dialog = owner.findChild(QFileDialog)
    assert dialog.selectedFiles() == [str(tmp_path / "results" / "b.csv")]
    dialog.close()
    texts = tmp_path / "texts"
    assert chosen == [texts / "a.csv", tmp_path / "results" / "a.csv", [texts / "b.csv"]]

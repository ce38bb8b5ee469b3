"""What is asked of the user about a run: its name, notes, and whether it may be deleted."""

from collections.abc import Sequence

from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.translation import tr
from app.widgets.dialogs import Choice, ask, ask_for_name
from engine.spec.job import RUN_NAME_LENGTH, FromCheckpoint


def ask_name(owner: QWidget, runs: RunsState, row: RunRow) -> None:
    """Ask for another name of a run."""
    ask_for_name(
        owner,
        (tr("Rename the run"), tr("The folder on disk keeps its name.")),
        row.name,
        RUN_NAME_LENGTH,
        Choice("rename", tr("&Rename"), "primary"),
        lambda name: runs.rename(row.id, name),
    )


def ask_notes(owner: QWidget, runs: RunsState, row: RunRow) -> None:
    """Ask for the notes on a run."""
    field = QPlainTextEdit(row.notes)
    field.setAccessibleName(tr("Notes"))
    field.setTabChangesFocus(True)
    ask(
        owner,
        tr("Notes on “{0}”").format(row.name),
        tr("Only you edit these notes. They are included in search."),
        [
            Choice("save", tr("&Save"), "primary"),
            Choice("cancel", tr("&Cancel")),
        ],
        lambda key: runs.set_notes(row.id, field.toPlainText()) if key == "save" else None,
        [field],
    )


def ask_to_delete(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Say what goes and what stays, then delete."""

    def answer(key: str) -> None:
        if key == "delete":
            runs.remove([row.id for row in rows])

    if len(rows) == 1:
        title = tr("Delete the run “{0}”?").format(rows[0].name)
    else:
        title = tr("Delete %Ln run(s)?", len(rows))
    said = tr(
        "Its folder with curves, log and checkpoints moves to the system trash. Data sets and"
        " base models are not affected."
    )
    if names := _left_without_base(runs, rows):
        template = tr(
            "These unfinished runs start from its checkpoints and can no longer begin: {0}."
        )
        said = f"{said} {template.format(', '.join(names))}"
    ask(
        owner,
        title,
        said,
        [
            Choice("delete", tr("&Delete"), "danger"),
            Choice("cancel", tr("&Cancel")),
        ],
        answer,
    )


def _left_without_base(runs: RunsState, rows: Sequence[RunRow]) -> list[str]:
    """The names of other runs whose base model goes with these, and which are not finished."""
    gone = {row.id for row in rows}
    folders = [row.folder for row in rows]
    found = []
    for row in runs.rows.values():
        base = row.job.base_model if row.job is not None else None
        if row.id in gone or row.state == "finished" or not isinstance(base, FromCheckpoint):
            continue
        if any(base.path.is_relative_to(folder) for folder in folders):
            found.append(f"“{row.name[:60]}”")
    return found[:5]

"""What is asked of the user about a run: its name, notes, and whether it may be deleted."""

from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.pages.runs.texts import translate
from app.widgets.dialogs import Choice, ask

LONGEST_NAME = 200  # characters


def ask_name(owner: QWidget, runs: RunsState, row: RunRow) -> None:
    """Ask for another name of a run."""
    field = QLineEdit(row.name, maxLength=LONGEST_NAME)
    field.setAccessibleName(translate("Runs", "Name"))
    field.selectAll()
    question = ask(
        owner,
        translate("Runs", "Rename the run"),
        translate("Runs", "The folder of the run keeps its name."),
        [
            Choice("rename", translate("Runs", "&Rename"), "primary"),
            Choice("cancel", translate("Runs", "&Cancel")),
        ],
        lambda key: runs.rename(row.id, field.text()) if key == "rename" else None,
    )
    question.body.addWidget(field)
    field.setFocus()


def ask_notes(owner: QWidget, runs: RunsState, row: RunRow) -> None:
    """Ask for the notes on a run."""
    field = QPlainTextEdit(row.notes)
    field.setAccessibleName(translate("Runs", "Notes"))
    field.setTabChangesFocus(True)
    question = ask(
        owner,
        translate("Runs", "Notes on “{0}”").format(row.name),
        translate(
            "Runs", "They belong to you: no training changes them, and the search finds them."
        ),
        [
            Choice("keep", translate("Runs", "&Keep"), "primary"),
            Choice("cancel", translate("Runs", "&Cancel")),
        ],
        lambda key: runs.set_notes(row.id, field.toPlainText()) if key == "keep" else None,
    )
    question.body.addWidget(field)
    field.setFocus()


def ask_to_delete(owner: QWidget, runs: RunsState, rows: list[RunRow]) -> None:
    """Say what goes and what stays, then delete."""

    def answer(key: str) -> None:
        if key == "delete":
            for row in rows:
                runs.remove(row.id)

    if len(rows) == 1:
        title = translate("Runs", "Delete the run “{0}”?").format(rows[0].name)
    else:
        title = translate("Runs", "Delete %Ln run(s)?", "", len(rows))
    ask(
        owner,
        title,
        translate(
            "Runs",
            "Curves, log and checkpoints go; the folder lies in the trash of this system. The data"
            " set and the model that the run started from stay.",
        ),
        [
            Choice("delete", translate("Runs", "&Delete"), "danger"),
            Choice("cancel", translate("Runs", "&Cancel")),
        ],
        answer,
    )

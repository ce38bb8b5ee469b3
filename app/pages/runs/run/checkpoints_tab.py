"""The checkpoints of a run, with buttons to use them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QLineEdit, QTableView, QWidget

from app import resources
from app.exporting import view as exporting
from app.pages.runs.run.checkpoints_state import CheckpointsState, Saved
from app.theme import SPACE, Role
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, ask
from app.widgets.forms.form import SpecForm
from app.widgets.page import labelled
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text
from engine.config.changes import changes
from engine.config.fields import branch_fields
from engine.config.job import RUN_NAME_LENGTH, JobSpec
from engine.config.training import TrainingSpec
from engine.record.metrics import TIE_BREAKER
from engine.runs.branching import check_remaining_steps

ROW_HEIGHT = 36  # px
STEP, SCORE, LOSS, REASON, SAVED, SIZE = range(6)  # columns


def checkpoint_columns(kept_last: int = 0, metric: str = "") -> list[Column[Saved]]:
    """Step, score by `metric`, loss, reason to keep, time and size.

    `kept_last` is the number of latest checkpoints kept; 0: unknown.
    """

    def score(saved: Saved) -> str:
        if saved.score is None:
            return tr("not evaluated")
        return run_texts.metric_value(metric, saved.score)

    def loss(saved: Saved) -> str:
        return "" if saved.loss is None else run_texts.metric_value(TIE_BREAKER, saved.loss)

    def reasons(saved: Saved) -> str:
        return " · ".join(reason_text(reason, kept_last) for reason in saved.reasons)

    def star(saved: Saved) -> object:
        return resources.icon("star", Role.WARN) if saved.best else None

    def column(title: str, text: Callable[[Saved], str], **more: Any) -> Column[Saved]:
        return Column(title, text, tooltip=lambda saved: str(saved.folder), **more)

    return [
        column(tr("Step"), lambda saved: numbers.count(saved.step)),
        column(run_texts.metric_heading(metric) if metric else tr("Score"), score),
        column(run_texts.metric_heading(TIE_BREAKER), loss),
        column(tr("Kept because"), reasons, roles={Qt.ItemDataRole.DecorationRole: star}),
        column(tr("Saved"), lambda saved: numbers.moment(saved.at)),
        column(tr("Size"), lambda saved: numbers.size(saved.bytes)),
    ]


def reason_text(reason: str, kept_last: int) -> str:
    """The reason to keep a checkpoint, in words."""
    if reason.startswith("every "):
        every = tr("every {0} steps")
        return every.format(numbers.count(int(reason.removeprefix("every "))))
    if reason == "best":
        return tr("best")
    if kept_last <= 1:
        return tr("latest")
    return tr("one of the last {0}").format(numbers.count(kept_last))


class CheckpointsTab(QWidget):
    """Table and buttons.

    Signals:
        explore_wanted, fine_tune_wanted: the folder of a checkpoint to explore or fine-tune.
    """

    explore_wanted = Signal(Path)
    fine_tune_wanted = Signal(Path)

    def __init__(self, state: CheckpointsState) -> None:
        super().__init__()
        self._state = state
        self.model = ColumnsModel(checkpoint_columns(), self)
        self.table = self._table()
        self.none = Text(
            self.tr(
                "No checkpoint yet. One is saved after each evaluation and when you stop the run."
            ),
            "muted",
        )
        self.sum = Text("", "muted")
        layouts.column(
            self._buttons_row(),
            self.none,
            (self.table, 1),
            self.sum,
            parent=self,
            spacing=3 * SPACE,
            margins=(0, 3 * SPACE, 0, 0),
        )
        state.run.changed.connect(self._on_row)
        state.deletion_asked.connect(self._on_deletion_asked)
        state.checkpoints_read.connect(self.show_saved)
        self.show_saved([])

    def _table(self) -> QTableView:
        table = make_table(self.tr("Checkpoints"), self.model)
        table.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(REASON, QHeaderView.ResizeMode.ResizeToContents)
        table.doubleClicked.connect(lambda _: self._emit(self.explore_wanted))
        table.selectionModel().selectionChanged.connect(self._enable)
        return table

    def _buttons_row(self) -> QHBoxLayout:
        self.explore = buttons.plain(
            self.tr("&Open in Explore"), lambda: self._emit(self.explore_wanted), "microscope"
        )
        self.fine_tune = buttons.plain(
            self.tr("Fi&ne-tune this…"), lambda: self._emit(self.fine_tune_wanted), "flag"
        )
        self.branch = buttons.plain(self.tr("Bran&ch from here…"), self._on_branch, "git-branch")
        self.export = buttons.plain(self.tr("Expor&t…"), self._on_export, "upload")
        self.folder = buttons.plain(self.tr("Open &folder"), self._on_folder, "folder-open")
        self.delete = buttons.quiet(self.tr("Delete"), self._on_delete, "trash-2")
        self._buttons = (
            self.explore,
            self.fine_tune,
            self.branch,
            self.export,
            self.folder,
            self.delete,
        )
        row = layouts.row(spacing=2 * SPACE)
        for button in self._buttons:
            row.addWidget(button)
        row.addStretch()
        return row

    # ── which there are ──────────────────────────────────────────────────────────────────────

    def show_saved(self, saved: list[Saved]) -> None:
        """Show these, keeping the selection; at first the best one is selected."""
        chosen, row = self.chosen(), self._state.row
        kept = row.job.training.keep if row and row.job else 0
        metric = row.best_metric if row else ""
        self.model.show_rows(saved, checkpoint_columns(kept, metric))
        self.table.setColumnHidden(LOSS, metric == TIE_BREAKER)
        self.none.setVisible(not saved)
        self.table.setVisible(bool(saved))
        self.sum.setVisible(bool(saved))
        folders = [s.folder for s in saved]
        best = next((n for n, s in enumerate(saved) if s.best), 0)
        if saved:
            wanted = folders.index(chosen) if chosen in folders else best
            self.table.selectRow(wanted)
        self._on_row()

    def chosen(self) -> Path | None:
        """The folder of the selected checkpoint."""
        rows = self.table.selectionModel().selectedRows()
        return self.model.row(rows[0].row()).folder if rows else None

    def _chosen(self) -> Saved | None:
        return next((s for s in self.model.rows if s.folder == self.chosen()), None)

    def _sum(self, saved: Sequence[Saved]) -> str:
        """Total size, and which checkpoints are kept."""
        text = self.tr("%Ln checkpoint(s)", "", len(saved))
        size = numbers.size(sum(s.bytes for s in saved))
        total = self.tr("{0}, {1} in total.").format(text, size)
        row = self._state.row
        if row is None or row.job is None:
            return total
        plan = row.job.training
        kept = self.tr("The best checkpoint and the latest {0} are kept.")
        if plan.keep_every:
            kept = self.tr("The best checkpoint, the latest {0} and one every {1} steps are kept.")
        kept = kept.format(numbers.count(plan.keep), numbers.count(plan.keep_every))
        return f"{total} {kept}"

    def _on_row(self) -> None:
        self.sum.setText(self._sum(self.model.rows))
        self._enable()

    def _enable(self) -> None:
        for button in self._buttons:
            button.setEnabled(self.chosen() is not None)
        row = self._state.row
        self.branch.setEnabled(self.branch.isEnabled() and row is not None and row.job is not None)

    # ── what is done with one ────────────────────────────────────────────────────────────────

    def _emit(self, signal: Any) -> None:
        if (chosen := self.chosen()) is not None:
            signal.emit(chosen)

    def _on_branch(self) -> None:
        if (chosen := self._chosen()) is not None:
            ask_to_branch(self, self._state, chosen.step)

    def _on_delete(self) -> None:
        if (chosen := self._chosen()) is not None:
            self._state.want_deleted(chosen)

    def _on_deletion_asked(self, saved: Saved, lost: str) -> None:
        ask(
            self,
            self.tr("Delete the checkpoint at step {0}?").format(numbers.count(saved.step)),
            lost,
            [Choice("delete", self.tr("&Delete"), "danger"), Choice("cancel", self.tr("&Cancel"))],
            lambda key: self._state.delete(saved) if key == "delete" else None,
        )

    def _on_folder(self) -> None:
        if (chosen := self.chosen()) is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(chosen)))

    def _on_export(self) -> None:
        if (chosen := self.chosen()) is not None:
            exporting.ask(self, self._state.export_of(chosen))


FORM_WIDTH = 640  # px


def ask_to_branch(owner: QWidget, state: CheckpointsState, step: int) -> None:
    """Ask for name and changed settings of a branch, then start it."""
    row = state.row
    if row is None or row.job is None:
        return
    job, steps = row.job, row.steps
    template = tr("{0}, from step {1}")
    name = QLineEdit(template.format(job.name, step)[:RUN_NAME_LENGTH])
    name.setMaxLength(RUN_NAME_LENGTH)
    name.setAccessibleName(tr("Name"))
    form = SpecForm(
        TrainingSpec,
        branch_fields(TrainingSpec),
        values=job.training.model_dump(),
        others=job.training.model_dump(),
    )
    form.setMinimumWidth(FORM_WIDTH)  # tick values are cut off below this width
    text = Text("", "strong")

    def wanted() -> JobSpec:
        training = {**job.training.model_dump(), **form.value()}
        title = name.text().strip() or job.name
        update = {"training": TrainingSpec.model_validate(training), "name": title}
        return job.model_copy(update=update)

    def tell() -> None:
        problem = form.is_valid() and check_remaining_steps(job, wanted(), step, steps)
        question.buttons["branch"].setEnabled(form.is_valid() and not problem)
        text.set_style("bad" if problem else "strong")
        if problem:
            text.setText(f"{translated(problem.problem)} {translated(problem.advice)}")
        elif form.is_valid():
            result = [translated(change.sentence()) for change in changes(job, wanted())]
            same = tr(
                "No setting is changed, so this branch will reproduce the original run exactly."
            )
            text.setText("; ".join(result) + "." if result else same)

    question = ask(
        owner,
        tr("Branch from step {0}").format(numbers.count(step)),
        tr(
            "A new run continues from this checkpoint, with its weights, optimiser state and"
            " progress. Task, data and model stay the same."
        ),
        [Choice("branch", tr("&Start branch"), "primary"), Choice("cancel", tr("&Cancel"))],
        lambda key: state.branch(step, wanted()) if key == "branch" else None,
        [labelled(tr("Name"), name), text, form],
    )
    form.changed.connect(tell)
    tell()

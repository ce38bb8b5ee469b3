"""The checkpoints of a run, kept up to date, with buttons to use them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app import background, resources, trash
from app.exporting import view as exporting
from app.exporting.state import ExportState
from app.pages.runs.run.state import RunState
from app.studio import Studio
from app.theme import SPACE, Role, px
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, confirm
from app.widgets.forms.form import SpecForm
from app.widgets.opening import open_path
from app.widgets.page import labelled
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text
from app.widgets.text.wrapping import WrapArea
from engine.config.changes import changes
from engine.config.fields import branch_fields
from engine.config.job import RUN_NAME_LENGTH, JobSpec
from engine.config.training import TrainingSpec
from engine.record.checkpoints import get_checkpoints, match_folders
from engine.record.metrics import TIE_BREAKER, get_values
from engine.record.opening import Record
from engine.record.runs import find_run
from engine.runs.branching import check_remaining_steps
from engine.runs.retention import check_removal, reasons_to_keep, size

ROW_HEIGHT = 36  # px
STEP, SCORE, LOSS, REASON, SAVED, SIZE = range(6)  # columns


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, and the reasons to keep it: “best”, “last”, “every n”.

    `score` is the run's best metric at its step and `loss` the validation loss; None if it was not
    evaluated.
    """

    step: int
    folder: Path
    best: bool
    saved_at: datetime
    bytes: int
    reasons: tuple[str, ...] = ()
    score: float | None = None
    loss: float | None = None


class CheckpointsState(QObject):
    """Reads the checkpoints off the GUI thread.

    Signals:
        checkpoints_read: list of Checkpoint, newest first.
        deletion_requested: a checkpoint, and a sentence that warns of the loss.
    """

    checkpoints_read = Signal(object)
    deletion_requested = Signal(object, object)

    def __init__(self, studio: Studio, run: RunState) -> None:
        super().__init__(run)
        self._studio, self.run = studio, run
        self._read_key: tuple[object, ...] | None = None
        run.changed.connect(self._on_run)
        self._on_run()

    def _on_run(self) -> None:
        row = self.run.row
        if row is None:
            return
        key = (row.checkpoint_step, row.checkpoint, row.state)
        if key != self._read_key:
            self._read_key = key
            self._read()

    def _read(self) -> None:
        record, run_id = self._studio.record, self.run.run_id
        background.run(self, lambda: read_checkpoints(record, run_id), self.checkpoints_read.emit)

    def _match_folders(self) -> None:
        """Update the record from the disk, then announce it."""
        record, run_id, folder = self._studio.record, self.run.run_id, self.run.folder

        def match() -> None:
            with record.session() as session:
                match_folders(session, run_id, folder)

        def matched(_: None) -> None:
            self._studio.dispatcher.run_changed.emit(run_id)
            self._read()

        background.run(self, match, matched, self._studio.notices.show)

    # ── actions ──────────────────────────────────────────────────────────────────────────────

    def create_export(self, folder: Path) -> ExportState:
        """An export of the checkpoint in `folder`, for its dialog."""
        run = self.run.row.name if self.run.row else self.run.run_id
        return ExportState(self._studio, folder, f"{run}-{folder.name}", parent=self)

    def request_deletion(self, checkpoint: Checkpoint) -> None:
        """Delete a checkpoint, after a question if something is lost with it."""
        run = self.run.folder

        def checked(lost: str) -> None:
            if lost:
                self.deletion_requested.emit(checkpoint, lost)
            else:
                self.delete(checkpoint)

        background.run(
            self, lambda: check_removal(run, checkpoint.step), checked, self._studio.notices.show
        )

    def delete(self, checkpoint: Checkpoint) -> None:
        """Move a checkpoint to the trash; a notice offers Undo."""

        def removed(trashed: Path) -> None:
            self._match_folders()
            self._studio.notices.info(
                self.tr("The checkpoint at step {0} was moved to the trash.").format(
                    numbers.count(checkpoint.step)
                ),
                self.tr("Undo"),
                lambda: self._restore(trashed, checkpoint.folder),
            )

        background.run(
            self, lambda: trash.move_to_trash(checkpoint.folder), removed, self._studio.notices.show
        )

    def _restore(self, trashed: Path, folder: Path) -> None:
        background.run(
            self,
            lambda: trash.restore_from_trash(trashed, folder),
            lambda _: self._match_folders(),
            self._studio.notices.show,
        )

    def branch(self, step: int, job: JobSpec) -> None:
        def started(run_id: str) -> None:
            self._studio.notices.info(
                self.tr("“{0}” continues from step {1}.").format(job.name, step),
                self.tr("Open"),
                lambda: self._studio.navigate.emit("runs", {"run": run_id}),
            )

        self._studio.dispatcher.branch(self.run.run_id, step, job, started)


def read_checkpoints(record: Record, run_id: str) -> list[Checkpoint]:
    """The checkpoints of a run with their sizes on disk, newest first."""
    with record.read() as session:
        result = list(get_checkpoints(session, run_id))
        run = find_run(session, run_id)
        job = run.readable_job() if run is not None else None
        steps = [c.step for c in result]
        scores = get_values(session, run_id, run.best_metric if run else "", steps)
        losses = get_values(session, run_id, TIE_BREAKER, steps)
    best = next((c.step for c in result if c.best), -1)
    reasons = reasons_to_keep((c.step for c in result), best, job.training) if job else {}
    return [
        Checkpoint(
            c.step,
            c.folder,
            c.best,
            c.saved,
            size(c.folder),
            reasons.get(c.step, ()),
            scores.get(c.step),
            losses.get(c.step),
        )
        for c in reversed(result)
    ]


def checkpoint_columns(keep: int = 0, metric: str = "") -> list[Column[Checkpoint]]:
    """Step, score by `metric`, loss, reason to keep, time and size.

    `keep` is the number of latest checkpoints that are kept; 0: unknown.
    """

    def score(checkpoint: Checkpoint) -> str:
        if checkpoint.score is None:
            return tr("not evaluated")
        return run_texts.metric_value(metric, checkpoint.score)

    def loss(checkpoint: Checkpoint) -> str:
        value = checkpoint.loss
        return "" if value is None else run_texts.metric_value(TIE_BREAKER, value)

    def reasons(checkpoint: Checkpoint) -> str:
        return " · ".join(reason_text(reason, keep) for reason in checkpoint.reasons)

    def star(checkpoint: Checkpoint) -> object:
        return resources.icon("star", Role.WARN) if checkpoint.best else None

    def column(title: str, text: Callable[[Checkpoint], str], **kwargs: Any) -> Column[Checkpoint]:
        return Column(title, text, tooltip=lambda checkpoint: str(checkpoint.folder), **kwargs)

    return [
        column(tr("Step"), lambda checkpoint: numbers.count(checkpoint.step)),
        column(run_texts.metric_heading(metric) if metric else tr("Score"), score),
        column(run_texts.metric_heading(TIE_BREAKER), loss),
        column(tr("Kept because"), reasons, roles={Qt.ItemDataRole.DecorationRole: star}),
        column(tr("Saved"), lambda checkpoint: numbers.moment(checkpoint.saved_at)),
        column(tr("Size"), lambda checkpoint: numbers.size(checkpoint.bytes)),
    ]


def reason_text(reason: str, keep: int) -> str:
    """The reason to keep a checkpoint, in words."""
    if reason.startswith("every "):
        template = tr("every {0} steps")
        return template.format(numbers.count(int(reason.removeprefix("every "))))
    if reason == "best":
        return tr("best")
    if keep <= 1:
        return tr("latest")
    return tr("one of the last {0}").format(numbers.count(keep))


class CheckpointsTab(QWidget):
    """A table of checkpoints with buttons for the selected one."""

    def __init__(self, state: CheckpointsState) -> None:
        super().__init__()
        self._state = state
        self.model = ColumnsModel(checkpoint_columns(), self)
        self.table = make_table(self.tr("Checkpoints"), self.model, fitted=[REASON])
        self.table.verticalHeader().setDefaultSectionSize(px(ROW_HEIGHT))
        self.table.doubleClicked.connect(lambda _: self.explore.click())
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.hint = Text(
            self.tr(
                "No checkpoint yet. One is saved after each evaluation and when you stop the run."
            ),
            "muted",
        )
        self.total = Text("", "muted")
        layouts.tab(self, self._buttons_row(), self.hint, (self.table, 1), self.total)
        state.run.changed.connect(self._on_row)
        state.deletion_requested.connect(self._on_deletion_requested)
        state.checkpoints_read.connect(self.show_checkpoints)
        self.show_checkpoints([])

    def _buttons_row(self) -> WrapArea:
        state, runs = self._state, self._state.run.runs

        def for_chosen(act: Callable[[Checkpoint], object]) -> Callable[[], None]:
            """A slot that calls `act` with the selected checkpoint."""

            def pressed() -> None:
                if (checkpoint := self.chosen()) is not None:
                    act(checkpoint)

            return pressed

        explore = for_chosen(lambda checkpoint: runs.open_in_explore(checkpoint.folder))
        self.explore = buttons.plain(self.tr("&Open in Explore"), explore, "microscope")
        fine_tune = for_chosen(lambda checkpoint: runs.fine_tune(checkpoint.folder))
        self.fine_tune = buttons.plain(self.tr("Fi&ne-tune this…"), fine_tune, "flag")
        branch = for_chosen(lambda checkpoint: ask_to_branch(self, state, checkpoint.step))
        self.branch = buttons.plain(self.tr("Bran&ch from here…"), branch, "git-branch")
        export = for_chosen(
            lambda checkpoint: exporting.open_dialog(self, state.create_export(checkpoint.folder))
        )
        self.export = buttons.plain(self.tr("Expor&t…"), export, "upload")
        folder = for_chosen(lambda checkpoint: open_path(checkpoint.folder))
        self.folder = buttons.plain(self.tr("Open &folder"), folder, "folder-open")
        self.delete = buttons.quiet(
            self.tr("Delete"), for_chosen(state.request_deletion), "trash-2"
        )
        use = self.explore, self.fine_tune, self.branch, self.export
        self._buttons = (*use, self.folder, self.delete)
        row = WrapArea(gap=2 * SPACE)
        for button in self._buttons:
            row.add(button)
        return row

    # ── list ─────────────────────────────────────────────────────────────────────────────────

    def show_checkpoints(self, checkpoints: list[Checkpoint]) -> None:
        """Show these and keep the selection; initially the best one is selected."""
        previous, row = self.chosen(), self._state.run.row
        keep = row.job.training.keep if row and row.job else 0
        metric = row.best_metric if row else ""
        self.model.show_rows(checkpoints, checkpoint_columns(keep, metric))
        self.table.setColumnHidden(LOSS, metric == TIE_BREAKER)
        self.hint.setVisible(not checkpoints)
        self.table.setVisible(bool(checkpoints))
        self.total.setVisible(bool(checkpoints))
        if checkpoints:
            folders = [checkpoint.folder for checkpoint in checkpoints]
            best = next((n for n, checkpoint in enumerate(checkpoints) if checkpoint.best), 0)
            selected = previous.folder if previous is not None else None
            self.table.selectRow(
                next((n for n, folder in enumerate(folders) if folder == selected), best)
            )
        self._on_row()

    def chosen(self) -> Checkpoint | None:
        """The selected checkpoint."""
        rows = self.table.selectionModel().selectedRows()
        return self.model.row(rows[0].row()) if rows else None

    def _total_text(self, checkpoints: Sequence[Checkpoint]) -> str:
        text = self.tr("%Ln checkpoint(s)", "", len(checkpoints))
        size = numbers.size(sum(checkpoint.bytes for checkpoint in checkpoints))
        total = self.tr("{0}, {1} in total.").format(text, size)
        row = self._state.run.row
        if row is None or row.job is None:
            return total
        training = row.job.training
        rule = self.tr("The best checkpoint and the latest {0} are kept.")
        if training.keep_every:
            rule = self.tr("The best checkpoint, the latest {0} and one every {1} steps are kept.")
        rule = rule.format(numbers.count(training.keep), numbers.count(training.keep_every))
        return f"{total} {rule}"

    def _on_row(self) -> None:
        self.total.setText(self._total_text(self.model.rows))
        self._enable()

    def _enable(self) -> None:
        for button in self._buttons:
            button.setEnabled(self.chosen() is not None)
        row = self._state.run.row
        self.branch.setEnabled(self.branch.isEnabled() and row is not None and row.job is not None)

    def _on_deletion_requested(self, checkpoint: Checkpoint, lost: str) -> None:
        confirm(
            self,
            self.tr("Delete the checkpoint at step {0}?").format(numbers.count(checkpoint.step)),
            lost,
            Choice("delete", self.tr("&Delete"), "danger"),
            lambda: self._state.delete(checkpoint),
        )


FORM_WIDTH = 640  # px


def ask_to_branch(owner: QWidget, state: CheckpointsState, step: int) -> None:
    """Ask for name and changed settings of a branch, then start it."""
    row = state.run.row
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
    form.setMinimumWidth(px(FORM_WIDTH))  # tick values are cut off below this width
    text = Text("", "strong")

    def branch_job() -> JobSpec:
        training = {**job.training.model_dump(), **form.value()}
        title = name.text().strip() or job.name
        update = {"training": TrainingSpec.model_validate(training), "name": title}
        return job.model_copy(update=update)

    def update_question() -> None:
        problem = form.is_valid() and check_remaining_steps(job, branch_job(), step, steps)
        question.buttons["branch"].setEnabled(form.is_valid() and not problem)
        text.set_style("bad" if problem else "strong")
        if problem:
            text.setText(f"{translated(problem.problem)} {translated(problem.advice)}")
        elif form.is_valid():
            result = [translated(change.sentence()) for change in changes(job, branch_job())]
            unchanged = tr(
                "No setting is changed, so this branch will reproduce the original run exactly."
            )
            text.setText("; ".join(result) + "." if result else unchanged)

    question = confirm(
        owner,
        tr("Branch from step {0}").format(numbers.count(step)),
        tr(
            "A new run continues from this checkpoint, with its weights, optimiser state and"
            " progress. Task, data and model stay the same."
        ),
        Choice("branch", tr("&Start branch"), "primary"),
        lambda: state.branch(step, branch_job()),
        [labelled(tr("Name"), name), text, form],
    )
    form.changed.connect(update_question)
    update_question()

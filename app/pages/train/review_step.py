"""Last step: summary, warnings, time and memory, and the command line."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QWidget

from app import background
from app.pages.train.choices import BASE_MODEL, DATA, SearchPlan
from app.pages.train.estimate_box import EstimateBox
from app.pages.train.job import suggested_name
from app.pages.train.state import TrainState
from app.pages.train.summary import Caution, command, list_changes, summary
from app.resources import icon, mono_font
from app.theme import SPACE, Role, px
from app.translation import tr
from app.widgets import buttons, dialogs, layouts
from app.widgets.forms.form import SpecForm
from app.widgets.page import Card, Picture, clear, labelled, scrolling
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import Text, TextView
from app.widgets.text.spec_texts import title_of, value_text
from app.widgets.text.tags import Tags
from engine.config.job import RUN_NAME_LENGTH, JobSpec
from engine.config.search import SearchField, SearchSpec, combinations, field_at
from engine.files.atomic_write import write_file
from engine.files.home import folder_name
from engine.runs.groups import value_label
from engine.runs.searching import first_combinations, get_seeds

FILE_HEIGHT = 240  # px


class ReviewStep(QWidget):
    """Name and summary, searched values, estimate, and the folded command line."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self.name = QLineEdit()
        self.name.setMaxLength(RUN_NAME_LENGTH)
        self.name.textEdited.connect(state.set_name)
        self.summary = Text("")
        self._warnings = layouts.column(spacing=2 * SPACE)
        card = Card(self.tr("Summary"))
        layouts.extend(card.body, labelled(self.tr("Run name"), self.name), self.summary)
        self.changes_title = Text(self.tr("Changed from the defaults"), "strong")
        self.changes = Tags(self.changes_title.text())
        layouts.extend(card.body, self.changes_title, self.changes, self._warnings)
        self.search = SearchBox(state)
        self.estimate = EstimateBox(state)
        right = layouts.column(self.search, self.estimate, layouts.STRETCH, spacing=4 * SPACE)
        left = layouts.column(card, layouts.STRETCH)
        inner = layouts.page(
            layouts.row((left, 1), (right, 1), spacing=4 * SPACE),
            self._command_line(),
            layouts.STRETCH,
            spacing=4 * SPACE,
            margins=(0, 0, 2 * SPACE, 0),
        )
        layouts.row(scrolling(inner), parent=self)
        state.changed.connect(self._show)
        state.estimate.changed.connect(self._show)
        state.preview.changed.connect(self._show)
        self._show()

    def _command_line(self) -> Card:
        """One line with the command to copy; unfolded also those for a cluster and the job file."""
        card, self.more_commands = Card(padding=3 * SPACE), QWidget()
        more = layouts.column(parent=self.more_commands, spacing=3 * SPACE)
        self.unfold = buttons.quiet(self.tr("Command &line"), icon="chevron-right")
        self.unfold.clicked.connect(lambda: _fold(self.unfold, self.more_commands))
        self.command = QLineEdit()
        layouts.extend(
            card.body,
            layouts.row(
                self.unfold,
                (self._line(self.command, self.tr("Command"), self.tr("Copy command")), 1),
                spacing=2 * SPACE,
            ),
            self.more_commands,
        )
        self.more_commands.hide()
        layouts.extend(
            more,
            Text(self.tr("Train with this job file on a server or in a script."), "muted"),
            Text(
                self.tr(
                    "Print the torchrun / Slurm commands for a cluster. Drop the run folder on this"
                    " window afterwards to see the run here."
                ),
                "muted",
            ),
        )
        self.cluster = QLineEdit()
        copy_cluster = self.tr("Copy cluster command")
        more.addLayout(self._line(self.cluster, self.tr("Cluster command"), copy_cluster))
        self.file = TextView(self.tr("Job file"), wraps=False)
        self.file.setMinimumHeight(px(FILE_HEIGHT))
        self.file.hide()
        self.toggle = buttons.quiet(self.tr("&Job file"), icon="chevron-right")
        self.toggle.clicked.connect(lambda: _fold(self.toggle, self.file))
        copy_file = self._copier(self.file.toPlainText)
        self.copy_job = buttons.plain(self.tr("&Copy job file"), copy_file, "copy")
        save = buttons.plain(self.tr("&Save job file…"), self._on_save, "save")
        row = layouts.row(self.copy_job, save, layouts.STRETCH, spacing=2 * SPACE)
        layouts.extend(more, (self.toggle, 0, Qt.AlignmentFlag.AlignLeft), self.file, row)
        return card

    def _line(self, line: QLineEdit, name: str, copy: str) -> QHBoxLayout:
        """A read-only command with a copy button."""
        line.setReadOnly(True)
        line.setFont(mono_font())
        line.setAccessibleName(name)
        copies = buttons.icon_button("copy", copy, self._copier(line.text))
        return layouts.row((line, 1), copies, spacing=2 * SPACE)

    def _show_commands(self, file: Path | None) -> None:
        """Show the commands for a job file; None empties them."""
        for line, verb in ((self.command, "train"), (self.cluster, "cluster")):
            line.setText("" if file is None else command(verb, file))
            line.setCursorPosition(0)

    def _copier(self, text: Callable[[], str]) -> Callable[[], None]:
        return lambda: QGuiApplication.clipboard().setText(text())

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        choices = self._state.choices
        if not self.name.hasFocus():
            with QSignalBlocker(self.name):
                self.name.setText(choices.name)
        self.name.setPlaceholderText(suggested_name(choices))
        job = self._state.job()
        if job is None:
            obstacle = self._state.first_obstacle()
            self.summary.setText(obstacle[1] if obstacle else "")
            self._show_commands(None)
            self._show_changes([])
            self.file.setPlainText("")
            self._show_warnings([])
            return
        self.summary.setText(summary(choices))
        self._show_changes(list_changes(choices))
        self._show_commands(Path(f"{folder_name(job.name)}.json"))
        text = job.model_dump_json(indent=2)
        if self.file.toPlainText() != text:
            self.file.setPlainText(text)
        self._show_warnings(self._state.warnings())

    def _show_changes(self, texts: list[str]) -> None:
        self.changes.show_texts(texts)
        for part in (self.changes_title, self.changes):
            part.setVisible(bool(texts))

    def _show_warnings(self, warnings: list[Caution]) -> None:
        clear(self._warnings)
        for text, is_serious in warnings:
            picture = ("triangle-alert", 18, Role.WARN) if is_serious else ("info", 18, Role.MUTED)
            row = layouts.row(
                Picture(*picture),
                (Text(text, "warn" if is_serious else "muted"), 1),
                spacing=2 * SPACE,
            )
            self._warnings.addLayout(row)

    # ── saving the job file ──────────────────────────────────────────────────────────────────

    def _on_save(self) -> None:
        job = self._state.job()
        if job is None:
            return
        name = f"{folder_name(job.name)}.json"
        dialogs.ask_for_file(self, self.tr("Save job file"), name, [".json"], self.save_to)

    def save_to(self, path: Path) -> None:
        """Write the job file off the GUI thread."""
        content = self.file.toPlainText().encode("utf-8")
        background.run(
            self,
            lambda: write_file(path, content, shared=True),
            lambda _: self._show_commands(path),
        )


def _fold(button: QPushButton, part: QWidget) -> None:
    """Show or hide a part below its button."""
    shown = part.isHidden()
    part.setVisible(shown)
    button.setIcon(icon("chevron-down" if shown else "chevron-right", Role.ACCENT))


PLACEHOLDER = SearchField(path="training.epochs", values=(1, 2))  # the form checks the plan only


class SearchBox(Card):
    """Plan and size of a search; hidden if no field has several values."""

    def __init__(self, state: TrainState) -> None:
        super().__init__(tr("Several values"))
        self._state = state
        self._is_updating = False
        self.count = Text("", "strong")
        self.values = Tags(tr("Several values"))
        self.form = SpecForm(
            SearchSpec, tuple(SearchPlan.model_fields), others={"fields": (PLACEHOLDER,)}
        )
        self.form.changed.connect(self._on_changed)
        layouts.extend(self.body, self.count, self.values, self.form)
        state.changed.connect(self._show)
        self._show()

    def _on_changed(self) -> None:
        if not self._is_updating and self.form.is_valid():
            plan = SearchPlan.model_validate(self.form.value())
            self._state.set(replace(self._state.choices, plan=plan))

    def _show(self) -> None:
        job = self._state.job()
        search = job.search if job is not None else None
        set_shown(self, search is not None)
        if job is None or search is None:
            return
        self._is_updating = True
        plan = search.model_dump(exclude={"fields"})  # a grid of ranges becomes a TPE search
        if self.form.is_valid() and self.form.value() != plan:
            self.form.set_value(plan)
        self._is_updating = False
        self.count.setText(count_text(job, search))
        self.values.show_texts([_field_text(job, field) for field in search.fields])


def count_text(job: JobSpec, search: SearchSpec) -> str:
    """Number of combinations, seeds and runs."""
    seeds = len(get_seeds(job))
    count = search.limit if search.method == "tpe" else len(first_combinations(job))
    text = tr("%Ln combination(s)", count)
    if count < (total := combinations(search)):
        text = tr("{0} of {1} combinations").format(numbers.count(count), numbers.count(total))
    if seeds == 1:
        return text
    runs = tr("%Ln run(s)", count * seeds)
    return tr("{0} with {1} seeds each: {2}").format(text, seeds, runs)


def _field_text(job: JobSpec, field: SearchField) -> str:
    titles = {BASE_MODEL: tr("Base model"), DATA: tr("Data set")}
    info = field_at(job, field.path)
    title = titles.get(field.path) or (title_of(field.path, info) if info else field.path)
    if field.low is not None and field.high is not None:
        template = tr("{0}: {1} to {2}")
        return template.format(title, value_text(field.low), value_text(field.high))
    values = (value_label(v) if isinstance(v, dict) else value_text(v) for v in field.values)
    return f"{title}: {', '.join(values)}"

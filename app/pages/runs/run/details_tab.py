"""Details of a run, its settings as a file, the user's notes, and the log."""

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.pages.runs.rows import RunRow
from app.pages.runs.run.state import RunState
from app.theme import SPACE, px
from app.timers import debounced
from app.widgets import buttons, layouts
from app.widgets.facts import Facts
from app.widgets.page import Card, PollingWidget, scrolling
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text, TextView, visible
from app.widgets.text.spec_texts import value_text
from engine.config.dataset import StoredData

SAVE_NOTES_MS = 600  # after the last keystroke
LOG_POLL_MS = 1000  # between readings of the log


class DetailsTab(QWidget):
    """Details on the left; notes and settings on the right."""

    def __init__(self, state: RunState) -> None:
        super().__init__()
        self._state = state
        self.facts = Facts(self.tr("Details"))
        left = Card(self.tr("Details"))
        inner = layouts.page(self.facts, layouts.STRETCH, margins=(0, 0, 2 * SPACE, 0))
        left.body.addWidget(scrolling(inner))
        self.notes = QPlainTextEdit()
        self.notes.setAccessibleName(self.tr("Notes"))
        self.notes.setPlaceholderText(self.tr("Your own notes about this run"))
        self.notes.setTabChangesFocus(True)
        self.notes.setFixedHeight(px(96))
        self._pause = debounced(self, SAVE_NOTES_MS, self.save_notes)
        self.notes.textChanged.connect(self._pause.start)
        self.job = TextView(self.tr("Settings (JSON)"), wraps=False)
        notes_card = Card(self.tr("Notes"), padding=4 * SPACE)
        notes_card.body.addWidget(self.notes)
        card = Card(self.tr("Settings (JSON)"), padding=4 * SPACE)
        card.body.addWidget(self.job, 1)
        row = layouts.row(
            buttons.plain(self.tr("&Copy settings"), self._on_copy, "copy"), layouts.STRETCH
        )
        card.body.addLayout(row)
        right = layouts.column(notes_card, (card, 1), spacing=3 * SPACE)
        layouts.row(
            (left, 1), (right, 1), parent=self, spacing=3 * SPACE, margins=(0, 3 * SPACE, 0, 0)
        )
        self._saved: str | None = None
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        row = self._state.row
        if row is None:
            return
        self.facts.show_facts(self._lines(row))
        job = row.job.model_dump_json(indent=2) if row.job else row.job_text
        if self.job.toPlainText() != job:
            self.job.setPlainText(job)
        if self._saved != row.notes and not self._pause.isActive():
            self._saved = row.notes
            if self.notes.toPlainText() != row.notes:
                self.notes.setPlainText(row.notes)
                self._pause.stop()

    def save_notes(self) -> None:
        self._pause.stop()
        notes = self.notes.toPlainText()
        if self._saved is not None and notes != self._saved:
            self._saved = notes
            self._state.runs.set_notes(self._state.run_id, notes)

    def _lines(self, row: RunRow) -> list[tuple[str, str]]:
        lines = [
            (self.tr("Task"), run_texts.task_title(row.task)),
            (self.tr("Data set"), row.data),
            (self.tr("Base model"), row.base_model),
            (self.tr("Queued at"), numbers.moment(row.created)),
            (self.tr("Started"), numbers.moment(row.started)),
            (self.tr("Ended"), numbers.moment(row.ended)),
            (self.tr("Training time"), numbers.duration(row.seconds)),
            (self.tr("Training examples"), numbers.count(row.examples) if row.examples else "–"),
            (self.tr("Parameters"), numbers.count(row.parameters) if row.parameters else "–"),
            (self.tr("Device"), value_text(row.device) if row.device else "–"),
            (self.tr("Threads"), numbers.count(row.threads) if row.threads else "–"),
        ]
        titles = {"precision": self.tr("Precision"), "processes": self.tr("Processes")}
        lines += [(titles.get(name, name), version) for name, version in row.versions]
        if row.job is not None:
            data = row.job.data
            if isinstance(data, StoredData):
                lines.append((self.tr("Label column"), data.target or ""))
                lines.append((self.tr("Data fingerprint"), data.fingerprint[:16] or "–"))
                lines.append((self.tr("Data folder"), str(data.folder)))
            else:
                lines.append((self.tr("Data file"), str(data.path)))
        lines.append((self.tr("Run folder"), str(row.folder)))
        return [(name, value) for name, value in lines if value]

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.job.toPlainText())


class LogTab(PollingWidget):
    """The training log; follows new lines while scrolled to the end."""

    def __init__(self, state: RunState) -> None:
        super().__init__(LOG_POLL_MS)
        self._state = state
        self.text = TextView(self.tr("Log"), wraps=False)
        self.text.setUndoRedoEnabled(False)
        self.text.setPlaceholderText(self.tr("No log output yet."))
        hint = self.tr("Training log (• = events) and the last lines of console output.")
        copy = buttons.plain(self.tr("&Copy"), self._on_copy, "copy")
        row = layouts.row((Text(hint, "muted"), 1), copy)
        layouts.tab(self, row, (self.text, 1), spacing=2 * SPACE)
        state.log_read.connect(self._on_log)
        self._on_log(state.log)

    def poll(self) -> None:
        self._state.read_log()

    def _on_log(self, text: str) -> None:
        bar = self.text.verticalScrollBar()
        position, at_end = bar.value(), bar.value() >= bar.maximum() - 2
        self.text.setPlainText(visible(text))
        bar.setValue(bar.maximum() if at_end else min(position, bar.maximum()))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._state.log)

"""All that is known of a run, the job as a file, and the user's own notes."""

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.pages.runs import texts as words
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.resources import mono_font
from app.theme import SPACE
from app.widgets import buttons, numbers
from app.widgets import run_texts as run_words
from app.widgets.facts import Facts
from app.widgets.page import Card, scrolling
from engine.spec.dataset import StoredData

PAUSE = 600  # ms after the last key before notes are kept


class FactsTab(QWidget):
    """Facts on the left; notes and the job on the right."""

    def __init__(self, runs: RunsState, run_id: str) -> None:
        super().__init__()
        self._runs, self._run_id = runs, run_id
        self.facts = Facts(self.tr("Facts"))
        left = Card(self.tr("Facts"))
        inner = QWidget()
        lines = QVBoxLayout(inner)
        lines.setContentsMargins(0, 0, 2 * SPACE, 0)
        lines.addWidget(self.facts)
        lines.addStretch()
        left.body.addWidget(scrolling(inner))
        self.notes = QPlainTextEdit()
        self.notes.setAccessibleName(self.tr("Notes"))
        self.notes.setPlaceholderText(self.tr("What you want to remember of this run."))
        self.notes.setTabChangesFocus(True)
        self.notes.setFixedHeight(96)
        self._pause = QTimer(self, singleShot=True, interval=PAUSE)
        self._pause.timeout.connect(self.keep_notes)
        self.notes.textChanged.connect(self._pause.start)
        self.job = QPlainTextEdit(readOnly=True)
        self.job.setFont(mono_font())
        self.job.setTabChangesFocus(True)
        self.job.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.job.setAccessibleName(self.tr("Job"))
        own = Card(self.tr("Notes"), padding=4 * SPACE)
        own.body.addWidget(self.notes)
        asked = Card(self.tr("Job"), padding=4 * SPACE)
        asked.body.addWidget(self.job, 1)
        row = QHBoxLayout()
        row.addWidget(buttons.plain(self.tr("&Copy the job"), self._on_copy, "copy"))
        row.addStretch()
        asked.body.addLayout(row)
        right = QVBoxLayout()
        right.setSpacing(3 * SPACE)
        right.addWidget(own)
        right.addWidget(asked, 1)
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 3 * SPACE, 0, 0)
        whole.setSpacing(3 * SPACE)
        whole.addWidget(left, 1)
        whole.addLayout(right, 1)
        self._kept: str | None = None

    def show_run(self, row: RunRow) -> None:
        self.facts.show_facts(self._lines(row))
        job = row.job.model_dump_json(indent=2) if row.job else row.job_text
        if self.job.toPlainText() != job:
            self.job.setPlainText(job)
        if self._kept != row.notes and not self._pause.isActive():
            self._kept = row.notes
            if self.notes.toPlainText() != row.notes:
                self.notes.setPlainText(row.notes)
                self._pause.stop()

    def keep_notes(self) -> None:
        """Keep what was typed."""
        self._pause.stop()
        notes = self.notes.toPlainText()
        if self._kept is not None and notes != self._kept:
            self._kept = notes
            self._runs.set_notes(self._run_id, notes)

    def _lines(self, row: RunRow) -> list[tuple[str, str]]:
        lines = [
            (self.tr("Task"), run_words.task_word(row.task)),
            (self.tr("Data"), row.data),
            (self.tr("Start"), row.start),
            (self.tr("Asked for"), words.moment(row.created)),
            (self.tr("Started"), words.moment(row.started)),
            (self.tr("Ended"), words.moment(row.ended)),
            (self.tr("Time spent"), numbers.duration(row.seconds)),
            (self.tr("Examples"), numbers.count(row.examples) if row.examples else "–"),
            (self.tr("Parameters"), numbers.count(row.parameters) if row.parameters else "–"),
            (self.tr("Device"), row.device or "–"),
            (self.tr("Threads"), numbers.count(row.threads) if row.threads else "–"),
        ]
        lines += [(name, version) for name, version in row.versions]
        if row.job is not None:
            data = row.job.data
            if isinstance(data, StoredData):
                lines.append((self.tr("Fingerprint of the data"), data.fingerprint[:16] or "–"))
                lines.append((self.tr("Folder of the data"), str(data.folder)))
            else:
                lines.append((self.tr("File of the data"), str(data.path)))
        lines.append((self.tr("Folder"), str(row.folder)))
        return [(name, value) for name, value in lines if value]

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.job.toPlainText())

"""What went wrong with a run, what to do, and the end of its log."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit

from app.pages.runs.actions import resume_text
from app.pages.runs.rows import RunRow
from app.resources import mono_font
from app.theme import SPACE, Role
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.page import Card, Picture
from app.widgets.text.labels import Text, visible

DETAILS_HEIGHT = 160  # px


class ProblemBanner(Card):
    """Hidden while there is nothing to say.

    Signals:
        resume_wanted: the user wants the run to be resumed.
    """

    resume_wanted = Signal()

    def __init__(self) -> None:
        super().__init__(padding=4 * SPACE)
        self.problem = Text("", "strong", selectable=True)
        self.advice = Text("", "muted", selectable=True)
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setFont(mono_font())
        self.details.setFixedHeight(DETAILS_HEIGHT)
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.details.setTabChangesFocus(True)
        self.details.setAccessibleName(self.tr("Details"))
        self.details.hide()
        self.resume = buttons.primary("", self.resume_wanted.emit, "play")
        self.open = buttons.plain(self.tr("Sho&w details"))
        self.open.setCheckable(True)
        self.open.toggled.connect(self.details.setVisible)
        self.copy = buttons.plain(self.tr("&Copy"), self._on_copy, "copy")
        texts = layouts.column(self.problem, self.advice, spacing=SPACE)
        row = layouts.row(Picture("triangle-alert", 22, Role.BAD), (texts, 1), spacing=3 * SPACE)
        for button in (self.copy, self.open, self.resume):
            row.addWidget(button)
        self.body.addLayout(row)
        self.body.addWidget(self.details)
        self.hide()

    def show_run(self, row: RunRow) -> None:
        """Show the problem of this run, or nothing."""
        wrong = row.state in ("failed", "crashed", "unreadable") or bool(row.problem)
        self.setVisible(wrong)
        if not wrong:
            return
        self.problem.setText(
            row.problem
            or self.tr("The training process ended unexpectedly without an error message.")
        )
        advice = row.advice
        if row.bug:
            advice = self.tr(
                "This is a bug in BERT Studio. Please report it and include the details. {0}"
            ).format(translated(advice))
        self.advice.setText(advice)
        self.advice.setVisible(bool(advice))
        details = visible(row.details)
        if self.details.toPlainText() != details:
            self.details.setPlainText(details)
            bar = self.details.verticalScrollBar()
            bar.setValue(bar.maximum())
        self.open.setVisible(bool(details))
        self.resume.setVisible(row.can_resume)
        text = resume_text(row)
        self.resume.setText(text)
        self.resume.setAccessibleName(text.replace("&", ""))

    def _on_copy(self) -> None:
        parts = (self.problem.text(), self.advice.text(), self.details.toPlainText())
        QGuiApplication.clipboard().setText("\n".join(part for part in parts if part))

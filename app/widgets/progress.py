"""Progress of long work: a line with a bar, and dialogs with stages."""

import time
from abc import abstractmethod
from typing import Protocol, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QPushButton, QStackedWidget, QWidget

from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Dialog, footer
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from engine.messages.question import Working

MIN_RATE_SECONDS = 1.0  # before it, the rate is not shown


class ProgressLine(QWidget):
    """A bar with a line of text; hidden until `begin`.

    Signals:
        cancelled: the user wants to stop.
    """

    cancelled = Signal()

    def __init__(self, name: str, in_bytes: bool = False) -> None:
        super().__init__()
        self._in_bytes = in_bytes
        self._since = 0.0
        self.stage = Text("", "strong")
        self.amount = Text("", "muted")
        self.bar = QProgressBar()
        self.bar.setAccessibleName(name)
        self.bar.setTextVisible(False)
        self.cancel = buttons.plain(self.tr("Cancel"), self.cancelled.emit)
        self.cancel.setAccessibleName(self.tr("Cancel: {0}").format(name))
        texts = layouts.column(self.stage, self.bar, self.amount, spacing=SPACE)
        layouts.row((texts, 1), self.cancel, parent=self, spacing=4 * SPACE)
        self.hide()

    def begin(self, stage: str) -> None:
        """Show that a stage has begun."""
        self._since = time.monotonic()
        self.stage.setText(stage)
        self.amount.setText(self.tr("Starting…"))
        self.bar.setRange(0, 0)
        self.show()

    def show_progress(self, done: int, total: int, stage: str = "") -> None:
        """Show progress; `total` 0 is unknown. A new `stage` restarts the clock."""
        if stage and (stage != self.stage.text() or self.isHidden()):
            self.begin(stage)
        self.bar.setRange(0, 1000 if total else 0)
        if total:
            self.bar.setValue(min(1000, 1000 * done // total))
        self.amount.setText(" · ".join(self._amounts(done, total)))

    def end(self) -> None:
        self.hide()

    def _amounts(self, done: int, total: int) -> list[str]:
        amount = self._number(done)
        if total:
            amount = self.tr("{0} of {1}").format(amount, self._number(total))
        texts = [amount]
        elapsed = time.monotonic() - self._since
        if elapsed > MIN_RATE_SECONDS and done > 0:
            rate = done / elapsed
            if rate >= 1:
                texts.append(self.tr("{0} per second").format(self._number(round(rate))))
            if total > done:
                left = numbers.duration((total - done) / rate)
                texts.append(self.tr("about {0} left").format(left))
        return texts

    def _number(self, value: int) -> str:
        return numbers.size(value) if self._in_bytes else numbers.count(value)


BAR_STEPS = 1000


class Stage(Protocol):
    """One page of the dialog; `close_button` closes it."""

    close_button: QPushButton


class StagesDialog(Dialog):
    """A dialog with a heading and stages; closing it stops the work."""

    def __init__(self, title: str, owner: QWidget) -> None:
        super().__init__(owner.window(), title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.parts = QStackedWidget()
        layouts.column(
            Text(title, "heading"),
            (self.parts, 1),
            parent=self,
            spacing=4 * SPACE,
            margins=(6 * SPACE, 6 * SPACE, 6 * SPACE, 5 * SPACE),
        )

    def add_parts(self, *parts: QWidget) -> None:
        """Add stages; the first one is shown."""
        for part in parts:
            self.parts.addWidget(part)
            cast(Stage, part).close_button.clicked.connect(self.reject)

    def done(self, result: int) -> None:
        """Stop the work whenever the dialog is closed."""
        self.stop()
        super().done(result)

    @abstractmethod
    def stop(self) -> None:
        """Stop the work."""


class StageProgress(QWidget):
    """The current stage of the work, and its progress."""

    def __init__(self, name: str, note: str) -> None:
        super().__init__()
        self.stage = Text("", "strong")
        self.bar = QProgressBar()
        self.bar.setAccessibleName(name)
        self.bar.setTextVisible(False)
        self.close_button = buttons.plain(self.tr("&Stop"), icon="circle-stop")
        layouts.column(
            self.stage,
            self.bar,
            Text(note, "muted"),
            layouts.STRETCH,
            footer(self.close_button),
            parent=self,
            spacing=2 * SPACE,
        )

    def show_working(self, working: Working) -> None:
        self.stage.setText(f"{translated(working.stage)} …")
        self.bar.setRange(0, BAR_STEPS if working.total else 0)
        self.bar.setValue(round(BAR_STEPS * working.done / working.total) if working.total else 0)
        self.bar.setAccessibleDescription(working.stage)

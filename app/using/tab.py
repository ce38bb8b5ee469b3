"""The tab “Use it” of a run and of a model: try it, apply it to a file."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import background
from app.studio import Studio
from app.theme import SPACE
from app.using import applying_view
from app.using.applying_state import ApplyingState
from app.using.elsewhere_view import ElsewhereDialog
from app.using.trying_state import TryingState
from app.using.trying_view import TryingView
from app.widgets import buttons
from app.widgets.page import clear, scrolling
from app.widgets.text import Text
from engine.checkpoints.info import checkpoint_info
from engine.errors import StudioError
from engine.messages.reports import CheckpointInfo

WIDEST = 220 * SPACE  # of the boxes for texts


class UseTab(QWidget):
    """What can be done with a fine-tuned model, or why nothing can."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.checkpoint: Path | None = None
        self.name = ""
        self.info: CheckpointInfo | None = None
        self.trying: TryingView | None = None
        self._file: Path | None = None  # dropped before it was known what the model is
        self.none = Text("", "muted")
        self.apply = buttons.primary(
            self.tr("Apply to a &file…"), lambda: self.apply_to(None), "file-text"
        )
        self.elsewhere = buttons.plain(
            self.tr("Use it &elsewhere…"), self._on_elsewhere, "file-text"
        )
        head = QHBoxLayout()
        head.setSpacing(2 * SPACE)
        head.addWidget(self.apply)
        head.addWidget(
            Text(self.tr("Predict for all rows of a file; it can also be dropped here."), "muted"),
            1,
        )
        head.addWidget(self.elsewhere)
        inner = QWidget()
        inner.setMaximumWidth(WIDEST)
        self._place = QVBoxLayout(inner)
        self._place.setContentsMargins(0, 0, 2 * SPACE, 0)
        self.area = scrolling(inner)
        self.area.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4 * SPACE, 0, 0)
        column.setSpacing(4 * SPACE)
        column.addLayout(head)
        column.addWidget(self.none)
        column.addWidget(self.area, 1)
        column.addStretch(0)
        self._show(None)

    def show_model(self, checkpoint: Path | None, name: str) -> None:
        """Another checkpoint, or none yet; its folder is read off the window's thread."""
        self.name = name
        if checkpoint == self.checkpoint:
            return
        self.checkpoint = checkpoint
        if checkpoint is None:
            self._show(None)
            return

        def read() -> CheckpointInfo | None:
            try:
                return checkpoint_info(checkpoint)
            except StudioError:
                return None  # the page itself says what is wrong with it

        background.run(self, read, lambda info: self._on_read(checkpoint, info))

    def apply_to(self, file: Path | None) -> None:
        """Open the dialog for a file, or for one that is still to be chosen."""
        if self.checkpoint is None or self.info is None or self.info.task is None:
            self._file = file
            return
        state = ApplyingState(self._studio, self.checkpoint, self.name, self.info.task)
        self.dialog = applying_view.ask(self._studio, self, state)
        if file is not None:
            state.open(file)

    def _on_elsewhere(self) -> None:
        if self.checkpoint is not None and self.info is not None and self.info.task is not None:
            self.code = ElsewhereDialog(self.checkpoint, self.info.task, self)
            self.code.show()

    def _on_read(self, checkpoint: Path, info: CheckpointInfo | None) -> None:
        if checkpoint == self.checkpoint:
            self._show(info)
            if self._file is not None and self.apply.isEnabled():
                file, self._file = self._file, None
                self.apply_to(file)

    def _show(self, info: CheckpointInfo | None) -> None:
        self.info = info
        clear(self._place)
        self.trying = None
        task = info.task if info else None
        self.apply.setEnabled(task is not None)
        self.elsewhere.setEnabled(task is not None)
        self.none.setVisible(task is None)
        self.area.setVisible(task is not None)
        self.none.setText(
            self.tr("There is no checkpoint yet.")
            if self.checkpoint is None
            else self.tr("This model has not been fine-tuned, so that it predicts no labels.")
        )
        if task is not None and info is not None and self.checkpoint is not None:
            state = TryingState(self._studio, self.checkpoint, task)
            self.trying = TryingView(state, info.labels)
            state.setParent(self.trying)
            self._place.addWidget(self.trying)

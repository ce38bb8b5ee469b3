"""Vocabulary of a model with a search field."""

from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from app.pages.models.model.state import ModelState
from app.pages.models.model.table import VocabularyModel
from app.theme import SPACE
from app.timers import debounced
from app.widgets import layouts
from app.widgets.forms.controls import SearchField
from app.widgets.tables import apply_style
from app.widgets.text.labels import Text

TYPING_DELAY_MS = 150  # ms after the last key


class VocabularyTab(QWidget):
    """Search field and tokens."""

    def __init__(self, state: ModelState, parent: QWidget) -> None:
        super().__init__(parent)
        self._model: VocabularyModel | None = None
        self._state = state
        self.search = SearchField(self.tr("Find a token or an ID"))
        self.search.setMaximumWidth(100 * SPACE)
        self.count = Text("", "muted")
        self.table = QTableView()
        apply_style(self.table, self.tr("Tokens of the vocabulary"))
        self.table.verticalHeader().hide()
        self.table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        top = layouts.row((self.search, 1), (self.count, 1), spacing=3 * SPACE)
        layouts.column(
            top, (self.table, 1), parent=self, spacing=3 * SPACE, margins=(0, 4 * SPACE, 0, 0)
        )
        pause = debounced(self, TYPING_DELAY_MS, lambda: state.seek(self.search.text()))
        self.search.textChanged.connect(pause.start)
        state.found.connect(self._on_found)

    def show_model(self, model: VocabularyModel) -> None:
        self._model = model
        self.table.setModel(model)
        header = self.table.horizontalHeader()
        header.setStretchLastSection(True)
        for section, width in enumerate((24 * SPACE, 80 * SPACE)):
            header.resizeSection(section, width)
        self._tell(None)

    def show_problem(self, problem: str) -> None:
        self.search.setEnabled(not problem)
        if problem:
            self.count.set_style("bad")
            self.count.setText(problem)

    def _on_found(self, ids: list[int] | None) -> None:
        if self._model is not None:
            self._model.show_only(ids)
            self._tell(ids)

    def _tell(self, ids: list[int] | None) -> None:
        assert self._model is not None
        if ids is None:
            text = self.tr("%Ln token(s)", "", self._model.rowCount())
        elif ids:
            text = self.tr("%Ln token(s) found", "", len(ids))
        else:
            text = self.tr(
                "No token contains this text. The tokenizer splits such words into smaller tokens."
            )
        self.count.setText(text)

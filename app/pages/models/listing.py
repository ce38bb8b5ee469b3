"""All models as a list of cards."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedLayout, QWidget

from app.library import ModelEntry
from app.pages.models.texts import entry_of
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.entries import Entry, EntryList
from app.widgets.forms.controls import SearchField
from app.widgets.page import EmptyState, Page
from app.widgets.text.labels import Text


class ModelList(Page):
    """Signals:
    get_asked: get a model from elsewhere.
    import_asked: choose a folder.
    opened: path of a model.
    """

    get_asked = Signal()
    import_asked = Signal()
    opened = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent)
        self.set_title(
            self.tr("Models"),
            self.tr(
                "Your models. Explore, fine-tune or export them. Drop a model folder anywhere in "
                "the window to import it."
            ),
        )
        self.get_button = buttons.primary(self.tr("&Get a model…"), self.get_asked.emit, "plus")
        self.import_button = buttons.plain(
            self.tr("&Import…"), self.import_asked.emit, "folder-open"
        )
        self.action_row.addWidget(self.import_button)
        self.action_row.addWidget(self.get_button)
        self.list = EntryList(self.tr("Models"))
        self.list.opened.connect(self.opened)
        self.empty = EmptyState(
            "boxes",
            self.tr("No models yet"),
            self.tr(
                "Import the folder of a BERT model: config.json, model.safetensors or "
                "pytorch_model.bin, and its tokenizer files. Google’s original TensorFlow "
                "checkpoints work too."
            ),
            buttons.primary(self.tr("Get a mo&del…"), self.get_asked.emit, "plus"),
            buttons.plain(self.tr("Import a f&older…"), self.import_asked.emit, "folder-open"),
        )
        self._entries: list[Entry] = []
        self.search = SearchField(
            self.tr("Search name, data set, task, size"),
            self.tr("Search the models"),
            has_icon=True,
        )
        self.search.textChanged.connect(self._filter)
        self.nothing = Text(self.tr("No results."), "muted")
        whole = QWidget()
        layouts.column(self.search, self.nothing, (self.list, 1), parent=whole, spacing=3 * SPACE)
        self._whole = whole
        self._stack = QStackedLayout()
        self.body.addLayout(self._stack, 1)
        self._stack.addWidget(whole)
        self._stack.addWidget(self.empty)

    def show_models(self, models: list[ModelEntry]) -> None:
        self._entries = [entry_of(model) for model in models]
        self._filter()
        self._stack.setCurrentWidget(self._whole if models else self.empty)

    def _filter(self) -> None:
        """List models whose card contains every typed word."""
        words = self.search.text().casefold().split()
        said = [(entry, entry.sentence().casefold()) for entry in self._entries]
        found = [entry for entry, text in said if all(word in text for word in words)]
        self.list.show_entries(found)
        self.nothing.setVisible(bool(self._entries) and not found)

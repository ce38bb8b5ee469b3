"""All models as a list of cards."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedLayout, QWidget

from app.library import ModelEntry
from app.pages.models.texts import entry_of
from app.widgets import buttons
from app.widgets.entries import EntryList
from app.widgets.page import EmptyState, Page


class ModelList(Page):
    """Signals:
    import_asked: the user wants to choose a folder.
    opened: the path of a model.
    """

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
        self.import_button = buttons.primary(
            self.tr("&Import…"), self.import_asked.emit, "folder-open"
        )
        self.action_row.addWidget(self.import_button)
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
            buttons.primary(self.tr("Import a folder…"), self.import_asked.emit, "folder-open"),
        )
        self._stack = QStackedLayout()
        self.body.addLayout(self._stack, 1)
        self._stack.addWidget(self.list)
        self._stack.addWidget(self.empty)

    def show_models(self, models: list[ModelEntry]) -> None:
        self.list.show_entries([entry_of(model) for model in models])
        self._stack.setCurrentWidget(self.list if models else self.empty)

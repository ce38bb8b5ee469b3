"""All data sets as a list of cards."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedLayout, QWidget

from app.library import DataEntry
from app.pages.data.texts import entry_of
from app.widgets import buttons
from app.widgets.entries import EntryList
from app.widgets.page import EmptyState, Page


class DataList(Page):
    """Signals:
    import_asked, folder_asked, hub_asked, sample_asked: choose files, a folder of texts, a data
        set of the hub, or the sample.
    opened: folder of a version.
    """

    import_asked = Signal()
    folder_asked = Signal()
    hub_asked = Signal()
    sample_asked = Signal()
    opened = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent)
        self.set_title(
            self.tr("Data"),
            self.tr(
                "Your data sets. Drop a file or folder anywhere in the window (Excel, CSV, "
                "Parquet, JSON, CoNLL, text, …), or paste a table with Ctrl+V."
            ),
        )
        self.sample = buttons.plain(
            self.tr("Add &sample data"), self.sample_asked.emit, "book-open"
        )
        self.folder_button = buttons.plain(
            self.tr("Import a &folder…"), self.folder_asked.emit, "folder-open"
        )
        self.hub_button = buttons.plain(
            self.tr("Get from the &hub…"), self.hub_asked.emit, "import"
        )
        self.import_button = buttons.primary(
            self.tr("&Import…"), self.import_asked.emit, "file-plus"
        )
        self.action_row.addWidget(self.sample)
        self.action_row.addWidget(self.hub_button)
        self.action_row.addWidget(self.folder_button)
        self.action_row.addWidget(self.import_button)
        self.list = EntryList(self.tr("Data sets"))
        self.list.opened.connect(self.opened)
        self.first_sample = buttons.plain(
            self.tr("Add &sample data"), self.sample_asked.emit, "book-open"
        )
        self.empty = EmptyState(
            "database",
            self.tr("No data sets yet"),
            self.tr(
                "Import your own file, or start with the sample: passages of Wikipedia, labelled "
                "by topic."
            ),
            buttons.primary(self.tr("Import a fi&le…"), self.import_asked.emit, "file-plus"),
            self.first_sample,
        )
        self._stack = QStackedLayout()
        self.body.addLayout(self._stack, 1)
        self._stack.addWidget(self.list)
        self._stack.addWidget(self.empty)

    def show_entries(
        self, entries: list[DataEntry], sources: dict[Path, str], has_sample: bool, is_adding: bool
    ) -> None:
        self.list.show_entries(
            [entry_of(entry, sources.get(entry.folder, "")) for entry in entries]
        )
        self._stack.setCurrentWidget(self.list if entries else self.empty)
        self.sample.setVisible(bool(entries) and not has_sample)
        for button in (self.sample, self.first_sample):
            button.setEnabled(not is_adding)

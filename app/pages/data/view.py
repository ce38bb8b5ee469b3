"""Data page: the list, an import, or one data set."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedLayout, QStackedWidget, QWidget

from app import background, drops
from app.deeds import list_commands
from app.library import DataEntry, ModelEntry
from app.pages.data.dataset.editing.state import EditsState
from app.pages.data.dataset.view import DatasetView
from app.pages.data.getting import DataDownload
from app.pages.data.importing.state import ImportState
from app.pages.data.importing.view import ImportView
from app.pages.data.packets import PacketOpening
from app.pages.data.state import DATA, SPEC, DataState
from app.pages.data.texts import dataset_entry
from app.palette import Command
from app.studio import Studio
from app.translation import translated
from app.uses import Uses
from app.widgets import buttons, dialogs, layouts
from app.widgets.dialogs import Choice
from app.widgets.entries import EntryList
from app.widgets.page import EmptyState, Page, size_by_shown
from engine.data.datasets.packets import SUFFIX, is_packet
from engine.data.formats.sources import data_files, data_suffixes
from engine.errors import StudioError
from engine.files.atomic_write import write_file
from engine.hub.fetched import Fetched

PASTED_FOLDER = "pasted"  # in the cache
SEARCHED_CHARACTERS = 2_000  # of a pasted text, to find tabs


def file_patterns() -> str:
    """File patterns of all formats, for file dialogs."""
    return " ".join(f"*{suffix}" for suffix in (*data_suffixes(), SUFFIX))


class DataPage(QWidget):
    """Shows one of its three views, and the same one on return."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.state = DataState(studio, self)
        self.dataset: DatasetView | None = None
        self._requested: Path | None = None  # opened once the list is read
        self._requested_rows: dict[str, Any] = {}  # to show in it
        self._return_to: Path | None = None  # opened after the current version is deleted
        self._models: list[ModelEntry] = []
        self._reading_models = background.LatestJob(self)
        self.stack = QStackedWidget()
        size_by_shown(self.stack)
        layouts.column(self.stack, parent=self)
        self.getting = DataDownload(studio, self)
        self.list = DataList(self)
        self.importing = ImportView(ImportState(studio, self.state.all_entries, self), self.stack)
        self.stack.addWidget(self.list)
        self.stack.addWidget(self.importing)
        studio.settings.remember(self.importing.splitter, "data.import")
        for part in (self.list, self.importing):  # pasting elsewhere goes to text fields
            keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Paste), part)
            keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            keys.activated.connect(self.paste)
        self.getting.chosen.connect(lambda folder: self.import_from([folder]))
        self.getting.fetched.connect(
            lambda download: self.import_from(list(download.splits()), download)
        )
        self.packets = PacketOpening(studio, self)
        self.packets.opened.connect(self.open)
        self.packets.returned.connect(self._take_in)
        self.importing.closed.connect(self.show_list)
        self.importing.files_requested.connect(self.choose_files)
        self.importing.models_requested.connect(
            lambda: studio.navigate.emit("models", {"get": "multilingual"})
        )
        self.importing.state.imported.connect(self._on_imported)
        self.state.listed.connect(self._on_listed)
        self.state.added.connect(self.open)
        self.state.removed.connect(self._on_removed)
        studio.models_changed.connect(self._read_models)

    def arrive(self, argument: object = None) -> None:
        """Open a version by folder, at a row by {"data": folder, "row": index}, with a list of rows
        by {"data": folder, "rows": indices, "title": text}; the list for {"list": True}, a file
        dialog for {"import": True}; None changes nothing."""
        self.state.read_list()
        self._read_models()
        request: dict[str, Any] = argument if isinstance(argument, dict) else {"data": argument}
        if isinstance(folder := request.get("data"), Path):
            self._requested, self._requested_rows = folder, request
        elif request.get("import"):
            self.choose_files()
        elif request.get("list"):
            self.show_list()

    def commands(self) -> Sequence[Command]:
        """The buttons above the list, for the palette."""
        parts = self.list.sample, self.list.hub_button, self.list.folder_button
        buttons = (*parts, self.list.import_button)
        return [*list_commands(buttons, self._studio, "data", self.tr("Data"), "database")]

    def place(self) -> object:
        """The open version or the list."""
        is_open = self.dataset is not None and self.stack.currentWidget() is self.dataset
        return self.dataset.state.folder if is_open and self.dataset else {"list": True}

    def open(self, folder: Path) -> None:
        """Open a version that the user chose here."""
        self._studio.history.leave()
        self.open_dataset(folder)

    def _go_back(self) -> None:
        if not self._studio.history.back():
            self.show_list()

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Import dropped files or a folder with files; False for models and runs."""
        kind = drops.page_for(paths)
        if kind not in ("", "data") or not paths:
            return False
        folders = [path for path in paths if path.is_dir()]
        if any((folder / SPEC).is_file() and (folder / DATA).is_file() for folder in folders):
            self.state.adopt(folders[0])
            return True
        if folders and not data_files(paths):
            return False
        self.import_from(paths)
        return True

    def choose_files(self) -> None:
        filters = [self.tr("Data files ({0})").format(file_patterns()), self.tr("All files (*)")]
        dialogs.choose_files(self, self.tr("Import a data set"), self.import_from, filters)

    def choose_folder(self) -> None:
        """Choose a folder of texts or of data files."""
        title = self.tr("Import a folder")
        dialogs.choose_folder(self, title, lambda folder: self.import_from([folder]))

    def paste(self) -> None:
        """Import the clipboard: copied files, or cells of a table."""
        clipboard, notices = QGuiApplication.clipboard(), self._studio.notices
        content = clipboard.mimeData()
        if files := copied_files(content):
            if not self.accept_drop(files):
                notices.info(self.tr("The copied files are not a data set."))
            return
        text = content.text()
        if not text.strip():
            notices.info(self.tr("The clipboard has no text. Copy the cells of a table first."))
            return
        cache, name = self._studio.home.cache, self.tr("Pasted table")
        background.run(
            self,
            lambda: write_pasted(text, cache, name),
            lambda file: self.import_from([file]),
            notices.show,
        )

    def import_from(self, paths: Sequence[Path], fetched: Fetched | None = None) -> None:
        """Show the import page for these files, or open packets; `fetched` has the splits of files
        from the hub."""
        if packets := [path for path in paths if is_packet(path)]:
            self.packets.open(packets)
            if others := [path.name for path in paths if path not in packets]:
                text = self.tr("Not imported, as packets are opened on their own: {0}.")
                self._studio.notices.info(text.format(", ".join(others)))
            return
        self._studio.history.leave()
        self._read_models()
        self.importing.state.open(list(paths), fetched)
        self.importing.show_opening()
        self.stack.setCurrentWidget(self.importing)
        self.importing.table.setFocus()

    def _take_in(self, folder: Path, files: list[Path]) -> None:
        """Open the data set that packets came back to, and take them in."""
        if self.dataset is None or self.dataset.state.folder != folder:
            self.open(folder)
        if self.dataset is not None:
            self.dataset.when_open(partial(self.dataset.packets.take_in, files))

    def _on_taken_in(self, _: Path, rows: NDArray[np.int64]) -> None:
        """List the rows with conflicts of the version that was made."""
        if self.dataset is not None and len(rows):
            self.dataset.show_rows(rows, self.tr("Rows with conflicts"))

    def _on_imported(self, folder: Path) -> None:
        """Remove the download once it is imported."""
        if (fetched := self.importing.state.fetched) is not None:
            self.state.clear_download(fetched.folder)
        self.open_dataset(folder)

    def show_list(self) -> None:
        if self.stack.currentWidget() is self.importing:
            self.importing.state.close()
        self.stack.setCurrentWidget(self.list)
        self._close_dataset()
        self.list.list.setFocus()

    def open_dataset(self, folder: Path) -> None:
        self._close_dataset()
        view = DatasetView(self._studio, folder, self.stack)
        view.closed.connect(self._go_back)
        view.delete_requested.connect(self._on_delete)
        view.undo_requested.connect(lambda: self._on_delete(view.editing.review.parent_version))
        view.deleted_requested.connect(self._show_deleted)
        edits = view.editing.state
        edits.saved.connect(lambda version: self._on_revised(edits, folder, version))
        view.checks_state.fixed.connect(
            lambda version, change: self._on_fixed(folder, version, change)
        )
        view.packets.taken_in.connect(self._on_taken_in)
        self.dataset = view
        self._studio.settings.remember(view.splitter, "data.dataset")
        self.stack.addWidget(view)
        self.stack.setCurrentWidget(view)
        view.set_models(self._models)
        view.state.opened.connect(self._show_source)
        view.search.setFocus()
        self._read_models()

    def _on_revised(self, edits: EditsState, parent: Path, version: Path) -> None:
        saved, file = edits.last_saved, edits.file
        self.open_dataset(version)

        def undo() -> None:
            """Return to the parent version, with the edits as before saving."""
            try:
                if saved is not None:
                    saved.write(file)
            except StudioError as error:
                self._studio.notices.show(error)
                return
            self.state.discard(version)
            self.open_dataset(parent)

        self._studio.notices.info(
            self.tr("Saved as version {0} of “{1}”.").format(version.name, version.parent.name),
            self.tr("Undo"),
            undo,
        )

    def _on_fixed(self, parent: Path, version: Path, change: str) -> None:
        self.open_dataset(version)

        def undo() -> None:
            self.state.discard(version)
            self.open_dataset(parent)

        self._studio.notices.info(
            self.tr("Version {0}: {1}").format(version.name, translated(change)),
            self.tr("Undo"),
            undo,
        )

    def _show_deleted(self, parent: Path, rows: NDArray[np.int64]) -> None:
        """Open the parent version at the rows missing in the current one."""
        assert self.dataset is not None
        title = self.tr("Rows deleted in version {0}").format(self.dataset.state.folder.name)
        self.open_dataset(parent)
        self.dataset.show_rows(rows, title)

    def _close_dataset(self) -> None:
        if self.dataset is not None:
            self.dataset.editing.close()
            self.dataset.checks_state.close()
            self.dataset.agreement.state.close()
            self.dataset.packets.close()
            self.dataset.state.close()
            self.stack.removeWidget(self.dataset)
            self.dataset.deleteLater()
            self.dataset = None

    def _read_models(self) -> None:
        self._reading_models.run(self._studio.models, self._on_models)

    def _on_models(self, models: list[ModelEntry]) -> None:
        self._models = models
        self.importing.set_models(models)
        if self.dataset is not None:
            self.dataset.set_models(models)

    def _on_listed(self) -> None:
        state = self.state
        self.list.show_entries(
            state.all_entries(), state.sources, state.has_sample(), state.is_adding
        )
        self._show_source()
        if self._requested is not None:
            folder, self._requested = self._requested, None
            if self.place() != folder:
                self.open_dataset(folder)
            request, self._requested_rows = self._requested_rows, {}
            if self.dataset is not None and "row" in request:
                self.dataset.show_row(request["row"])
            elif self.dataset is not None and "rows" in request:
                self.dataset.show_rows(request["rows"], request["title"])

    def _show_source(self) -> None:
        if self.dataset is not None:
            self.dataset.show_source(self.state.sources.get(self.dataset.state.folder, ""))

    def _on_removed(self, folder: Path) -> None:
        if self.dataset is None or self.dataset.state.folder != folder:
            return
        if self._return_to is not None:
            self.open_dataset(self._return_to)
        else:
            self.show_list()

    # ── deleting ─────────────────────────────────────────────────────────────────────────────

    def _on_delete(self, return_to: Path | None = None) -> None:
        """Delete the current version, then open the older one `return_to`."""
        assert self.dataset is not None
        self._return_to = return_to
        folder = self.dataset.state.folder
        entry = self.state.find_entry(folder) or DataEntry(folder.parent.name, folder, None)
        self.state.find_uses(folder, lambda uses: self._ask_to_delete(entry, uses))

    def _ask_to_delete(self, entry: DataEntry, uses: Uses) -> None:
        rows = sum(entry.spec.rows.values()) if entry.spec else 0
        sentences = [
            self.tr("Version {0} (%Ln row(s)) moves to the system trash.", "", rows).format(
                entry.version
            ),
            self.tr("Its source files and its other versions are not affected."),
            *uses.sentences(),
        ]
        title = self.tr("Delete “{0}”?").format(entry.name)
        choice = Choice("delete", self.tr("Move to trash"), "danger")
        if self._return_to is not None:
            title = self.tr("Go back to version {0}?").format(self._return_to.name)
            choice = Choice("delete", self.tr("Go back"), "primary")
        dialogs.confirm(self, title, " ".join(sentences), choice, lambda: self.state.delete(entry))


class DataList(Page):
    """All data sets as a list of cards."""

    def __init__(self, page: DataPage) -> None:
        super().__init__("", "", page.stack)
        self.set_title(
            self.tr("Data"),
            self.tr(
                "Your data sets. Drop a file or folder anywhere in the window (Excel, CSV, "
                "Parquet, JSON, CoNLL, text, …), or paste a table with Ctrl+V."
            ),
        )
        add_sample, add_text = page.state.add_sample, self.tr("Add &sample data")
        self.sample = buttons.plain(add_text, add_sample, "book-open")
        self.folder_button = buttons.plain(
            self.tr("Import a &folder…"), page.choose_folder, "folder-open"
        )
        self.hub_button = buttons.plain(self.tr("Get from the &hub…"), page.getting.ask, "import")
        self.import_button = buttons.primary(self.tr("&Import…"), page.choose_files, "file-plus")
        layouts.extend(
            self.action_row, self.sample, self.hub_button, self.folder_button, self.import_button
        )
        self.list = EntryList(self.tr("Data sets"))
        self.list.opened.connect(page.open)
        self.first_sample = buttons.plain(add_text, add_sample, "book-open")
        self.empty = EmptyState(
            "database",
            self.tr("No data sets yet"),
            self.tr(
                "Import your own file, or start with the sample: passages of Wikipedia, labelled "
                "by topic."
            ),
            buttons.primary(self.tr("Import a fi&le…"), page.choose_files, "file-plus"),
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
            [dataset_entry(entry, sources.get(entry.folder, "")) for entry in entries]
        )
        self._stack.setCurrentWidget(self.list if entries else self.empty)
        self.sample.setVisible(bool(entries) and not has_sample)
        for button in (self.sample, self.first_sample):
            button.setEnabled(not is_adding)


def copied_files(content: QMimeData) -> list[Path]:
    """Local files in the clipboard."""
    return [Path(url.toLocalFile()) for url in content.urls() if url.isLocalFile()]


def write_pasted(text: str, cache: Path, name: str) -> Path:
    """Write a pasted text to a new file; a text with tabs is a table."""
    suffix = ".tsv" if "\t" in text[:SEARCHED_CHARACTERS] else ".txt"
    folder = cache / PASTED_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    file, number = folder / f"{name}{suffix}", 2
    while file.exists():
        file, number = folder / f"{name} {number}{suffix}", number + 1
    write_file(file, text.encode("utf-8", errors="replace"))
    return file

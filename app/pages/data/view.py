"""Data page: the list, an import, or one data set."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QWidget

from app import background, drops
from app.library import DataEntry, ModelEntry
from app.pages.data.dataset.editing.state import EditsState
from app.pages.data.dataset.view import DatasetView
from app.pages.data.getting import GettingData
from app.pages.data.importing.files import data_files
from app.pages.data.importing.state import ImportState
from app.pages.data.importing.view import ImportView
from app.pages.data.listing import DataList
from app.pages.data.pasting import copied_files, file_with
from app.pages.data.state import DATA, SPEC, DataState
from app.studio import Studio
from app.translation import translated
from app.uses import Uses
from app.widgets import dialogs, layouts
from app.widgets.dialogs import Choice
from engine.data.formats.sources import data_suffixes
from engine.errors import StudioError
from engine.hub.fetched import Fetched
from engine.runs.lineage import data_key


def file_patterns() -> str:
    """File patterns of all formats, for file dialogs."""
    return " ".join(f"*{suffix}" for suffix in data_suffixes())


class DataPage(QWidget):
    """Shows one of its three views, which stays open."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.state = DataState(studio, self)
        self.dataset: DatasetView | None = None
        self._wanted: Path | None = None  # to open once the list is read
        self._back_to: Path | None = None  # to open after the current version is deleted
        self._models: list[ModelEntry] = []
        self._reading_models: background.Job | None = None
        column = layouts.column(parent=self)
        self.stack = QStackedWidget()
        column.addWidget(self.stack)
        self.list = DataList(self.stack)
        self.importing = ImportView(ImportState(studio, self.state.known, self), self.stack)
        self.stack.addWidget(self.list)
        self.stack.addWidget(self.importing)
        studio.settings.remember(self.importing.splitter, "data.import")
        for part in (self.list, self.importing):  # pasting elsewhere goes to text fields
            keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Paste), part)
            keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            keys.activated.connect(self.paste)
        self.list.import_asked.connect(self.choose_files)
        self.list.folder_asked.connect(self.choose_folder)
        self.getting = GettingData(studio, self)
        self.list.hub_asked.connect(self.getting.ask)
        self.getting.chosen.connect(lambda folder: self.import_from([folder]))
        self.getting.fetched.connect(self.import_fetched)
        self.list.sample_asked.connect(self.state.add_sample)
        self.list.opened.connect(self.open_dataset)
        self.importing.left.connect(self.show_list)
        self.importing.files_asked.connect(self.choose_files)
        self.importing.state.imported.connect(self._on_imported)
        self.state.listed.connect(self._on_listed)
        self.state.added.connect(self.open_dataset)
        self.state.removed.connect(self._on_removed)
        self.state.uses_known.connect(self._ask_to_delete)
        studio.models_changed.connect(self._read_models)

    def arrive(self, argument: object = None) -> None:
        """Open a version by folder, a file dialog for {"import": True}; None changes nothing."""
        self.state.read_list()
        self._read_models()
        if isinstance(argument, Path):
            self._wanted = argument
        elif isinstance(argument, dict) and argument.get("import"):
            self.choose_files()

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
        dialog = QFileDialog(self, self.tr("Import a data set"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters(
            [self.tr("Data files ({0})").format(file_patterns()), self.tr("All files (*)")]
        )
        dialog.filesSelected.connect(lambda files: self.import_from([Path(f) for f in files]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def choose_folder(self) -> None:
        """Choose a folder of texts, or one with data files."""
        dialogs.choose_folder(
            self, self.tr("Import a folder"), lambda folder: self.import_from([folder])
        )

    def paste(self) -> None:
        """Import the clipboard: copied files, or cells of a table."""
        clipboard, notices = QGuiApplication.clipboard(), self._studio.notices
        content = clipboard.mimeData()
        if files := copied_files(content):
            if not self.accept_drop(files):
                notices.say(self.tr("The copied files are not a data set."))
            return
        text = content.text()
        if not text.strip():
            notices.say(self.tr("The clipboard has no text. Copy the cells of a table first."))
            return
        cache, name = self._studio.home.cache, self.tr("Pasted table")
        background.run(
            self,
            lambda: file_with(text, cache, name),
            lambda file: self.import_from([file]),
            notices.show,
        )

    def import_from(self, paths: Sequence[Path]) -> None:
        """Show the import page for these files."""
        self._read_models()
        self.importing.state.open(list(paths))
        self.importing.begin()
        self.stack.setCurrentWidget(self.importing)
        self.importing.table.setFocus()

    def import_fetched(self, fetched: Fetched) -> None:
        """Show the import page for files from the hub, with their splits."""
        self._read_models()
        self.importing.state.open(list(fetched.splits()), fetched)
        self.importing.begin()
        self.stack.setCurrentWidget(self.importing)
        self.importing.table.setFocus()

    def _on_imported(self, folder: Path) -> None:
        """Remove the download once it is imported."""
        if (fetched := self.importing.state.fetched) is not None:
            self.state.clear_download(fetched.folder)
        self.open_dataset(folder)

    def show_list(self) -> None:
        if self.stack.currentWidget() is self.importing:
            self.importing.state.close()
        self.stack.setCurrentWidget(self.list)
        self._forget_dataset()
        self.list.list.setFocus()

    def open_dataset(self, folder: Path) -> None:
        self._forget_dataset()
        view = DatasetView(self._studio, folder, self.stack)
        view.left.connect(self.show_list)
        view.trained.connect(lambda: self._studio.go.emit("train", {"data": folder}))
        view.deleted.connect(self._on_delete)
        view.lineage_wanted.connect(
            lambda: self._studio.go.emit("runs", {"lineage": data_key(folder)})
        )
        view.revised.connect(lambda made: self._on_revised(view.editing.state, folder, made))
        view.undone.connect(self._on_undo)
        view.deleted_asked.connect(self._show_deleted)
        view.fixed.connect(lambda made, change: self._on_fixed(folder, made, change))
        self.dataset = view
        self._studio.settings.remember(view.splitter, "data.dataset")
        self.stack.addWidget(view)
        self.stack.setCurrentWidget(view)
        view.set_models(self._models)
        view.state.opened.connect(self._show_source)
        view.search.setFocus()
        self._read_models()

    def _on_revised(self, edits: EditsState, before: Path, made: Path) -> None:
        saved, file = edits.last_saved, edits.file
        self.open_dataset(made)

        def undo() -> None:
            """Go back to the parent version, with the edits as they were before saving."""
            try:
                if saved is not None:
                    saved.write(file)
            except StudioError as error:
                self._studio.notices.show(error)
                return
            self.state.discard(made)
            self.open_dataset(before)

        self._studio.notices.say(
            self.tr("Saved as version {0} of “{1}”.").format(made.name, made.parent.name),
            self.tr("Undo"),
            undo,
        )

    def _on_fixed(self, before: Path, made: Path, change: str) -> None:
        self.open_dataset(made)

        def undo() -> None:
            self.state.discard(made)
            self.open_dataset(before)

        self._studio.notices.say(
            self.tr("Version {0}: {1}").format(made.name, translated(change)), self.tr("Undo"), undo
        )

    def _show_deleted(self, older: Path, rows: NDArray[np.int64]) -> None:
        """Open the parent version at the rows missing in the current one."""
        assert self.dataset is not None
        title = self.tr("Rows deleted in version {0}").format(self.dataset.state.folder.name)
        self.open_dataset(older)
        view = self.dataset

        def show() -> None:
            if view.state.problem is None:
                view.show_listed(rows, title)

        view.state.opened.connect(show)

    def _forget_dataset(self) -> None:
        if self.dataset is not None:
            self.dataset.editing.close()
            self.dataset.checks_state.close()
            self.dataset.state.close()
            self.stack.removeWidget(self.dataset)
            self.dataset.deleteLater()
            self.dataset = None

    def _read_models(self) -> None:
        if self._reading_models is not None:
            self._reading_models.cancel()
        self._reading_models = background.run(self, self._studio.models, self._on_models)

    def _on_models(self, models: list[ModelEntry]) -> None:
        self._reading_models = None
        self._models = models
        self.importing.set_models(models)
        if self.dataset is not None:
            self.dataset.set_models(models)

    def _on_listed(self) -> None:
        state = self.state
        self.list.show_entries(state.known(), state.sources, state.has_sample(), state.is_adding)
        self._show_source()
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            self.open_dataset(wanted)

    def _show_source(self) -> None:
        if self.dataset is not None:
            self.dataset.show_source(self.state.sources.get(self.dataset.state.folder, ""))

    def _on_removed(self, folder: Path) -> None:
        if self.dataset is None or self.dataset.state.folder != folder:
            return
        if self._back_to is not None:
            self.open_dataset(self._back_to)
        else:
            self.show_list()

    # ── deleting ─────────────────────────────────────────────────────────────────────────────

    def _on_delete(self) -> None:
        self._back_to = None
        self._ask_uses()

    def _on_undo(self) -> None:
        """Delete the current version and open its parent."""
        assert self.dataset is not None
        self._back_to = self.dataset.editing.review.made_from
        self._ask_uses()

    def _ask_uses(self) -> None:
        assert self.dataset is not None
        folder = self.dataset.state.folder
        entry = self.state.entry_at(folder) or DataEntry(folder.parent.name, folder, None)
        self.state.ask_uses(entry)

    def _ask_to_delete(self, entry: DataEntry, uses: Uses) -> None:
        rows = sum(entry.spec.rows.values()) if entry.spec else 0
        said = [
            self.tr("Version {0} (%Ln row(s)) moves to the system trash.", "", rows).format(
                entry.version
            ),
            self.tr("Its source files and its other versions are not affected."),
            *uses.sentences(),
        ]

        def answered(key: str) -> None:
            if key == "delete":
                self.state.delete(entry)

        title = self.tr("Delete “{0}”?").format(entry.name)
        choice = Choice("delete", self.tr("Move to trash"), "danger")
        if self._back_to is not None:
            title = self.tr("Go back to version {0}?").format(self._back_to.name)
            choice = Choice("delete", self.tr("Go back"), "primary")
        dialogs.ask(
            self, title, " ".join(said), [choice, Choice("cancel", self.tr("Cancel"))], answered
        )

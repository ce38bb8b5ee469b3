"""Models page: the list, the shelf, an import, or one model."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.exporting import view as exporting
from app.library import ModelEntry
from app.pages.models.getting.state import GettingState
from app.pages.models.getting.view import GettingPage
from app.pages.models.importing import ImportPage
from app.pages.models.listing import ModelList
from app.pages.models.model.view import ModelView
from app.pages.models.sending import Sending
from app.pages.models.state import ModelsState, model_folder
from app.studio import Studio
from app.uses import Uses
from app.widgets import dialogs, layouts
from app.widgets.dialogs import Choice
from engine.runs.lineage import model_key, run_key


class ModelsPage(QWidget):
    """Shows one of its four views; it stays open while the user is elsewhere."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.state = ModelsState(studio, self)
        self.model: ModelView | None = None
        self._wanted: Path | None = None  # to open once the list is read
        column = layouts.column(parent=self, spacing=0)
        self.stack = QStackedWidget()
        column.addWidget(self.stack, 1)
        self.list = ModelList(self.stack)
        self.importing = ImportPage(self.state, self.stack)
        self.getting = GettingPage(GettingState(studio, self), self.stack)
        self.sending = Sending(studio, self)
        self._fetched: Path | None = None  # download being imported
        self.getting.left.connect(self.show_list)
        self.getting.fetched.connect(self._on_fetched)
        self.list.get_asked.connect(self.show_getting)
        self.state.importing_changed.connect(self._on_importing)
        self.importing.tuned.connect(lambda path: studio.go.emit("train", {"model": path}))
        for each in (self.list, self.importing, self.getting):
            self.stack.addWidget(each)
        self.list.import_asked.connect(self.choose_folder)
        self.list.opened.connect(self.open_model)
        self.importing.import_asked.connect(self.choose_folder)
        self.importing.opened.connect(self.open_model)
        self.importing.left.connect(self.show_list)
        self.state.listed.connect(self._on_listed)
        self.state.removed.connect(self._on_removed)
        self.state.uses_known.connect(self._ask_to_delete)

    def arrive(self, argument: object = None) -> None:
        """Open a model by its folder, the import dialog for {"import": True}, the shelf for {"get":
        True}; None changes nothing.
        """
        self.state.read_list()
        if isinstance(argument, Path):
            self._wanted = argument
        elif isinstance(argument, dict) and argument.get("import"):
            self.choose_folder()
        elif isinstance(argument, dict) and argument.get("get"):
            self.show_getting()

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Import a dropped model folder or that of a file; other files go to the open model."""
        if self.model is not None and self.model.accept_drop(paths):
            return True
        folder = model_folder(paths)
        if folder is None:
            return False
        self.import_from(folder)
        return True

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._studio.standby.start()

    def choose_folder(self) -> None:
        self._studio.standby.start()
        dialogs.choose_folder(self, self.tr("Import a model folder"), self.import_from)

    def import_from(self, folder: Path) -> None:
        self.state.import_model(folder)
        self.stack.setCurrentWidget(self.importing)

    def show_getting(self) -> None:
        """Show the shelf."""
        self.stack.setCurrentWidget(self.getting)
        self.getting.arrive()

    def _on_fetched(self, folder: Path, name: str) -> None:
        self._fetched = folder
        self.state.import_model(folder, name)
        self.stack.setCurrentWidget(self.importing)

    def _on_importing(self) -> None:
        """Remove the download once its model is imported."""
        if self._fetched is not None and self.state.imported is not None:
            self.getting.state.clear_download(self._fetched)
            self._fetched = None

    def show_list(self) -> None:
        if self.stack.currentWidget() is self.importing:
            self.state.cancel_import()
        self.stack.setCurrentWidget(self.list)
        self._forget_model()
        self.list.list.setFocus()

    def open_model(self, path: Path) -> None:
        model = self.state.model_at(path)
        if model is None:
            self._wanted = path
            self.state.read_list()
            return
        self._forget_model()
        view = ModelView(self._studio, model, self.state.why_not_delete(model), self.stack)
        view.left.connect(self.show_list)
        view.explored.connect(lambda: self._studio.go.emit("explore", model.path))
        view.tuned.connect(lambda: self._studio.go.emit("train", {"model": model.path}))
        view.exported.connect(self._on_export)
        view.sent.connect(lambda: self.sending.ask(model))
        view.deleted.connect(self._on_delete)
        key = run_key(model.run) if model.run else model_key(model.path)
        view.lineage_wanted.connect(lambda: self._studio.go.emit("runs", {"lineage": key}))
        self.model = view
        self.stack.addWidget(view)
        self.stack.setCurrentWidget(view)
        view.tabs.setFocus()

    def _forget_model(self) -> None:
        if self.model is not None:
            self.stack.removeWidget(self.model)
            self.model.deleteLater()
            self.model = None

    def _on_listed(self) -> None:
        models = self.state.models or []
        self.list.show_models(models)
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            if self.state.model_at(wanted) is not None:
                self.open_model(wanted)
            else:
                self._studio.notices.error(
                    self.tr("The model at {0} no longer exists.").format(wanted),
                    self.tr("Choose another model from the list."),
                )
        elif self.model is not None and self.state.model_at(self.model.state.model.path) is None:
            self.show_list()

    def _on_removed(self, path: Path) -> None:
        if self.model is not None and self.model.state.model.path == path:
            self.show_list()

    def _on_export(self) -> None:
        assert self.model is not None
        exporting.ask(self, self.state.export_of(self.model.state.model))

    def _on_delete(self) -> None:
        assert self.model is not None
        self.state.ask_uses(self.model.state.model)

    def _ask_to_delete(self, model: ModelEntry, uses: Uses) -> None:
        said = [
            self.tr("The copy in your home folder moves to the trash."),
            self.tr("The original folder is not affected."),
            *uses.sentences(),
        ]

        def answered(key: str) -> None:
            if key == "delete":
                self.state.delete(model)

        dialogs.ask(
            self,
            self.tr("Delete “{0}”?").format(model.name),
            " ".join(said),
            [
                Choice("delete", self.tr("Move to the trash"), "danger"),
                Choice("keep", self.tr("Cancel")),
            ],
            answered,
        )

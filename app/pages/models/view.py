"""Models page: the list, the shelf, an import, one model, or word vectors."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLineEdit, QStackedLayout, QStackedWidget, QWidget

from app.deeds import list_commands
from app.drops import is_vectors_file
from app.exporting import view as exporting
from app.hub import HubRequest, ask_consent, file_list
from app.library import ModelEntry, VectorsEntry
from app.pages.models.getting.state import GettingState
from app.pages.models.getting.view import GettingPage
from app.pages.models.importing import ImportPage
from app.pages.models.model.view import MODEL_ACTIONS, ModelView
from app.pages.models.state import ModelsState, model_folder
from app.pages.models.texts import model_entry, vectors_entry
from app.pages.models.vectors import VectorsPage
from app.palette import Command
from app.studio import Studio
from app.theme import SPACE
from app.translation import translated
from app.uses import Uses
from app.widgets import buttons, dialogs, layouts
from app.widgets.dialogs import Choice
from app.widgets.entries import Entry, EntryList
from app.widgets.forms.controls import SearchField, Switch
from app.widgets.opening import open_address
from app.widgets.page import EmptyState, Page, size_by_shown
from app.widgets.text import numbers
from app.widgets.text.labels import Text, visible, without_key
from app.widgets.text.run_texts import provenance
from engine.data.word_vectors.reading import USUAL_SUFFIXES, Layout
from engine.messages.hub import PlanPush, Push, Pushed, PushPlanned
from engine.messages.question import Answer

MAX_NAME_CHARACTERS = 200  # of a name on the hub


class ModelsPage(QWidget):
    """Shows one of its four views; it stays open while the user is elsewhere."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.state = ModelsState(studio, self)
        self.model: ModelView | None = None
        self.vectors: VectorsPage | None = None
        self._pending: Path | None = None  # to open once the list is read
        self._deed = ""  # key of MODEL_ACTIONS, to do then
        self.stack = QStackedWidget()
        size_by_shown(self.stack)
        layouts.column(self.stack, parent=self)
        self.list = ModelList(self)
        self.importing = ImportPage(self.state, self.stack)
        self.getting = GettingPage(GettingState(studio, self), self.stack)
        self.sending = ModelSender(studio, self)
        self._fetched: Path | None = None  # download being imported
        self.getting.closed.connect(self.show_list)
        self.getting.fetched.connect(self._on_fetched)
        self.state.importing_changed.connect(self._on_importing)
        self.importing.tune_requested.connect(
            lambda path: studio.navigate.emit("train", {"model": path})
        )
        for view in (self.list, self.importing, self.getting):
            self.stack.addWidget(view)
        self.importing.import_requested.connect(self.choose_folder)
        self.importing.vectors_requested.connect(self.choose_vectors)
        self.importing.opened.connect(self.open_model)
        self.importing.closed.connect(self.show_list)
        self.state.listed.connect(self._on_listed)

    def arrive(self, argument: object = None) -> None:
        """Open a model or word vectors by their folder, also to act by {"model": folder, "do":
        key}, the list for {"list": True}, the import dialog for {"import": True} or {"import":
        "vectors"}, the shelf for {"get": group}, “” for all groups; None changes nothing."""
        self.state.read_list()
        request: dict[str, Any] = argument if isinstance(argument, dict) else {}
        self._deed = str(request.get("do", ""))
        path = argument if isinstance(argument, Path) else request.get("model")
        if isinstance(path, Path):
            self._pending = None if self.place() == path and not self._deed else path
        elif isinstance(argument, dict) and argument.get("list"):
            self.show_list()
        elif isinstance(argument, dict) and argument.get("import") == "vectors":
            self.choose_vectors()
        elif isinstance(argument, dict) and argument.get("import"):
            self.choose_folder()
        elif isinstance(argument, dict) and "get" in argument:
            self.show_getting(argument["get"])

    def commands(self) -> Sequence[Command]:
        """The buttons above the list, for the palette."""
        buttons = self.list.vectors_button, self.list.import_button, self.list.get_button
        return [*list_commands(buttons, self._studio, "models", self.tr("Models"), "boxes")]

    def named_commands(self) -> Sequence[Command]:
        """Commands for each model; reads files."""
        return [
            Command(
                f"{without_key(text())} · {model.name}",
                self.tr("Model"),
                icon,
                partial(self._studio.navigate.emit, "models", {"model": model.path, "do": key}),
                " · ".join(provenance(model)),
            )
            for model in self._studio.models()
            if model.info is not None
            for key, (text, icon, needs_task) in MODEL_ACTIONS.items()
            if model.info.task is not None or not needs_task
        ]

    def place(self) -> object:
        """The open model or word vectors, or the list."""
        if self.vectors is not None and self.stack.currentWidget() is self.vectors:
            return self.vectors.vectors.path
        is_open = self.model is not None and self.stack.currentWidget() is self.model
        return self.model.state.model.path if is_open and self.model else {"list": True}

    def open(self, path: Path) -> None:
        """Open a model that the user chose here."""
        self._studio.history.leave()
        self.open_model(path)

    def _go_back(self) -> None:
        if not self._studio.history.back():
            self.show_list()

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Import dropped word vectors, apply the open model to dropped data, or import a dropped
        model folder or file."""
        if len(paths) == 1 and is_vectors_file(paths[0]):
            self.import_vectors(paths[0])
            return True
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

    def choose_vectors(self) -> None:
        self._studio.standby.start()
        suffixes = " ".join(f"*{suffix}" for suffix in (*USUAL_SUFFIXES, ".zip"))
        filters = [self.tr("Word vectors ({0})").format(suffixes), self.tr("All files (*)")]
        title = self.tr("Import word vectors of GloVe or word2vec")
        dialogs.choose_file(self, title, self.import_vectors, filters)

    def import_vectors(self, file: Path) -> None:
        """Import a file after a question that names the size of its mapped copy and the time."""
        self.state.examine_vectors(file, partial(self._ask_to_import, file))

    def _ask_to_import(self, file: Path, layout: Layout) -> None:
        def start() -> None:
            self.state.import_vectors(file)
            self.stack.setCurrentWidget(self.importing)

        dialogs.confirm(
            self,
            self.tr("Import “{0}”?").format(visible(file.name)),
            translated(layout.sentence()),
            Choice("import", self.tr("&Import"), "primary"),
            start,
        )

    def import_from(self, folder: Path) -> None:
        self.state.import_model(folder)
        self.stack.setCurrentWidget(self.importing)

    def show_getting(self, group: str = "") -> None:
        """Show a group of the shelf; “” for all groups."""
        self.stack.setCurrentWidget(self.getting)
        self.getting.arrive(group)

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
        self._close_model()
        self.list.list.setFocus()

    def open_model(self, path: Path) -> None:
        if (vectors := self.state.vectors_at(path)) is not None:
            self._open_vectors(vectors)
            return
        model = self.state.model_at(path)
        if model is None:
            self._pending = path
            self.state.read_list()
            return
        self._close_model()
        view = ModelView(self._studio, model, self.state.why_not_delete(model), self.stack)
        view.closed.connect(self._go_back)
        export = lambda: exporting.open_dialog(self, self.state.export_state(model))  # noqa: E731
        view.export_requested.connect(export)
        view.send_requested.connect(lambda: self.sending.ask(model))
        view.delete_requested.connect(self._on_delete)
        self.model = view
        self.stack.addWidget(view)
        self.stack.setCurrentWidget(view)
        view.tabs.setFocus()
        deed, self._deed = self._deed, ""
        if deed:
            view.do(deed)

    def _open_vectors(self, vectors: VectorsEntry) -> None:
        self._close_model()
        view = self.vectors = VectorsPage(self._studio, vectors, self.stack)
        view.closed.connect(self._go_back)
        view.delete_requested.connect(partial(self._ask_to_delete, vectors, None))
        self.stack.addWidget(view)
        self.stack.setCurrentWidget(view)
        view.back.setFocus()

    def _close_model(self) -> None:
        if self.vectors is not None:
            self.stack.removeWidget(self.vectors)
            self.vectors.deleteLater()
            self.vectors = None
        if self.model is not None:
            self.stack.removeWidget(self.model)
            self.model.deleteLater()
            self.model = None

    def _on_listed(self) -> None:
        models = self.state.models or []
        self.list.show_models(models, self.state.vectors)
        if self._pending is not None:
            path, self._pending = self._pending, None
            if self.state.model_at(path) or self.state.vectors_at(path):
                self.open_model(path)
            else:
                self._studio.notices.error(
                    self.tr("The model at {0} no longer exists.").format(path),
                    self.tr("Choose another model from the list."),
                    action=self.tr("Show all models"),
                    act=self.show_list,
                )
        elif self.model is not None or self.vectors is not None:
            opened = self.model.state.model.path if self.model else self.place()
            assert isinstance(opened, Path)
            if not self.state.model_at(opened) and not self.state.vectors_at(opened):
                self.show_list()

    def _on_delete(self) -> None:
        assert self.model is not None
        model = self.model.state.model
        self.state.find_uses(model.path, lambda uses: self._ask_to_delete(model, uses))

    def _ask_to_delete(self, model: ModelEntry | VectorsEntry, uses: Uses | None) -> None:
        sentences = [
            self.tr("The copy in your home folder moves to the trash."),
            self.tr("The original is not affected."),
            *(uses.sentences() if uses is not None else ()),
        ]
        dialogs.confirm(
            self,
            self.tr("Delete “{0}”?").format(model.name),
            " ".join(sentences),
            Choice("delete", self.tr("Move to the trash"), "danger"),
            lambda: self.state.delete(model),
        )


class ModelList(Page):
    """All models as a list of cards."""

    def __init__(self, page: ModelsPage) -> None:
        super().__init__("", "", page.stack)
        self.set_title(
            self.tr("Models"),
            self.tr(
                "Your models. Explore, fine-tune or export them. Drop a model folder anywhere in "
                "the window to import it."
            ),
        )
        self.get_button = buttons.primary(self.tr("&Get a model…"), page.show_getting, "plus")
        self.import_button = buttons.plain(self.tr("&Import…"), page.choose_folder, "folder-open")
        self.vectors_button = buttons.plain(self.tr("&Word vectors…"), page.choose_vectors, "text")
        self.vectors_button.setAccessibleName(self.tr("Import word vectors"))
        self.vectors_button.setToolTip(self.tr("Import a file of GloVe or word2vec"))
        layouts.extend(self.action_row, self.vectors_button, self.import_button, self.get_button)
        self.list = EntryList(self.tr("Models"))
        self.list.opened.connect(page.open)
        self.empty = EmptyState(
            "boxes",
            self.tr("No models yet"),
            self.tr(
                "Import the folder of a BERT model: config.json, model.safetensors or "
                "pytorch_model.bin, and its tokenizer files. Google’s original TensorFlow "
                "checkpoints work too."
            ),
            buttons.primary(self.tr("Get a mo&del…"), page.show_getting, "plus"),
            buttons.plain(self.tr("Import a f&older…"), page.choose_folder, "folder-open"),
        )
        self._entries: list[Entry] = []
        self.search = SearchField(
            self.tr("Search name, data set, task, size"),
            self.tr("Search the models"),
            has_icon=True,
        )
        self.search.textChanged.connect(self._filter)
        self.no_results = Text(self.tr("No matching models."), "muted")
        self._content = QWidget()
        layouts.column(
            self.search, self.no_results, (self.list, 1), parent=self._content, spacing=3 * SPACE
        )
        self._stack = QStackedLayout()
        self.body.addLayout(self._stack, 1)
        self._stack.addWidget(self._content)
        self._stack.addWidget(self.empty)

    def show_models(self, models: list[ModelEntry], vectors: list[VectorsEntry]) -> None:
        self._entries = [*map(model_entry, models), *map(vectors_entry, vectors)]
        self._filter()
        self._stack.setCurrentWidget(self._content if self._entries else self.empty)

    def _filter(self) -> None:
        """List models whose card contains every typed word."""
        words = self.search.text().casefold().split()
        texts = [(entry, entry.sentence().casefold()) for entry in self._entries]
        matches = [entry for entry, text in texts if all(word in text for word in words)]
        self.list.show_entries(matches)
        self.no_results.setVisible(bool(self._entries) and not matches)


class ModelSender(HubRequest):
    """Sends models to the hub, one at a time; a notice reports the outcome."""

    def ask(self, model: ModelEntry) -> None:
        """Ask for the name on the hub and whether it is public."""
        name = QLineEdit()
        name.setPlaceholderText(self.tr("owner/model"))
        name.setMaxLength(MAX_NAME_CHARACTERS)
        name.setAccessibleName(self.tr("Name on the hub"))
        public = Switch(self.tr("Everyone can see it"), False)
        public_row = layouts.row((Text(self.tr("Everyone can see it")), 1), public)

        def plan() -> None:
            if typed := name.text().strip():
                self._plan(model, typed, not public.isChecked())

        dialogs.confirm(
            self._owner,
            self.tr("Send “{0}” to the hub").format(model.name),
            self.tr(
                "Enter its name on the hub. Nothing is sent before you have seen the list of "
                "files. The model is private unless you make it public."
            ),
            Choice("list", self.tr("&List the files"), "primary"),
            plan,
            [name, public_row],
        )

    def _plan(self, model: ModelEntry, name: str, private: bool) -> None:
        question = PlanPush(checkpoint=model.path, model=name, private=private)

        def planned(answer: Answer) -> None:
            if isinstance(answer, PushPlanned):
                self._confirm(model, answer)

        self.begin(question, planned)

    def _confirm(self, model: ModelEntry, plan: PushPlanned) -> None:
        def push() -> None:
            ask_consent(self._owner, self._studio.settings, lambda: self._push(model, plan))

        access = (
            self.tr("Only you can see it.") if plan.private else self.tr("Everyone can see it.")
        )
        files = self.tr("%Ln file(s), {0}, to {1}.", "", len(plan.files))
        dialogs.confirm(
            self._owner,
            self.tr("Send these files as {0}?").format(plan.model),
            f"{files.format(numbers.size(plan.bytes), plan.host)} {access}",
            Choice("send", self.tr("&Send"), "primary"),
            push,
            [file_list(plan.files, self.tr("Files to send"))],
        )

    def _push(self, model: ModelEntry, plan: PushPlanned) -> None:
        question = Push(checkpoint=model.path, model=plan.model, private=plan.private)

        def pushed(answer: Answer) -> None:
            if isinstance(answer, Pushed):
                self._studio.notices.info(
                    self.tr("The model is now at {0}.").format(answer.address),
                    self.tr("Open in the browser"),
                    lambda: open_address(answer.address),
                )

        self.begin(
            question,
            pushed,
            self.tr("Sending {0} to {1}").format(plan.model, plan.host),
            self.tr("Upload progress"),
            self.tr(
                "You can keep using the window. The model appears on the hub once all files "
                "are sent; if you stop earlier, its page there stays empty."
            ),
        )

"""Download of a data set from the hub: name, list of files, download, import."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app import background
from app.hub import HubRequest, ask_consent, file_list, plan_text
from app.studio import Studio
from app.translation import translated
from app.widgets import dialogs
from app.widgets.dialogs import Choice
from app.widgets.forms.controls import ComboBox
from app.widgets.text.labels import Text
from engine.checkpoints.elsewhere import datasets_elsewhere, hub_cache
from engine.hub.fetched import Fetched
from engine.messages.hub import Download, Downloaded, PlanDatasetDownload, Planned
from engine.messages.question import Answer, Question

MAX_NAME_CHARACTERS = 300


class DataDownload(HubRequest):
    """Gets data sets from the hub, one at a time.

    Signals:
        fetched: a Fetched, whose files to import.
        chosen: folder of a data set already in the hub's cache.
    """

    fetched = Signal(object)
    chosen = Signal(Path)

    def __init__(self, studio: Studio, owner: QWidget) -> None:
        super().__init__(studio, owner)
        self.question: dialogs.Question | None = None

    def ask(self) -> None:
        """Ask for the name, after reading the hub's cache."""
        background.run(self, lambda: datasets_elsewhere(hub_cache()), self._ask_name)

    def _ask_name(self, cached: dict[str, Path]) -> None:
        name = QLineEdit()
        name.setPlaceholderText(self.tr("owner/name"))
        name.setMaxLength(MAX_NAME_CHARACTERS)
        name.setAccessibleName(self.tr("Name on the hub"))
        cached_box = ComboBox(self.tr("In the hub's cache"))
        cached_box.addItem(self.tr("Or choose one already on this computer"), None)
        for title, folder in cached.items():
            cached_box.addItem(title, folder)
        cached_box.currentIndexChanged.connect(lambda index: name.setEnabled(index == 0))

        def proceed() -> None:
            typed = name.text().strip()
            if cached_box.currentData() is not None:
                self.chosen.emit(cached_box.currentData())
            elif typed:
                ask_consent(self._owner, self._studio.settings, lambda: self.plan(typed))

        self.question = dialogs.confirm(
            self._owner,
            self.tr("Get a data set from the hub"),
            self.tr(
                "Enter the name on the Hugging Face Hub, such as stanfordnlp/sst2. Add a "
                "subset as owner/name/subset, a revision as owner/name@revision. Only data "
                "files are downloaded, never code."
            ),
            Choice("list", self.tr("&Continue"), "primary"),
            proceed,
            [name, cached_box] if cached else [name],
        )

    def plan(self, name: str) -> None:
        """Request the list of files of a data set."""
        question = PlanDatasetDownload(name=name, folder=self._studio.home.downloads)
        self._fetch(question, self._on_planned, self.tr("Listing the files of {0}").format(name))

    def _fetch(self, question: Question, answered: Callable[[Answer], object], title: str) -> None:
        self.begin(
            question,
            answered,
            title,
            self.tr("Progress of the download"),
            self.tr("If you stop, the next download resumes."),
        )

    def _on_planned(self, answer: Answer) -> None:
        assert isinstance(answer, Planned)
        if answer.files:
            self._confirm(answer)
        else:
            self._ask_subset(answer)

    def _ask_subset(self, plan: Planned) -> None:
        subset = ComboBox(self.tr("Subset"))
        subset.addItems(list(plan.subsets))
        self.question = dialogs.confirm(
            self._owner,
            self.tr("Choose a subset of {0}").format(plan.name),
            self.tr("%Ln subset(s), each a separate data set.", "", len(plan.subsets)),
            Choice("choose", self.tr("&Continue"), "primary"),
            lambda: self.plan(f"{plan.name}/{subset.currentText()}@{plan.revision}"),
            [subset],
        )

    def _confirm(self, plan: Planned) -> None:
        """Show the files with sizes and free space, then download."""

        def answered(key: str) -> None:
            if key == "download":
                self._download(plan)
            elif key == "subset":
                self._ask_subset(plan)

        has_space = plan.needed <= plan.disk_free
        choices = [Choice("download", self.tr("&Download"), "primary")] if has_space else []
        if len(plan.subsets) > 1:
            choices.append(Choice("subset", self.tr("Another &subset…")))
        self.question = dialogs.ask(
            self._owner,
            self.tr("Download {0}?").format(f"{plan.name} {plan.subset}".strip()),
            plan_text(plan),
            [*choices, Choice("cancel", self.tr("Cancel"))],
            answered,
            [
                file_list(plan.files, self.tr("Files to download")),
                *(Text(translated(note), "warn") for note in plan.notes),
            ],
        )

    def _download(self, plan: Planned) -> None:
        question = Download(plan=plan, folder=self._studio.home.downloads)

        def downloaded(answer: Answer) -> None:
            if isinstance(answer, Downloaded):
                self.fetched.emit(Fetched.from_plan(plan, answer.folder))

        self._fetch(question, downloaded, self.tr("Downloading {0}").format(plan.name))

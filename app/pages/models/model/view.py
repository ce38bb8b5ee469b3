"""Page of one model: properties and parts, vocabulary, tokenizer, card."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QTabWidget, QWidget

from app.library import ModelEntry
from app.pages.models.model.overview import OverviewTab
from app.pages.models.model.state import ModelState
from app.pages.models.model.table import PartsModel, VocabularyModel
from app.pages.models.model.tokenizer import TokenizerTab
from app.pages.models.model.vocabulary import VocabularyTab
from app.pages.models.texts import origin_of
from app.results.evaluating import ResultsOf, results_of_run
from app.results.view import ResultsView
from app.studio import Studio
from app.theme import SPACE
from app.using.tab import UseTab
from app.widgets import buttons, layouts
from app.widgets.page import Later, Page
from app.widgets.text.labels import ReadText, Text
from engine.config.dataset import FileData
from engine.data.formats.sources import is_data_file
from engine.messages.evaluating import Evaluate
from engine.runs.folder import RunFolder


class ModelView(Page):
    """Signals:
    left: back to the list.
    explored, tuned, exported, sent, deleted: the button of that name was pressed.
    lineage_wanted: show what was made from this model.
    """

    left = Signal()
    explored = Signal()
    tuned = Signal()
    exported = Signal()
    sent = Signal()
    deleted = Signal()
    lineage_wanted = Signal()

    def __init__(
        self, studio: Studio, model: ModelEntry, why_not_delete: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(model.name, origin_of(model), parent)
        self.state = ModelState(model, self)
        self.back = buttons.icon_button("arrow-left", self.tr("Back to all models"), self.left.emit)
        self.back.setShortcut("Alt+Left")
        self.head.insertWidget(0, self.back, 0, Qt.AlignmentFlag.AlignTop)
        self._add_actions(model, why_not_delete)
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName(self.tr("About this model"))
        self.tabs.setDocumentMode(True)
        self.body.addWidget(self.tabs, 1)
        places = [self._place(title) for title in self._titles()]
        self.overview = OverviewTab(model, places[0])
        self.vocabulary = VocabularyTab(self.state, places[1])
        self.tokenizer = TokenizerTab(self.state, places[2])
        self.card = CardTab(places[3])
        tabs = (self.overview, self.vocabulary, self.tokenizer, self.card)
        for place, tab in zip(places, tabs, strict=True):
            layouts.column(tab, parent=place)
        self.results: Later[ResultsView] | None = None
        self.use: Later[UseTab] | None = None
        if model.info is not None and model.info.task is not None:
            self.results = Later(lambda: ResultsView(studio, results_of(studio, model)))
            self.tabs.addTab(self.results, self.tr("Re&sults"))
            self.use = Later(lambda: self._make_use(studio))
            self.tabs.addTab(self.use, self.tr("Use &it"))
        self.state.read.connect(self._on_read)
        self.state.start()

    def _titles(self) -> tuple[str, ...]:
        return (
            self.tr("O&verview"),
            self.tr("Vocabula&ry"),
            self.tr("To&kenizer"),
            self.tr("Model car&d"),
        )

    def _make_use(self, studio: Studio) -> UseTab:
        tab = UseTab(studio)
        tab.show_model(self.state.model.path, self.state.model.name)
        return tab

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Apply a fine-tuned model to a dropped file; False if it is no data or the model is not
        fine-tuned."""
        if len(paths) != 1 or not is_data_file(paths[0]) or self.use is None:
            return False
        self.tabs.setCurrentWidget(self.use)
        self.use.made.apply_to(paths[0])
        return True

    def _place(self, title: str) -> QWidget:
        """Placeholder for a tab, filled when first shown."""
        place = QWidget()
        self.tabs.addTab(place, title)
        return place

    def _add_actions(self, model: ModelEntry, why_not_delete: str) -> None:
        self.lineage = buttons.icon_button(
            "git-branch", self.tr("Lineage: what was made from it"), self.lineage_wanted.emit
        )
        self.delete = buttons.plain(self.tr("De&lete…"), self.deleted.emit, "trash-2")
        self.export = buttons.plain(self.tr("Ex&port…"), self.exported.emit, "upload")
        self.send = buttons.plain(self.tr("Se&nd…"), self.sent.emit, "arrow-right")
        self.send.setAccessibleDescription(self.tr("Send the model to the Hugging Face Hub"))
        self.tune = buttons.plain(self.tr("Fine-t&une…"), self.tuned.emit, "sliders-horizontal")
        self.explore = buttons.primary(
            self.tr("Open in E&xplore"), self.explored.emit, "microscope"
        )
        for action in (
            *(self.lineage, self.delete, self.export, self.send, self.tune, self.explore),
        ):
            self.action_row.addWidget(action)
        if why_not_delete:
            self.delete.setEnabled(False)
            self.delete.setToolTip(why_not_delete)
            self.delete.setAccessibleDescription(why_not_delete)
            self.body.insertWidget(0, Text(why_not_delete, "small"))
        if model.info is None:
            for button in (self.export, self.send, self.tune, self.explore):
                button.setEnabled(False)
                button.setToolTip(self.tr("This model cannot be used."))
            self.body.insertWidget(0, Text(model.problem, "bad", selectable=True))

    def _on_read(self) -> None:
        contents = self.state.contents
        assert contents is not None
        self.overview.parts.show_parts(PartsModel(contents.parts, self))
        self.card.show_card(contents.card)
        self.vocabulary.show_problem(contents.problem)
        self.tokenizer.show_problem(contents.problem)
        if contents.tokenizer is not None:
            self.vocabulary.show_model(VocabularyModel(contents.tokenizer.vocabulary, self))
            self.tokenizer.begin(contents.tokenizer)


def results_of(studio: Studio, model: ModelEntry) -> ResultsOf:
    """Results of a fine-tuned model: those of its run, or of files, kept in the home."""
    if model.origin == "run":
        return results_of_run(RunFolder(model.path.parents[1]), model.step)
    folder = studio.home.results / model.path.name
    return ResultsOf(
        folder,
        lambda _: model.path if model.path.is_dir() else None,
        lambda part: Evaluate(
            checkpoint=model.path,
            data=FileData(path=model.path),
            part=part,
            into=folder,
            model=model.name,
        ),
        has_data=False,
    )


class CardTab(QWidget):
    """README of the model as plain text; as markup it could open other files."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        column = layouts.column(parent=self, margins=(0, 4 * SPACE, 0, 0))
        self.none = Text(self.tr("The folder of this model has no README.md."), "muted")
        self.text = ReadText(self.tr("Model card"), mono=False)
        column.addWidget(self.none, 0, Qt.AlignmentFlag.AlignTop)
        column.addWidget(self.text, 1)
        self.none.hide()

    def show_card(self, card: str) -> None:
        self.text.setPlainText(card)
        self.text.setVisible(bool(card))
        self.none.setVisible(not card)

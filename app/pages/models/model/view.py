"""Page of one model: properties and parts, vocabulary, tokenizer, card."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QTabWidget,
    QTreeView,
    QWidget,
)

from app.library import ModelEntry
from app.pages.models.model.state import MAX_LINE, ModelState
from app.pages.models.model.table import FRACTION_ROLE, PartsModel, VocabularyModel
from app.pages.models.texts import model_facts, origin_text
from app.results.evaluating import ResultsSource, results_of_run
from app.results.view import ResultsView
from app.studio import Studio
from app.theme import SPACE, Role, colour, px
from app.timers import debounced
from app.translation import tr
from app.using.tab import UseTab
from app.widgets import buttons, layouts
from app.widgets.facts import Facts
from app.widgets.forms.controls import SearchField
from app.widgets.page import Card, LazyWidget, Page, scrolling, size_by_shown
from app.widgets.tables import Index, add_table_menu, apply_style
from app.widgets.text.labels import Text, TextView
from app.widgets.text.token_row import TokenRow
from app.widgets.text.tokenizer_texts import step_helps
from engine.config.dataset import FileData
from engine.data.formats.sources import is_data_file
from engine.messages.evaluating import Evaluate
from engine.runs.folder import RunFolder
from engine.runs.lineage import model_key, run_key
from engine.tokenizers.steps import Steps
from engine.tokenizers.tokenizer import Tokenizer

FACTS_WIDTH = 80 * SPACE  # width of the properties
WIDEST_NUMBER = "999,999,999"  # its width is reserved next to a bar
TYPING_PAUSE_MS = 150  # from the last keystroke to the search


# by key: the text, the icon, and if the model must be fine-tuned
MODEL_ACTIONS: dict[str, tuple[Callable[[], str], str, bool]] = {
    "apply": (lambda: tr("&Apply…"), "file-text", True),
    "evaluate": (lambda: tr("Evalua&te on a file…"), "scan-search", True),
    "export": (lambda: tr("Ex&port…"), "upload", False),
    "tune": (lambda: tr("Fine-t&une…"), "sliders-horizontal", False),
}


class ModelView(Page):
    """The page of one model.

    Signals:
        closed: return to the list.
        export_requested, send_requested, delete_requested: a button was pressed.
    """

    closed = Signal()
    export_requested = Signal()
    send_requested = Signal()
    delete_requested = Signal()

    def __init__(
        self, studio: Studio, model: ModelEntry, why_not_delete: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(model.name, origin_text(model), parent)
        self.state = ModelState(model, self)
        self.back = self.add_back(self.tr("Back"), self.closed.emit)
        self._add_actions(studio, model, why_not_delete)
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName(self.tr("About this model"))
        self.tabs.setDocumentMode(True)
        self.body.addWidget(self.tabs, 1)
        titles = (
            self.tr("O&verview"),
            self.tr("Vocabula&ry"),
            self.tr("To&kenizer"),
            self.tr("Model car&d"),
        )
        pages = [QWidget() for _ in titles]  # added before they are filled
        for page, title in zip(pages, titles, strict=True):
            self.tabs.addTab(page, title)
        self.overview = OverviewTab(model, pages[0])
        self.vocabulary = VocabularyTab(self.state, pages[1])
        self.tokenizer = TokenizerTab(self.state, pages[2])
        self.card = CardTab(pages[3])
        tabs = (self.overview, self.vocabulary, self.tokenizer, self.card)
        for page, tab in zip(pages, tabs, strict=True):
            layouts.column(tab, parent=page)
        self.results: LazyWidget[ResultsView] | None = None
        self.use: LazyWidget[UseTab] | None = None
        if model.info is not None and model.info.task is not None:
            self.results = LazyWidget(lambda: ResultsView(studio, model_results(studio, model)))
            self.tabs.addTab(self.results, self.tr("Re&sults"))
            self.use = LazyWidget(lambda: self._use_tab(studio))
            self.tabs.addTab(self.use, self.tr("Use &it"))
        size_by_shown(self.tabs)
        self.state.read.connect(self._on_read)
        self.state.start()

    def do(self, key: str) -> None:
        """Do one of MODEL_ACTIONS."""
        match key:
            case "apply" if self.use is not None:
                self.tabs.setCurrentWidget(self.use)
                self.use.widget.apply_to(None)
            case "evaluate" if self.results is not None:
                self.tabs.setCurrentWidget(self.results)
                self.results.widget.ask_for_file()
            case "export":
                self.export.click()
            case "tune":
                self.tune.click()

    def _use_tab(self, studio: Studio) -> UseTab:
        tab = UseTab(studio)
        tab.show_model(self.state.model.path, self.state.model.name)
        return tab

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Apply a fine-tuned model to a dropped data file; False if that is impossible."""
        if len(paths) != 1 or not is_data_file(paths[0]) or self.use is None:
            return False
        self.tabs.setCurrentWidget(self.use)
        self.use.widget.apply_to(paths[0])
        return True

    def _add_actions(self, studio: Studio, model: ModelEntry, why_not_delete: str) -> None:
        key = run_key(model.run) if model.run else model_key(model.path)
        self.lineage = buttons.icon_button(
            "git-branch",
            self.tr("Lineage: sources and results"),
            partial(studio.navigate.emit, "runs", {"lineage": key}),
        )
        self.delete = buttons.plain(self.tr("De&lete…"), self.delete_requested.emit, "trash-2")
        text, icon, _ = MODEL_ACTIONS["export"]
        self.export = buttons.plain(text(), self.export_requested.emit, icon)
        self.send = buttons.plain(self.tr("Se&nd…"), self.send_requested.emit, "arrow-right")
        self.send.setAccessibleDescription(self.tr("Send the model to the Hugging Face Hub"))
        text, icon, _ = MODEL_ACTIONS["tune"]
        tune = partial(studio.navigate.emit, "train", {"model": model.path})
        self.tune = buttons.plain(text(), tune, icon)
        self.explore = buttons.primary(
            self.tr("Open in E&xplore"),
            partial(studio.navigate.emit, "explore", model.path),
            "microscope",
        )
        actions = (self.lineage, self.delete, self.export, self.send, self.tune, self.explore)
        layouts.extend(self.action_row, *actions)
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


def model_results(studio: Studio, model: ModelEntry) -> ResultsSource:
    """Results of a fine-tuned model: of its run, or of files evaluated in the home."""
    if model.origin == "run":
        return results_of_run(RunFolder(model.path.parents[1]), model.step)
    folder = studio.home.results / model.path.name
    return ResultsSource(
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


class OverviewTab(QWidget):
    """Properties on the left, parts on the right."""

    def __init__(self, model: ModelEntry, parent: QWidget) -> None:
        super().__init__(parent)
        inner = QWidget()
        area = scrolling(inner)
        area.setFixedWidth(px(FACTS_WIDTH + 3 * SPACE))
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        card = Card(self.tr("Details"))
        layouts.column(card, layouts.STRETCH, parent=inner, margins=(0, 0, 3 * SPACE, 0))
        self.facts = Facts(self.tr("Details"))
        card.body.addWidget(self.facts)
        self.facts.show_facts(model_facts(model))
        self.parts = PartsView()
        layouts.row(
            area, (self.parts, 1), parent=self, spacing=4 * SPACE, margins=(0, 4 * SPACE, 0, 0)
        )


class PartsView(QTreeView):
    """Tree of the network's parts; a bar shows the fraction of all parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Network structure"))
        add_table_menu(self)
        self.setUniformRowHeights(True)
        self.setItemDelegateForColumn(2, FractionDelegate(self))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)

    def show_parts(self, model: PartsModel) -> None:
        self.setModel(model)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        header.resizeSection(2, px(44 * SPACE))
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.expand(model.index(0, 0))
        if model.rowCount() > 1:
            self.expandRecursively(model.index(1, 0))
        self.setCurrentIndex(model.index(0, 0))


class FractionDelegate(QStyledItemDelegate):
    """Paints a number with a bar for its fraction."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        fraction = index.data(FRACTION_ROLE)
        if fraction:
            text_width = option.fontMetrics.horizontalAdvance(WIDEST_NUMBER)
            area = QRectF(option.rect).adjusted(SPACE, 3, -2 * SPACE - text_width, -3)
            bar = QRectF(area.left(), area.top(), max(area.width() * fraction, 1.0), area.height())
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour(Role.CHART_1, 0.22))
            painter.drawRoundedRect(bar, 3, 3)
            painter.restore()


class VocabularyTab(QWidget):
    """The tokens of the vocabulary with a search field."""

    def __init__(self, state: ModelState, parent: QWidget) -> None:
        super().__init__(parent)
        self._model: VocabularyModel | None = None
        self.search = SearchField(self.tr("Find a token or an ID"))
        self.search.setMaximumWidth(px(100 * SPACE))
        self.count = Text("", "muted")
        self.table = QTableView()
        apply_style(self.table, self.tr("Tokens of the vocabulary"))
        self.table.verticalHeader().hide()
        self.table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        top = layouts.row((self.search, 1), (self.count, 1), spacing=3 * SPACE)
        layouts.column(
            top, (self.table, 1), parent=self, spacing=3 * SPACE, margins=(0, 4 * SPACE, 0, 0)
        )
        pause = debounced(self, TYPING_PAUSE_MS, lambda: state.search(self.search.text()))
        self.search.textChanged.connect(pause.start)
        state.found.connect(self._on_found)

    def show_model(self, model: VocabularyModel) -> None:
        self._model = model
        self.table.setModel(model)
        header = self.table.horizontalHeader()
        header.setStretchLastSection(True)
        for section, width in enumerate((24 * SPACE, 80 * SPACE)):
            header.resizeSection(section, width)
        self._update_count(None)

    def show_problem(self, problem: str) -> None:
        self.search.setEnabled(not problem)
        if problem:
            self.count.set_style("bad")
            self.count.setText(problem)

    def _on_found(self, ids: list[int] | None) -> None:
        if self._model is not None:
            self._model.show_only(ids)
            self._update_count(ids)

    def _update_count(self, ids: list[int] | None) -> None:
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


class CardTab(QWidget):
    """README of the model as plain text; as markup it could open other files."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.no_card = Text(self.tr("The folder of this model has no README.md."), "muted")
        self.text = TextView(self.tr("Model card"), mono=False)
        layouts.column(
            (self.no_card, 0, Qt.AlignmentFlag.AlignTop),
            (self.text, 1),
            parent=self,
            margins=(0, 4 * SPACE, 0, 0),
        )
        self.no_card.hide()

    def show_card(self, card: str) -> None:
        self.text.setPlainText(card)
        self.text.setVisible(bool(card))
        self.no_card.setVisible(not card)


class TokenizerTab(QWidget):
    """A text and the three steps of its tokenization."""

    def __init__(self, state: ModelState, parent: QWidget) -> None:
        super().__init__(parent)
        self._unknown = -1
        self._special = ""
        self._helps = tuple(Text("", "small") for _ in range(3))
        self.text = QLineEdit()
        self.text.setAccessibleName(self.tr("Text to tokenise"))
        self.text.setPlaceholderText(self.tr("Type a sentence"))
        self.text.setMaxLength(10_000)
        self.problem = Text("", "bad")
        self.normalised = TextView(self.tr("Normalised text"), height=15 * SPACE)
        self.words = TextView(self.tr("Words"), height=15 * SPACE)
        self.tokens = TokenRow(limit=600, with_ids=True)
        self.count = Text("", "muted")
        inner = layouts.page(
            _step(self.tr("1. Normalise"), self._helps[0], self.normalised),
            _step(self.tr("2. Split"), self._helps[1], self.words),
            _step(self.tr("3. Tokenise"), self._helps[2], self.tokens, self.count),
            layouts.STRETCH,
            spacing=3 * SPACE,
        )
        layouts.column(
            self.text,
            self.problem,
            (scrolling(inner), 1),
            parent=self,
            spacing=3 * SPACE,
            margins=(0, 4 * SPACE, 0, 0),
        )
        pause = debounced(self, TYPING_PAUSE_MS, lambda: state.tokenize(self.text.text()))
        self.text.textChanged.connect(pause.start)
        state.tokenized.connect(self._on_tokenized)

    def show_problem(self, problem: str) -> None:
        self.problem.setVisible(bool(problem))
        self.problem.setText(problem)
        self.text.setEnabled(not problem)

    def begin(self, tokenizer: Tokenizer) -> None:
        """Describe this kind of tokenizer and show the first example."""
        self._unknown = tokenizer.unknown
        _, _, cls, sep, _ = tokenizer.vocabulary.special
        self._special = f"{cls}, {sep}"
        helps = list(step_helps(tokenizer.vocabulary.kind))
        helps[2] += " " + self.tr("The number below a token is its ID.")
        for label, text in zip(self._helps, helps, strict=True):
            label.setText(text)
        self.text.setText(self.tr("Transformers are unbelievably good at understanding words."))

    def _on_tokenized(self, steps: Steps) -> None:
        self.normalised.setPlainText(steps.normalised[:MAX_LINE])
        self.words.setPlainText("  |  ".join(steps.words)[:MAX_LINE])
        self.tokens.show_tokens(steps.tokens, self._unknown)
        unknown_count = sum(token.id == self._unknown for token in steps.tokens)
        parts = [
            self.tr("%Ln token(s), {0}", "", len(steps.tokens)).format(self._special),
            self.tr("%Ln word(s)", "", len(steps.words)),
        ]
        if unknown_count:
            parts.append(self.tr("%Ln unknown", "", unknown_count))
        if steps.truncated:
            parts.append(self.tr("only the beginning of the text is shown"))
        self.count.setText(" · ".join(parts))


def _step(title: str, help_text: Text, *shown: QWidget) -> Card:
    card = Card(title)
    card.body.setSpacing(2 * SPACE)
    layouts.extend(card.body, help_text, *shown)
    return card

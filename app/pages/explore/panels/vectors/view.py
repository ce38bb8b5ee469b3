"""The texts, the cosines or neighbours at one layer, and the means of all layers."""

from functools import partial

import numpy as np
from PySide6.QtCore import QModelIndex, QSize, QSizeF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QStackedWidget

from app.notices import Notices
from app.pages.explore.captions import format_mention, layer_title, source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.vectors import static
from app.pages.explore.panels.vectors.state import VectorsState
from app.pages.explore.panels.vectors.static import StaticPage
from app.pages.explore.paper import paint_matrix
from app.pages.explore.set_bar import SetBar
from app.pages.explore.state import TYPING_PAUSE_MS
from app.theme import SPACE, Role, print_color, px
from app.timers import debounced
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.charts.bars import Bar, bars_figure
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.dialogs import ask_for_file
from app.widgets.page import EmptyState, Stack
from app.widgets.tables import NumbersTable
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.numbers import count, decimal, size
from engine.messages.explore.word_vectors import SUFFIXES, WordVectorsSaved

DIGITS = 3
EXAMPLE = (  # a word with two meanings, and texts with it; the help page has their cosines
    "stick",
    "She poked the fire with a stick.",
    "A dog ran after the stick.",
    "You have to stick to the rules.",
    "We should stick to the plan.",
)
NAME_WIDTH, CELL_WIDTH, ROW_HEIGHT = 340, 52, 24  # px


def panel() -> PanelDescription:
    title = tr("Vectors")
    return PanelDescription("vectors", title, icon="boxes", help="vectors", make=_make)


def _make(context: PanelContext) -> MakePanel:
    state = VectorsState(context.explore, context.explorer, context.home, context.one_time_worker)
    return lambda: VectorsView(state, context.notices)


class VectorsView(Panel):
    """Cosines and neighbours of a word; a row of the layer table chooses the layer."""

    def __init__(self, state: VectorsState, notices: Notices) -> None:
        super().__init__([state.query, state.tokens, state.static.query])
        self._state = state
        self.word, self.texts = QLineEdit(), QPlainTextEdit()
        self.word.setAccessibleName(self.tr("Word to compare"))
        self.word.setPlaceholderText(self.tr("the selected word"))
        self.texts.setAccessibleName(self.tr("Other texts"))
        self.texts.setPlaceholderText(self.tr("Other texts with this word, one per line"))
        self.texts.setTabChangesFocus(True)
        self.texts.setMinimumHeight(px(12 * SPACE))
        self.title, self.note = OneLine("", "strong"), Text("", "small")
        self.figure_button = FigureButton(partial(make_figure, state), notices)
        self.matrix = NumbersTable(self.tr("Cosines"), 1)
        self.layers = NumbersTable(self.tr("Layers"), 1)
        self.figure_button.offer_on(self.matrix)
        self.view_choice = ChoiceBox(
            self.tr("View of the word"),
            [
                ("cosines", self.tr("Occurrences")),
                ("tokens", self.tr("Nearest tokens")),
                ("words", self.tr("Nearest in texts")),
                ("static", self.tr("Static vectors")),
            ],
        )
        self.near_tokens = NumbersTable(self.tr("Nearest tokens of the vocabulary"), 1)
        self.near_words = NumbersTable(self.tr("Nearest words of the chosen texts"), 1)
        self.bar = SetBar(state.work, state.explore, self.tr("&Find"), state.find, self._obstacle)
        self.static = StaticPage(state.static)
        for table in (self.near_tokens, self.near_words, self.static.near, self.static.cosines):
            self.figure_button.offer_on(table)
        self.save_bar = SetBar(
            state.saving,
            state.explore,
            self.tr("Sa&ve vectors of the word…"),
            self._on_save,
            self._save_obstacle,
            is_primary=False,
        )
        words_page = layouts.page(self.bar, (self.near_words, 1), self.save_bar, spacing=SPACE)
        self.empty = EmptyState(
            "boxes",
            self.tr("Vectors of a word in several texts"),
            self.tr("Similarity of its vectors by layer, and nearest neighbours."),
            buttons.primary(self.tr("&Try an example"), self._on_example, "play"),
        )
        self.pages = QStackedWidget()
        for page in (self.matrix, self.near_tokens, words_page, self.static):
            self.pages.addWidget(page)
        self._pause = debounced(self, 2 * TYPING_PAUSE_MS, self._on_typed)
        self.word.textEdited.connect(lambda _: self._pause.start())
        self.word.returnPressed.connect(self._on_typed)
        self.texts.textChanged.connect(self._pause.start)
        label = Text(self.tr("Compa&re"), "strong", wraps=False)
        label.setBuddy(self.word)
        line = layouts.row(label, (self.word, 1), spacing=SPACE)
        left = layouts.column(line, (self.texts, 2), (self.layers, 3), spacing=SPACE)
        head = layouts.row((self.title, 1), self.view_choice, self.figure_button, spacing=2 * SPACE)
        self.results = Stack(self.empty, self.pages)
        right = layouts.column(head, (self.results, 1), self.note, spacing=SPACE)
        layouts.row((left, 4), (right, 5), parent=self, spacing=6 * SPACE, margins=(0, SPACE, 0, 0))
        self.layers.row_picked.connect(state.set_layer)
        self.view_choice.chosen.connect(state.show)
        self.matrix.row_picked.connect(state.set_mention)
        self.near_words.activated.connect(self._on_activated)
        state.changed.connect(self.show_state)
        state.layer_changed.connect(self.show_state)
        state.explore.picked_changed.connect(lambda _: self.show_state())
        self.show_state()

    def set_active(self, active: bool) -> None:
        super().set_active(active)
        if active:
            self._state.static.read()

    def _on_save(self) -> None:
        name = f"{self._state.word}.parquet".replace("/", "-")
        title = self.tr("Save the vectors of the word")
        ask_for_file(self, title, name, SUFFIXES, self._state.save)

    def _save_obstacle(self) -> str:
        return "" if self._state.word else self._select_text()

    def _on_typed(self) -> None:
        self._pause.stop()
        self._state.set_word(self.word.text())
        self._state.set_texts(self.texts.toPlainText())

    def _on_example(self) -> None:
        word, *texts = EXAMPLE
        self.word.setText(word)
        self.texts.setPlainText("\n".join(texts))
        self._on_typed()

    def show_state(self) -> None:
        state = self._state
        answer, shown = state.answer, state.shown_layer
        self.results.setCurrentIndex(0 if answer is None and state.view != "static" else 1)
        self.layers.setVisible(answer is not None)
        self.layers.show_rows(*self._layer_rows())
        if answer is not None and self.layers.currentIndex().row() != state.layer:
            self.layers.blockSignals(True)
            self.layers.selectRow(state.layer)
            self.layers.blockSignals(False)
        names = [token_text(name) for name in state.names()]
        header = [self.tr("Occurrence"), *(str(number + 1) for number in range(len(names)))]
        rows = [
            [f"{number + 1}  {name}", *(decimal(value, DIGITS) for value in cosines)]
            for number, (name, cosines) in enumerate(
                zip(names, shown.cosines if shown is not None else (), strict=True)
            )
        ]
        self.matrix.show_rows(header if rows else [], rows)
        self.view_choice.choose(state.view)
        self.pages.setCurrentIndex(self.view_choice.currentIndex())
        self.near_tokens.show_rows(*self._token_rows())
        self.near_words.show_rows(*self._word_rows())
        self.bar.show_state()
        self.save_bar.show_state()
        self.static.show_state()
        self.title.setText(self._title())
        self.note.setText(self._note())
        self.figure_button.refresh()

    def _title(self) -> str:
        state, answer = self._state, self._state.answer
        if state.view == "static":
            text = self.tr("Nearest in static vectors and at layer {0}")
            return text.format(state.static_layer)
        if answer is None:
            return ""
        if state.view == "cosines":
            text = self.tr(
                "“{0}” at layer {1}: cosines between %Ln occurrence(s)", "", len(answer.places)
            )
            return text.format(token_text(answer.word), state.layer)
        mention = state.chosen_mention
        assert mention is not None
        text = self.tr("Nearest at layer {0} to {1}")
        shown = format_mention(answer.texts[mention.text], mention.start, mention.end)
        return text.format(state.layer, token_text(shown))

    def _token_rows(self) -> tuple[list[str], list[list[str]]]:
        nearest = self._state.near_tokens
        if nearest is None:
            return [], []
        header = [self.tr("Token"), self.tr("Cosine")]
        return header, [
            [token_text(near.token), decimal(near.cosine, DIGITS)] for near in nearest.tokens
        ]

    def _word_rows(self) -> tuple[list[str], list[list[str]]]:
        nearest = self._state.near_words
        if nearest is None:
            return [], []
        header = [self.tr("Word in its text"), self.tr("Text"), self.tr("Cosine")]
        return header, [
            [
                token_text(format_mention(near.text, near.start, near.end)),
                count(near.row + 1),
                decimal(near.cosine, DIGITS),
            ]
            for near in nearest.words
        ]

    def _obstacle(self) -> str:
        return self._select_text() if self._state.chosen_mention is None else ""

    def _select_text(self) -> str:
        return self.tr("Select a word of the text above, or type one.")

    def _on_activated(self, index: QModelIndex) -> None:
        nearest = self._state.near_words
        if nearest is not None and index.row() < len(nearest.words):
            self._state.show_input(nearest.words[index.row()])

    def _layer_rows(self) -> tuple[list[str], list[list[str]]]:
        answer = self._state.answer
        if answer is None:
            return [], []
        header = [
            self.tr("Layer"),
            self.tr("Mean"),
            self.tr("Random"),
            self.tr("Corrected"),
            self.tr("To rows"),
        ]
        rows = []
        for number, layer in enumerate(answer.layers):
            mean = layer.mean
            static = sum(layer.static) / len(layer.static) if layer.static else None
            rows.append(
                [
                    layer_title(number),
                    "–" if mean is None else decimal(mean, DIGITS),
                    decimal(layer.random, DIGITS),
                    "–" if mean is None else decimal(mean - layer.random, DIGITS),
                    "–" if static is None else decimal(static, DIGITS),
                ]
            )
        return header, rows

    def _note(self) -> str:
        state = self._state
        if state.view == "static":
            return self.static.note()
        if state.query.problem:
            return state.query.problem
        if not state.word:
            return self._select_text()
        answer = state.answer
        if answer is None:
            return self.tr("Running the model …")
        if state.view == "tokens":
            return self._tokens_note()
        if state.view == "words":
            return self._words_note()
        parts = []
        if len(answer.places) < 2:
            parts.append(self.tr("Type other texts with this word to compare it."))
        if answer.missing:
            parts.append(self.tr("Without the word: %Ln text(s).", "", len(answer.missing)))
        parts.append(
            self.tr(
                "Random: the mean of 1,000 pairs of tokens of different texts "
                "(anisotropy). Corrected: mean minus random. Rows: those of the token "
                "embedding."
            )
        )
        return " ".join(parts)

    def _tokens_note(self) -> str:
        refusal, nearest = self._state.tokens.refusal, self._state.near_tokens
        if refusal is not None:
            return f"{refusal.phrase} {refusal.advice}"
        if nearest is None:
            return self.tr("Running the model …")
        text = self.tr("Cosines to all {0} rows of the token embedding.")
        return text.format(count(nearest.rows))

    def _words_note(self) -> str:
        state, nearest, chosen = self._state, self._state.near_words, self._state.source
        if state.saved is not None:
            return self._saved_note(state.saved)
        if nearest is not None and chosen is not None:
            text = self.tr("Of %Ln word(s) of {0}.", "", nearest.vectors)
            parts = [text.format(chosen.name)]
            if not state.is_current:
                parts.append(
                    self.tr("The word, the layer or the texts have changed: press Find again.")
                )
            else:
                parts.append(self.tr("Double-click a text to show it on the page."))
            return " ".join(parts)
        if state.index_bytes is None:
            return self.tr("Compares with every word of the texts at this layer.")
        text = self.tr(
            "Compares with every word of the texts at this layer. Their vectors are cached: "
            "about {0}."
        )
        return text.format(size(state.index_bytes))

    def _saved_note(self, saved: WordVectorsSaved) -> str:
        text = self.tr("%Ln vector(s) of the word were written to {0}.", "", saved.vectors)
        parts = [text.format(saved.file.name)]
        if saved.texts is not None:
            parts.append(self.tr("Their texts are in {0}.").format(saved.texts.name))
        if saved.unread:
            parts.append(
                self.tr(
                    "%Ln further occurrence(s) come after the last token that the model reads.",
                    "",
                    saved.unread,
                )
            )
        return " ".join(parts)


def make_figure(state: VectorsState) -> Figure | None:
    """Figure of the displayed view; None without an answer."""
    if state.view == "static":
        return static.make_figure(state.static)
    answer, shown = state.answer, state.shown_layer
    if state.view != "cosines":
        return _make_nearest_figure(state)
    if answer is None or shown is None:
        return None
    names = [token_text(name) for name in state.names()]
    cosines = np.array(shown.cosines, dtype=np.float32)  # [N, N]
    all_cosines = np.array([layer.cosines for layer in answer.layers], dtype=np.float32)

    def paint(painter: QPainter, _size: QSizeF) -> None:
        paint_matrix(
            painter,
            [f"{number}  {name}" for number, name in enumerate(names, 1)],
            [str(number) for number in range(1, len(names) + 1)],
            cosines,
            lambda value: print_color(Role.ACCENT, 0.5 * max(0.0, value) ** 2),
            lambda value: f"{value:.2f}",
            (NAME_WIDTH, CELL_WIDTH, ROW_HEIGHT),
        )

    def table() -> Table:
        rows = [
            (number, a + 1, names[a], b + 1, names[b], layer.cosines[a][b], layer.random)
            for number, layer in enumerate(answer.layers)
            for a in range(len(names))
            for b in range(a)
        ]
        header = ("layer", "number", "place", "other number", "other place", "cosine", "random")
        return Table(header, rows)

    text = tr(
        "Cosines of the vectors of “{0}”, means of its tokens, at layer {1} (0: embeddings). Mean "
        "of 1,000 random pairs of tokens: {2}. The array (.npy) has all layers."
    ).format(token_text(answer.word), state.layer, decimal(shown.random, 3))
    return Figure(
        name=f"word-vectors-layer-{state.layer}",
        title=tr("{1} occurrences of “{0}”").format(token_text(answer.word), len(names)),
        caption=f"{text} {source(state.explore)}",
        size=QSize(NAME_WIDTH + CELL_WIDTH * len(names), ROW_HEIGHT * (len(names) + 1)),
        paint=paint,
        array=all_cosines,
        table=table,
    )


def _make_nearest_figure(state: VectorsState) -> Figure | None:
    table = _tokens_table(state) if state.view == "tokens" else _words_table(state)
    answer, mention = state.answer, state.chosen_mention
    if table is None or answer is None or mention is None:
        return None
    names = [token_text(str(row[1])) for row in table.rows]
    cosines = np.array([row[-1] for row in table.rows], dtype=np.float32)
    word = token_text(format_mention(answer.texts[mention.text], mention.start, mention.end))

    bars = [
        Bar(name, cosine, text=f"{cosine:.2f}")
        for name, cosine in zip(names, cosines.tolist(), strict=True)
    ]
    text = tr("Cosines with the vector of {0} (mean of its tokens) at layer {1}.")
    caption = text.format(word, state.layer)
    if state.view == "words" and state.source is not None:
        scope = tr("Among the words of {0}.").format(state.source.name)
        caption = f"{caption} {scope}"
    return bars_figure(
        [(tr("cosine, 0 to 1"), bars)],
        f"nearest-{state.view}-layer-{state.layer}",
        tr("Nearest to {0}").format(word),
        f"{caption} {source(state.explore)}",
        table,
        cosines,
        width=2 * NAME_WIDTH,
    )


def _tokens_table(state: VectorsState) -> Table | None:
    nearest = state.near_tokens
    if nearest is None:
        return None
    rows = [(n, near.token, near.cosine) for n, near in enumerate(nearest.tokens, 1)]
    return Table(("rank", "token", "cosine"), rows)


def _words_table(state: VectorsState) -> Table | None:
    """Table of the nearest words; None if they belong to another word or layer."""
    nearest = state.near_words
    if nearest is None or not state.is_current:
        return None
    rows = [
        (n, format_mention(near.text, near.start, near.end), near.row + 1, near.text, near.cosine)
        for n, near in enumerate(nearest.words, 1)
    ]
    return Table(("rank", "word", "number", "text", "cosine"), rows)

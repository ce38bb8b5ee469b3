"""Static word vectors, embedding rows and layers compared: cosines, neighbours, analogies."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app import background
from app.explorer import Explorer
from app.library import VectorsEntry, word_vectors
from app.pages.explore.captions import format_mention, layer_title, source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput, clean_text
from app.pages.explore.state import TYPING_PAUSE_MS, ExploreState
from app.theme import SPACE
from app.timers import debounced
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.charts.bars import Bar, bars_figure
from app.widgets.charts.figure import Figure, Table
from app.widgets.tables import NumbersTable
from app.widgets.text.chips import token_text
from app.widgets.text.numbers import count, decimal
from engine.data.word_vectors.expression import Expression, parse
from engine.errors import StudioError
from engine.files.home import Home
from engine.messages.explore.word_relations import RelateWords, WordSpace, WordsRelated

DIGITS = 3
HEADING_CONTEXT = 8  # characters on either side of a word
NAME_CHARACTERS = 24  # of the word vectors, in a heading


class StaticState(QObject):
    """The chosen word vectors and the typed words.

    `word`, `texts` and `layer` are those of the panel.

    Signals:
        changed: the answer, the choice or the list changed.
    """

    changed = Signal()

    def __init__(
        self,
        explore: ExploreState,
        explorer: Explorer,
        home: Home,
        word: Callable[[], str],
        texts: Callable[[ModelInput], tuple[str, ...]],
        layer: Callable[[], int],
    ) -> None:
        super().__init__(explore)
        self.explore, self._home = explore, home
        self._word, self._texts, self._layer = word, texts, layer
        self.entries: list[VectorsEntry] = []
        self.chosen: Path | None = None
        self.typed = ""  # empty: the word of the panel
        self.problem = ""  # of what is typed
        self.is_shown = False
        self._reading = background.LatestJob(self)
        self.query = LiveQuery(explore, explorer, self._question)
        self.query.changed.connect(self.changed)

    @property
    def answer(self) -> WordsRelated | None:
        return self.query.get_answer(WordsRelated)

    @property
    def expression(self) -> Expression | None:
        """The typed words, or that of the panel; None if there are none or too many."""
        self.problem = ""
        if not (text := self.typed or self._word()):
            return None
        try:
            return parse(text)
        except StudioError as error:
            self.problem = translated(error.phrase)
            return None

    @property
    def name(self) -> str:
        """Name of the chosen word vectors."""
        return self.chosen.name if self.chosen is not None else ""

    def read(self) -> None:
        """Read the list of imported word vectors again, outside the GUI thread."""
        self._reading.run(partial(word_vectors, self._home), self._on_read)

    def choose(self, folder: Path | None) -> None:
        self.chosen = folder
        self.query.invalidate()
        self.changed.emit()

    def set_typed(self, text: str) -> None:
        self.typed = clean_text(text.strip())
        self.query.invalidate()
        self.changed.emit()

    def set_shown(self, shown: bool) -> None:
        """Set if these results are the displayed view."""
        self.is_shown = shown
        self.query.invalidate()

    def _on_read(self, entries: list[VectorsEntry]) -> None:
        usable = [entry for entry in entries if entry.facts is not None]
        if usable == self.entries:
            return
        self.entries, folders = usable, [entry.path for entry in usable]
        self.choose(self.chosen if self.chosen in folders else folders[0] if folders else None)

    def _question(self, side: ModelInput) -> RelateWords | None:
        expression = self.expression
        if not self.is_shown or side.checkpoint is None or expression is None:
            return None
        return RelateWords(
            checkpoint=side.checkpoint,
            words=expression.words,
            signs=expression.signs,
            vectors=self.chosen,
            texts=self._texts(side),
            layer=self._layer(),
            **side.ablation,
        )


class StaticPage(QWidget):
    """The choice of word vectors, the words, the neighbours in every space, and the cosines."""

    def __init__(self, state: StaticState) -> None:
        super().__init__()
        self._state = state
        self.vectors = ChoiceBox(self.tr("Word vectors"))
        self.add = buttons.plain(self.tr("I&mport…"), state.explore.vectors_requested.emit)
        self.add.setAccessibleName(self.tr("Import word vectors"))
        self.words = QLineEdit()
        self.words.setAccessibleName(self.tr("Words with signs"))
        self.words.setPlaceholderText(self.tr("the word, or king − man + woman"))
        self.near = NumbersTable(self.tr("Nearest words"), 99)
        self.cosines = NumbersTable(self.tr("Cosines of the words"), 1)
        self._pause = debounced(self, 2 * TYPING_PAUSE_MS, self._on_typed)
        self.words.textEdited.connect(lambda _: self._pause.start())
        self.words.returnPressed.connect(self._on_typed)
        self.vectors.chosen.connect(state.choose)
        line = layouts.row((self.words, 1), self.vectors, self.add, spacing=SPACE)
        layouts.column(line, (self.near, 3), (self.cosines, 2), parent=self, spacing=SPACE)

    def _on_typed(self) -> None:
        self._pause.stop()
        self._state.set_typed(self.words.text())

    def show_state(self) -> None:
        state, answer = self._state, self._state.answer
        entries = [(entry.path, entry.name[:NAME_CHARACTERS]) for entry in state.entries]
        self.vectors.show_entries(entries or [(None, self.tr("No word vectors"))])
        self.vectors.setEnabled(bool(entries))
        self.vectors.choose(state.chosen)
        self.near.show_rows(*near_rows(state, answer))
        self.cosines.show_rows(*cosine_rows(state, answer))
        self.cosines.setVisible(bool(self.cosines.rows.rows))

    def note(self) -> str:
        """A note on missing words and unusual results."""
        state, answer = self._state, self._state.answer
        if state.problem or state.query.problem:
            return state.problem or state.query.problem
        if state.expression is None:
            return self.tr("Select a word of the text above, or type one.")
        if answer is None:
            return self.tr("Running the model …")
        parts = list[str]()
        if not state.entries:
            parts.append(self.tr("Import a file of GloVe or word2vec to compare with."))
        for space in answer.spaces[:2]:
            if space.missing and space.name != "layer":
                text = self.tr("Not in {0}: {1}.")
                parts.append(text.format(space_title(state, space), quoted(space.missing)))
            parts += self._read_otherwise(space, answer.words)
        contextual = [space for space in answer.spaces if space.name == "layer"]
        if not contextual or contextual[0].missing:
            absent = contextual[0].missing if contextual else answer.words
            parts.append(self.tr("In none of the texts: {0}.").format(quoted(absent)))
        elif not any(space.searched for space in contextual):
            parts.append(
                self.tr("The layers have no neighbours, because the token embedding is narrower.")
            )
        parts.append(self.tr("The words themselves are left out of the nearest."))
        return " ".join(parts)

    def _read_otherwise(self, space: WordSpace, words: Sequence[str]) -> list[str]:
        """Sentences about words that the file spells in another way."""
        if space.name != "file":
            return []
        present = [word for word in words if word not in space.missing]
        text = self.tr("“{0}” is looked up as “{1}”.")
        return [
            text.format(token_text(word), token_text(found))
            for word, found in zip(present, space.read_as, strict=False)
            if word != found
        ]


def quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{token_text(word)}”" for word in words)


def space_title(state: StaticState, space: WordSpace) -> str:
    """Name of a space in headings."""
    if space.name == "file":
        return state.name[:NAME_CHARACTERS]
    return tr("Embedding rows") if space.name == "rows" else layer_title(space.layer)


def near_rows(state: StaticState, answer: WordsRelated | None) -> tuple[list[str], list[list[str]]]:
    """One column for each space that was searched; occurrences have the numbers of the panel."""
    spaces = searched_spaces(answer)
    if answer is None or not spaces:
        return [], []
    header, place = list[str](), 0
    for space in spaces:
        title = space_title(state, space)
        if (own := space.place) is not None:
            place += 1
            text = answer.texts[own.text]
            mention = format_mention(text, own.start, own.end, HEADING_CONTEXT)
            title = f"{place}  {token_text(mention)}"
        header.append(title)
    most = max(len(space.nearest) for space in spaces)
    rows = [
        [
            f"{decimal(space.nearest[n].cosine, DIGITS)} {token_text(space.nearest[n].token)}"
            if n < len(space.nearest)
            else ""
            for space in spaces
        ]
        for n in range(most)
    ]
    return header, rows


def searched_spaces(answer: WordsRelated | None) -> list[WordSpace]:
    return [space for space in answer.spaces if space.searched] if answer is not None else []


def cosine_rows(
    state: StaticState, answer: WordsRelated | None
) -> tuple[list[str], list[list[str]]]:
    """One row for each space, and one column for each pair of words."""
    if answer is None or len(answer.words) < 2:
        return [], []
    pairs = [" – ".join(map(token_text, pair)) for pair in combinations(answer.words, 2)]
    rows = [
        [
            space_title(state, space),
            *("–" if value is None else decimal(value, DIGITS) for value in space.cosines),
        ]
        for space in answer.spaces
    ]
    return [tr("Cosines"), *pairs], rows


def make_figure(state: StaticState) -> Figure | None:
    """Figure of the nearest words in every space, with the cosines of the words in its table."""
    answer, spaces = state.answer, searched_spaces(state.answer)
    if answer is None or not spaces:
        return None
    header, _ = near_rows(state, answer)
    columns = [
        (
            title,
            [
                Bar(token_text(near.token), near.cosine, text=f"{near.cosine:.2f}")
                for near in space.nearest
            ],
        )
        for title, space in zip(header, spaces, strict=True)
    ]
    signs = ("+", "−")
    words = " ".join(
        f"{signs[sign < 0]} {token_text(word)}"
        for word, sign in zip(answer.words, answer.signs, strict=True)
    ).removeprefix("+ ")
    near = [
        (title, n, token.token, token.cosine)
        for title, space in zip(header, spaces, strict=True)
        for n, token in enumerate(space.nearest, 1)
    ]
    pairs = [
        (space_title(state, space), 0, " – ".join(pair), value)
        for space in answer.spaces
        for pair, value in zip(combinations(answer.words, 2), space.cosines, strict=True)
        if value is not None
    ]
    text = tr("Cosines with {0}, among {1} vectors.")
    searched = ", ".join(
        f"{count(space.searched)} ({title})" for title, space in zip(header, spaces, strict=True)
    )
    return bars_figure(
        columns,
        "static-vectors",
        tr("Nearest to {0}").format(words),
        f"{text.format(words, searched)} {source(state.explore)}",
        Table(("space", "rank", "word", "cosine"), [*near, *pairs]),
        np.array([row[3] for row in near], dtype=np.float32),
    )

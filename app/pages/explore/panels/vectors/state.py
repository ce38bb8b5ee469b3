"""One word in the page's text and in others typed here, and its nearest neighbours."""

from functools import partial
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal

from app import background
from app.explorer import Explorer
from app.pages.explore.captions import format_mention
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput, TextInput, clean_text
from app.pages.explore.panels.vectors.static import StaticState
from app.pages.explore.set_work import ChosenTexts, SetWork, StartWorker
from app.pages.explore.state import ExploreState
from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.files.home import Home
from engine.messages.explore.text_set import SetAnswer, TextSet
from engine.messages.explore.word_vectors import (
    CompareWord,
    FindTokens,
    FindWords,
    NearWord,
    SaveWordVectors,
    TokensFound,
    WordCompared,
    WordLayer,
    WordPlace,
    WordsFound,
    WordVectorsSaved,
)

View = Literal["cosines", "tokens", "words", "static"]
MAX_TEXTS = 100
SAMPLE_SIZE = 100  # texts whose words are counted to estimate the size of an index


class VectorsState(QObject):
    """Cosines and nearest words of the first model.

    Signals:
        changed: the answer, the error or the pending state changed.
        layer_changed: another layer is shown.
    """

    changed = Signal()
    layer_changed = Signal()

    def __init__(
        self, explore: ExploreState, explorer: Explorer, home: Home, start_worker: StartWorker
    ) -> None:
        super().__init__(explore)
        self.explore, self._home = explore, home
        self.view: View = "cosines"
        self.mention = 0  # index of the mention whose neighbours are shown
        self.near_words: WordsFound | None = None
        self.near_words_question: FindWords | None = None
        self.source: ChosenTexts | None = None
        self.index_bytes: int | None = None  # estimate for the chosen texts
        self._sizing: background.Job | None = None
        self.typed_word = ""  # empty: the selected word
        self.other_texts: tuple[str, ...] = ()  # texts in addition to the page's
        self._layer: int | None = None  # None: the last
        self.query = LiveQuery(explore, explorer, self._question)
        self.query.changed.connect(self._on_query)
        self.tokens = LiveQuery(explore, explorer, self._tokens_question)
        self.tokens.changed.connect(self.changed)
        self.static = StaticState(
            explore, explorer, home, lambda: self.word, self._texts, lambda: self.static_layer
        )
        self.static.changed.connect(self.changed)
        explore.vectors_chosen.connect(self._on_vectors_chosen)
        self.saved: WordVectorsSaved | None = None
        self.saving = SetWork(start_worker, self)
        self.saving.answer_received.connect(self._on_answer_received)
        self.saving.changed.connect(self.changed)
        self.work = SetWork(start_worker, self)
        self.work.answer_received.connect(self._on_answer_received)
        self.work.changed.connect(self.changed)
        explore.chosen_changed.connect(self._estimate_size)
        explore.model_changed.connect(self._reset)
        explore.heads_off_changed.connect(self._reset)
        explore.picked_changed.connect(lambda _: self._invalidate())
        explore.heads_off_changed.connect(self._invalidate)

    @property
    def word(self) -> str:
        """The compared word: the typed one, or the word of the selected token."""
        if self.typed_word:
            return self.typed_word
        side, picked = self.explore.first, self.explore.picked
        if (
            not side.is_tokenized
            or not 0 <= picked < len(side.tokens)
            or side.tokens[picked].special
        ):
            return ""
        start, end = side.word_span(picked)
        return side.texts[side.tokens[picked].segment][start:end]

    @property
    def answer(self) -> WordCompared | None:
        return self.query.get_answer(WordCompared)

    @property
    def layer(self) -> int:
        """Index of the displayed layer; 0 is the embeddings."""
        last = len(self.answer.layers) - 1 if self.answer is not None else 0
        return last if self._layer is None else min(self._layer, last)

    @property
    def static_layer(self) -> int:
        """Index of the layer that is compared with static vectors, also if no text has the word."""
        model = self.explore.first.model
        last = model.info.layers if model is not None and model.info is not None else 0
        return last if self._layer is None else min(self._layer, last)

    @property
    def shown_layer(self) -> WordLayer | None:
        """The numbers of the displayed layer."""
        return self.answer.layers[self.layer] if self.answer is not None else None

    def names(self) -> list[str]:
        """The word with its context, for each mention."""
        answer = self.answer
        if answer is None:
            return []
        return [format_mention(answer.texts[p.text], p.start, p.end) for p in answer.places]

    def set_word(self, word: str) -> None:
        self.typed_word = clean_text(word.strip())
        self._invalidate()

    def set_texts(self, typed: str) -> None:
        """Set the other texts, one per line."""
        lines = (clean_text(line.strip()) for line in typed.splitlines())
        self.other_texts = tuple(line for line in lines if line)[:MAX_TEXTS]
        self._invalidate()

    def set_layer(self, layer: int) -> None:
        if layer != self.layer:
            self._layer = layer
            self.layer_changed.emit()
            self.tokens.invalidate()
            self.static.query.invalidate()

    # ── nearest words ────────────────────────────────────────────────────────────────────────

    def show(self, view: View) -> None:
        """Show the cosines, or the neighbours of one mention."""
        self.view = view
        self.static.set_shown(view == "static")
        self._estimate_size()
        self.tokens.invalidate()
        self.changed.emit()

    def set_mention(self, number: int) -> None:
        if number != self.mention and number >= 0:
            self.mention = number
            self.tokens.invalidate()
            self.changed.emit()

    @property
    def chosen_mention(self) -> WordPlace | None:
        """The mention whose neighbours are shown; None without an answer."""
        places = self.answer.places if self.answer is not None else ()
        return places[min(self.mention, len(places) - 1)] if places else None

    @property
    def near_tokens(self) -> TokensFound | None:
        return self.tokens.get_answer(TokensFound)

    @property
    def is_current(self) -> bool:
        """True if the nearest words belong to the current mention, layer and texts."""
        return (
            self.near_words_question is not None
            and self.near_words_question == self._words_question()
        )

    def find(self) -> None:
        """Search the words of the chosen texts, or continue."""
        question = self._words_question()
        if question is not None:
            self.near_words, self.near_words_question, self.saved = None, question, None
            self.source = self.explore.chosen
            self.work.start(question)

    def save(self, file: Path) -> None:
        """Write the vectors of the word in all chosen texts, at the shown layer, to a file."""
        chosen, checkpoint = self.explore.chosen, self.explore.first.checkpoint
        if chosen is None or checkpoint is None or not self.word:
            return
        self.saved = None
        self.saving.start(
            SaveWordVectors(
                checkpoint=checkpoint,
                texts=chosen.texts,
                word=self.word,
                layer=self.static_layer,
                file=file,
                **self.explore.first.ablation,
            )
        )

    def show_input(self, word: NearWord) -> None:
        self.explore.input_requested.emit(TextInput(clean_text(word.text), None))

    def _tokens_question(self, side: ModelInput) -> FindTokens | None:
        mention, answer = self.chosen_mention, self.answer
        if self.view != "tokens" or side.checkpoint is None or mention is None or answer is None:
            return None
        return FindTokens(
            checkpoint=side.checkpoint,
            text=answer.texts[mention.text],
            start=mention.start,
            end=mention.end,
            layer=self.layer,
            **side.ablation,
        )

    def _words_question(self) -> FindWords | None:
        mention, answer, chosen = self.chosen_mention, self.answer, self.explore.chosen
        checkpoint = self.explore.first.checkpoint
        if mention is None or answer is None or chosen is None or checkpoint is None:
            return None
        return FindWords(
            checkpoint=checkpoint,
            texts=chosen.texts,
            cache=self._home.cache / "texts",
            text=answer.texts[mention.text],
            start=mention.start,
            end=mention.end,
            layer=self.layer,
            **self.explore.first.ablation,
        )

    def _on_query(self) -> None:
        self.tokens.invalidate()
        self.changed.emit()

    def _on_answer_received(self, answer: SetAnswer) -> None:
        if isinstance(answer, WordsFound):
            self.near_words = answer
            self.changed.emit()
        elif isinstance(answer, WordVectorsSaved) and answer.is_final:
            self.saved = answer
            self.changed.emit()

    def _estimate_size(self) -> None:
        self.index_bytes = None
        if self._sizing is not None:
            self._sizing.cancel()
            self._sizing = None
        chosen, model = self.explore.chosen, self.explore.first.model
        if self.view != "words" or chosen is None or model is None or model.info is None:
            return
        vector_bytes = 2 * model.info.hidden_size  # bytes of a vector
        self._sizing = background.run(
            self,
            partial(_count_words, chosen.texts),
            lambda words: self._on_size(vector_bytes * words),
            lambda _: None,  # reported by the search itself
        )

    def _on_size(self, size: int) -> None:
        self._sizing, self.index_bytes = None, size
        self.changed.emit()

    def _reset(self) -> None:
        self.near_words, self.near_words_question, self.source = None, None, None
        self.saved = None
        self.work.clear()
        self.saving.clear()
        self._estimate_size()

    def _question(self, side: ModelInput) -> CompareWord | None:
        if side.checkpoint is None or not self.word:
            return None
        return CompareWord(
            checkpoint=side.checkpoint, word=self.word, texts=self._texts(side), **side.ablation
        )

    def _texts(self, side: ModelInput) -> tuple[str, ...]:
        texts = (text for text in side.texts if text.strip())
        return tuple(dict.fromkeys((*texts, *self.other_texts)))

    def _invalidate(self) -> None:
        self.saved = None
        self.query.invalidate()
        self.static.query.invalidate()

    def _on_vectors_chosen(self, folder: Path) -> None:
        self.static.choose(folder)
        self.show("static")


def _count_words(texts: TextSet) -> int:
    """Approximate number of words, by the spaces in some of the texts."""
    pairs = typed_pairs(load_rows(texts))
    step = max(1, len(pairs) // SAMPLE_SIZE)
    sample = pairs[::step]
    words = sum(len(text.split()) + len((pair or "").split()) for text, pair in sample)
    return round(words * len(pairs) / len(sample))

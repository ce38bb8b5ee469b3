"""One word in the text of the page and in others that are typed here."""

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.side import Side, cleaned
from app.pages.explore.study import Study
from engine.messages.explore.word_vectors import (
    CompareWord,
    WordCompared,
    WordHeight,
    WordPlace,
)

MAX_TEXTS = 100
AROUND = 24  # characters of a text beside the word


class VectorsState(QObject):
    """Of the first model.

    Signals:
        changed: the answer, why there is none, or whether one is awaited.
        height_changed: another height is shown.
    """

    changed = Signal()
    height_changed = Signal()

    def __init__(self, study: Study, explorer: Explorer) -> None:
        super().__init__(study)
        self.study = study
        self.typed_word = ""  # empty: the selected one
        self.more: tuple[str, ...] = ()  # texts beside that of the page
        self._height: int | None = None  # None: the last
        self.query = LiveQuery(study, explorer, self._question)
        self.query.changed.connect(self.changed)
        study.picked_changed.connect(lambda _: self.query.renew())
        study.heads_off_changed.connect(self.query.renew)

    @property
    def word(self) -> str:
        """The word that is compared: as it is typed, or that of the selected token."""
        if self.typed_word:
            return self.typed_word
        side, picked = self.study.both[0], self.study.picked
        if not side.is_known or not 0 <= picked < len(side.tokens) or side.tokens[picked].special:
            return ""
        start, end = side.stretch(picked)
        return side.texts[side.tokens[picked].segment][start:end]

    @property
    def answer(self) -> WordCompared | None:
        answer = self.query.answer
        return answer if isinstance(answer, WordCompared) else None

    @property
    def problem(self) -> str:
        refusal = self.query.refusal
        return refusal.phrase if refusal is not None else ""

    @property
    def height(self) -> int:
        """0 the embeddings, 1 to L the layers."""
        last = len(self.answer.heights) - 1 if self.answer is not None else 0
        return last if self._height is None else min(self._height, last)

    @property
    def shown(self) -> WordHeight | None:
        """The numbers of the height that is shown."""
        return self.answer.heights[self.height] if self.answer is not None else None

    def names(self) -> list[str]:
        """The word with what stands around it, for each place."""
        answer = self.answer
        return [around(answer, place) for place in answer.places] if answer is not None else []

    def set_word(self, word: str) -> None:
        self.typed_word = cleaned(word.strip())
        self.query.renew()

    def set_texts(self, typed: str) -> None:
        """A text on each line."""
        lines = (cleaned(line.strip()) for line in typed.splitlines())
        self.more = tuple(line for line in lines if line)[:MAX_TEXTS]
        self.query.renew()

    def set_height(self, height: int) -> None:
        if height != self.height:
            self._height = height
            self.height_changed.emit()

    def _question(self, side: Side) -> CompareWord | None:
        if side.checkpoint is None or not self.word:
            return None
        texts = tuple(dict.fromkeys((*(t for t in side.texts if t.strip()), *self.more)))
        return CompareWord(checkpoint=side.checkpoint, word=self.word, texts=texts, **side.ablation)


def around(answer: WordCompared, place: WordPlace) -> str:
    """A place as a person recognises it: … poked it with a [stick] in …"""
    text = answer.texts[place.text]
    before, after = text[: place.start], text[place.end :]
    left = before if len(before) <= AROUND else f"…{before[-AROUND:]}"
    right = after if len(after) <= AROUND else f"{after[:AROUND]}…"
    return f"{left}[{text[place.start : place.end]}]{right}"

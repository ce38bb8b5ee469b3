"""What becomes of the text before the first layer, on each side."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal

from app import background
from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from app.timers import debounced
from engine.messages.explore.embeddings import Embed, Embedded, Table
from engine.messages.explore.text import Token
from engine.tokenizers.steps import Steps, steps

MAX_NAMED = 5  # unknown or different words that a sentence names


@dataclass(frozen=True)
class Row:
    """One token. `norms` are those of the addends, the sum and the outcome; empty while unknown."""

    token: Token
    name: str  # as the model sees it: of a masked token the mask
    id: int  # that the model sees: of a masked token the mask's
    position: int  # the row of the table of positions
    norms: tuple[float, ...]


class TokensState(QObject):
    """Told of once for all that changed in one turn of the event loop, and only while seen.

    Signals:
        changed: the tokens, their norms, or why there are none, of one side.
        steps_changed: the steps, or the tokens; told of in another turn, so that neither is long.
    """

    changed = Signal()
    steps_changed = Signal()

    def __init__(self, study: Study, explorer: Explorer) -> None:
        super().__init__(study)
        self.study = study
        self.steps: list[tuple[Steps, ...]] = [(), ()]  # of each side, of each of its texts
        self.queries = (
            LiveQuery(study, explorer, lambda side: side.asked(Embed)),
            LiveQuery(study, explorer, lambda side: side.asked(Embed), side=1),
        )
        self._work: list[background.Job | None] = [None, None]
        self._is_seen = False
        self._telling = debounced(self, 0, self._tell)
        self._telling_steps = debounced(self, 0, self.steps_changed)
        for query in self.queries:
            query.changed.connect(self._on_changed)
            query.asked.connect(partial(self._take_steps, query.side))
        study.tokens_changed.connect(self._on_changed)
        study.sides_changed.connect(self._on_changed)

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def rows(self, side: int = 0) -> list[Row]:
        """The tokens at once; their norms once they are known."""
        shown, answer = self.study.both[side], self.answer(side)
        if answer is None:
            return [Row(t, shown.seen(n), t.id, n, ()) for n, t in enumerate(shown.tokens)]
        tables = {addend.table: addend.rows for addend in answer.addends}
        words = tables["token"]
        positions = tables.get("position", range(len(words)))  # of relative and rotary ones, places
        columns = [*(a.norms for a in answer.addends), answer.sums, answer.outcome]
        return [
            Row(token, shown.seen(n), words[n], positions[n], tuple(c[n] for c in columns))
            for n, token in enumerate(shown.tokens)
        ]

    def answer(self, side: int = 0) -> Embedded | None:
        """The newest answer, if it is about the tokens that are shown."""
        answer = self.queries[side].answer
        fits = isinstance(answer, Embedded) and answer.tokens == self.study.both[side].tokens
        return answer if fits and isinstance(answer, Embedded) else None

    def tables(self, side: int = 0) -> tuple[Table, ...]:
        """Which addends the model has; all three while that is not known."""
        answer = self.answer(side)
        return (
            ("token", "position", "segment")
            if answer is None
            else tuple(addend.table for addend in answer.addends)
        )

    def unknown(self, side: int = 0) -> list[str]:
        """The words that became [UNK], as they were typed."""
        shown = self.study.both[side]
        return [shown.typed(n) for n in range(len(shown.tokens)) if shown.is_unknown(n)]

    def left_out(self, side: int = 0) -> list[str]:
        """How what the model does not read begins, for each text that was cut."""
        shown = self.study.both[side]
        rests = []
        for segment, text in enumerate(shown.texts):
            ends = [t.end for t in shown.tokens if t.segment == segment and not t.special]
            rest = text[max(ends, default=0) :].strip()
            if shown.cut and rest:
                rests.append(rest)
        return rests

    def differences(self) -> list[tuple[str, str]]:
        """The words that the two sides tokenise differently, as both write them."""
        first, second = (_by_word(side) for side in self.study.both)
        found = []
        for here in first:
            there = second.get(here)
            if there is not None and there != first[here]:
                found.append((" ".join(first[here]), " ".join(there)))
        return found

    # ── the steps ────────────────────────────────────────────────────────────────────────────

    def set_seen(self, seen: bool) -> None:
        """Whether somebody looks; what was put off is told of now."""
        self._is_seen = seen
        for query in self.queries:
            query.set_seen(seen)
        if seen:
            self._on_changed()

    def _on_changed(self) -> None:
        if self._is_seen:
            self._telling.start()

    def _tell(self) -> None:
        self.changed.emit()
        self._telling_steps.start()

    def _take_steps(self, side: Side) -> None:
        """Off the window's thread: a long text takes a moment."""
        work = self._work[side.number]
        if work is not None:
            work.cancel()
        tokenizer, texts = side.tokenizer, side.texts
        if tokenizer is None:
            return
        self._work[side.number] = background.run(
            self,
            lambda: tuple(steps(tokenizer, text) for text in texts),
            lambda taken: self._on_steps(side.number, taken),
        )

    def _on_steps(self, number: int, taken: tuple[Steps, ...]) -> None:
        self.steps[number] = taken
        self._telling_steps.start()


def _by_word(side: Side) -> dict[tuple[int, str, int], list[str]]:
    """The tokens of every word, by its text, its letters and where it begins."""
    words: dict[tuple[int, str, int], list[str]] = {}
    seen: set[tuple[int, ...]] = set()
    for number, token in enumerate(side.tokens):
        word = side.word(number)
        if token.special or word in seen:
            continue
        seen.add(word)
        start, end = side.stretch(number)
        typed = side.texts[token.segment][start:end]
        words[token.segment, typed, start] = [side.tokens[n].text for n in word]
    return words


def named(words: Sequence[str]) -> list[str]:
    """Different ones in the order of the text, so many as a sentence can name."""
    return list(dict.fromkeys(words))[:MAX_NAMED]

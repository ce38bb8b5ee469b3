"""Tokenisation and input embeddings of the text, on each side."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal

from app import background
from app.explorer import Explorer
from app.pages.explore.live_query import QueryPair
from app.pages.explore.model_input import ModelInput
from app.pages.explore.state import ExploreState
from app.timers import debounced
from engine.messages.explore.embeddings import Embed, Embedded, TableName
from engine.messages.explore.text import Token
from engine.tokenizers.steps import Steps, steps

MAX_NAMED = 5  # words quoted in a sentence


@dataclass(frozen=True)
class Row:
    """A token and the norms of its addends, their sum and the normalised vector, once known."""

    token: Token
    name: str  # as the model sees it; “[MASK]” if masked
    id: int  # as the model sees it
    position: int  # row of the position embedding
    norms: tuple[float, ...]


class TokensState(QObject):
    """Tokens, norms and steps; emits only while visible, and once per turn of the event loop.

    Signals:
        changed: the tokens, the norms or the error of a side changed.
        steps_changed: the steps or the tokens; emitted in a separate turn, as both take time.
    """

    changed = Signal()
    steps_changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer) -> None:
        super().__init__(explore)
        self.explore = explore
        self.steps: list[tuple[Steps, ...]] = [(), ()]  # of each side, for each of its texts
        self.queries = QueryPair(explore, explorer, lambda side: side.question(Embed))
        self._work: list[background.Job | None] = [None, None]
        self._is_active = False
        self._emit_timer = debounced(self, 0, self._emit_changed)
        self._steps_timer = debounced(self, 0, self.steps_changed)
        self.queries.changed.connect(self._on_changed)
        for query in self.queries:
            query.asked.connect(partial(self._read_steps, query.side))
        explore.tokens_changed.connect(self._on_changed)
        explore.sides_changed.connect(self._on_changed)

    # ── contents ─────────────────────────────────────────────────────────────────────────────

    def rows(self, side: int = 0) -> list[Row]:
        """All tokens; their norms once known."""
        shown, answer = self.explore.both[side], self.answer(side)
        if answer is None:
            return [Row(t, shown.model_token(n), t.id, n, ()) for n, t in enumerate(shown.tokens)]
        tables = {addend.table: addend.rows for addend in answer.addends}
        words = tables["token"]
        # relative and rotary models: the indices
        positions = tables.get("position", range(len(words)))
        columns = [*(a.norms for a in answer.addends), answer.sums, answer.outcome]
        return [
            Row(token, shown.model_token(n), words[n], positions[n], tuple(c[n] for c in columns))
            for n, token in enumerate(shown.tokens)
        ]

    def answer(self, side: int = 0) -> Embedded | None:
        """The newest answer if it belongs to the current tokens."""
        answer = self.queries[side].get_answer(Embedded)
        is_current = answer is not None and answer.tokens == self.explore.both[side].tokens
        return answer if is_current else None

    def tables(self, side: int = 0) -> tuple[TableName, ...]:
        """The embeddings that the model adds up; those of BERT until known."""
        answer = self.answer(side)
        return (
            ("token", "position", "segment")
            if answer is None
            else tuple(addend.table for addend in answer.addends)
        )

    def unknown_words(self, side: int = 0) -> list[str]:
        """The words that became [UNK], as typed."""
        shown = self.explore.both[side]
        return [shown.source_text(n) for n in shown.unknown]

    def truncated_texts(self, side: int = 0) -> list[str]:
        """The truncated rest of each text."""
        shown = self.explore.both[side]
        rests = []
        for segment, text in enumerate(shown.texts):
            ends = [t.end for t in shown.tokens if t.segment == segment and not t.special]
            rest = text[max(ends, default=0) :].strip()
            if shown.is_truncated and rest:
                rests.append(rest)
        return rests

    def differences(self) -> list[tuple[str, str]]:
        """The words that the sides tokenise differently, with the tokens of each side."""
        first, second = (_tokens_by_word(side) for side in self.explore.both)
        differences = []
        for word in first:
            other = second.get(word)
            if other is not None and other != first[word]:
                differences.append((" ".join(first[word]), " ".join(other)))
        return differences

    # ── tokenisation steps ───────────────────────────────────────────────────────────────────

    def set_active(self, active: bool) -> None:
        """Set whether the panel is visible; pending changes are emitted now."""
        self._is_active = active
        self.queries.set_active(active)
        if active:
            self._on_changed()

    def _on_changed(self) -> None:
        if self._is_active:
            self._emit_timer.start()

    def _emit_changed(self) -> None:
        self.changed.emit()
        self._steps_timer.start()

    def _read_steps(self, side: ModelInput) -> None:
        """Compute the steps off the GUI thread, since a long text takes a moment."""
        work = self._work[side.index]
        if work is not None:
            work.cancel()
        tokenizer, texts = side.tokenizer, side.texts
        if tokenizer is None:
            return
        self._work[side.index] = background.run(
            self,
            lambda: tuple(steps(tokenizer, text) for text in texts),
            lambda result: self._on_steps(side.index, result),
        )

    def _on_steps(self, index: int, result: tuple[Steps, ...]) -> None:
        self.steps[index] = result
        self._steps_timer.start()


def _tokens_by_word(side: ModelInput) -> dict[tuple[int, str, int], list[str]]:
    """Tokens of every word, by segment, characters and start."""
    words: dict[tuple[int, str, int], list[str]] = {}
    seen: set[tuple[int, ...]] = set()
    for index, token in enumerate(side.tokens):
        word = side.word_tokens(index)
        if token.special or word in seen:
            continue
        seen.add(word)
        start, end = side.word_span(index)
        typed = side.texts[token.segment][start:end]
        words[token.segment, typed, start] = [side.tokens[n].text for n in word]
    return words


def first_distinct(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(words))[:MAX_NAMED]

"""Probability of each token in its context, requested in slices.

Other questions come in between, partial results are shown, and it can be stopped.
"""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from engine.messages.explore.pseudo_perplexity import (
    ScoreTokens,
    TokenScore,
    TokensScored,
    perplexity,
)
from engine.messages.question import Refused

Key = tuple[Path | None, tuple[str, ...], tuple[tuple[int, int], ...]]


class Scoring(QObject):
    """The scores of one side known so far.

    Signals:
        changed: the scores, or whether it runs.
    """

    changed = Signal()

    def __init__(self, study: Study, explorer: Explorer, side: int) -> None:
        super().__init__(study)
        self.side = study.both[side]
        self.total = 0  # tokens to score
        self.causal = False
        self.is_automatic = False
        self._places: tuple[TokenScore, ...] = ()
        self._key: Key = (None, (), ())  # model and text that the scores belong to
        self._start = 0
        self._is_wanted = False
        self._is_complete = False
        self._taken: TokensScored | None = None
        self.query = LiveQuery(study, explorer, self._question, side)
        self.query.changed.connect(self._on_answer)

    @property
    def places(self) -> tuple[TokenScore, ...]:
        """Known scores of the current text, from left to right."""
        return self._places if self._key == self._now() else ()

    @property
    def is_complete(self) -> bool:
        return self._is_complete and self._key == self._now()

    @property
    def is_running(self) -> bool:
        return self._is_wanted and self.query.is_waiting

    @property
    def refusal(self) -> Refused | None:
        return self.query.refusal

    @property
    def perplexity(self) -> float:
        """Of the known scores; NaN if there are none."""
        return perplexity(self.places)

    def set_seen(self, seen: bool) -> None:
        """Set whether it is visible; it continues from where it was."""
        self.query.set_seen(seen)

    def set_automatic(self, on: bool) -> None:
        """Set whether every new text is scored without a request."""
        self.is_automatic = on
        if on:
            self.resume()

    def resume(self) -> None:
        """Score the current text from where it was stopped."""
        self._keep_up()
        self._is_wanted = True
        if not self._is_complete:
            self.query.renew()

    def stop(self) -> None:
        """Stop asking; a pending answer is still accepted."""
        self._is_wanted = False
        self.changed.emit()

    def _now(self) -> Key:
        return self.side.checkpoint, self.side.texts, tuple(self.side.ablation.values())

    def _keep_up(self) -> None:
        """Drop the scores of another text."""
        if self._key != self._now():
            self._key, self._places, self._start, self.total = self._now(), (), 0, 0
            self._is_wanted, self._is_complete = self.is_automatic, False

    def _question(self, side: Side) -> ScoreTokens | None:
        self._keep_up()
        if not self._is_wanted or side.checkpoint is None or not side.has_head("mlm"):
            return None
        return ScoreTokens(
            checkpoint=side.checkpoint,
            text=side.text,
            pair=side.pair,
            start=self._start,
            **side.ablation,
        )

    def _on_answer(self) -> None:
        answer = self.query.answer
        is_new = isinstance(answer, TokensScored) and answer is not self._taken
        if isinstance(answer, TokensScored) and is_new and self._key == self._now():
            self._taken = answer
            self._places += answer.scores
            self.total, self.causal = answer.total, answer.causal
            self._is_complete = answer.next is None
            self._start = self._start if answer.next is None else answer.next
            if not self._is_complete and self._is_wanted:
                self.query.renew()  # at once, or when it is visible again
                if self.query.is_waiting:
                    return  # it has emitted `changed`
        self.changed.emit()

"""Predictions at masked positions, of whole words, after each layer, and of every token."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import QueryPair
from app.pages.explore.model_input import ModelInput
from app.pages.explore.parts_query import PartsQuery
from app.pages.explore.state import ExploreState
from engine.messages.explore.candidates import (
    Candidate,
    CandidatesScored,
    FindCandidates,
    ScoreCandidates,
)
from engine.messages.explore.fill_mask import FillMask, MaskFilled
from engine.messages.explore.prediction import PredictNextSentence
from engine.messages.explore.text import LabelProbability, Token
from engine.messages.explore.token_scores import (
    ApplyLens,
    ScoreTokens,
    TokenScore,
    TokensScored,
    perplexity,
)
from engine.messages.question import Question

TOP = 10
MAX_POSITIONS = 24  # masked positions shown, one card each
MAX_OWN_WORDS = 50  # words of one's own


@dataclass(frozen=True)
class MaskedPosition:
    """A masked token, its predictions, and the token typed there if there was one."""

    token: int
    likely: tuple[LabelProbability, ...]
    actual: LabelProbability | None
    rank: int = 0  # rank of the actual token among all tokens, from 1; 0 if there is none
    requested: tuple[LabelProbability, ...] = ()  # of the second model's predictions


class WordsState(QObject):
    """Queries of all parts, for both sides.

    Signals:
        changed: an answer, the reason for none, or whether one is pending.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer) -> None:
        super().__init__(explore)
        self.explore = explore
        self.own: tuple[str, ...] = ()  # the user's words
        self.searches_automatically = False
        self._wants_search = False
        self._explorer = explorer
        explore.settled.connect(self._on_settled)  # before the queries' own
        self.fills = self._ask(self._fill)
        for index, query in enumerate(self.fills):
            query.changed.connect(partial(self._on_filled, index))
        self.candidate_scores = self._ask(self._score_candidates)
        self.candidate_searches = self._ask(self._find_candidates)
        self.lens_queries = self._ask(self._apply_lens)
        self.next_sentences = self._ask(self._predict_next_sentence)
        self.scorings = tuple(Scoring(explore, explorer, side) for side in (0, 1))
        for scoring in self.scorings:
            scoring.changed.connect(self.changed)
        explore.picked_changed.connect(self._on_picked)

    # ── state ────────────────────────────────────────────────────────────────────────────────

    def positions(self, side: int = 0) -> tuple[MaskedPosition, ...]:
        filled = self.fills[side].get_answer(MaskFilled)
        if filled is None:
            return ()
        return tuple(
            MaskedPosition(
                prediction.first, prediction.ranked, actual if actual.label else None, rank, named
            )
            for prediction, actual, rank, named in zip(
                filled.predictions, filled.actual, filled.ranks, filled.requested, strict=True
            )
        )

    def other(self, position: MaskedPosition) -> MaskedPosition | None:
        """The same position of the second model; None if it has none."""
        explore = self.explore
        if not explore.is_compared or position.token >= len(explore.first.tokens):
            return None
        index = same_token(explore.second, explore.first.tokens[position.token])
        return next((masked for masked in self.positions(1) if masked.token == index), None)

    def gap(self, side: int = 0) -> tuple[int, int] | None:
        """First and last token of the selected masked word, or of the first one.

        Adjacent typed masks are one gap.
        """
        shown = self.explore.both[side]
        masked = shown.all_masked
        if side == 0:
            at = self.explore.picked if self.explore.picked in masked else next(iter(masked), -1)
        else:
            first = self.gap(0)
            at = -1 if first is None else shown.counterpart(self.explore.first.tokens[first[0]])
        if at not in masked:
            return None
        if not shown.is_typed_mask(at):
            word = shown.word_tokens(at)
            return word[0], word[-1]
        start = end = at
        while start - 1 in masked and shown.is_typed_mask(start - 1):
            start -= 1
        while end + 1 in masked and shown.is_typed_mask(end + 1):
            end += 1
        return start, end

    def gap_text(self) -> str:
        """The text typed in the gap; empty if there is none."""
        gap = self.gap()
        if gap is None:
            return ""
        first, last = (self.explore.first.tokens[index] for index in gap)
        return self.explore.first.texts[first.segment][first.start : last.end]

    def scored(self, side: int = 0) -> tuple[Candidate, ...]:
        answer = self.candidate_scores[side].get_answer(CandidatesScored)
        return answer.candidates if answer is not None else ()

    # ── user actions ─────────────────────────────────────────────────────────────────────────

    def score_own(self, words: tuple[str, ...]) -> None:
        """Score these words in the gap, each once."""
        own = tuple(dict.fromkeys(word.strip() for word in words if word.strip()))[:MAX_OWN_WORDS]
        if own != self.own:
            self.own = own
            self.candidate_scores.invalidate()

    def search(self) -> None:
        self._wants_search = True
        self.candidate_searches.invalidate()

    def set_searches_automatically(self, on: bool) -> None:
        self.searches_automatically = on
        self.candidate_searches.invalidate()

    # ── questions ────────────────────────────────────────────────────────────────────────────

    def _ask(self, make: Callable[[ModelInput], Question | None]) -> QueryPair:
        queries = QueryPair(self.explore, self._explorer, make)
        queries.changed.connect(self.changed)
        return queries

    def _on_picked(self) -> None:
        if self.explore.is_settled:
            self._wants_search = False
            for queries in (self.candidate_scores, self.candidate_searches, self.lens_queries):
                queries.invalidate()

    def _on_settled(self) -> None:
        self._wants_search = False

    def _fill(self, side: ModelInput) -> FillMask | None:
        if not can_predict(side) or not side.all_masked:
            return None
        return side.question(
            FillMask, top=TOP, requested=self._other_labels(side), exact=self.explore.is_exact
        )

    def _other_labels(self, side: ModelInput) -> tuple[str, ...]:
        """Predictions of the other model, whose probabilities by this one are shown too."""
        if not self.explore.is_compared:
            return ()
        other = 1 - side.index
        answer = self.fills[other].answer
        if not isinstance(answer, MaskFilled) or answer.tokens != self.explore.both[other].tokens:
            return ()
        labels = [
            item.label for p in self.positions(other) for item in (*p.likely, p.actual) if item
        ]
        return tuple(dict.fromkeys(labels))

    def _on_filled(self, index: int) -> None:
        """Ask the other model for the probabilities of this model's predictions."""
        if self.explore.is_compared and isinstance(self.fills[index].answer, MaskFilled):
            self.fills[1 - index].invalidate()

    def _score_candidates(self, side: ModelInput) -> ScoreCandidates | None:
        gap = self.gap(side.index)
        if not can_predict(side) or gap is None or not self.own:
            return None
        return side.question(ScoreCandidates, first=gap[0], last=gap[1], candidates=self.own)

    def _find_candidates(self, side: ModelInput) -> FindCandidates | None:
        is_requested = self.searches_automatically or self._wants_search
        gap = self.gap(side.index)
        if not is_requested or not can_predict(side) or gap is None:
            return None
        return side.question(FindCandidates, first=gap[0], last=gap[1])

    def _apply_lens(self, side: ModelInput) -> ApplyLens | None:
        positions = set(side.all_masked)
        picked = self.explore.picked
        if 0 <= picked < len(self.explore.first.tokens):
            token = self.explore.first.tokens[picked]
            positions.add(picked if side.index == 0 else side.counterpart(token))
        info = side.model.info if side.model is not None else None
        is_causal = info is not None and info.causal
        positions = {position for position in positions if position >= int(is_causal)}
        if not can_predict(side) or not positions:
            return None
        return side.question(ApplyLens, positions=tuple(sorted(positions))[:MAX_POSITIONS])

    def _predict_next_sentence(self, side: ModelInput) -> PredictNextSentence | None:
        has_pair = side.pair is not None and side.pair.strip()
        if not has_pair or not side.has_head("nsp"):
            return None
        return side.question(PredictNextSentence)


def same_token(side: ModelInput, token: Token) -> int:
    """The token of `side` with exactly the characters of another model's token, or -1."""
    index = side.counterpart(token)
    if index < 0:
        return -1
    own = side.tokens[index]
    return index if (own.start, own.end) == (token.start, token.end) else -1


def can_predict(side: ModelInput) -> bool:
    """True if a model has an MLM head, or is not read yet."""
    return side.model is None or side.model.info is None or side.has_head("mlm")


class Scoring(PartsQuery[ScoreTokens, TokensScored]):
    """The scores of one side known so far; nothing is asked until `resume`."""

    def __init__(self, explore: ExploreState, explorer: Explorer, side: int) -> None:
        super().__init__(explore, explorer, score_tokens, side)
        self.is_automatic = False
        self.is_paused = True

    @property
    def is_current(self) -> bool:
        """True if the parts belong to the current text and model."""
        return self.question == score_tokens(self.side)

    @property
    def is_complete(self) -> bool:
        return self.is_current and super().is_complete

    @property
    def last(self) -> TokensScored | None:
        return self.parts[-1] if self.is_current and self.parts else None

    @property
    def scores(self) -> tuple[TokenScore, ...]:
        """Known scores of the current text, from left to right."""
        if not self.is_current:
            return ()
        return tuple(score for part in self.parts for score in part.scores)

    @property
    def is_running(self) -> bool:
        return not self.is_paused and self.query.is_waiting

    @property
    def perplexity(self) -> float:
        """Of the known scores; NaN if there are none."""
        return perplexity(self.scores)

    def set_automatic(self, on: bool) -> None:
        """Set whether every new text is scored without a request."""
        self.is_automatic = on
        if on:
            self.resume()

    def resume(self) -> None:
        self._next_question(self.side)
        self.is_paused = False
        if not self.is_complete:
            self.query.invalidate()

    def stop(self) -> None:
        """Stop asking; a pending answer is still accepted."""
        self.is_paused = True
        self.changed.emit()

    def _next_question(self, side: ModelInput) -> ScoreTokens | None:
        if not self.is_current:  # another text needs a new request
            self.is_paused = not self.is_automatic
        return super()._next_question(side)


def score_tokens(side: ModelInput) -> ScoreTokens | None:
    """The question about the current text; None without an MLM head."""
    if side.checkpoint is None or not side.has_head("mlm"):
        return None
    return ScoreTokens(checkpoint=side.checkpoint, text=side.text, pair=side.pair, **side.ablation)

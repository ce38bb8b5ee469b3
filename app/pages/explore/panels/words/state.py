"""State of the Words panel: mask predictions, word candidates, logit lens and token scores."""

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

TOP_K = 10
MAX_POSITIONS = 24  # masked positions shown, one card each
MAX_USER_WORDS = 50


@dataclass(frozen=True)
class MaskedPosition:
    """A masked token, its predictions, and the token typed there if there was one."""

    token: int
    predictions: tuple[LabelProbability, ...]
    actual: LabelProbability | None
    rank: int = 0  # rank of the actual token among all tokens, from 1; 0 if there is none
    requested: tuple[LabelProbability, ...] = ()  # the other model's predictions


class WordsState(QObject):
    """The queries of the panel's tabs, for both compared models.

    Signals:
        changed: an answer, an error or the pending state changed.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer) -> None:
        super().__init__(explore)
        self.explore = explore
        self.user_words: tuple[str, ...] = ()
        self.searches_automatically = False
        self._search_requested = False
        self._explorer = explorer
        explore.settled.connect(self._on_settled)  # connected before the queries
        self.mask_queries = self._make_queries(self._fill_question)
        for index, query in enumerate(self.mask_queries):
            query.changed.connect(partial(self._on_filled, index))
        self.score_queries = self._make_queries(self._score_question)
        self.search_queries = self._make_queries(self._search_question)
        self.lens_queries = self._make_queries(self._lens_question)
        self.next_sentences = self._make_queries(self._nsp_question)
        self.scorings = tuple(Scoring(explore, explorer, side) for side in (0, 1))
        for scoring in self.scorings:
            scoring.changed.connect(self.changed)
        explore.picked_changed.connect(self._on_picked)

    def mask_example(self) -> None:
        """Mask the selected word, else one in the middle of the text."""
        first = self.explore.first
        words = [n for n, token in enumerate(first.tokens) if not token.special]
        chosen = self.explore.picked if self.explore.picked in words else -1
        if words:
            self.explore.toggle_mask(chosen if chosen >= 0 else words[len(words) // 2])

    # ── state ────────────────────────────────────────────────────────────────────────────────

    def positions(self, side: int = 0) -> tuple[MaskedPosition, ...]:
        filled = self.mask_queries[side].get_answer(MaskFilled)
        if filled is None:
            return ()
        return tuple(
            MaskedPosition(p.first, p.ranked, actual if actual.label else None, rank, requested)
            for p, actual, rank, requested in zip(
                filled.predictions, filled.actual, filled.ranks, filled.requested, strict=True
            )
        )

    def counterpart(self, position: MaskedPosition) -> MaskedPosition | None:
        """The same position of the second model; None if it has none."""
        explore = self.explore
        if not explore.is_compared or position.token >= len(explore.first.tokens):
            return None
        index = same_token(explore.second, explore.first.tokens[position.token])
        return next((masked for masked in self.positions(1) if masked.token == index), None)

    def masked_span(self, side: int = 0) -> tuple[int, int] | None:
        """First and last token of the selected masked word, or of the first one.

        Adjacent typed masks are one span.
        """
        shown = self.explore.both[side]
        masked = shown.all_masked
        if side == 0:
            picked = self.explore.picked
            index = picked if picked in masked else next(iter(masked), -1)
        else:
            first = self.masked_span(0)
            index = -1 if first is None else shown.counterpart(self.explore.first.tokens[first[0]])
        if index not in masked:
            return None
        if not shown.is_typed_mask(index):
            word = shown.word_tokens(index)
            return word[0], word[-1]
        start = end = index
        while start - 1 in masked and shown.is_typed_mask(start - 1):
            start -= 1
        while end + 1 in masked and shown.is_typed_mask(end + 1):
            end += 1
        return start, end

    def masked_text(self) -> str:
        """The text typed at the masked span; empty without one."""
        span = self.masked_span()
        if span is None:
            return ""
        first, last = (self.explore.first.tokens[index] for index in span)
        return self.explore.first.texts[first.segment][first.start : last.end]

    def scored_candidates(self, side: int = 0) -> tuple[Candidate, ...]:
        answer = self.score_queries[side].get_answer(CandidatesScored)
        return answer.candidates if answer is not None else ()

    # ── user actions ─────────────────────────────────────────────────────────────────────────

    def score_words(self, words: tuple[str, ...]) -> None:
        """Score these words at the masked span, each once."""
        unique = tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
        if unique[:MAX_USER_WORDS] != self.user_words:
            self.user_words = unique[:MAX_USER_WORDS]
            self.score_queries.invalidate()

    def search(self) -> None:
        self._search_requested = True
        self.search_queries.invalidate()

    def set_automatic_search(self, enabled: bool) -> None:
        self.searches_automatically = enabled
        self.search_queries.invalidate()

    # ── questions ────────────────────────────────────────────────────────────────────────────

    def _make_queries(self, make: Callable[[ModelInput], Question | None]) -> QueryPair:
        queries = QueryPair(self.explore, self._explorer, make)
        queries.changed.connect(self.changed)
        return queries

    def _on_picked(self) -> None:
        if self.explore.is_settled:
            self._search_requested = False
            for queries in (self.score_queries, self.search_queries, self.lens_queries):
                queries.invalidate()

    def _on_settled(self) -> None:
        self._search_requested = False

    def _fill_question(self, side: ModelInput) -> FillMask | None:
        if not can_predict(side) or not side.all_masked:
            return None
        return side.question(
            FillMask, top=TOP_K, requested=self._other_labels(side), exact=self.explore.is_exact
        )

    def _other_labels(self, side: ModelInput) -> tuple[str, ...]:
        """Labels that the other model predicts; their probabilities are requested from this one."""
        if not self.explore.is_compared:
            return ()
        other = 1 - side.index
        answer = self.mask_queries[other].answer
        if not isinstance(answer, MaskFilled) or answer.tokens != self.explore.both[other].tokens:
            return ()
        labels = [
            item.label for p in self.positions(other) for item in (*p.predictions, p.actual) if item
        ]
        return tuple(dict.fromkeys(labels))

    def _on_filled(self, index: int) -> None:
        """Ask the other model for the probabilities of this model's predictions."""
        if self.explore.is_compared and isinstance(self.mask_queries[index].answer, MaskFilled):
            self.mask_queries[1 - index].invalidate()

    def _score_question(self, side: ModelInput) -> ScoreCandidates | None:
        span, words = self.masked_span(side.index), self.user_words
        if not can_predict(side) or span is None or not words:
            return None
        return side.question(ScoreCandidates, first=span[0], last=span[1], candidates=words)

    def _search_question(self, side: ModelInput) -> FindCandidates | None:
        is_requested = self.searches_automatically or self._search_requested
        span = self.masked_span(side.index)
        if not is_requested or not can_predict(side) or span is None:
            return None
        return side.question(FindCandidates, first=span[0], last=span[1])

    def _lens_question(self, side: ModelInput) -> ApplyLens | None:
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

    def _nsp_question(self, side: ModelInput) -> PredictNextSentence | None:
        has_pair = side.pair is not None and side.pair.strip()
        if not has_pair or not side.has_head("nsp"):
            return None
        return side.question(PredictNextSentence)


def same_token(side: ModelInput, token: Token) -> int:
    """The token of `side` with exactly the characters of another model's token, or -1."""
    index = side.counterpart(token)
    if index < 0:
        return -1
    match = side.tokens[index]
    return index if (match.start, match.end) == (token.start, token.end) else -1


def can_predict(side: ModelInput) -> bool:
    """True if a model has an MLM head, or is not loaded yet."""
    return side.model is None or side.model.info is None or side.has_head("mlm")


class Scoring(PartsQuery[ScoreTokens, TokensScored]):
    """Token scores of one side as they arrive; paused until `resume`."""

    def __init__(self, explore: ExploreState, explorer: Explorer, side: int) -> None:
        super().__init__(explore, explorer, score_tokens_question, side)
        self.is_automatic = False
        self.is_paused = True

    @property
    def is_current(self) -> bool:
        """True if the parts belong to the current text and model."""
        return self.question == score_tokens_question(self.side)

    @property
    def is_complete(self) -> bool:
        return self.is_current and super().is_complete

    @property
    def last_part(self) -> TokensScored | None:
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
        """(Pseudo-)perplexity of the known scores; NaN without scores."""
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
        if not self.is_current:  # a new text is not scored until requested
            self.is_paused = not self.is_automatic
        return super()._next_question(side)


def score_tokens_question(side: ModelInput) -> ScoreTokens | None:
    """A question about the current text; None without an MLM head."""
    if side.checkpoint is None or not side.has_head("mlm"):
        return None
    return ScoreTokens(checkpoint=side.checkpoint, text=side.text, pair=side.pair, **side.ablation)

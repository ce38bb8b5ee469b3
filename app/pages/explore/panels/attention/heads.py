"""Statistics of every head in this text, and its value for the selected pair.

The sorting column tints the head grid. Shapes: L layers, H heads, C columns.
"""

import re
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.explore.head_columns import MEASURES
from app.pages.explore.panels.attention.description import value_name
from app.pages.explore.panels.attention.maps import read_through
from app.pages.explore.panels.attention.state import AttentionState
from app.translation import in_language
from app.widgets.text.chips import token_text
from app.widgets.text.numbers import percent
from engine.messages.explore.head_measures import KEYS, HeadFigures, head_figures, pair_values

PAIR = "pair"  # column of the selected pair
PAIRS = "pairs"  # column of the sum of typed pairs
ARROW = re.compile(r"→|->|>")
DIGITS = 3
HEAD, PATTERN, FIRST = 0, 1, 2  # table columns
Pair = tuple[tuple[int, ...], tuple[int, ...]]  # query tokens and key tokens


class HeadsState(QObject):
    """Head statistics of the shown maps, as far as they are computed.

    Signals:
        changed: the statistics, or the selected pair; only while visible.
        column_changed: the sorting column.
    """

    changed = Signal()
    column_changed = Signal()

    def __init__(self, of: AttentionState) -> None:
        super().__init__(of)
        self.of = of
        self.figures: HeadFigures | None = None
        self.column = KEYS[0]
        self.typed = ""  # pairs, e.g. “it → cat, sat → cat”
        self._is_seen = False
        self._work: background.Job | None = None
        of.maps.replaced.connect(self._on_replaced)
        of.maps.forgotten.connect(self._on_replaced)
        of.maps.grown.connect(lambda _: self._compute())
        of.explore.picked_changed.connect(self._emit_if_seen)
        of.explore.target_changed.connect(self._emit_if_seen)

    @property
    def pair(self) -> tuple[int, int] | None:
        """Selected query and key token."""
        query, key = self.of.pair_numbers
        count = len(self.of.maps.tokens)
        return (query, key) if 0 <= query < count and 0 <= key < count else None

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of values. Norms do not sum to 1 and have no statistics, only the pair."""
        pair = (PAIR,) if self.pair is not None else ()
        typed = (PAIRS,) if self.pairs()[0] else ()
        return typed + pair + (() if self.of.maps.shown_measure == "norms" else KEYS)

    @property
    def size(self) -> tuple[int, int]:
        """Computed layers, and heads."""
        weights = self.of.maps.weights
        if weights is None:
            return 0, 0
        if self.of.maps.shown_measure == "norms":
            return weights.shape[0], weights.shape[1]
        return (0, 0) if self.figures is None else self.figures.values.shape[:2]

    def values(self, key: str) -> np.ndarray | None:
        """A column, float64 [L, H]; None if it is missing."""
        layers, weights = self.size[0], self.of.maps.weights
        if weights is None or not layers or key not in self.keys:
            return None
        if key == PAIR:
            assert self.pair is not None
            query, key_token = self.pair
            return read_through(lambda read: pair_values(read, query, key_token), weights[:layers])
        if key == PAIRS:
            pairs = self.pairs()[0]
            return read_through(lambda read: pairs_values(read, pairs), weights[:layers])
        return self.figures.of(key) if self.figures is not None else None

    def pattern(self, layer: int, head: int) -> str:
        """Name of a positional head's pattern, with its fraction of the tokens; else “”."""
        figures = self.figures
        if figures is None or self.of.maps.shown_measure == "norms":
            return ""
        if not figures.positional[layer, head]:
            return ""
        share = percent(figures.of("offset_share")[layer, head], 0)
        offset = int(figures.offsets[layer, head])
        names = {
            -1: self.tr("previous token ({0})"),
            0: self.tr("itself ({0})"),
            1: self.tr("next token ({0})"),
        }
        if offset in names:
            return names[offset].format(share)
        sign = "+" if offset > 0 else "−"
        return self.tr("offset {1} ({0})").format(share, f"{sign}{abs(offset)}")

    def set_pairs(self, typed: str) -> None:
        """Set the pairs of words or token numbers to add up."""
        if typed != self.typed:
            self.typed = typed
            self.changed.emit()

    def pairs(self) -> tuple[list[Pair], list[str]]:
        """Tokens of both ends of each typed pair, and the ends that are not in the text."""
        found: list[Pair] = []
        missing: list[str] = []
        for part in filter(None, (one.strip() for one in self.typed.split(","))):
            ends = [end.strip() for end in ARROW.split(part)]
            if len(ends) != 2:
                missing.append(part)
                continue
            query, key = (self._tokens_of(end) for end in ends)
            missing += [end for end, there in zip(ends, (query, key), strict=True) if not there]
            if query and key:
                found.append((query, key))
        return found, missing

    def _tokens_of(self, end: str) -> tuple[int, ...]:
        """Tokens of the first such word, or the token of this name or number."""
        side, tokens = self.of.maps.side, self.of.maps.tokens
        if not end or tuple(side.tokens) != tuple(tokens):
            return ()
        for number, token in enumerate(tokens):
            word = () if token.special else side.word_tokens(number)
            if word:
                first, last = tokens[word[0]], tokens[word[-1]]
                typed = side.texts[token.segment][first.start : last.end]
                if typed.casefold() == end.casefold():
                    return tuple(word)
        for number, token in enumerate(tokens):
            if token.text.casefold() == end.casefold():
                return (number,)
        is_number = end.isdecimal() and 0 < int(end) <= len(tokens)
        return (int(end) - 1,) if is_number else ()

    def name(self, key: str) -> str:
        if key == PAIRS:
            return self.tr("Typed pairs")
        if key != PAIR:
            return in_language(MEASURES[KEYS.index(key)].name)
        query, key_token = self._pair_names()
        return f"{query} → {key_token}"

    def meaning(self, key: str) -> str:
        if key == PAIRS:
            text = self.tr(
                "{0} of the pairs {1}, added up; to a word of several tokens the sum, from one "
                "the mean"
            )
            return text.format(value_name(self.of), self._said_pairs())
        if key != PAIR:
            return in_language(MEASURES[KEYS.index(key)].meaning)
        text = self.tr("{0} of the selected pair: from “{1}” to “{2}”")
        return text.format(value_name(self.of), *self._pair_names())

    def set_seen(self, seen: bool) -> None:
        """Set if the table is visible; computes the statistics."""
        if seen != self._is_seen:
            self._is_seen = seen
            self._emit_if_seen()
            self._compute()
            self.column_changed.emit()

    def _emit_if_seen(self) -> None:
        if self._is_seen:
            self.changed.emit()

    @property
    def is_seen(self) -> bool:
        return self._is_seen

    def sort_by(self, key: str) -> None:
        if key != self.column:
            self.column = key
            self.column_changed.emit()

    def _said_pairs(self) -> str:
        """Typed pairs as “it → cat, sat → cat”."""
        side = self.of.maps.side
        said = []
        for ends in self.pairs()[0]:
            names = ("".join(token_text(side.model_token(n)) for n in end) for end in ends)
            said.append(" → ".join(names))
        return ", ".join(said)

    def _pair_names(self) -> tuple[str, str]:
        side = self.of.maps.side
        ends = self.pair or (0, 0)
        query, key = (token_text(side.model_token(n)) if n < len(side.tokens) else "" for n in ends)
        return query, key

    def _on_replaced(self) -> None:
        self.figures = None
        if self._work is not None:
            self._work.cancel()
            self._work = None
        self._emit_if_seen()
        self._compute()

    def _compute(self) -> None:
        """Compute new layers in the background."""
        maps = self.of.maps
        weights, done = maps.weights, 0 if self.figures is None else len(self.figures.values)
        is_due = self._is_seen and self._work is None and maps.shown_measure != "norms"
        if not is_due or weights is None or done >= len(weights):
            return
        tokens, model = maps.tokens, maps.side.model
        causal = bool(model and model.info and model.info.causal)
        more = weights[done:]
        self._work = background.run(
            self,
            lambda: read_through(lambda layers: head_figures(layers, tokens, causal), more),
            self._on_figures,
        )

    def _on_figures(self, more: HeadFigures) -> None:
        self._work, before = None, self.figures
        if before is not None:
            more = HeadFigures(
                np.concatenate((before.values, more.values)),
                np.concatenate((before.offsets, more.offsets)),
                more.queries,
            )
        self.figures = more
        self.changed.emit()
        self._compute()


def pairs_values(weights: np.ndarray, pairs: Sequence[Pair]) -> np.ndarray:
    """Sum of typed pairs for every head, float64 [L, H], from float [L, H, T, T].

    A pair is the mean over its query tokens of the sum over its key tokens (Clark et al. 2019,
    section 4.1).
    """
    found = np.zeros(weights.shape[:2])
    for queries, keys in pairs:
        block = np.asarray(weights[:, :, list(queries)][..., list(keys)], dtype=np.float64)
        found += block.sum(-1).mean(-1)
    return found

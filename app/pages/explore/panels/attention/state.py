"""State of the Attention panel: maps of the chosen heads, filters, selection, descriptions.

Shapes: T tokens of the text, S shown tokens.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import QueryPair
from app.pages.explore.model_input import ModelInput
from app.pages.explore.panels.attention.links import NO_LINKS, Links, StrongestLinks
from app.pages.explore.panels.attention.maps import AttentionMaps
from app.pages.explore.state import ExploreState
from app.translation import marked, tr
from app.widgets.text.chips import token_text
from app.widgets.text.numbers import decimal
from engine.messages.explore.attention import Measure, QueryKeyShown, ShowQueryKey
from engine.messages.explore.text import Token

MAX_HEADS = 8  # drawn at once; more colours are hard to distinguish
MAX_NAMED = 5  # links or tokens named in a sentence

Head = tuple[int, int]  # layer and head, from 0
Block = tuple[int, int]  # segment of the query tokens and of the key tokens


@dataclass(frozen=True)
class MeasureTexts:
    """Name of a measure, name of one value, and help topic."""

    measure: Measure
    name: str
    value: str
    help: str


MEASURES: tuple[MeasureTexts, ...] = (
    MeasureTexts("weights", marked("Attention weights"), marked("Attention weight"), "attention"),
    MeasureTexts("norms", marked("Value-weighted norms"), marked("Value-weighted norm"), "norms"),
    MeasureTexts("head_average", marked("Head average"), marked("Mean attention"), "attention"),
    MeasureTexts("rollout", marked("Attention rollout"), marked("Rollout"), "attention-rollout"),
)


class Link(NamedTuple):
    """A link of one of the chosen heads."""

    head: int  # index among the chosen heads
    query: int  # index among the shown tokens
    key: int  # index among the shown tokens
    value: float


class HeadSelection(QObject):
    """One head or several; the last is the current one.

    Signals:
        changed: the heads.
    """

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.heads: tuple[Head, ...] = ((0, 0),)
        self._size = (0, 0)
        self._former_heads: tuple[Head, ...] = ()  # to restore after maps of whole layers

    @property
    def current(self) -> Head:
        return self.heads[-1]

    def fit(self, size: tuple[int, int]) -> None:
        """Limit the selection to these layers and heads, without a signal.

        Maps of whole layers have one head. Maps of single heads restore the former heads of the
        same layers.
        """
        layers, heads = size
        if not (layers and heads):
            return
        old_size, self._size = self._size, size
        if heads == 1 < old_size[1]:
            self._former_heads = self.heads
        elif old_size[1] == 1 < heads and self._former_heads:
            self.heads = self._restore_heads()
        clamped = [(min(a, layers - 1), min(b, heads - 1)) for a, b in self.heads]
        self.heads = tuple(dict.fromkeys(clamped))

    def _restore_heads(self) -> tuple[Head, ...]:
        """Return the former heads of the chosen layers; of a new layer, its first head."""
        layers = {layer for layer, _ in self.heads}
        former = [head for head in self._former_heads if head[0] in layers]
        new = [(layer, 0) for layer, _ in self.heads if layer not in {a for a, _ in former}]
        return tuple(new + former)

    def pick(self, layer: int, head: int) -> None:
        self._choose(layer, head, ((layer, head),))

    def toggle(self, layer: int, head: int) -> None:
        """Add this head as the current one, or remove it unless it is the last."""
        heads = tuple(other for other in self.heads if other != (layer, head))
        if len(heads) == len(self.heads):
            heads = (*heads, (layer, head))[-MAX_HEADS:]
        self._choose(layer, head, heads or self.heads)

    def _choose(self, layer: int, head: int, heads: tuple[Head, ...]) -> None:
        exists = 0 <= layer < self._size[0] and 0 <= head < self._size[1]
        if exists and heads != self.heads:
            self.heads = heads
            self.changed.emit()


class AttentionState(QObject):
    """Choosing a head reads its map from the file, without asking the worker.

    Signals:
        head_changed: map, tokens or filters of the current head.
        links_changed: the links to draw, shortly after the map.
        hovered_changed: query and key token under the mouse.
        pair_changed: query and key of the selected pair.
    """

    head_changed = Signal()
    links_changed = Signal()
    hovered_changed = Signal()
    pair_changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer) -> None:
        super().__init__(explore)
        self.explore = explore
        self.maps = AttentionMaps(explore, explorer)
        self.selection = HeadSelection(self)
        self.strongest_links = StrongestLinks(self)
        self.excludes_special = True  # special tokens get most of the attention but say little
        self.block: Block | None = None  # the only block shown
        self.shown_maps: tuple[np.ndarray, ...] = ()  # [S, S] per head, queries over keys
        self.tokens: tuple[Token, ...] = ()  # S of them
        self.indices = np.zeros(0, int)  # [S], indices of the shown tokens among the T
        self.masked: tuple[int, ...] = ()  # rows that the model read as a mask
        self.names: tuple[str, ...] = ()  # S names, as the model reads them
        self.hidden_mass = 0.0  # fraction of the head's attention that is not shown
        self.hovered = (-1, -1)  # row and column of the map, -1 for none
        self._is_pair_active = False
        self._pairs = QueryPair(explore, explorer, self._pair_question)
        self._pairs.changed.connect(self.pair_changed)
        self.maps.replaced.connect(self._on_replaced)
        self.maps.grown.connect(self._on_grown)
        self.selection.changed.connect(self._on_selection)
        self.strongest_links.changed.connect(self.links_changed)
        explore.picked_changed.connect(self._on_picked)
        explore.target_changed.connect(self._on_picked)
        explore.hovered_changed.connect(self._on_explore_hovered)
        explore.head_changed.connect(self._on_explore_head)
        explore.sides_changed.connect(self._on_sides)

    # ── state ────────────────────────────────────────────────────────────────────────

    @property
    def heads(self) -> tuple[Head, ...]:
        return self.selection.heads

    @property
    def layer(self) -> int:
        return self.selection.current[0]

    @property
    def head(self) -> int:
        return self.selection.current[1]

    @property
    def map(self) -> np.ndarray:
        """Map of the current head, float32 [S, S]; query tokens over key tokens."""
        return self.shown_maps[-1] if self.shown_maps else np.zeros((0, 0), np.float32)

    @property
    def drawn(self) -> tuple[Links, ...]:
        return self.strongest_links.drawn

    @property
    def links(self) -> Links:
        return self.drawn[-1] if self.drawn else NO_LINKS

    def link_rows(self) -> list[Link]:
        """Links of all chosen heads, strongest first, as the table and exports list them."""
        rows = [
            Link(head, *link)
            for head, links in enumerate(self.drawn)
            for link in zip(*(array.tolist() for array in links[:3]), strict=True)
        ]
        return sorted(rows, key=lambda link: -link.value)

    @property
    def is_current_computed(self) -> bool:
        """True if the current head's layer is computed."""
        return self.layer < self.maps.computed_layers

    @property
    def picked(self) -> int:
        """Row of the selected token; -1 if it is not shown."""
        return self._row(self._to_shown_side(self.explore.picked))

    @property
    def target(self) -> int:
        """Column of the target token; -1 if it is not shown."""
        return self._row(self._to_shown_side(self.explore.target))

    @property
    def query_key(self) -> QueryKeyShown | None:
        return self._pairs[self.maps.shows_second].get_answer(QueryKeyShown)

    @property
    def pair_tokens(self) -> tuple[int, int]:
        """Selected query and key token of the shown side; -1 for none."""
        return self._to_shown_side(self.explore.picked), self._to_shown_side(self.explore.target)

    @property
    def texts(self) -> MeasureTexts:
        return next(entry for entry in MEASURES if entry.measure == self.maps.shown_measure)

    @property
    def head_names(self) -> tuple[str, ...]:
        return tuple(self.head_name(*head) for head in self.heads)

    def head_name(self, layer: int, head: int) -> str:
        """Name of a head, or of a layer if the values are of whole layers."""
        text = tr("layer {0}, head {1}") if self.maps.has_heads else tr("layer {0}")
        return text.format(layer + 1, head + 1)

    # ── user actions ───────────────────────────────────────────────────────────────────

    def set_active(self, active: bool) -> None:
        self.maps.set_active(active)
        self.set_pair_active(self._is_pair_active)

    def set_pair_active(self, active: bool) -> None:
        """Set if the query and key of the selected pair are visible."""
        self._is_pair_active = active
        self._pairs.set_active(active and self.maps.is_active, self.maps.side.index)

    def show_side(self, second: bool) -> None:
        self.maps.show_side(second)
        self.set_pair_active(self._is_pair_active)

    def switch_head(self, layer: int, head: int) -> None:
        """Switch a head of the first model off, or on again."""
        if self.maps.has_heads:
            self.explore.switch_head(layer, head)

    def exclude_special(self, exclude: bool) -> None:
        """Leave out special tokens; other weights are not rescaled."""
        if exclude != self.excludes_special:
            self.excludes_special = exclude
            self._show()

    def show_block(self, block: Block | None) -> None:
        """Show only links from one text to another, or all."""
        if block != self.block:
            self.block = block
            self._show()

    def hover(self, row: int, column: int) -> None:
        if (row, column) != self.hovered:
            self.hovered = (row, column)
            self.hovered_changed.emit()

    def pick(self, row: int, column: int) -> None:
        """Select the token of a row and the target token of a column; -1 leaves it unchanged."""
        if 0 <= row < len(self.indices):
            self.explore.pick(self._to_first_side(int(self.indices[row])))
        if 0 <= column < len(self.indices):
            self.explore.pick_target(self._to_first_side(int(self.indices[column])))

    # ── maps ───────────────────────────────────────────────────────────

    def _on_replaced(self) -> None:
        if self.maps.weights is None:
            self._clear()
            return
        self.selection.fit(self.maps.size)
        if self.block is not None and not any(token.segment for token in self.maps.tokens):
            self.block = None
        self._show()

    def _on_grown(self, before: int) -> None:
        """Redraw a new current layer; norms always, as their largest value may grow."""
        if self.layer >= before or self.maps.shown_measure == "norms":
            self._show()

    def _on_selection(self) -> None:
        self._show()
        self.explore.pick_head(self.layer, self.head if self.maps.has_heads else self.explore.head)
        self._pairs.invalidate()

    def _clear(self) -> None:
        self.tokens, self.indices, self.shown_maps = (), np.zeros(0, int), ()
        self.masked, self.names = (), ()
        self.hovered = (-1, -1)
        self.strongest_links.clear()
        self.head_changed.emit()
        self.links_changed.emit()

    def _show(self) -> None:
        """Read the chosen heads from the file, without excluded tokens."""
        weights = self.maps.weights
        if weights is None:
            return
        special = np.array([token.special for token in self.maps.tokens])
        exclude = self.excludes_special and not special.all()
        self.indices = np.flatnonzero(~special) if exclude else np.arange(len(special))
        tokens = tuple(self.maps.tokens[n] for n in self.indices)
        masks = np.isin(self.indices, self.maps.side.all_masked)
        masked = tuple(np.flatnonzero(masks).tolist())
        if tokens != self.tokens or masked != self.masked:
            self.tokens, self.masked = tokens, masked
            mask = self.maps.side.mask
            self.names = tuple(
                token_text(mask if is_masked else token.text)
                for is_masked, token in zip(masks, tokens, strict=True)
            )
        self.shown_maps = tuple(self._read(weights, layer, head) for layer, head in self.heads)
        self.hidden_mass = 0.0
        if self.is_current_computed:
            total = float(np.sum(weights[self.layer, self.head], dtype=np.float64))
            self.hidden_mass = 1 - float(np.sum(self.map, dtype=np.float64)) / max(total, 1e-9)
        self.strongest_links.clear()
        self.strongest_links.fit(len(self.tokens))
        self.hovered = (-1, -1)
        self.head_changed.emit()
        self.strongest_links.set_maps(self.shown_maps)

    def _read(self, weights: np.ndarray, layer: int, head: int) -> np.ndarray:
        """Shown part of a head, float32 [S, S]; 0 outside the block or if not computed."""
        if layer >= len(weights):
            return np.zeros((len(self.indices), len(self.indices)), np.float32)
        part = np.array(weights[layer, head])  # [T, T]
        if len(self.indices) < len(part):
            part = part[np.ix_(self.indices, self.indices)]
        if self.block is not None:
            segment = np.array([token.segment for token in self.tokens])
            row, column = self.block
            part[(segment != row)[:, None] | (segment != column)[None, :]] = 0
        return part

    # ── selection of the page ──────────────────────────────────────────────────────────────────

    def _on_picked(self) -> None:
        self.hovered_changed.emit()
        self._pairs.invalidate()

    def _on_explore_hovered(self, index: int) -> None:
        """Highlight the row of the token under the mouse in the strip."""
        self.hover(self._row(self._to_shown_side(index)), -1)

    def _on_explore_head(self, layer: int, head: int) -> None:
        """Follow a head selected in another panel."""
        if self.maps.has_heads and (layer, head) != self.selection.current:
            layers, heads = self.maps.size
            self.selection.pick(min(layer, layers - 1), min(head, heads - 1))

    def _on_sides(self) -> None:
        if self.maps.shows_second and not self.explore.is_compared:
            self.show_side(False)

    def _pair_question(self, side: ModelInput) -> ShowQueryKey | None:
        row, column = self.pair_tokens
        if not self.maps.has_heads or row < 0 or column < 0:
            return None
        return side.question(
            ShowQueryKey, layer=self.layer, head=self.head, query_token=row, key_token=column
        )

    def _to_shown_side(self, index: int) -> int:
        """Index of the shown side's token that matches one of the first side, or -1."""
        if not self.maps.shows_second or not 0 <= index < len(self.explore.first.tokens):
            return index
        return self.maps.side.counterpart(self.explore.first.tokens[index])

    def _to_first_side(self, index: int) -> int:
        """Index of the first side's token that matches one of the shown side, or -1."""
        if not self.maps.shows_second:
            return index
        return self.explore.first.counterpart(self.maps.side.tokens[index])

    def _row(self, index: int) -> int:
        """Row of a token of the text, or -1."""
        rows = np.flatnonzero(self.indices == index)
        return int(rows[0]) if len(rows) else -1


# ── descriptions ─────────────────────────────────────────────────────────────────────────────────


def describe_head(state: AttentionState) -> str:
    if state.maps.weights is None:
        return tr("No attention yet.")
    strongest = list(zip(*state.links[:3], strict=True))[:MAX_NAMED]
    links = ", ".join(
        tr("“{0}” to “{1}” {2}").format(state.names[row], state.names[column], f"{weight:.2f}")
        for row, column, weight in strongest
    )
    if not state.maps.has_heads:
        return tr("Layer {0}. Strongest links: {1}.").format(state.layer + 1, links)
    text = tr("Layer {0}, head {1}. Strongest links: {2}.")
    return text.format(state.layer + 1, state.head + 1, links)


def describe_hovered(state: AttentionState) -> str:
    """Describe the token or pair under the mouse; “” if none.

    With several chosen heads, the current one is named.
    """
    text = _hovered_text(state)
    return f"{state.head_names[-1]}: {text}" if text and len(state.heads) > 1 else text


def _hovered_text(state: AttentionState) -> str:
    (row, column), names = state.hovered, state.names
    if row >= 0 and column >= 0:
        ends = names[row], names[column]
        if state.block not in (None, (state.tokens[row].segment, state.tokens[column].segment)):
            return tr("From “{0}” to “{1}”: not in the selected texts").format(*ends)
        return tr("From “{0}” to “{1}”: {2}").format(*ends, decimal(float(state.map[row, column])))
    if row < 0 and column < 0:
        row = state.picked
    if row >= 0:
        return tr("“{0}” attends to {1}").format(names[row], _top_names(state, state.map[row]))
    if column >= 0:
        text = tr("“{0}” is attended to by {1}")
        return text.format(names[column], _top_names(state, state.map[:, column]))
    return ""


def _top_names(state: AttentionState, weights: np.ndarray) -> str:
    best = np.argsort(-weights, kind="stable")[:MAX_NAMED]
    return ", ".join(f"“{state.names[n]}” {weights[n]:.2f}" for n in best)

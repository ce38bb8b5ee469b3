"""State of the Attention panel: chosen heads without excluded tokens, and the selection."""

import numpy as np
from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import QueryPair
from app.pages.explore.model_input import ModelInput
from app.pages.explore.panels.attention.links import NO_LINKS, Links, StrongestLinks
from app.pages.explore.panels.attention.maps import AttentionMaps
from app.pages.explore.state import ExploreState
from app.translation import tr
from app.widgets.text.chips import token_text
from engine.messages.explore.attention import QueryKeyShown, ShowQueryKey
from engine.messages.explore.text import Token

MAX_HEADS = 8  # drawn at once; more colours are hard to distinguish

Head = tuple[int, int]  # layer and head, from 0


class HeadSelection(QObject):
    """One head or several; the last is the current one.

    Signals:
        changed: the heads.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.heads: tuple[Head, ...] = ((0, 0),)
        self._size = (0, 0)
        self._by_head: tuple[Head, ...] = ()  # chosen heads, while maps are of whole layers

    @property
    def current(self) -> Head:
        return self.heads[-1]

    def fit(self, size: tuple[int, int]) -> None:
        """Limit the selection to these layers and heads, without a signal.

        Maps of whole layers have one head. With maps of single heads the former heads of the same
        layers come back.
        """
        layers, heads = size
        if not (layers and heads):
            return
        had, self._size = self._size, size
        if heads == 1 < had[1]:
            self._by_head = self.heads
        elif had[1] == 1 < heads and self._by_head:
            self.heads = self._restored()
        fitting = [(min(a, layers - 1), min(b, heads - 1)) for a, b in self.heads]
        self.heads = tuple(dict.fromkeys(fitting))

    def _restored(self) -> tuple[Head, ...]:
        """The former heads of the chosen layers; of another layer its first head."""
        layers = {layer for layer, _ in self.heads}
        kept = [one for one in self._by_head if one[0] in layers]
        new = [(layer, 0) for layer, _ in self.heads if layer not in {a for a, _ in kept}]
        return tuple(new + kept)

    def pick(self, layer: int, head: int) -> None:
        """Select this head alone."""
        if self._exists(layer, head) and self.heads != ((layer, head),):
            self._choose(((layer, head),))

    def toggle(self, layer: int, head: int) -> None:
        """Add this head as the current one, or remove it unless it is the last."""
        one = layer, head
        if not self._exists(layer, head):
            return
        if one not in self.heads:
            self._choose((*self.heads, one)[-MAX_HEADS:])
        elif len(self.heads) > 1:
            self._choose(tuple(other for other in self.heads if other != one))

    def _exists(self, layer: int, head: int) -> bool:
        return 0 <= layer < self._size[0] and 0 <= head < self._size[1]

    def _choose(self, heads: tuple[Head, ...]) -> None:
        self.heads = heads
        self.changed.emit()


Block = tuple[int, int]  # segment of the query tokens and of the key tokens


class AttentionState(QObject):
    """Choosing another head reads another slice of the file, without asking the worker.

    Signals:
        head_changed: map, tokens or filters of the current head.
        links_changed: the links to draw, shortly after the map.
        pointed_changed: query and key token under the mouse.
        pair_changed: query and key of the selected pair.
    """

    head_changed = Signal()
    links_changed = Signal()
    pointed_changed = Signal()
    pair_changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer) -> None:
        super().__init__(explore)
        self.explore = explore
        self.maps = AttentionMaps(explore, explorer)
        self.selection = HeadSelection(self)
        self.strongest = StrongestLinks(self)
        self.excludes_special = True  # special tokens get most of the attention but say little
        self.block: Block | None = None  # the only block shown
        self.shown: tuple[np.ndarray, ...] = ()  # [S, S] of each chosen head, queries over keys
        self.tokens: tuple[Token, ...] = ()  # S of them
        self.masked: tuple[int, ...] = ()  # rows that the model read as a mask
        self.names: tuple[str, ...] = ()  # S names, as the model reads them
        self.hidden_mass = 0.0  # fraction of the head's attention that is not shown
        self.pointed = (-1, -1)  # row and column of the map, -1 for none
        self._kept = np.zeros(0, int)  # [S], indices among the T
        self._is_seen = False
        self._sees_pair = False
        self._pairs = QueryPair(explore, explorer, self._pair_question)
        self._pairs.changed.connect(self.pair_changed)
        self.maps.replaced.connect(self._on_replaced)
        self.maps.grown.connect(self._on_grown)
        self.maps.forgotten.connect(self._forget)
        self.selection.changed.connect(self._on_selection)
        self.strongest.changed.connect(self.links_changed)
        explore.picked_changed.connect(lambda _: self._on_picked())
        explore.target_changed.connect(lambda _: self._on_picked())
        explore.pointed_changed.connect(self._on_explore_pointed)
        explore.head_changed.connect(self._on_explore_head)
        explore.sides_changed.connect(self._on_sides)

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    @property
    def heads(self) -> tuple[Head, ...]:
        """Chosen heads; the last is the current one."""
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
        return self.shown[-1] if self.shown else np.zeros((0, 0), np.float32)

    @property
    def drawn(self) -> tuple[Links, ...]:
        """Links of all chosen heads."""
        return self.strongest.drawn

    @property
    def links(self) -> Links:
        """Links of the current head."""
        return self.drawn[-1] if self.drawn else NO_LINKS

    @property
    def is_current_there(self) -> bool:
        """True if the current head's layer is computed."""
        return self.layer < self.maps.layers_there

    @property
    def picked(self) -> int:
        """Row of the selected token; -1 if it is not shown."""
        return self._place(self._own(self.explore.picked))

    @property
    def target(self) -> int:
        """Column of the target token; -1 if it is not shown."""
        return self._place(self._own(self.explore.target))

    @property
    def numbers(self) -> np.ndarray:
        """Indices of the shown tokens in the text, int [S]."""
        return self._kept

    @property
    def special_names(self) -> tuple[str, ...]:
        """Names of the special tokens, e.g. [CLS] and [SEP], or <s> and </s>."""
        return tuple(dict.fromkeys(token.text for token in self.maps.tokens if token.special))

    @property
    def query_key(self) -> QueryKeyShown | None:
        answer = self._pairs[self.maps.shows_second].answer
        return answer if isinstance(answer, QueryKeyShown) else None

    @property
    def pair_numbers(self) -> tuple[int, int]:
        """Selected query and key token of the shown side; -1 for none."""
        return self._own(self.explore.picked), self._own(self.explore.target)

    def in_block(self, row: int, column: int) -> bool:
        """True if a cell of the map is in the shown block."""
        ends = self.tokens[row].segment, self.tokens[column].segment
        return self.block is None or ends == self.block

    def name(self, row: int) -> str:
        return self.names[row]

    @property
    def head_names(self) -> tuple[str, ...]:
        """Names of the chosen heads, in the order of `heads`."""
        return tuple(self.head_name(*one) for one in self.heads)

    def head_name(self, layer: int, head: int) -> str:
        """Name of a head, or of a layer if the values are of whole layers."""
        text = tr("layer {0}, head {1}") if self.maps.has_heads else tr("layer {0}")
        return text.format(layer + 1, head + 1)

    # ── what the user does ───────────────────────────────────────────────────────────────────

    def set_seen(self, seen: bool) -> None:
        """Set if the panel is visible."""
        self._is_seen = seen
        self.maps.set_seen(seen)
        self.see_pair(self._sees_pair)

    def see_pair(self, seen: bool) -> None:
        """Set if the query and key of the selected pair are visible."""
        self._sees_pair = seen
        self._pairs.set_seen(seen and self._is_seen, self.maps.side.index)

    def show_side(self, second: bool) -> None:
        """Show the first or the second model."""
        self.maps.show_side(second)
        self.see_pair(self._sees_pair)

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

    def point(self, row: int, column: int) -> None:
        if (row, column) != self.pointed:
            self.pointed = (row, column)
            self.pointed_changed.emit()

    def pick_token(self, row: int) -> None:
        """Select a token by its row."""
        if 0 <= row < len(self._kept):
            self.explore.pick(self._first(int(self._kept[row])))

    def pick_target(self, column: int) -> None:
        """Select the target token by its column."""
        if 0 <= column < len(self._kept):
            self.explore.pick_target(self._first(int(self._kept[column])))

    # ── from maps to what is shown ───────────────────────────────────────────────────────────

    def _on_replaced(self) -> None:
        self.selection.fit(self.maps.size)
        if self.block is not None and not any(token.segment for token in self.maps.tokens):
            self.block = None
        self._show()

    def _on_grown(self, before: int) -> None:
        """Norms are shown again for every layer, as their largest value may grow."""
        if self.layer >= before or self.maps.shown_measure == "norms":
            self._show()

    def _on_selection(self) -> None:
        self._show()
        self.explore.pick_head(self.layer, self.head if self.maps.has_heads else self.explore.head)
        self._pairs.invalidate()

    def _forget(self) -> None:
        self.tokens, self._kept, self.shown = (), np.zeros(0, int), ()
        self.masked, self.names = (), ()
        self.pointed = (-1, -1)
        self.selection.fit((0, 0))
        self.strongest.forget()
        self.head_changed.emit()
        self.links_changed.emit()

    def _show(self) -> None:
        """Read the chosen heads from the file, without excluded tokens."""
        weights = self.maps.weights
        if weights is None:
            return
        special = np.array([token.special for token in self.maps.tokens])
        exclude = self.excludes_special and not special.all()
        self._kept = np.flatnonzero(~special) if exclude else np.arange(len(special))
        tokens = tuple(self.maps.tokens[n] for n in self._kept)
        masked = self._masked()
        if tokens != self.tokens or masked != self.masked:
            self.tokens, self.masked = tokens, masked
            mask, hidden = self.maps.side.mask, set(masked)
            self.names = tuple(
                token_text(mask if row in hidden else token.text)
                for row, token in enumerate(tokens)
            )
        self.shown = tuple(self._cut(weights, layer, head) for layer, head in self.heads)
        self.hidden_mass = 0.0
        if self.is_current_there:
            whole = float(np.sum(weights[self.layer, self.head], dtype=np.float64))
            self.hidden_mass = 1 - float(np.sum(self.map, dtype=np.float64)) / max(whole, 1e-9)
        self.strongest.forget()
        self.strongest.fit(len(self.tokens))
        self.pointed = (-1, -1)
        self.head_changed.emit()
        self.strongest.of(self.shown)

    def _cut(self, weights: np.ndarray, layer: int, head: int) -> np.ndarray:
        """Shown part of a head, float32 [S, S]; 0 outside the block or if not computed."""
        if layer >= len(weights):
            return np.zeros((len(self._kept), len(self._kept)), np.float32)
        part = np.array(weights[layer, head])  # [T, T]
        if len(self._kept) < len(part):
            part = part[np.ix_(self._kept, self._kept)]
        if self.block is not None:
            segment = np.array([token.segment for token in self.tokens])
            row, column = self.block
            part[(segment != row)[:, None] | (segment != column)[None, :]] = 0
        return part

    def _masked(self) -> tuple[int, ...]:
        masked = self.maps.side.all_masked
        return tuple(np.flatnonzero(np.isin(self._kept, masked)).tolist()) if masked else ()

    # ── what the page picks ──────────────────────────────────────────────────────────────────

    def _on_picked(self) -> None:
        self.pointed_changed.emit()
        self._pairs.invalidate()

    def _on_explore_pointed(self, number: int) -> None:
        """Highlight the row of the token under the mouse in the strip."""
        self.point(self._place(self._own(number)), -1)

    def _on_explore_head(self, layer: int, head: int) -> None:
        """Follow a head selected in another panel."""
        if self.maps.has_heads and (layer, head) != self.selection.current:
            layers, heads = self.maps.size
            self.selection.pick(min(layer, layers - 1), min(head, heads - 1))

    def _on_sides(self) -> None:
        if self.maps.shows_second and not self.explore.is_compared:
            self.show_side(False)

    def _pair_question(self, side: ModelInput) -> ShowQueryKey | None:
        row, column = self._own(self.explore.picked), self._own(self.explore.target)
        if not self.maps.has_heads or row < 0 or column < 0:
            return None
        return side.question(
            ShowQueryKey, layer=self.layer, head=self.head, query_token=row, key_token=column
        )

    def _own(self, number: int) -> int:
        """The shown side's token for one of the first side, or -1."""
        if not self.maps.shows_second or not 0 <= number < len(self.explore.first.tokens):
            return number
        return self.maps.side.counterpart(self.explore.first.tokens[number])

    def _first(self, number: int) -> int:
        """The first side's token for one of the shown side, or -1."""
        if not self.maps.shows_second:
            return number
        return self.explore.first.counterpart(self.maps.side.tokens[number])

    def _place(self, number: int) -> int:
        """Row of a token of the text, or -1."""
        if number < 0:
            return -1
        found = np.flatnonzero(self._kept == number)
        return int(found[0]) if len(found) else -1

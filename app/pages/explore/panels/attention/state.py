"""What is shown of the attention: the chosen heads, without what is excluded, and what is picked.

`AttentionMaps` has the numbers, `HeadSelection` the heads that are chosen, `StrongestLinks` the
links that are drawn. Shapes: T tokens, S of them shown.
"""

import numpy as np
from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput
from app.pages.explore.panels.attention.links import NO_LINKS, Links, StrongestLinks
from app.pages.explore.panels.attention.maps import AttentionMaps
from app.pages.explore.state import ExploreState
from app.translation import tr
from app.widgets.text.chips import painted
from engine.messages.explore.attention import QueryKeyShown, ShowQueryKey
from engine.messages.explore.text import Token

MAX_HEADS = 8  # whose lines are drawn at once; so many colours can be told apart

Head = tuple[int, int]  # layer and head, from 0


class HeadSelection(QObject):
    """One head or several of L layers of H heads; the last is the current one.

    Signals:
        changed: the heads.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.heads: tuple[Head, ...] = ((0, 0),)
        self._size = (0, 0)
        self._by_head: tuple[Head, ...] = ()  # chosen, while the maps are of whole layers

    @property
    def current(self) -> Head:
        return self.heads[-1]

    def fit(self, size: tuple[int, int]) -> None:
        """Keep to the layers and heads that there are now; tells nobody.

        Maps of whole layers have one head; the heads that were chosen come back with the maps of
        single ones, where the layer is still the same.
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
        """The heads of the layers that are chosen now, as they were; of another layer its first."""
        layers = {layer for layer, _ in self.heads}
        kept = [one for one in self._by_head if one[0] in layers]
        new = [(layer, 0) for layer, _ in self.heads if layer not in {a for a, _ in kept}]
        return tuple(new + kept)

    def pick(self, layer: int, head: int) -> None:
        """Select this head alone."""
        if self._exists(layer, head) and self.heads != ((layer, head),):
            self._choose(((layer, head),))

    def toggle(self, layer: int, head: int) -> None:
        """Add this head, as the current one, or remove it; one always stays."""
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


Block = tuple[int, int]  # segment of the query tokens, and of the key tokens


class AttentionState(QObject):
    """Choosing another head takes another slice of the file; no process is asked.

    Signals:
        head_changed: the map of the current head, its tokens, or what of it is shown.
        links_changed: the links that are drawn; they come a moment after the map.
        pointed_changed: the query token and the key token under the mouse.
        pair_changed: the query and key of the picked pair.
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
        self.excludes_special = True  # they draw most of the attention and say little of the text
        self.block: Block | None = None  # the only one that is shown
        self.shown: tuple[np.ndarray, ...] = ()  # [S, S] of each chosen head, queries over keys
        self.tokens: tuple[Token, ...] = ()  # S of them
        self.masked: tuple[int, ...] = ()  # rows in whose place the model saw the mask
        self.names: tuple[str, ...] = ()  # S of them, as the model saw them: a masked one is [MASK]
        self.hidden_mass = 0.0  # share of the head's attention that is not shown
        self.pointed = (-1, -1)  # row and column of the map; -1 for neither
        self._kept = np.zeros(0, int)  # [S], numbers among the T
        self._is_seen = False
        self._sees_pair = False
        self._pairs = tuple(LiveQuery(explore, explorer, self._pair_question, s) for s in (0, 1))
        for pair in self._pairs:
            pair.changed.connect(self.pair_changed)
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
        """Those that are chosen; the last is the current one."""
        return self.selection.heads

    @property
    def layer(self) -> int:
        return self.selection.current[0]

    @property
    def head(self) -> int:
        return self.selection.current[1]

    @property
    def map(self) -> np.ndarray:
        """Of the current head, float32 [S, S]; query tokens over key tokens."""
        return self.shown[-1] if self.shown else np.zeros((0, 0), np.float32)

    @property
    def drawn(self) -> tuple[Links, ...]:
        """Of all chosen heads."""
        return self.strongest.drawn

    @property
    def links(self) -> Links:
        """Of the current head."""
        return self.drawn[-1] if self.drawn else NO_LINKS

    @property
    def is_current_there(self) -> bool:
        """Whether the layer of the current head is computed."""
        return self.layer < self.maps.layers_there

    @property
    def picked(self) -> int:
        """The token that is picked on the page, as a row of the map; -1 where it is not shown."""
        return self._place(self._own(self.explore.picked))

    @property
    def target(self) -> int:
        """The token that the picked one attends to, as a column of the map; or -1."""
        return self._place(self._own(self.explore.target))

    @property
    def numbers(self) -> np.ndarray:
        """Which tokens of the text are shown, int [S], from 0."""
        return self._kept

    @property
    def special_names(self) -> tuple[str, ...]:
        """What the model calls the tokens around the texts: [CLS] and [SEP], or <s> and </s>."""
        return tuple(dict.fromkeys(token.text for token in self.maps.tokens if token.special))

    @property
    def query_key(self) -> QueryKeyShown | None:
        answer = self._pairs[self.maps.shows_second].answer
        return answer if isinstance(answer, QueryKeyShown) else None

    @property
    def pair_numbers(self) -> tuple[int, int]:
        """The selected query token and key token of the side that is shown; -1 for none."""
        return self._own(self.explore.picked), self._own(self.explore.target)

    def in_block(self, row: int, column: int) -> bool:
        """Whether a cell of the map is in the block that is shown."""
        ends = self.tokens[row].segment, self.tokens[column].segment
        return self.block is None or ends == self.block

    def name(self, row: int) -> str:
        return self.names[row]

    @property
    def head_names(self) -> tuple[str, ...]:
        """What the chosen heads are called, as they stand in `heads`."""
        return tuple(self.head_name(*one) for one in self.heads)

    def head_name(self, layer: int, head: int) -> str:
        """Of a head, or of a layer where the numbers are of whole layers."""
        text = tr("layer {0}, head {1}") if self.maps.has_heads else tr("layer {0}")
        return text.format(layer + 1, head + 1)

    # ── what the user does ───────────────────────────────────────────────────────────────────

    def set_seen(self, seen: bool) -> None:
        """Whether the panel is on the screen."""
        self._is_seen = seen
        self.maps.set_seen(seen)
        self.see_pair(self._sees_pair)

    def see_pair(self, seen: bool) -> None:
        """Whether the query and key of the picked pair are on the screen."""
        self._sees_pair = seen
        for number, query in enumerate(self._pairs):
            query.set_seen(seen and number == self.maps.shows_second and self._is_seen)

    def show_side(self, second: bool) -> None:
        """Show the second model, or the first one again."""
        self.maps.show_side(second)
        self.see_pair(self._sees_pair)

    def switch_head(self, layer: int, head: int) -> None:
        """Switch a head of the first model off, or on again."""
        if self.maps.has_heads:
            self.explore.switch_head(layer, head)

    def exclude_special(self, exclude: bool) -> None:
        """Leave out [CLS] and [SEP]; the weights between the others stay as they are."""
        if exclude != self.excludes_special:
            self.excludes_special = exclude
            self._show()

    def show_block(self, block: Block | None) -> None:
        """Show only the links from one text to another, or all."""
        if block != self.block:
            self.block = block
            self._show()

    def point(self, row: int, column: int) -> None:
        if (row, column) != self.pointed:
            self.pointed = (row, column)
            self.pointed_changed.emit()

    def pick_token(self, row: int) -> None:
        """Pick a token of the map for the whole page."""
        if 0 <= row < len(self._kept):
            self.explore.pick(self._first(int(self._kept[row])))

    def pick_target(self, column: int) -> None:
        """Pick the token that is attended to."""
        if 0 <= column < len(self._kept):
            self.explore.pick_target(self._first(int(self._kept[column])))

    # ── from maps to what is shown ───────────────────────────────────────────────────────────

    def _on_replaced(self) -> None:
        self.selection.fit(self.maps.size)
        if self.block is not None and not any(token.segment for token in self.maps.tokens):
            self.block = None
        self._show()

    def _on_grown(self, before: int) -> None:
        """The strongest colour of norms is that of the largest number so far."""
        if self.layer >= before or self.maps.shown_measure == "norms":
            self._show()

    def _on_selection(self) -> None:
        self._show()
        self.explore.pick_head(self.layer, self.head if self.maps.has_heads else self.explore.head)
        for query in self._pairs:
            query.invalidate()

    def _forget(self) -> None:
        self.tokens, self._kept, self.shown = (), np.zeros(0, int), ()
        self.masked, self.names = (), ()
        self.pointed = (-1, -1)
        self.selection.fit((0, 0))
        self.strongest.forget()
        self.head_changed.emit()
        self.links_changed.emit()

    def _show(self) -> None:
        """Take the chosen heads out of the file, without what is excluded."""
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
                painted(mask if row in hidden else token.text) for row, token in enumerate(tokens)
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
        """What is shown of a head, float32 [S, S]: 0 outside of the block; and where it is not
        there yet."""
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
        for query in self._pairs:
            query.invalidate()

    def _on_explore_pointed(self, number: int) -> None:
        """The mouse is over a token of the strip: its row is shown."""
        self.point(self._place(self._own(number)), -1)

    def _on_explore_head(self, layer: int, head: int) -> None:
        """Another panel has picked another head."""
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
        """The token of the side that is shown for one of the first side, or -1."""
        if not self.maps.shows_second or not 0 <= number < len(self.explore.first.tokens):
            return number
        return self.maps.side.counterpart(self.explore.first.tokens[number])

    def _first(self, number: int) -> int:
        """The token of the first side for one of the side that is shown, or -1."""
        if not self.maps.shows_second:
            return number
        return self.explore.first.counterpart(self.maps.side.tokens[number])

    def _place(self, number: int) -> int:
        """The row of the map for a token of the text, or -1."""
        if number < 0:
            return -1
        found = np.flatnonzero(self._kept == number)
        return int(found[0]) if len(found) else -1

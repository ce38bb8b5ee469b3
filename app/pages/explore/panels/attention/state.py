"""The attention of the text under study, and the heads that are looked at.

Shapes: L layers, H heads, T tokens, S of them shown.
"""

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from app import background
from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.panels.attention import pixels
from app.pages.explore.panels.attention.links import MOST, NO_LINKS, Links, Ranking, ranked
from app.pages.explore.panels.attention.tensor import opened
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from app.widgets.chips import painted
from app.widgets.numbers import decimal
from engine.messages.explore.attention import Attend, Attended, Measure, QueryKeyShown, ShowQueryKey
from engine.messages.explore.text import Token

SHARE = 0.7  # of the mass, that is shown at first
NAMED = 5  # links that the sentence names
MOST_HEADS = 8  # whose lines are drawn at once; so many colours can be told apart
MOST_LINES = 6_000  # of all heads together; those of one token come on top of them

Head = tuple[int, int]  # layer and head, from 0
Block = tuple[int, int]  # segment of the tokens that look, and of those looked at


class AttentionState(QObject):
    """Choosing another head takes another slice of the file; no process is asked.

    Signals:
        wall_changed: the pooled maps of all heads.
        head_changed: the map of the current head, its tokens, or what of it is shown.
        links_changed: the links that hold the share of the mass; they come a moment after the map.
        pointed_changed: the token that looks and the one looked at, under the mouse.
        pair_changed: the query and key of the picked pair.
        told: whether an answer is awaited, or why there is none.
    """

    wall_changed = Signal()
    head_changed = Signal()
    links_changed = Signal()
    pointed_changed = Signal()
    pair_changed = Signal()
    told = Signal()

    def __init__(self, study: Study, explorer: Explorer) -> None:
        super().__init__(study)
        self.study = study
        self.measure: Measure = "weights"
        self.weights: np.ndarray | None = None  # float32 [L, H, T, T], mapped; or its first layers
        self.wall: np.ndarray | None = None  # levels uint8 [L, H, P, P]
        self.heads: tuple[Head, ...] = ((0, 0),)  # that are chosen; the last is the current one
        self.share = SHARE
        self.hides_special = False
        self.block: Block | None = None  # the only one that is shown
        self.map = np.zeros((0, 0), np.float32)  # [S, S], rows look at columns; of the current head
        self.maps: tuple[np.ndarray, ...] = ()  # the same of all chosen heads
        self.tokens: tuple[Token, ...] = ()  # S of them
        self.drawn: tuple[Links, ...] = ()  # of all chosen heads
        self.hidden_mass = 0.0  # share of the head's attention that is not shown
        self.pointed = (-1, -1)  # row and column of the map; -1 for neither
        self._shows_second = False
        self._is_seen = False
        self._sees_pair = False
        self._all: tuple[Token, ...] = ()  # T of them
        self._kept = np.zeros(0, int)  # [S], numbers among the T
        self._taken: Attended | None = None
        self._gone: Attended | None = None  # whose file was replaced before it was opened
        self._pooled: np.ndarray | None = None  # float32 [layers so far, H, P, P]
        self._pooling: background.Job | None = None
        self._ranking: background.Job | None = None
        self._ranking_soon = QTimer(self, singleShot=True, interval=0)  # first the map is painted
        self._ranking_soon.timeout.connect(self._rank)
        self._rankings: tuple[Ranking, ...] = ()  # of each chosen head, once they are there
        self._queries = tuple(LiveQuery(study, explorer, self._question, side) for side in (0, 1))
        self._pairs = tuple(LiveQuery(study, explorer, self._pair_question, s) for s in (0, 1))
        for query in self._queries:
            query.changed.connect(self._on_answer)
        for pair in self._pairs:
            pair.changed.connect(self.pair_changed)
        study.picked_changed.connect(lambda _: self._on_picked())
        study.target_changed.connect(lambda _: self._on_picked())
        study.pointed_changed.connect(self._on_study_pointed)
        study.head_changed.connect(self._on_study_head)
        study.sides_changed.connect(self._on_sides)

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    @property
    def side(self) -> Side:
        """Whose attention is shown."""
        return self.study.both[self._shows_second]

    @property
    def query(self) -> LiveQuery:
        return self._queries[self._shows_second]

    @property
    def layer(self) -> int:
        return self.heads[-1][0]

    @property
    def head(self) -> int:
        return self.heads[-1][1]

    @property
    def links(self) -> Links:
        """Of the current head."""
        return self.drawn[-1] if self.drawn else NO_LINKS

    @property
    def size(self) -> tuple[int, int]:
        """Layers and heads; 0 and 0 while nothing is known."""
        if self._taken is None:
            return 0, 0
        return self._taken.weights.shape[0], self._taken.weights.shape[1]

    @property
    def layers_there(self) -> int:
        """How many layers are there already."""
        return 0 if self.weights is None else len(self.weights)

    @property
    def shown_measure(self) -> Measure:
        """What the numbers that are shown are; another than `measure` while that is computed."""
        return "weights" if self._taken is None else self._taken.measure

    @property
    def most(self) -> float:
        """The number that has the strongest colour."""
        return 1.0 if self._taken is None else self._taken.largest

    @property
    def has_heads(self) -> bool:
        """Whether the numbers are of single heads, and not of whole layers."""
        return self.shown_measure in ("weights", "norms")

    @property
    def is_current_there(self) -> bool:
        """Whether the layer of the current head is computed."""
        return self.layer < self.layers_there

    @property
    def picked(self) -> int:
        """The token that is picked on the page, as a row of the map; -1 where it is not shown."""
        return self._shown(self._own(self.study.picked))

    @property
    def target(self) -> int:
        """The token that the picked one looks at, as a column of the map; or -1."""
        return self._shown(self._own(self.study.target))

    @property
    def numbers(self) -> np.ndarray:
        """Which tokens of the text are shown, int [S], from 0."""
        return self._kept

    @property
    def special_names(self) -> tuple[str, ...]:
        """What the model calls the tokens around the texts: [CLS] and [SEP], or <s> and </s>."""
        return tuple(dict.fromkeys(token.text for token in self._all if token.special))

    @property
    def query_key(self) -> QueryKeyShown | None:
        answer = self._pairs[self._shows_second].answer
        return answer if isinstance(answer, QueryKeyShown) else None

    @property
    def hidden(self) -> tuple[int, ...]:
        """The rows in whose place the model saw [MASK]."""
        side = self.side
        masked = {*side.masked, *(n for n in range(len(side.tokens)) if side.is_typed_mask(n))}
        return tuple(np.flatnonzero(np.isin(self._kept, list(masked))).tolist()) if masked else ()

    def in_block(self, row: int, column: int) -> bool:
        """Whether a cell of the map is in the block that is shown."""
        ends = self.tokens[row].segment, self.tokens[column].segment
        return self.block is None or ends == self.block

    def sentence(self) -> str:
        """The head in words."""
        if self.weights is None:
            return self.tr("No attention yet.")
        named = ", ".join(
            self.tr("“{0}” to “{1}” {2}").format(self.name(row), self.name(column), f"{weight:.2f}")
            for row, column, weight in list(zip(*self.links[:3], strict=True))[:NAMED]
        )
        if not self.has_heads:
            text = self.tr("Layer {0}. Strongest links: {1}.")
            return text.format(self.layer + 1, named)
        text = self.tr("Layer {0}, head {1}. Strongest links: {2}.")
        return text.format(self.layer + 1, self.head + 1, named)

    def readout(self) -> str:
        """What is pointed at, in words and numbers; empty where nothing is."""
        row, column = self.pointed
        if row >= 0 and column >= 0:
            if not self.in_block(row, column):
                text = self.tr("From “{0}” to “{1}”: left out by the choice of texts")
                return text.format(self.name(row), self.name(column))
            text = self.tr("From “{0}” to “{1}”: {2}")
            weight = decimal(float(self.map[row, column]))
            return text.format(self.name(row), self.name(column), weight)
        if row < 0 and column < 0:
            row = self.picked
        if row >= 0:
            return self.tr("“{0}” looks at {1}").format(self.name(row), self._named(self.map[row]))
        if column >= 0:
            text = self.tr("“{0}” is looked at by {1}")
            return text.format(self.name(column), self._named(self.map[:, column]))
        return ""

    def name(self, row: int) -> str:
        return painted(self.tokens[row].text)

    def _named(self, weights: np.ndarray) -> str:
        """The strongest of one token's links."""
        best = np.argsort(-weights, kind="stable")[:NAMED]
        return ", ".join(f"“{self.name(int(n))}” {weights[n]:.2f}" for n in best)

    # ── what the user does ───────────────────────────────────────────────────────────────────

    def set_seen(self, seen: bool) -> None:
        """Whether the panel is on the screen; only the side that is shown asks."""
        self._is_seen = seen
        for query in self._queries:
            query.set_seen(seen and query is self.query)
        self.see_pair(self._sees_pair)

    def see_pair(self, seen: bool) -> None:
        """Whether the query and key of the picked pair are on the screen."""
        self._sees_pair = seen
        for query in self._pairs:
            own = query is self._pairs[self._shows_second]
            query.set_seen(seen and own and self._is_seen)

    def show_side(self, second: bool) -> None:
        """Look at the second model, or at the first one again."""
        if second != self._shows_second:
            self._shows_second = second
            self._forget()
            self.set_seen(self._is_seen)
            self._on_answer()

    def set_measure(self, measure: Measure) -> None:
        """Look at other numbers than the weights."""
        if measure != self.measure:
            self.measure = measure
            for query in self._queries:
                query.renew()

    def pick_head(self, layer: int, head: int) -> None:
        """Look at this head alone."""
        if self._exists(layer, head) and self.heads != ((layer, head),):
            self._choose(((layer, head),))

    def toggle_head(self, layer: int, head: int) -> None:
        """Look at this head as well, as the current one, or no more; one always stays."""
        one = layer, head
        if not self._exists(layer, head):
            return
        if one not in self.heads:
            self._choose((*self.heads, one)[-MOST_HEADS:])
        elif len(self.heads) > 1:
            self._choose(tuple(other for other in self.heads if other != one))

    def set_share(self, share: float) -> None:
        """Show the fewest links that hold this share of the mass, over 0 to 1."""
        if share != self.share:
            self.share = share
            if self._rankings:
                self._show_links()

    def hide_special(self, hide: bool) -> None:
        """Leave out [CLS] and [SEP]; the weights between the others stay as they are."""
        if hide != self.hides_special:
            self.hides_special = hide
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
            self.study.pick(self._first(int(self._kept[row])))

    def pick_target(self, column: int) -> None:
        """Pick the token that is looked at."""
        if 0 <= column < len(self._kept):
            self.study.pick_target(self._first(int(self._kept[column])))

    # ── from an answer to a map ──────────────────────────────────────────────────────────────

    def _on_answer(self) -> None:
        answer = self.query.answer
        if isinstance(answer, Attended):
            self._take(answer)
        elif not self.query.is_waiting:
            self._forget()
        self.told.emit()

    def _take(self, answer: Attended) -> None:
        if answer is self._taken or answer is self._gone:
            return
        try:
            weights = opened(answer)
        except FileNotFoundError:  # newer answers have replaced it, or a new worker has
            self._gone = answer
            self.query.ask()
            return
        goes_on = self._taken is not None and self._taken.to == answer.to
        was_there = goes_on and self.is_current_there
        self._taken, self.weights = answer, weights
        if answer.tokens != self._all:  # the same ones need not be compared again for each head
            self._all = answer.tokens
        if not goes_on:
            self._pooled = None
            if self._pooling is not None:
                self._pooling.cancel()
                self._pooling = None
            layers, heads = self.size
            known = [(min(a, layers - 1), min(b, heads - 1)) for a, b in self.heads]
            self.heads = tuple(dict.fromkeys(known))
        if self.block is not None and not any(token.segment for token in self._all):
            self.block = None
        if not was_there or self.shown_measure == "norms":
            self._show()
        self._pool()

    def _forget(self) -> None:
        self.weights, self.wall, self._taken, self._all = None, None, None, ()
        self._pooled = None
        self.tokens, self._kept = (), np.zeros(0, int)
        self.map, self.maps, self.drawn = np.zeros((0, 0), np.float32), (), ()
        self.pointed = (-1, -1)
        if self._pooling is not None:
            self._pooling.cancel()
        self._pooling = None
        self._forget_ranking()
        self.wall_changed.emit()
        self.head_changed.emit()
        self.links_changed.emit()

    def _pool(self) -> None:
        """Pool the layers that are new, off the window's thread."""
        weights, done = self.weights, 0 if self._pooled is None else len(self._pooled)
        if weights is None or self._pooling is not None:
            return
        if done == len(weights):
            self._show_wall()
            return
        self._pooling = background.run(self, lambda: pixels.pooled(weights[done:]), self._on_pooled)

    def _on_pooled(self, more: np.ndarray) -> None:
        self._pooling = None
        self._pooled = more if self._pooled is None else np.concatenate((self._pooled, more))
        self._show_wall()
        if len(self._pooled) < self.layers_there:
            self._pool()

    def _show_wall(self) -> None:
        """Layers that are not there yet are left blank."""
        assert self._pooled is not None
        wall = np.full((self.size[0], *self._pooled.shape[1:]), pixels.GAP, np.uint8)
        wall[: len(self._pooled)] = pixels.levels(self._pooled, self.most)
        self.wall = wall
        self.wall_changed.emit()

    def _choose(self, heads: tuple[Head, ...]) -> None:
        self.heads = heads
        self._show()
        layer, head = heads[-1]
        self.study.pick_head(layer, head if self.has_heads else self.study.head)
        for query in self._pairs:
            query.renew()

    def _exists(self, layer: int, head: int) -> bool:
        layers, heads = self.size
        return 0 <= layer < layers and 0 <= head < heads

    def _show(self) -> None:
        """Take the chosen heads out of the file, without what is hidden."""
        if self.weights is None:
            return
        special = np.array([token.special for token in self._all])
        hide = self.hides_special and not special.all()
        self._kept = np.flatnonzero(~special) if hide else np.arange(len(self._all))
        tokens = tuple(self._all[n] for n in self._kept)
        if tokens != self.tokens:
            self.tokens = tokens
        self.maps = tuple(self._cut(layer, head) for layer, head in self.heads)
        self.map = self.maps[-1]  # [S, S]
        self.hidden_mass = 0.0
        if self.is_current_there:
            whole = float(np.sum(self.weights[self.layer, self.head], dtype=np.float64))
            self.hidden_mass = 1 - float(np.sum(self.map, dtype=np.float64)) / max(whole, 1e-9)
        self.drawn = ()  # the links of these maps come in a moment
        self.pointed = (-1, -1)
        self.head_changed.emit()
        self._forget_ranking()
        self._ranking_soon.start()

    def _cut(self, layer: int, head: int) -> np.ndarray:
        """What is shown of a head, float32 [S, S]: 0 outside of the block; and where it is not
        there yet."""
        assert self.weights is not None
        if layer >= len(self.weights):
            return np.zeros((len(self._kept), len(self._kept)), np.float32)
        part = np.array(self.weights[layer, head])  # [T, T]
        if len(self._kept) < len(part):
            part = part[np.ix_(self._kept, self._kept)]
        if self.block is not None:
            segment = np.array([token.segment for token in self.tokens])
            row, column = self.block
            part[(segment != row)[:, None] | (segment != column)[None, :]] = 0
        return part

    def _rank(self) -> None:
        """Put the links of each chosen head in order, off the window's thread."""
        maps = self.maps
        most = min(MOST, MOST_LINES // max(1, len(maps)))

        def work() -> tuple[Ranking, ...]:
            return tuple(ranked(one, most) for one in maps)

        self._ranking = background.run(self, work, self._on_ranked)

    def _forget_ranking(self) -> None:
        self._ranking_soon.stop()
        self._rankings = ()
        if self._ranking is not None:
            self._ranking.cancel()

    def _on_ranked(self, rankings: tuple[Ranking, ...]) -> None:
        self._rankings = rankings
        self._show_links()

    def _show_links(self) -> None:
        self.drawn = tuple(ranking.holding(self.share) for ranking in self._rankings)
        self.links_changed.emit()

    # ── what the page picks ──────────────────────────────────────────────────────────────────

    def _on_picked(self) -> None:
        self.pointed_changed.emit()
        for query in self._pairs:
            query.renew()

    def _on_study_pointed(self, number: int) -> None:
        """The mouse is over a token of the strip: its row is shown."""
        self.point(self._shown(self._own(number)), -1)

    def _on_study_head(self, layer: int, head: int) -> None:
        """Another panel looks at another head."""
        if self.has_heads and (layer, head) != self.heads[-1]:
            layers, heads = self.size
            self.pick_head(min(layer, layers - 1), min(head, heads - 1))

    def _on_sides(self) -> None:
        if self._shows_second and not self.study.is_compared:
            self.show_side(False)

    def _own(self, number: int) -> int:
        """The token of the side that is shown for one of the first side, or -1."""
        if not self._shows_second or not 0 <= number < len(self.study.tokens):
            return number
        return self.side.counterpart(self.study.tokens[number])

    def _first(self, number: int) -> int:
        """The token of the first side for one of the side that is shown, or -1."""
        if not self._shows_second:
            return number
        return self.study.both[0].counterpart(self.side.tokens[number])

    def _shown(self, number: int) -> int:
        if number < 0:
            return -1
        found = np.flatnonzero(self._kept == number)
        return int(found[0]) if len(found) else -1

    # ── questions ────────────────────────────────────────────────────────────────────────────

    def _question(self, side: Side) -> Attend | None:
        return side.asked(Attend, measure=self.measure)

    def _pair_question(self, side: Side) -> ShowQueryKey | None:
        row, column = self._own(self.study.picked), self._own(self.study.target)
        if not self.has_heads or row < 0 or column < 0:
            return None
        return side.asked(
            ShowQueryKey, layer=self.layer, head=self.head, query_token=row, key_token=column
        )

"""The attention of the text under study, and the head that is looked at.

Shapes: L layers, H heads, T tokens, S of them shown.
"""

from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.explorer import Explorer
from app.pages.explore.asking import Asking
from app.pages.explore.chips import painted
from app.pages.explore.panels.attention import pixels
from app.pages.explore.panels.attention.links import NO_LINKS, Links, strongest
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from app.widgets.numbers import decimal
from engine.messages import Attend, Attended, Token

SHARE = 0.7  # of the mass, that is shown at first
NAMED = 5  # links that the sentence names


class AttentionState(QObject):
    """Picking another head takes another slice of the file; no process is asked.

    Signals:
        wall_changed: the pooled maps of all heads.
        head_changed: the map of the head picked, its tokens, or what of it is shown.
        links_changed: the links that hold the share of the mass; they come a moment after the map.
        pointed_changed: the token that looks and the one looked at, under the mouse.
        told: whether an answer is awaited, or why there is none.
    """

    wall_changed = Signal()
    head_changed = Signal()
    links_changed = Signal()
    pointed_changed = Signal()
    told = Signal()

    def __init__(self, study: Study, explorer: Explorer) -> None:
        super().__init__(study)
        self.study = study
        self.weights: np.ndarray | None = None  # float32 [L, H, T, T], mapped from a file
        self.wall: np.ndarray | None = None  # levels uint8 [L, H, P, P]
        self.layer, self.head = 0, 0
        self.share = SHARE
        self.hides_special = False
        self.map = np.zeros((0, 0), np.float32)  # [S, S], rows look at columns
        self.tokens: tuple[Token, ...] = ()  # S of them
        self.links: Links = NO_LINKS
        self.hidden_mass = 0.0  # share of the head's attention that special tokens have
        self.pointed = (-1, -1)  # row and column of the map; -1 for neither
        self._all: tuple[Token, ...] = ()  # T of them
        self._kept = np.zeros(0, int)  # [S], numbers among the T
        self._taken: Attended | None = None
        self._pooling: background.Job | None = None
        self._sorting: background.Job | None = None
        self.asking = Asking(study, explorer, _question)
        self.asking.changed.connect(self._on_answer)
        study.picked_changed.connect(lambda _: self.pointed_changed.emit())
        study.pointed_changed.connect(self._on_study_pointed)

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    @property
    def size(self) -> tuple[int, int]:
        """Layers and heads; 0 and 0 while nothing is known."""
        return (0, 0) if self.weights is None else (self.weights.shape[0], self.weights.shape[1])

    @property
    def picked(self) -> int:
        """The token that is picked on the page, as a row of the map; -1 where it is not shown."""
        return self._shown(self.study.picked)

    @property
    def numbers(self) -> np.ndarray:
        """Which tokens of the text are shown, int [S], from 0."""
        return self._kept

    def is_masked(self, row: int) -> bool:
        """Whether the model saw [MASK] in place of this token."""
        number = int(self._kept[row])
        known = number < len(self.study.tokens)
        return known and (self.study.is_masked(number) or self.study.is_typed_mask(number))

    def sentence(self) -> str:
        """The head in words."""
        if self.weights is None:
            return self.tr("No attention yet.")
        named = ", ".join(
            self.tr("“{0}” to “{1}” {2}").format(self.name(row), self.name(column), f"{weight:.2f}")
            for row, column, weight in list(zip(*self.links[:3], strict=True))[:NAMED]
        )
        text = self.tr("Layer {0}, head {1}. Strongest links: {2}.")
        return text.format(self.layer + 1, self.head + 1, named)

    def readout(self) -> str:
        """What is pointed at, in words and numbers; empty where nothing is."""
        row, column = self.pointed
        if row >= 0 and column >= 0:
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

    def pick_token(self, row: int) -> None:
        """Pick a token of the map for the whole page."""
        if 0 <= row < len(self._kept):
            self.study.pick(int(self._kept[row]))

    # ── what the user does ───────────────────────────────────────────────────────────────────

    def pick_head(self, layer: int, head: int) -> None:
        layers, heads = self.size
        if 0 <= layer < layers and 0 <= head < heads and (layer, head) != (self.layer, self.head):
            self.layer, self.head = layer, head
            self._show()

    def set_share(self, share: float) -> None:
        """Show the fewest links that hold this share of the mass, over 0 to 1."""
        if share != self.share:
            self.share = share
            self._sort()

    def hide_special(self, hide: bool) -> None:
        """Leave out [CLS] and [SEP]; the weights between the others stay as they are."""
        if hide != self.hides_special:
            self.hides_special = hide
            self._show()

    def point(self, row: int, column: int) -> None:
        if (row, column) != self.pointed:
            self.pointed = (row, column)
            self.pointed_changed.emit()

    # ── from an answer to a map ──────────────────────────────────────────────────────────────

    def _on_answer(self) -> None:
        answer = self.asking.answer
        if isinstance(answer, Attended):
            self._take(answer)
        elif not self.asking.is_waiting:
            self._forget()
        self.told.emit()

    def _take(self, answer: Attended) -> None:
        if answer is self._taken:
            return
        self._taken = answer
        path = Path(answer.weights.path)
        try:
            weights = np.load(path, mmap_mode="r")
        except FileNotFoundError:  # newer answers have replaced it, or a new worker has
            self.asking.ask()
            return
        self.weights, self._all = weights, answer.tokens
        layers, heads = self.size
        self.layer, self.head = min(self.layer, layers - 1), min(self.head, heads - 1)
        self._show()
        if self._pooling is not None:
            self._pooling.cancel()
        self._pooling = background.run(self, lambda: pixels.pooled(weights), self._on_pooled)

    def _forget(self) -> None:
        self.weights, self.wall, self._taken, self._all = None, None, None, ()
        self.tokens, self._kept = (), np.zeros(0, int)
        self.map, self.links = np.zeros((0, 0), np.float32), NO_LINKS
        self.pointed = (-1, -1)
        for job in (self._pooling, self._sorting):
            if job is not None:
                job.cancel()
        self.wall_changed.emit()
        self.head_changed.emit()
        self.links_changed.emit()

    def _on_pooled(self, wall: np.ndarray) -> None:
        self.wall = wall
        self.wall_changed.emit()

    def _show(self) -> None:
        """Take the picked head out of the file, without what is hidden."""
        if self.weights is None:
            return
        whole = self.weights[self.layer, self.head].astype(np.float32)  # [T, T]
        special = np.array([token.special for token in self._all])
        self.hidden_mass = float(whole[:, special].sum() / max(whole.sum(), 1e-9))
        hide = self.hides_special and not special.all()
        self._kept = np.flatnonzero(~special) if hide else np.arange(len(self._all))
        self.tokens = tuple(self._all[n] for n in self._kept)
        self.map = whole[np.ix_(self._kept, self._kept)]  # [S, S]
        self.links = NO_LINKS  # those of this map come in a moment
        self.pointed = (-1, -1)
        self.head_changed.emit()
        self._sort()

    def _sort(self) -> None:
        if self._sorting is not None:
            self._sorting.cancel()
        weights, share = self.map, self.share
        self._sorting = background.run(self, lambda: strongest(weights, share), self._on_sorted)

    def _on_sorted(self, links: Links) -> None:
        self.links = links
        self.links_changed.emit()

    def _on_study_pointed(self, number: int) -> None:
        """The mouse is over a token of the strip: its row is shown."""
        self.point(self._shown(number), -1)

    def _shown(self, number: int) -> int:
        if number < 0:
            return -1
        found = np.flatnonzero(self._kept == number)
        return int(found[0]) if len(found) else -1


def _question(side: Side) -> Attend | None:
    if side.checkpoint is None:
        return None
    return Attend(checkpoint=side.checkpoint, text=side.text, pair=side.pair, masked=side.masked)

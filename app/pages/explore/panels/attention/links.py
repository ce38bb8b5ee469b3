"""Links of a head worth drawing: the fewest that hold a fraction of the attention.

Shapes: T and S tokens that are shown, N links.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.timers import debounced

MAX_LINKS = 2_000  # drawn or listed per head
FAINTEST = 0.005  # weakest link drawn for a single token
MAX_LINES_OF_TOKEN = 400  # drawn while the mouse moves


class Links(NamedTuple):
    """Links of one head, strongest first."""

    rows: np.ndarray  # int [N], the query tokens
    columns: np.ndarray  # int [N], the key tokens
    weights: np.ndarray  # float32 [N]
    wanted: int  # links that make up the fraction; more than N if too many

    @property
    def is_cut(self) -> bool:
        return self.wanted > len(self.rows)

    def first(self, most: int) -> "Links":
        return Links(self.rows[:most], self.columns[:most], self.weights[:most], self.wanted)


NO_LINKS = Links(np.zeros(0, int), np.zeros(0, int), np.zeros(0, np.float32), 0)


def are_drawn_alike(some: Sequence[Links], others: Sequence[Links]) -> bool:
    return len(some) == len(others) and all(
        all(map(np.array_equal, links[:3], other[:3]))
        for links, other in zip(some, others, strict=True)
    )


def of_token(
    weights: np.ndarray,
    row: int,
    column: int,
    faintest: float = FAINTEST,
    most: int = MAX_LINES_OF_TOKEN,
) -> Links:
    """The strongest links of a row or a column of float32 [S, S]."""
    own = weights[row] if row >= 0 else weights[:, column]
    others = np.flatnonzero(own >= faintest)
    others = others[np.argsort(-own[others], kind="stable")][:most]
    same = np.full(len(others), row if row >= 0 else column)
    rows, columns = (same, others) if row >= 0 else (others, same)
    return Links(rows, columns, own[others], len(others))


class Ranking(NamedTuple):
    """Links of a head in order, so that those of any fraction are found at once."""

    strongest: Links  # at most as many as are drawn
    masses: np.ndarray  # float64 [nonzero links], cumulative

    def holding(self, fraction: float) -> Links:
        """The fewest links that hold `fraction` of the mass, limited to those that are drawn."""
        count = len(self.masses)
        if fraction < 1 and count:
            mass = fraction * float(self.masses[-1]) * (1 - 1e-6)
            count = min(count, int(np.searchsorted(self.masses, mass)) + 1)
        return self.strongest.first(count)._replace(wanted=count)


def ranked(weights: np.ndarray, most: int = MAX_LINKS) -> Ranking:
    """Rank the links of non-negative float32 [T, T]; equal ones stay in order.

    Such floats sort like their bits: sorting one integer of bits and index is four times as fast as
    a stable sort of floats.
    """
    flat = weights.ravel()
    falling = np.uint64(0xFFFFFFFF) - (flat + np.float32(0)).view(np.uint32)  # no -0.0
    keys = (falling.astype(np.uint64) << np.uint64(32)) | np.arange(len(flat), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    masses = np.cumsum(flat[order[: np.count_nonzero(flat)]], dtype=np.float64)
    top = order[: min(len(masses), most)]
    rows, columns = np.divmod(top, weights.shape[1]) if len(top) else (top, top)
    return Ranking(Links(rows, columns, flat[top], len(masses)), masses)


# Initial threshold by number of tokens: the largest fraction for which the median head has about 70
# links or fewer.
THRESHOLDS = ((37, 0.7), (48, 0.6), (64, 0.5), (96, 0.35), (128, 0.25), (192, 0.15), (256, 0.1))
LEAST_THRESHOLD = 0.05  # for longer texts
MAX_LINES = 6_000  # of all heads together, without those of a highlighted token


class StrongestLinks(QObject):
    """Ranks links once in the background; then any threshold applies at once.

    Signals:
        changed: the links to draw.
    """

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.threshold = default_threshold(0)
        self._is_chosen = False  # by the user
        self.drawn: tuple[Links, ...] = ()  # per map
        self._maps: tuple[np.ndarray, ...] = ()
        self._rankings: tuple[Ranking, ...] = ()  # per map, when ranked
        self._ranking: background.Job | None = None
        self._soon = debounced(self, 0, self._rank)  # paint the map first

    def of(self, maps: tuple[np.ndarray, ...]) -> None:
        """Rank the links of maps, float32 [S, S] each; `changed` follows."""
        self.forget()
        self._maps = maps
        if maps:
            self._soon.start()

    def fit(self, tokens: int) -> None:
        """Use the initial threshold for as many tokens, unless the user chose another."""
        if not self._is_chosen:
            self.threshold = default_threshold(tokens)

    def set_threshold(self, threshold: float) -> None:
        """Draw the fewest links that hold this fraction of the attention."""
        self._is_chosen = True
        if threshold != self.threshold:
            self.threshold = threshold
            if self._rankings:
                self._draw()

    def forget(self) -> None:
        self._soon.stop()
        self.drawn, self._maps, self._rankings = (), (), ()
        if self._ranking is not None:
            self._ranking.cancel()

    def _rank(self) -> None:
        maps = self._maps
        most = min(MAX_LINKS, MAX_LINES // max(1, len(maps)))
        self._ranking = background.run(
            self, lambda: tuple(ranked(weights, most) for weights in maps), self._on_ranked
        )

    def _on_ranked(self, rankings: tuple[Ranking, ...]) -> None:
        self._rankings = rankings
        self._draw()

    def _draw(self) -> None:
        self.drawn = tuple(ranking.holding(self.threshold) for ranking in self._rankings)
        self.changed.emit()


def default_threshold(tokens: int) -> float:
    """Initial fraction of the attention; smaller for longer texts."""
    return next((threshold for most, threshold in THRESHOLDS if tokens <= most), LEAST_THRESHOLD)

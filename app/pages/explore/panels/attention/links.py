"""Links of a head worth drawing: the fewest that hold a fraction of the attention.

Shapes: T tokens, S shown tokens, N links.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.timers import debounced

MAX_LINKS = 2_000  # drawn or listed per head
MIN_WEIGHT = 0.005  # of a link drawn for a single token
MAX_LINES_OF_TOKEN = 400  # drawn while the mouse moves


class Links(NamedTuple):
    """Links of one head, strongest first."""

    rows: np.ndarray  # int [N], the query tokens
    columns: np.ndarray  # int [N], the key tokens
    weights: np.ndarray  # float32 [N]
    total: int  # links that make up the fraction; more than N if too many

    @property
    def is_truncated(self) -> bool:
        return self.total > len(self.rows)

    def first(self, count: int) -> "Links":
        return Links(self.rows[:count], self.columns[:count], self.weights[:count], self.total)


NO_LINKS = Links(np.zeros(0, int), np.zeros(0, int), np.zeros(0, np.float32), 0)


def are_drawn_alike(first: Sequence[Links], second: Sequence[Links]) -> bool:
    return len(first) == len(second) and all(
        all(map(np.array_equal, links[:3], other[:3]))
        for links, other in zip(first, second, strict=True)
    )


def token_links(
    weights: np.ndarray,
    row: int,
    column: int,
    min_weight: float = MIN_WEIGHT,
    max_links: int = MAX_LINES_OF_TOKEN,
) -> Links:
    """The strongest links of a row or a column of float32 [S, S]."""
    values = weights[row] if row >= 0 else weights[:, column]
    others = np.flatnonzero(values >= min_weight)
    others = others[np.argsort(-values[others], kind="stable")][:max_links]
    fixed = np.full(len(others), row if row >= 0 else column)
    rows, columns = (fixed, others) if row >= 0 else (others, fixed)
    return Links(rows, columns, values[others], len(others))


class Ranking(NamedTuple):
    """Sorted links of a head, to select the links of any fraction quickly."""

    strongest: Links  # limited to the number drawn
    masses: np.ndarray  # float64 [nonzero links], cumulative

    def select(self, fraction: float) -> Links:
        """The fewest links that hold `fraction` of the mass, limited to those that are drawn."""
        count = len(self.masses)
        if fraction < 1 and count:
            mass = fraction * float(self.masses[-1]) * (1 - 1e-6)
            count = min(count, int(np.searchsorted(self.masses, mass)) + 1)
        return self.strongest.first(count)._replace(total=count)


def rank_links(weights: np.ndarray, max_links: int = MAX_LINKS) -> Ranking:
    """Rank the links of non-negative float32 [T, T]; equal ones stay in order.

    Such floats sort like their bits: sorting one integer of bits and index is four times as fast as
    a stable sort of floats.
    """
    flat = weights.ravel()
    descending = np.uint64(0xFFFFFFFF) - (flat + np.float32(0)).view(np.uint32)  # no -0.0
    keys = (descending.astype(np.uint64) << np.uint64(32)) | np.arange(len(flat), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    masses = np.cumsum(flat[order[: np.count_nonzero(flat)]], dtype=np.float64)
    top = order[: min(len(masses), max_links)]
    rows, columns = np.divmod(top, weights.shape[1]) if len(top) else (top, top)
    return Ranking(Links(rows, columns, flat[top], len(masses)), masses)


# Initial threshold by number of tokens: the largest fraction for which the median head has about 70
# links or fewer.
THRESHOLDS = ((37, 0.7), (48, 0.6), (64, 0.5), (96, 0.35), (128, 0.25), (192, 0.15), (256, 0.1))
MIN_THRESHOLD = 0.05  # for longer texts
MAX_LINES = 6_000  # for all heads together, without the lines of a highlighted token


class StrongestLinks(QObject):
    """Ranks links once in the background; then any threshold applies immediately.

    Signals:
        changed: the links to draw.
    """

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.threshold = default_threshold(0)
        self._is_set_by_user = False
        self.drawn: tuple[Links, ...] = ()  # per map
        self._maps: tuple[np.ndarray, ...] = ()
        self._rankings: tuple[Ranking, ...] = ()  # per map, when ranked
        self._ranking: background.Job | None = None
        self._rank_timer = debounced(self, 0, self._rank)  # paint the map first

    def set_maps(self, maps: tuple[np.ndarray, ...]) -> None:
        """Rank the links of maps, float32 [S, S] each; `changed` follows."""
        self.clear()
        self._maps = maps
        if maps:
            self._rank_timer.start()

    def fit(self, tokens: int) -> None:
        """Use the initial threshold for this number of tokens, unless the user chose one."""
        if not self._is_set_by_user:
            self.threshold = default_threshold(tokens)

    def set_threshold(self, threshold: float) -> None:
        """Draw the fewest links that hold this fraction of the attention."""
        self._is_set_by_user = True
        if threshold != self.threshold:
            self.threshold = threshold
            if self._rankings:
                self._draw()

    def clear(self) -> None:
        self._rank_timer.stop()
        self.drawn, self._maps, self._rankings = (), (), ()
        if self._ranking is not None:
            self._ranking.cancel()

    def _rank(self) -> None:
        maps = self._maps
        max_links = min(MAX_LINKS, MAX_LINES // max(1, len(maps)))
        self._ranking = background.run(
            self, lambda: tuple(rank_links(weights, max_links) for weights in maps), self._on_ranked
        )

    def _on_ranked(self, rankings: tuple[Ranking, ...]) -> None:
        self._rankings = rankings
        self._draw()

    def _draw(self) -> None:
        self.drawn = tuple(ranking.select(self.threshold) for ranking in self._rankings)
        self.changed.emit()


def default_threshold(tokens: int) -> float:
    """Initial fraction of the attention; smaller for longer texts."""
    return next((threshold for limit, threshold in THRESHOLDS if tokens <= limit), MIN_THRESHOLD)

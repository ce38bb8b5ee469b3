"""Which links of a head are worth drawing.

Shapes: T tokens that are shown, N links.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.timers import debounced

MAX_LINKS = 2_000  # links of a head that are drawn or listed


class Links(NamedTuple):
    """Links of one head, strongest first."""

    rows: np.ndarray  # int [N], the query tokens
    columns: np.ndarray  # int [N], the key tokens
    weights: np.ndarray  # float32 [N]
    wanted: int  # how many make up the share of the mass; more than N where they are too many

    @property
    def is_cut(self) -> bool:
        return self.wanted > len(self.rows)

    def first(self, most: int) -> "Links":
        """The strongest of them."""
        return Links(self.rows[:most], self.columns[:most], self.weights[:most], self.wanted)


NO_LINKS = Links(np.zeros(0, int), np.zeros(0, int), np.zeros(0, np.float32), 0)


def are_drawn_alike(some: Sequence[Links], others: Sequence[Links]) -> bool:
    """Whether these links of several heads are the same lines."""
    return len(some) == len(others) and all(
        all(map(np.array_equal, one[:3], other[:3]))
        for one, other in zip(some, others, strict=True)
    )


class Ranking(NamedTuple):
    """The links of one head in order, by which those of any share are found at once."""

    strongest: Links  # as many as are drawn at the most
    masses: np.ndarray  # float64 [links that are not 0], of each with all that are stronger

    def holding(self, share: float) -> Links:
        """The fewest links that hold `share` of the mass, and of them those that are drawn."""
        wanted = len(self.masses)
        if share < 1 and wanted:
            mass = share * float(self.masses[-1]) * (1 - 1e-6)
            wanted = min(wanted, int(np.searchsorted(self.masses, mass)) + 1)
        rows, columns, weights, _ = self.strongest
        return Links(rows[:wanted], columns[:wanted], weights[:wanted], wanted)


def ranked(weights: np.ndarray, most: int = MAX_LINKS) -> Ranking:
    """The links of float32 [T, T], which are not negative; equal ones as they stand.

    The bits of such numbers are in their order: one whole number of the bits and the place of a
    link is sorted four times as quickly as a stable sort of the numbers takes.
    """
    flat = weights.ravel()
    falling = np.uint64(0xFFFFFFFF) - (flat + np.float32(0)).view(np.uint32)  # no -0.0
    keys = (falling.astype(np.uint64) << np.uint64(32)) | np.arange(len(flat), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    masses = np.cumsum(flat[order[: np.count_nonzero(flat)]], dtype=np.float64)
    kept = order[: min(len(masses), most)]
    rows, columns = np.divmod(kept, weights.shape[1]) if len(kept) else (kept, kept)
    return Ranking(Links(rows, columns, flat[kept], len(masses)), masses)


# Of the attention, that is shown at first, for texts of up to so many tokens: the largest share of
# which the median head has about 70 links or fewer (docs/EXPLORE.md says how it was measured).
THRESHOLDS = ((37, 0.7), (48, 0.6), (64, 0.5), (96, 0.35), (128, 0.25), (192, 0.15), (256, 0.1))
LEAST_THRESHOLD = 0.05  # of longer texts
MAX_LINES = 6_000  # of all heads together; those of one token come on top of them


class StrongestLinks(QObject):
    """Ranks links off the window's thread, once; then any threshold is shown at once.

    Signals:
        changed: the links that are drawn.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.threshold = default_threshold(0)
        self._is_chosen = False  # by the user
        self.drawn: tuple[Links, ...] = ()  # of each map
        self._maps: tuple[np.ndarray, ...] = ()
        self._rankings: tuple[Ranking, ...] = ()  # of each map, once they are there
        self._ranking: background.Job | None = None
        self._soon = debounced(self, 0, self._rank)  # first the map is painted

    def of(self, maps: tuple[np.ndarray, ...]) -> None:
        """Those of float32 [S, S] each; they come in a moment."""
        self.forget()
        self._maps = maps
        if maps:
            self._soon.start()

    def fit(self, tokens: int) -> None:
        """Of so many tokens draw what can be read, unless the user has chosen another share."""
        if not self._is_chosen:
            self.threshold = default_threshold(tokens)

    def set_threshold(self, threshold: float) -> None:
        """Draw the fewest links that hold this share of the attention, over 0 to 1."""
        self._is_chosen = True
        if threshold != self.threshold:
            self.threshold = threshold
            if self._rankings:
                self._draw()

    def forget(self) -> None:
        """There are none until there are other maps; tells nobody."""
        self._soon.stop()
        self.drawn, self._maps, self._rankings = (), (), ()
        if self._ranking is not None:
            self._ranking.cancel()

    def _rank(self) -> None:
        maps = self._maps
        most = min(MAX_LINKS, MAX_LINES // max(1, len(maps)))

        def work() -> tuple[Ranking, ...]:
            return tuple(ranked(one, most) for one in maps)

        self._ranking = background.run(self, work, self._on_ranked)

    def _on_ranked(self, rankings: tuple[Ranking, ...]) -> None:
        self._rankings = rankings
        self._draw()

    def _draw(self) -> None:
        self.drawn = tuple(ranking.holding(self.threshold) for ranking in self._rankings)
        self.changed.emit()


def default_threshold(tokens: int) -> float:
    """The share of the attention that is shown at first; it falls with the length of the text."""
    return next((share for most, share in THRESHOLDS if tokens <= most), LEAST_THRESHOLD)

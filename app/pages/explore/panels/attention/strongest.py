"""The links that hold a share of the attention, of each chosen head.

Shapes: S tokens that are shown.
"""

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.explore.panels.attention.links import MAX_LINKS, Links, Ranking, ranked
from app.timers import debounced

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

"""Attention maps of all heads, read from the newest answer while it is written, and grey levels.

Shapes: L layers, H heads, T tokens, P and S pixels. A level is uint8, from 0 to MAX_LEVEL,
proportional to the square root of a weight to show weak links. BLANK is not a level: not painted.
"""

import mmap
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from app import background
from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery, QueryPair
from app.pages.explore.model_input import ModelInput
from app.pages.explore.state import ExploreState
from app.theme import Palette, Role, colour, shade
from engine.messages.explore.attention import Attend, Attended, Measure
from engine.messages.explore.text import Token
from engine.system.memory import trim_memory

T = TypeVar("T")
MAX_LEVEL = 254
BLANK = 255
MAX_POOLED_SIDE = 64  # pixels of a pooled map


def open_weights(answer: Attended) -> np.ndarray:
    """Map an answer's file as float32 [L, H, T, T]; for an early answer the layers so far.

    Raises FileNotFoundError if newer answers have replaced it.
    """
    with open(answer.weights.path, "rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        start = file.tell()
    layers = shape[0] if answer.layers is None else answer.layers
    return np.memmap(answer.weights.path, dtype, "r", start, (layers, *shape[1:]))


def read_mapped(work: Callable[[np.ndarray], T], weights: np.ndarray) -> T:
    """Apply `work` to a mapped file or part of it, then release its memory pages."""
    result = work(weights)
    mapped = getattr(weights, "_mmap", None)
    if mapped is not None and hasattr(mapped, "madvise"):  # not on Windows
        mapped.madvise(mmap.MADV_DONTNEED)
    return result


class AttentionMaps(QObject):
    """The maps of one side, and their thumbnails.

    Signals:
        replaced: another answer, or no maps.
        grown: more layers of the same answer; the previous number of layers.
        thumbnails_changed: the thumbnails of all heads.
        query_changed: an answer is pending, or refused.
    """

    replaced = Signal()
    grown = Signal(int)
    thumbnails_changed = Signal()
    query_changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer) -> None:
        super().__init__(explore)
        self.measure: Measure = "weights"
        self.weights: np.ndarray | None = None  # float32 [layers so far, H, T, T], mapped
        self.thumbnails: np.ndarray | None = None  # levels uint8 [L, H, P, P]
        self.tokens: tuple[Token, ...] = ()  # T of them
        self.shows_second = False
        self._explore = explore
        self.is_active = False
        self._answer: Attended | None = None
        self._expired: Attended | None = None  # its file was replaced before it was opened
        self._pooled: np.ndarray | None = None  # float32 [layers so far, H, P, P]
        self._pooling: background.Job | None = None
        self._queries = QueryPair(explore, explorer, self._question)
        self._queries.changed.connect(self._on_answer)

    # ── state ────────────────────────────────────────────────────────────────────────

    @property
    def side(self) -> ModelInput:
        return self._explore.both[self.shows_second]

    @property
    def query(self) -> LiveQuery:
        return self._queries[self.shows_second]

    @property
    def size(self) -> tuple[int, int]:
        """Layers and heads; 0 and 0 without an answer."""
        if self._answer is None:
            return 0, 0
        return self._answer.weights.shape[0], self._answer.weights.shape[1]

    @property
    def computed_layers(self) -> int:
        return 0 if self.weights is None else len(self.weights)

    @property
    def shown_measure(self) -> Measure:
        """Measure of the shown values; differs from `measure` while that is computed."""
        return "weights" if self._answer is None else self._answer.measure

    @property
    def vmax(self) -> float:
        """Value of the strongest colour."""
        if self._answer is None:
            return 1.0
        return self._explore.running_max(f"attention {self._answer.measure}", self._answer.largest)

    @property
    def has_heads(self) -> bool:
        """True if the values are of single heads, False for whole layers."""
        return self.shown_measure in ("weights", "norms")

    # ── user actions ───────────────────────────────────────────────────────────────────

    def set_active(self, active: bool) -> None:
        """Set if the panel is visible; only the shown side asks."""
        self.is_active = active
        self._queries.set_active(active, self.side.index)

    def show_side(self, second: bool) -> None:
        if second != self.shows_second:
            self.shows_second = second
            self._clear()
            self.set_active(self.is_active)
            self._on_answer()

    def set_measure(self, measure: Measure) -> None:
        if measure != self.measure:
            self.measure = measure
            self._queries.invalidate()

    # ── answers ───────────────────────────────────────────────────────────────

    def _question(self, side: ModelInput) -> Attend | None:
        return side.question(Attend, measure=self.measure)

    def _on_answer(self) -> None:
        answer = self.query.answer
        if isinstance(answer, Attended):
            self._load(answer)
        elif not self.query.is_waiting:
            self._clear()
        self.query_changed.emit()

    def _load(self, answer: Attended) -> None:
        if answer is self._answer or answer is self._expired:
            return
        try:
            weights = open_weights(answer)
        except FileNotFoundError:  # replaced by newer answers or a new worker
            self._expired = answer
            self.query.ask()
            return
        is_same = self._answer is not None and self._answer.to == answer.to
        before = self.computed_layers
        self._answer, self.weights = answer, weights
        if answer.tokens != self.tokens:  # keep the object, so that heads need not compare tokens
            self.tokens = answer.tokens
        if is_same:
            self.grown.emit(before)
        else:
            self._clear_thumbnails()
            self.replaced.emit()
        self._pool()

    def _clear(self) -> None:
        self.weights, self.thumbnails, self._answer, self.tokens = None, None, None, ()
        self._clear_thumbnails()
        self.thumbnails_changed.emit()
        self.replaced.emit()

    # ── thumbnails ───────────────────────────────────────────────────────────────────────────

    def _clear_thumbnails(self) -> None:
        self._pooled = None
        if self._pooling is not None:
            self._pooling.cancel()
        self._pooling = None

    def _pool(self) -> None:
        """Pool new layers in the background."""
        weights, done = self.weights, 0 if self._pooled is None else len(self._pooled)
        if weights is None or self._pooling is not None:
            return
        if done == len(weights):
            self._show_thumbnails()
            return
        more = weights[done:]

        def pool() -> np.ndarray:
            pooled = read_mapped(max_pool, more)
            trim_memory()  # 20 MB at 512 tokens
            return pooled

        self._pooling = background.run(self, pool, self._on_pooled)

    def _on_pooled(self, more: np.ndarray) -> None:
        self._pooling = None
        self._pooled = more if self._pooled is None else np.concatenate((self._pooled, more))
        self._show_thumbnails()
        if len(self._pooled) < self.computed_layers:
            self._pool()

    def _show_thumbnails(self) -> None:
        """Update the thumbnails; missing layers stay blank."""
        assert self._pooled is not None
        thumbnails = np.full((self.size[0], *self._pooled.shape[1:]), BLANK, np.uint8)
        thumbnails[: len(self._pooled)] = levels(self._pooled, self.vmax)
        self.thumbnails = thumbnails
        self.thumbnails_changed.emit()


# ── grey levels ──────────────────────────────────────────────────────────────────────────────


def levels(weights: np.ndarray, vmax: float = 1.0) -> np.ndarray:
    """Levels uint8 of the same shape; `vmax` has the level MAX_LEVEL."""
    scaled = np.sqrt(np.clip(weights / np.float32(vmax), 0, 1))
    rounded: np.ndarray = np.rint(scaled * MAX_LEVEL).astype(np.uint8)
    return rounded


def max_pool(weights: np.ndarray, side: int = MAX_POOLED_SIDE) -> np.ndarray:
    """Max-pool float32 [L, H, T, T] to [L, H, P, P].

    Reads the mapped file one head at a time, which limits memory and fits into the cache.
    """
    pooled_side = min(side, weights.shape[-1])
    pooled = np.empty((*weights.shape[:2], pooled_side, pooled_side), weights.dtype)
    for index in np.ndindex(weights.shape[:2]):
        pooled[index] = _block_max(np.array(weights[index]), side)
    return pooled


def resize_levels(image: np.ndarray, side: int) -> np.ndarray:
    """Scale levels [..., P, P] to [..., S, S]: repeats pixels, or takes the maximum of blocks."""
    size = image.shape[-1]
    if side < size:
        return _block_max(image, side)
    index = np.arange(side) * size // side
    return image[..., index[:, None], index[None, :]]


def _block_max(image: np.ndarray, side: int) -> np.ndarray:
    """Maximum of each block, [..., S, S] with S at most `side`."""
    size = image.shape[-1]
    if size <= side:
        return image
    starts = np.arange(side) * size // side
    last = np.append(starts[1:], size) - 1
    maxima = image
    for axis in (-2, -1):
        best = maxima.take(starts, axis)
        for step in range(1, -(-size // side)):  # many times as fast as np.maximum.reduceat
            np.maximum(best, maxima.take(np.minimum(starts + step, last), axis), out=best)
        maxima = best
    return np.ascontiguousarray(maxima)


def mosaic(heads: np.ndarray, side: int, gap: int) -> np.ndarray:
    """Tile levels [L, H, P, P] into [L * (S + gap) - gap, H * (S + gap) - gap]."""
    layers, count = heads.shape[:2]
    cells = np.full((layers, count, side + gap, side + gap), BLANK, dtype=np.uint8)
    cells[:, :, :side, :side] = resize_levels(heads, side)
    tiled = cells.transpose(0, 2, 1, 3).reshape(layers * (side + gap), count * (side + gap))
    return np.ascontiguousarray(tiled[: tiled.shape[0] - gap, : tiled.shape[1] - gap])


def picture(image: np.ndarray, palette: Palette = colour) -> QImage:
    """Levels [rows, columns] as an image from surface to accent; BLANK is transparent."""
    rows, columns = image.shape
    indexed = QImage(image.tobytes(), columns, rows, columns, QImage.Format.Format_Indexed8)
    indexed.setColorTable(level_colors(palette))
    return indexed.copy()  # owns its bytes


def level_colors(palette: Palette) -> list[int]:
    return _level_colors(palette, palette(Role.SURFACE, 1.0).rgba())


@lru_cache(maxsize=8)
def _level_colors(palette: Palette, _surface: int) -> list[int]:
    """Cached by the surface colour, which differs between themes."""
    return [*(shade(level / MAX_LEVEL, palette).rgba() for level in range(MAX_LEVEL + 1)), 0]

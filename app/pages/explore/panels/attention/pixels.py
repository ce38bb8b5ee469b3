"""Attention as grey levels: pooled, scaled, and tiled into one picture.

Shapes: L layers, H heads, T tokens, P and S pixels. A level is uint8, 0 to TOP over the square root
of a weight, so that weak links are visible. GAP is not a level: nothing is painted there.
"""

from functools import lru_cache

import numpy as np
from PySide6.QtGui import QColor, QImage

from app.theme import Role, colour

TOP = 254
GAP = 255
POOLED = 64  # largest side of a pooled map


def levels(weights: np.ndarray, most: float = 1.0) -> np.ndarray:
    """Levels uint8 of the same shape; `most` is the value of the top level."""
    scaled = np.sqrt(np.clip(weights / np.float32(most), 0, 1))
    whole: np.ndarray = np.rint(scaled * TOP).astype(np.uint8)
    return whole


def pooled(weights: np.ndarray, most: int = POOLED) -> np.ndarray:
    """Max-pool float32 [L, H, T, T] to [L, H, P, P].

    Reads the mapped file one layer at a time, to limit memory.
    """
    return np.stack([_strongest(np.array(layer), most) for layer in weights])


def stretched(image: np.ndarray, side: int) -> np.ndarray:
    """Scale levels [..., P, P] to [..., S, S]: repeats pixels, or takes the maximum of blocks."""
    size = image.shape[-1]
    if side < size:
        return _strongest(image, side)
    index = np.arange(side) * size // side
    return image[..., index[:, None], index[None, :]]


def _strongest(image: np.ndarray, side: int) -> np.ndarray:
    """Maximum of each block, [..., S, S] with S at most `side`."""
    size = image.shape[-1]
    if size <= side:
        return image
    starts = np.arange(side) * size // side
    last = np.append(starts[1:], size) - 1
    found = image
    for axis in (-2, -1):
        best = found.take(starts, axis)
        for step in range(1, -(-size // side)):  # many times as fast as np.maximum.reduceat
            np.maximum(best, found.take(np.minimum(starts + step, last), axis), out=best)
        found = best
    return np.ascontiguousarray(found)


def mosaic(heads: np.ndarray, side: int, gap: int) -> np.ndarray:
    """Tile levels [L, H, P, P] into [L * (S + gap) - gap, H * (S + gap) - gap]."""
    layers, count = heads.shape[:2]
    cells = np.full((layers, count, side + gap, side + gap), GAP, dtype=np.uint8)
    cells[:, :, :side, :side] = stretched(heads, side)
    whole = cells.transpose(0, 2, 1, 3).reshape(layers * (side + gap), count * (side + gap))
    return np.ascontiguousarray(whole[: whole.shape[0] - gap, : whole.shape[1] - gap])


def picture(image: np.ndarray, low: QColor, high: QColor) -> QImage:
    """Levels [rows, columns] as an image from colour `low` to `high`; GAP is transparent."""
    rows, columns = image.shape
    made = QImage(image.tobytes(), columns, rows, columns, QImage.Format.Format_Indexed8)
    made.setColorTable(_ramp(low.rgba(), high.rgba()))
    return made.copy()  # with its own bytes


@lru_cache(maxsize=8)
def _ramp(low: int, high: int) -> list[int]:
    ends = QColor.fromRgba(low), QColor.fromRgba(high)
    return [*(between(*ends, n / TOP).rgba() for n in range(TOP + 1)), 0]


def themed(image: np.ndarray) -> QImage:
    """The image in the theme's colours, from surface to accent."""
    return picture(image, colour(Role.SURFACE), colour(Role.ACCENT))


def between(low: QColor, high: QColor, share: float) -> QColor:
    return QColor(
        *(
            round(a + (b - a) * share)
            for a, b in zip(low.getRgb()[:3], high.getRgb()[:3], strict=True)  # type: ignore[index]
        )
    )

"""From attention to levels of grey: pooled, stretched, and laid out as one mosaic.

Shapes: L layers, H heads, T tokens, P and S pixels. A level is uint8, 0 to TOP over the square root
of a weight: so weak links can be seen beside strong ones. GAP is no level: nothing is painted.
"""

from functools import lru_cache

import numpy as np
from PySide6.QtGui import QColor, QImage

from app.theme import Role, colour

TOP = 254
GAP = 255
POOLED = 64  # pixels of a head on the wall, at the most


def levels(weights: np.ndarray, most: float = 1.0) -> np.ndarray:
    """uint8, of the same shape; `most` is the number that has the top level."""
    scaled = np.sqrt(np.clip(weights / np.float32(most), 0, 1))
    whole: np.ndarray = np.rint(scaled * TOP).astype(np.uint8)
    return whole


def pooled(weights: np.ndarray, most: int = POOLED) -> np.ndarray:
    """float32 [L, H, T, T] → [L, H, P, P]: the strongest link of each block stays.

    The file of the weights is gone through a layer at a time, so that no more of it is held.
    """
    return np.stack([_strongest(np.array(layer), most) for layer in weights])


def stretched(image: np.ndarray, side: int) -> np.ndarray:
    """Levels [..., P, P] → [..., S, S]: squares repeated, or blocks reduced to their strongest."""
    size = image.shape[-1]
    if side < size:
        return _strongest(image, side)
    index = np.arange(side) * size // side
    return image[..., index[:, None], index[None, :]]


def _strongest(image: np.ndarray, side: int) -> np.ndarray:
    """The largest of each block, [..., S, S] of at most `side`."""
    size = image.shape[-1]
    if size <= side:
        return image
    starts = np.arange(side) * size // side
    last = np.append(starts[1:], size) - 1
    found = image
    for axis in (-2, -1):
        best = found.take(starts, axis)
        for step in range(1, -(-size // side)):  # many times quicker than a reduction by blocks
            np.maximum(best, found.take(np.minimum(starts + step, last), axis), out=best)
        found = best
    return np.ascontiguousarray(found)


def mosaic(heads: np.ndarray, side: int, gap: int) -> np.ndarray:
    """Levels [L, H, P, P] → one picture [L * (S + gap) - gap, H * (S + gap) - gap]."""
    layers, count = heads.shape[:2]
    cells = np.full((layers, count, side + gap, side + gap), GAP, dtype=np.uint8)
    cells[:, :, :side, :side] = stretched(heads, side)
    whole = cells.transpose(0, 2, 1, 3).reshape(layers * (side + gap), count * (side + gap))
    return np.ascontiguousarray(whole[: whole.shape[0] - gap, : whole.shape[1] - gap])


def picture(image: np.ndarray, low: QColor, high: QColor) -> QImage:
    """Levels [rows, columns] as a picture from the colour `low` to `high`; GAP is transparent."""
    rows, columns = image.shape
    made = QImage(image.tobytes(), columns, rows, columns, QImage.Format.Format_Indexed8)
    made.setColorTable(_ramp(low.rgba(), high.rgba()))
    return made.copy()  # its own bytes: those above go with this function


@lru_cache(maxsize=8)
def _ramp(low: int, high: int) -> list[int]:
    """The colours of all levels."""
    ends = QColor.fromRgba(low), QColor.fromRgba(high)
    return [*(between(*ends, n / TOP).rgba() for n in range(TOP + 1)), 0]


def themed(image: np.ndarray) -> QImage:
    """The same in the colours of the present theme, from the page's surface to its accent."""
    return picture(image, colour(Role.SURFACE), colour(Role.ACCENT))


def between(low: QColor, high: QColor, share: float) -> QColor:
    return QColor(
        *(
            round(a + (b - a) * share)
            for a, b in zip(low.getRgb()[:3], high.getRgb()[:3], strict=True)  # type: ignore[index]
        )
    )

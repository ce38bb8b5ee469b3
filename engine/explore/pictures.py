"""Charts without a window: a curve and an attention map, as SVG.

Shapes: T tokens.
"""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

INK, FAINT, ACCENT, SECOND = "#1a1d23", "#d5d9e0", "#2563eb", "#c2410c"
FONT = 'font-family="Inter, DejaVu Sans, sans-serif" font-size="12"'


def curve_svg(
    title: str,
    series: Mapping[str, Sequence[tuple[int, float]]],
    width: int = 720,
    height: int = 400,
) -> str:
    """Plot up to two curves of (step, value) on a common axis."""
    points = [point for curve in series.values() for point in curve]
    steps, values = [p[0] for p in points], [p[1] for p in points]
    low, high = min(values), max(values)
    high = high if high > low else low + 1
    first = min(steps)
    last = max(first + 1, *steps)
    left, top, right, bottom = 64, 48, width - 24, height - 48

    def x(step: float) -> float:
        return left + (step - first) / (last - first) * (right - left)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - top)

    parts = [_svg_start(width, height, title)]
    for tick in np.linspace(low, high, 5):
        parts += [
            f'<path d="M{left} {y(tick):.1f}H{right}" stroke="{FAINT}"/>',
            f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.3g}</text>',
        ]
    parts += [
        f'<text x="{x(step):.1f}" y="{bottom + 20}" text-anchor="middle">{step}</text>'
        for step in np.linspace(first, last, 6).round().astype(int)
    ]
    parts.append(f'<text x="{right}" y="{bottom + 38}" text-anchor="end">step</text>')
    for index, (name, curve_points) in enumerate(series.items()):
        colour, dash = ((ACCENT, ""), (SECOND, ' stroke-dasharray="6 4"'))[index % 2]
        line = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in curve_points)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>'
        )
        parts.append(
            f'<text x="{right}" y="{top - 8 + 16 * index}" text-anchor="end" fill="{colour}">'
            f"{escape(name)}</text>"
        )
    return "\n".join([*parts, "</svg>\n"])


def attention_svg(title: str, tokens: Sequence[str], weights: np.ndarray) -> str:
    """Draw one head as a matrix, query tokens over key tokens; darker is stronger.

    Args:
        weights: [T, T], rows sum to 1.
    """
    cell = 24
    left = 24 + 8 * max((len(token) for token in tokens), default=1)
    top = left + 24
    side = cell * len(tokens)
    parts = [_svg_start(left + side + 24, top + side + 24, title)]
    for row, token in enumerate(tokens):
        middle = top + cell * row + cell / 2
        parts.append(
            f'<text x="{left - 8}" y="{middle + 4}" text-anchor="end">{escape(token)}</text>'
        )
        column = left + cell * row + cell / 2
        parts.append(
            f'<text transform="translate({column + 4} {top - 8}) rotate(-90)">'
            f"{escape(token)}</text>"
        )
        for other, weight in enumerate(weights[row]):
            parts.append(
                f'<rect x="{left + cell * other}" y="{top + cell * row}" width="{cell}" '
                f'height="{cell}" fill="{ACCENT}" fill-opacity="{float(weight):.4f}">'
                f"<title>{escape(token)} → {escape(tokens[other])}: "
                f"{float(weight):.3f}</title></rect>"
            )
    parts.append(
        f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" stroke="{FAINT}"/>'
    )
    return "\n".join([*parts, "</svg>\n"])


def _svg_start(width: int, height: int, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" {FONT} fill="{INK}">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="16" y="24" font-weight="600">{escape(title)}</text>'
    )

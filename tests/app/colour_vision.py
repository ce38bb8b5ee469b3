"""Difference of two colours for people with any kind of colour vision.

Dichromacy is simulated in linear RGB by the matrices of Machado, Oliveira and Fernandes 2009 for a
severity of 1.0; the difference of two colours is CIEDE2000 (Sharma, Wu and Dalal 2005).
"""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

Floats = NDArray[np.float64]

VISIONS: dict[str, Floats] = {
    "trichromat": np.eye(3),
    "protanope": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranope": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanope": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def simulate(name: str, vision: str) -> Floats:
    """CIE L*a*b* [3] (D65) of the colour “#rrggbb” as seen with this vision."""
    colour = QColor(name)
    srgb = np.array([colour.redF(), colour.greenF(), colour.blueF()])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    simulated = np.clip(VISIONS[vision] @ linear, 0, 1)
    ratios = TO_XYZ @ simulated / TO_XYZ.sum(axis=1)
    dark = ratios <= 216 / 24389
    fx, fy, fz = np.where(dark, (24389 / 27 * ratios + 16) / 116, np.cbrt(ratios))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def difference(first: Floats, second: Floats) -> float:
    """CIEDE2000 between two colours in L*a*b*."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean_c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    scale = 1.5 - 0.5 * np.sqrt(mean_c7 / (mean_c7 + 25.0**7))
    a1, a2 = a1 * scale, a2 * scale
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    hue_step = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    mean_hue = h1 + h2 if c1 * c2 == 0 else (h1 + hue_step / 2) % 360
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = (
        1
        - 0.17 * np.cos(np.radians(mean_hue - 30))
        + 0.24 * np.cos(np.radians(2 * mean_hue))
        + 0.32 * np.cos(np.radians(3 * mean_hue + 6))
        - 0.20 * np.cos(np.radians(4 * mean_hue - 63))
    )
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2)
    d_l, d_c = (l2 - l1) / s_l, (c2 - c1) / (1 + 0.045 * chroma)
    d_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(hue_step / 2)) / (1 + 0.015 * chroma * t)
    c7 = chroma**7
    bend = 60 * np.exp(-(((mean_hue - 275) / 25) ** 2))
    rotation = -2 * np.sqrt(c7 / (c7 + 25.0**7)) * np.sin(np.radians(bend))
    return float(np.sqrt(d_l**2 + d_c**2 + d_h**2 + rotation * d_c * d_h))

"""What a curve shows, in words, for those who do not see it."""

from collections.abc import Callable

import numpy as np

from app.translation import tr
from app.widgets.series import Series
from app.widgets.text import numbers


def sentence(name: str, series: Series, number: Callable[[float], str]) -> str:
    """Where a series begins, ends, and is lowest and highest; `number` writes a value."""
    values = series.values
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite):
        return tr("{0}: no values yet").format(name)
    low = finite[int(np.argmin(values[finite]))]
    high = finite[int(np.argmax(values[finite]))]
    told = [
        text
        for place in (finite[0], finite[-1], low, high)
        for text in (
            number(float(values[place])),
            numbers.count(round(float(series.steps[place]))),
        )
    ]
    template = tr(
        "{0}: from {1} at step {2} to {3} at step {4}; lowest {5} at step {6}, "
        "highest {7} at step {8}"
    )
    text = template.format(name, *told)
    gaps = series.gaps()
    return text + tr("; %Ln point(s) not finite", gaps) if gaps else text

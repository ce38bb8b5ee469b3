"""What is read of a run off the window's thread: its curves and its log."""

from collections.abc import Sequence

from app.pages.runs.rows import RunRow
from app.translation import translated
from engine.messages.events import Measured
from engine.record.metrics import Points, curves
from engine.record.opening import Record
from engine.runs.folder import RunFolder

LOG_CHARACTERS = 60_000
LONGEST_LINE = 2_000  # characters; longer lines stop a text widget for seconds


def read_curves(record: Record, run_id: str) -> dict[str, Points]:
    with record.read() as session:
        return curves(session, run_id)


def points_of(measured: Sequence[Measured]) -> dict[str, Points]:
    """What was measured, curve by curve, in the order of steps; of points with the same step the
    last, as after a resume.
    """
    latest: dict[str, dict[int, Measured]] = {}
    for point in measured:
        latest.setdefault(point.name, {})[point.step] = point
    return {name: _points([points[s] for s in sorted(points)]) for name, points in latest.items()}


def _points(measured: Sequence[Measured]) -> Points:
    import numpy as np  # the window opens without it

    return Points(
        np.array([point.step for point in measured], np.int64),
        np.array([point.value for point in measured], np.float64),  # None becomes NaN
        tuple((point.step, point.status) for point in measured if point.value is None),
    )


def log_of(row: RunRow) -> str:
    """The events that were noted and the end of what the worker printed; long lines are cut."""
    text = RunFolder(row.folder).log_end(LOG_CHARACTERS)
    lines = [f"• {translated(remark)}" for remark in row.remarks] + text.splitlines()
    return "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines
    )

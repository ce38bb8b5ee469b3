"""What is read of a run off the window's thread: its curves and its log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.pages.runs.rows import RunRow
from app.translation import translated
from engine.messages.events import Measured
from engine.record.metrics import Point, curves
from engine.record.opening import Record
from engine.runs.folder import RunFolder

LOG_CHARACTERS = 60_000
LONGEST_LINE = 2_000  # characters; longer lines stop a text widget for seconds


@dataclass(frozen=True)
class Points:
    """A stretch of one curve; None where a value was not finite, and there the status says how."""

    steps: list[float]
    values: list[float | None]
    not_finite: tuple[tuple[int, str], ...] = ()


def read_curves(record: Record, run_id: str) -> dict[str, Points]:
    with record.read() as session:
        found = curves(session, run_id)
    return {name: _points(points) for name, points in found.items()}


def points_of(measured: Sequence[Measured]) -> dict[str, Points]:
    """What was measured, curve by curve, in the order of steps."""
    by_name: dict[str, list[Point]] = {}
    for point in measured:
        by_name.setdefault(point.name, []).append((point.step, point.value, point.status))
    return {name: _points(_rising(points)) for name, points in by_name.items()}


def _rising(points: list[Point]) -> list[Point]:
    """The points in the order of steps; of those with the same step the last, as after a resume."""
    latest: Mapping[int, Point] = {point[0]: point for point in points}
    return [latest[step] for step in sorted(latest)]


def _points(points: Sequence[Point]) -> Points:
    return Points(
        [float(step) for step, _, _ in points],
        [value for _, value, _ in points],
        tuple((step, status) for step, value, status in points if value is None),
    )


def log_of(row: RunRow) -> str:
    """The events that were noted and the end of what the worker printed; long lines are cut."""
    text = RunFolder(row.folder).log_end(LOG_CHARACTERS)
    lines = [f"• {translated(remark)}" for remark in row.remarks] + text.splitlines()
    return "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines
    )

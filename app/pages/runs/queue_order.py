"""The order of the queue, and what it becomes where rows of the table are dropped."""

from collections.abc import Iterable, Sequence

from app.pages.runs.arranging import Item
from app.pages.runs.rows import RunRow, queue_key


def in_order(rows: Iterable[RunRow]) -> list[RunRow]:
    """The runs that wait, the next one first."""
    return sorted((row for row in rows if row.is_waiting), key=queue_key)


def dropped(
    queue: Sequence[str], moved: Sequence[str], above: Item | None, below: Item | None, rising: bool
) -> list[str] | None:
    """The new order of the queue where rows are dropped between two others.

    Args:
        queue: the ids of all runs that wait, the next one first.
        moved: those that are dropped, which keep their order.
        above, below: the rows between which they are dropped; None: there is none.
        rising: whether the table has the next run above.

    Returns:
        None where neither neighbour waits in the queue, and where nothing changes.
    """
    there = [run for run in queue if run in set(moved)]
    rest = [run for run in queue if run not in set(moved)]
    before, after = (above, below) if rising else (below, above)
    if isinstance(after, RunRow) and after.id in rest:
        place = rest.index(after.id)
    elif isinstance(before, RunRow) and before.id in rest:
        place = rest.index(before.id) + 1
    else:
        return None
    order = [*rest[:place], *there, *rest[place:]]
    return order if order != list(queue) else None

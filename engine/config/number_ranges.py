"""Integer ranges as text, as in “0-3,8”: the format of Linux, taskset and Slurm for cores."""

import re
from collections.abc import Iterable

from engine.phrases import phrase

ENTRY = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def parse_ranges(text: str) -> tuple[int, ...]:
    """Parse the distinct numbers, ascending.

    Raises ValueError with a sentence about the unreadable part.
    """
    numbers = set[int]()
    for entry in text.split(",") if text.strip() else ():
        match = ENTRY.fullmatch(entry.strip())
        if match is None:
            raise ValueError(
                phrase(
                    "“{entry}” is neither a number nor a range: write numbers and ranges separated "
                    "by commas, for example 0-3,8",
                    entry=entry.strip(),
                )
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise ValueError(
                phrase(
                    "“{entry}” runs backwards: write {last}-{first}",
                    entry=entry.strip(),
                    first=first,
                    last=last,
                )
            )
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def format_ranges(numbers: Iterable[int]) -> str:
    """The inverse of `parse_ranges`."""
    runs = list[list[int]]()
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)

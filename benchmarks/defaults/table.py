"""What the runs say: a table of every grid, and how much the recommended values lose.

    python benchmarks/defaults/table.py            the runs that are stored beside this file
    python benchmarks/defaults/table.py RUNS.jsonl

A grid is all that was tried with one model on one set in one way. A score is the mean over the
seeds; it is that of the best checkpoint, in per cent, or the lowest loss of pre-training. What a
grid loses is the best score of it less that of the recommended values, which may be one point, or
as much as two seeds of one setting differ in this grid.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1])]

from engine.config.families.bert import BertSpec, bert  # noqa: E402
from engine.config.features import Features  # noqa: E402
from engine.config.recommended import PROBE_RATES, Situation, recommended  # noqa: E402
from engine.config.tasks import TASKS  # noqa: E402
from engine.config.training import TrainingSpec  # noqa: E402

STORED = HERE / "runs.jsonl"
NETWORKS: dict[str, BertSpec] = {"tiny": bert(2, 128), "starter": bert(4, 256)}
NETWORKS |= {"minilm": bert(6, 384)}
POINT = 0.01

Cell = tuple[float, float, float, int]  # learning rate, epochs, warm-up, batch size
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """What was tried with one model on one set in one way: the scores of each cell by seed."""

    model: str
    data: str
    way: str
    rows: int
    task: str
    metric: str
    cells: Mapping[Cell, Mapping[int, float]]

    @property
    def name(self) -> str:
        return f"{self.model}, {self.way}, {self.data} ({self.rows:,} rows)"

    @property
    def higher_is_better(self) -> bool:
        return self.metric != "loss"

    @property
    def recommended(self) -> Cell:
        """The cell that the program recommends; a probe has the settings of its own."""
        if self.way.startswith("probe"):
            rate = PROBE_RATES[self.way.split()[1]]
            return rate, Features().epochs, TrainingSpec().warmup_ratio, 32
        found = recommended(
            Situation(
                task=TASKS[self.task].info,
                from_scratch=self.way == "from scratch",
                network=NETWORKS[self.model],
                rows=self.rows,
                lora=self.way == "LoRA",
            )
        ).training
        return found.learning_rate, found.epochs, found.warmup_ratio, found.batch_size

    @property
    def best(self) -> Cell:
        sign = 1 if self.higher_is_better else -1
        return max(self.cells, key=lambda cell: sign * self.score(cell))

    @property
    def spread(self) -> float:
        """How much the seeds of one cell differ at most; 0 where each has one."""
        return max(max(scores.values()) - min(scores.values()) for scores in self.cells.values())

    @property
    def allowed(self) -> float:
        """What the recommended values may lose: a point, of a loss a hundredth of it."""
        point = POINT if self.higher_is_better else POINT * self.score(self.best)
        return max(point, self.spread)

    def score(self, cell: Cell) -> float:
        return fmean(self.cells[cell].values())

    def lost(self, cell: Cell) -> float:
        """How much less a cell reaches than the best; never below 0."""
        return abs(self.score(self.best) - self.score(cell))


def read(file: Path = STORED) -> list[Line]:
    """The runs, in the order in which they were made."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def grids(lines: Iterable[Line]) -> list[Grid]:
    """The runs by model, set, way and rows."""
    found: dict[tuple[str, str, str, int], list[Line]] = defaultdict(list)
    for line in lines:
        found[line["model"], line["way"], line["set"], line["rows"]].append(line)
    return [_grid(some) for key, some in sorted(found.items())]


def _grid(lines: list[Line]) -> Grid:
    cells: dict[Cell, dict[int, float]] = defaultdict(dict)
    for line in lines:
        cell = line["rate"], float(line["epochs"]), line["warmup"], line["batch"]
        cells[cell][line["seed"]] = line["best"]
    first = lines[0]
    return Grid(
        *(first[name] for name in ("model", "set", "way", "rows", "task", "metric")), dict(cells)
    )


def table(every: Iterable[Grid]) -> Iterator[str]:
    """A line of Markdown for each grid."""
    heads = ("grid", "recommended", "its score", "best", "the paper's", "lost", "may lose")
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for grid in every:
        cell = grid.recommended
        paper = next((one for one in grid.cells if one[:2] == (5e-5, 3.0)), None)
        there = cell in grid.cells
        yield (
            f"| {grid.name} | {_said(cell)} | {_score(grid, cell) if there else 'not measured'} "
            f"| {_score(grid, grid.best)} at {_said(grid.best)} "
            f"| {_score(grid, paper) if paper else '–'} "
            f"| {format(grid.lost(cell), '.3f') if there else '–'} | {grid.allowed:.3f} |"
        )


def _said(cell: Cell) -> str:
    rate, epochs, warmup, batch = cell
    usual = TrainingSpec()
    said = [f"{rate:g}, {epochs:g} epochs"]
    said += [f"warm-up {warmup:g}"] if warmup != usual.warmup_ratio else []
    said += [f"batches of {batch}"] if batch != usual.batch_size else []
    return ", ".join(said)


def _score(grid: Grid, cell: Cell) -> str:
    seeds = len(grid.cells[cell])
    return f"{grid.score(cell):.3f}" + (f" ({seeds} seeds)" if seeds > 1 else "")


if __name__ == "__main__":
    given = Path(sys.argv[1]) if sys.argv[1:] else STORED
    print("\n".join(table(grids(read(given)))))

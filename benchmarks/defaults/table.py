"""A table of every grid, and how much the recommended values lose.

A grid has all settings tried with one model on one set in one way. Scores are means over seeds of
the best checkpoint (the lowest loss for pre-training). The loss of a grid is its best score minus
that of the recommended values; allowed is one point, or the spread of two seeds in this grid.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import harness
from engine.config.families.bert import BertSpec, bert
from engine.config.features import Features
from engine.config.recommended import PROBE_RATES, Situation, recommend
from engine.config.tasks import TASKS
from engine.config.training import TrainingSpec

STORED = Path(__file__).parent / "runs.jsonl"
NETWORKS: dict[str, BertSpec] = {"tiny": bert(2, 128), "starter": bert(4, 256)}
NETWORKS |= {"minilm": bert(6, 384)}
POINT = 0.01

Cell = tuple[float, float, float, int]  # learning rate, epochs, warm-up, batch size
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """Scores by cell and seed, of one model on one set in one way."""

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
        """The recommended cell; probes have separate settings."""
        if self.way.startswith("probe"):
            rate = PROBE_RATES[self.way.split()[1]]
            return rate, Features().epochs, TrainingSpec().warmup_ratio, 32
        training = recommend(
            Situation(
                task=TASKS[self.task].info,
                from_scratch=self.way == "from scratch",
                network=NETWORKS[self.model],
                rows=self.rows,
                lora=self.way == "LoRA",
            )
        ).training
        return training.learning_rate, training.epochs, training.warmup_ratio, training.batch_size

    @property
    def best(self) -> Cell:
        sign = 1 if self.higher_is_better else -1
        return max(self.cells, key=lambda cell: sign * self.score(cell))

    @property
    def spread(self) -> float:
        """Largest difference between seeds of a cell; 0 if each has one."""
        return max(max(scores.values()) - min(scores.values()) for scores in self.cells.values())

    @property
    def allowed(self) -> float:
        """Allowed loss of the recommended values."""
        point = POINT if self.higher_is_better else POINT * self.score(self.best)
        return max(point, self.spread)

    def score(self, cell: Cell) -> float:
        return fmean(self.cells[cell].values())

    def lost(self, cell: Cell) -> float:
        """Difference to the best cell; not negative."""
        return abs(self.score(self.best) - self.score(cell))


def read(file: Path = STORED) -> list[Line]:
    """The runs in the order in which they were made."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def grids(lines: Iterable[Line]) -> list[Grid]:
    """The runs by model, set, way and rows."""
    groups: dict[tuple[str, str, str, int], list[Line]] = defaultdict(list)
    for line in lines:
        groups[line["model"], line["way"], line["set"], line["rows"]].append(line)
    return [_grid(group) for key, group in sorted(groups.items())]


def _grid(lines: list[Line]) -> Grid:
    cells: dict[Cell, dict[int, float]] = defaultdict(dict)
    for line in lines:
        cell = line["rate"], float(line["epochs"]), line["warmup"], line["batch"]
        cells[cell][line["seed"]] = line["best"]
    first = lines[0]
    return Grid(
        *(first[name] for name in ("model", "set", "way", "rows", "task", "metric")), dict(cells)
    )


def table(all_grids: Iterable[Grid]) -> Iterator[str]:
    """A line of Markdown for each grid."""
    heads = ("grid", "recommended", "its score", "best", "the paper's", "lost", "may lose")
    yield harness.table_head(*heads)
    for grid in all_grids:
        cell = grid.recommended
        paper = next((item for item in grid.cells if item[:2] == (5e-5, 3.0)), None)
        is_measured = cell in grid.cells
        score = _score(grid, cell) if is_measured else "not measured"
        yield (
            f"| {grid.name} | {_settings(cell)} | {score} "
            f"| {_score(grid, grid.best)} at {_settings(grid.best)} "
            f"| {_score(grid, paper) if paper else '–'} "
            f"| {format(grid.lost(cell), '.3f') if is_measured else '–'} | {grid.allowed:.3f} |"
        )


def _settings(cell: Cell) -> str:
    rate, epochs, warmup, batch = cell
    usual = TrainingSpec()
    parts = [f"{rate:g}, {epochs:g} epochs"]
    parts += [f"warm-up {warmup:g}"] if warmup != usual.warmup_ratio else []
    parts += [f"batches of {batch}"] if batch != usual.batch_size else []
    return ", ".join(parts)


def _score(grid: Grid, cell: Cell) -> str:
    seeds = len(grid.cells[cell])
    return f"{grid.score(cell):.3f}" + (f" ({seeds} seeds)" if seeds > 1 else "")


def main(arguments: list[str]) -> None:
    parser = harness.parser("defaults table", __doc__)
    parser.add_argument("results", type=Path, nargs="?", default=STORED)
    print("\n".join(table(grids(read(parser.parse_args(arguments).results)))))

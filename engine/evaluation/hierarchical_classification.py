"""Metrics of labels that are paths of a hierarchy, as a whole and by level.

N rows, C labels, L levels. At a level, a path is cut to it; one that ends above it stays as it is.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from engine.config import Spec
from engine.config.levels import Levels, Node
from engine.config.task import percent
from engine.evaluation import text_classification
from engine.evaluation.measures import (
    Measure,
    ScoredRows,
    confusion,
    f1_or_0,
    macro_f1,
    ratio,
    sums_measure,
)
from engine.evaluation.text_classification import ClassReport


class LevelFigures(Spec):
    """The scores of paths that are cut to one level, 1 for the top."""

    level: int
    nodes: int = Field(description="Nodes that occur in the rows, true or predicted.")
    accuracy: float
    f1_macro: float


class HierarchicalReport(ClassReport):
    """All metrics of one evaluation."""

    hierarchical_precision: float = Field(description="Kiritchenko et al. 2006, without the root.")
    hierarchical_recall: float
    hierarchical_f1: float
    levels: tuple[LevelFigures, ...]

    def metrics(self) -> dict[str, float]:
        return {
            "hierarchical_f1": self.hierarchical_f1,
            "hierarchical_precision": self.hierarchical_precision,
            "hierarchical_recall": self.hierarchical_recall,
            **super().metrics(),
        }

    def lines(self) -> list[str]:
        three = self.hierarchical_f1, self.hierarchical_precision, self.hierarchical_recall
        text = "hierarchical F1 {}, precision {}, recall {}"
        levels = (
            f"level {item.level}: accuracy {percent(item.accuracy)}, "
            f"macro F1 {percent(item.f1_macro)}, nodes {item.nodes}"
            for item in self.levels
        )
        return [text.format(*map(percent, three)), *levels, *super().lines()]


def report(
    logits: ArrayLike,
    true: ArrayLike,
    labels: Sequence[str],
    predicted: NDArray[np.int64],
    known: int,
) -> HierarchicalReport:
    """Compute all metrics, as `text_classification.report`.

    The first `known` labels, those of the model, decide the sign between levels. The levels that
    an unknown path shares with a known one count.
    """
    gold = np.asarray(true, dtype=np.int64)
    paths = _paths(labels, known)
    shared = _shared_levels(paths, gold, predicted).sum(axis=0)
    classes = text_classification.report(logits, true, labels, predicted)
    return HierarchicalReport(
        **classes.model_dump(),
        hierarchical_precision=float(ratio(shared[0], shared[1])),
        hierarchical_recall=float(ratio(shared[0], shared[2])),
        hierarchical_f1=float(f1_or_0(shared)),
        levels=tuple(
            level_figures(level, confusion(of[gold], of[predicted], len(nodes)))
            for level in range(1, max(map(len, paths), default=0) + 1)
            for nodes, of in [cut(paths, level)]
        ),
    )


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """Hierarchical F1, precision and recall, accuracy and macro F1."""
    gold, predicted = rows.codes("gold"), rows.codes("predicted")
    usable = (gold >= 0) & (predicted >= 0)
    parts = _shared_levels(_paths(rows.labels, rows.model_labels), gold, predicted)
    return (
        sums_measure("hierarchical_f1", parts, usable, f1_or_0),
        sums_measure("hierarchical_precision", parts, usable, lambda s: ratio(s[:, 0], s[:, 1])),
        sums_measure("hierarchical_recall", parts, usable, lambda s: ratio(s[:, 0], s[:, 2])),
        *text_classification.measures(rows),
    )


def cut(paths: Sequence[Node], level: int) -> tuple[tuple[Node, ...], NDArray[np.int64]]:
    """The nodes of C paths at a level, and the index of the one of each path, int64 [C]."""
    nodes = dict.fromkeys(path[:level] for path in paths)
    indices = {node: index for index, node in enumerate(nodes)}
    return tuple(nodes), np.array([indices[path[:level]] for path in paths], dtype=np.int64)


def likely_paths(probabilities: NDArray[np.float64], paths: Sequence[Node]) -> NDArray[np.int64]:
    """The label reached from the top by the most likely node of each level, int64 [N].

    A label that ends at a node competes with the nodes below it.

    Args:
        probabilities: float [N, C] of the labels; that of a node is the sum of those below it.
        paths: of the C labels.
    """
    order = sorted(range(len(paths)), key=paths.__getitem__)  # labels of a node are neighbours
    ordered, inside = probabilities[:, order], np.ones(probabilities.shape, dtype=bool)
    for level in range(1, max(map(len, paths)) + 1):
        _, nodes = cut([paths[index] for index in order], level)
        sums = np.add.reduceat(ordered * inside, np.unique(nodes, return_index=True)[1], axis=1)
        inside = nodes == sums.argmax(axis=1)[:, None]
    chosen: NDArray[np.int64] = np.array(order)[inside.argmax(axis=1)]
    return chosen


def level_figures(level: int, counts: NDArray[np.int64]) -> LevelFigures:
    """The scores of a level from its true nodes (rows) by predicted ones (columns), [C, C]."""
    right, claimed, true = np.diag(counts), counts.sum(axis=0), counts.sum(axis=1)
    sums = np.concatenate([right, claimed, true]).astype(np.float64)[None]
    return LevelFigures(
        level=level,
        nodes=int((claimed + true > 0).sum()),
        accuracy=float(ratio(right.sum(), counts.sum())),
        f1_macro=float(macro_f1(sums, len(counts))[0]),
    )


def _paths(labels: Sequence[str], known: int) -> list[Node]:
    hierarchy = Levels(labels[:known])
    return [hierarchy.path(label) for label in labels]


def _shared_levels(
    paths: Sequence[Node], gold: NDArray[np.int64], predicted: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Levels that the predicted and the true path share, those of either, float64 [N, 3]."""
    lengths = np.array([len(path) for path in paths])
    parts = [np.zeros(len(gold)), lengths[predicted], lengths[gold]]
    for level in range(1, lengths.max(initial=0) + 1):
        _, nodes = cut(paths, level)
        reach = (lengths[gold] >= level) & (lengths[predicted] >= level)
        parts[0] += reach & (nodes[gold] == nodes[predicted])
    return np.column_stack(parts)

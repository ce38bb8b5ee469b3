"""Levels of predictions whose labels are paths of a hierarchy.

C labels, as `engine.results.labels` numbers them.
"""

import numpy as np
from numpy.typing import NDArray

from engine.config.levels import Levels
from engine.config.task import percent
from engine.config.tasks import TASKS
from engine.evaluation.hierarchical_classification import LevelFigures, cut, level_figures
from engine.evaluation.measures import confusion
from engine.phrases import join, phrase
from engine.results.labels import codes, labels
from engine.results.predictions import Predictions


def depth(predictions: Predictions) -> int:
    """The number of levels; 1 for labels that are no paths."""
    hierarchy = Levels(predictions.info.labels)
    return max((len(hierarchy.path(label)) for label in labels(predictions)), default=1)


def nodes_at(predictions: Predictions, level: int) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The names of the nodes at a level, 1 for the top, and the node of each label, int64 [C]."""
    hierarchy = Levels(predictions.info.labels)
    nodes, of = cut([hierarchy.path(label) for label in labels(predictions)], level)
    return tuple(map(hierarchy.name, nodes)), of


def level_counts(predictions: Predictions, level: int) -> NDArray[np.int64]:
    """Counts of true nodes (rows) by predicted nodes (columns) at a level."""
    names, of = nodes_at(predictions, level)
    gold, predicted = codes(predictions, "gold"), codes(predictions, "predicted")
    usable = (gold >= 0) & (predicted >= 0)
    return confusion(of[gold[usable]], of[predicted[usable]], len(names))


def levels_note(predictions: Predictions) -> str:
    """The scores of each level in a sentence; empty for other tasks."""
    if not TASKS[predictions.info.task].info.has_levels or not predictions.is_labelled:
        return ""
    figures = (
        level_figures(level, level_counts(predictions, level))
        for level in range(1, depth(predictions) + 1)
    )
    return join(" ", [level_sentence(item) for item in figures])


def level_sentence(figures: LevelFigures) -> str:
    return phrase(
        "Level {level}: accuracy {accuracy}, macro F1 {f1}.",
        level=figures.level,
        accuracy=percent(figures.accuracy),
        f1=percent(figures.f1_macro),
    )

"""Prediction sets of stored predictions: calibrated, and their coverage of labelled rows."""

from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config.prediction import PredictionSets, PredictionSettings
from engine.config.task import percent
from engine.config.tasks import get_head
from engine.errors import StudioError
from engine.evaluation.prediction_sets import calibrate, members
from engine.files.home import Home
from engine.phrases import Phrase, join, phrase
from engine.results.fitting import applied_temperature
from engine.results.intervals import UNKNOWN, Interval, wilson
from engine.results.labels import codes
from engine.results.predictions import Predictions, read_predictions
from engine.results.store import best_checkpoint, predictions_file, results_folder
from engine.runs.snapshots import find_run


class SetFigures(NamedTuple):
    """Prediction sets of N rows.

    Args:
        sizes: the number of labels of each, int64 [N].
        covered: fraction of the labelled rows whose set contains the true label, with its interval.
        by_label: the same of the rows of each label, by name.
    """

    sizes: NDArray[np.int64]
    covered: Interval
    by_label: dict[str, Interval]

    @property
    def mean_size(self) -> float:
        """Labels per set; NaN without rows."""
        return float(self.sizes.mean()) if len(self.sizes) else float("nan")

    def to_json(self) -> dict[str, Any]:
        """All figures; None for unknown ones."""
        ends = {name: None if isnan(i.value) else list(i) for name, i in self.by_label.items()}
        covered = None if isnan(self.covered.value) else list(self.covered)
        sizes = {"mean_size": self.mean_size, "single": self.single}
        return {"coverage": covered, "by_label": ends, **sizes}

    @property
    def single(self) -> float:
        """The fraction of rows whose set has one label."""
        return float((self.sizes == 1).mean()) if len(self.sizes) else float("nan")


def has_sets(task: str) -> bool:
    """A task predicts one of several labels, so that a set of them can be predicted."""
    return get_head(task).classifies


def with_sets(
    settings: PredictionSettings, predictions: Predictions, coverage: float, by_class: bool = False
) -> PredictionSettings:
    """Settings with prediction sets calibrated on validation rows.

    Raises StudioError if they are other rows or too few, the task has no sets, or the rows were
    predicted at another temperature.
    """
    info = predictions.info
    if not has_sets(info.task):
        raise StudioError(
            "Prediction sets are for models that choose one of several labels.",
            "Choose a text or pair classifier.",
        )
    if info.part != "validation":
        raise StudioError(
            "Prediction sets are calibrated on validation rows, and these are others.",
            "Evaluate the model on the validation rows.",
        )
    if applied_temperature(info) != settings.temperature:
        raise StudioError(
            "These rows were predicted at another temperature.",
            "Evaluate the model on them again.",
        )
    known = np.flatnonzero(_is_known(predictions))
    return settings.model_copy(update={"sets": _calibrate(predictions, known, coverage, by_class)})


def with_coverage(
    settings: PredictionSettings, checkpoint: Path, coverage: float, by_class: bool, home: Home
) -> PredictionSettings:
    """`with_sets` on the stored predictions of a checkpoint's validation rows; 0: without sets.

    Raises StudioError also if there are no such predictions.
    """
    if not coverage:
        return settings.model_copy(update={"sets": None})
    folder, run = results_folder(checkpoint, home), find_run(checkpoint)
    if run is not None and checkpoint.name != best_checkpoint(run).name:
        folder /= checkpoint.name
    stored = read_predictions(predictions_file(folder, "validation"))
    return with_sets(settings, stored, coverage, by_class)


def set_figures(predictions: Predictions, sets: PredictionSets) -> SetFigures:
    """The sets of all rows, and their coverage.

    On validation rows, which calibrate the sets, coverage is that of sets calibrated on one half
    of the rows in the other one, both ways; unknown if the halves are too small.
    """
    names, true = predictions.info.labels, codes(predictions, "gold")
    known = np.flatnonzero(_is_known(predictions))
    rows = np.flatnonzero(true >= 0)
    inside = members(sets, predictions.scores, names)
    is_covered = np.zeros(len(true), dtype=bool)
    is_covered[known] = inside[known, true[known]]
    is_measured = True
    if predictions.info.part == "validation":
        try:
            for first in (0, 1):
                half, other = known[first::2], known[1 - first :: 2]
                halved = _calibrate(predictions, half, sets.coverage, sets.by_class)
                inside_other = members(halved, predictions.scores[other], names)
                is_covered[other] = inside_other[np.arange(len(other)), true[other]]
        except StudioError:
            is_measured = False

    def fraction(chosen: NDArray[np.int64]) -> Interval:
        return wilson(int(is_covered[chosen].sum()), len(chosen)) if is_measured else UNKNOWN

    by_label = {name: fraction(np.flatnonzero(true == n)) for n, name in enumerate(names)}
    return SetFigures(inside.sum(axis=1), fraction(rows), by_label)


def _is_known(predictions: Predictions) -> NDArray[np.bool_]:
    """The rows with a label that the model knows, bool [N]."""
    true = codes(predictions, "gold")
    known: NDArray[np.bool_] = (true >= 0) & (true < len(predictions.info.labels))
    return known


def _calibrate(
    predictions: Predictions, rows: NDArray[np.int64], coverage: float, by_class: bool
) -> PredictionSets:
    true, labels = codes(predictions, "gold")[rows], predictions.info.labels
    return calibrate(predictions.scores[rows], true, labels, coverage, by_class)


def sets_sentence(sets: PredictionSets) -> Phrase:
    """The coverage of the sets in one sentence, the same in the whole program."""
    share, n = sets.share, sets.rows
    if sets.by_class:
        return phrase(
            "Prediction sets: {share} of the rows of each label contain the true label "
            "(calibrated on {n:,} row(s)).",
            share=share,
            n=n,
        )
    return phrase(
        "Prediction sets: {share} of rows contain the true label (calibrated on {n:,} row(s)).",
        share=share,
        n=n,
    )


def set_lines(sets: PredictionSets, figures: SetFigures) -> list[Phrase]:
    """The coverage that was measured, and the sizes of the sets."""
    covered = [covered_sentence(figures.covered)]
    if sets.by_class:
        covered += [covered_sentence(found, label) for label, found in figures.by_label.items()]
    return [sets_sentence(sets), *filter(None, covered), sizes_sentence(figures)]


def sets_note(predictions: Predictions) -> str:
    """`set_lines` as one text; empty if the model had no prediction sets."""
    sets = predictions.info.sets
    return "" if sets is None else join(" ", set_lines(sets, set_figures(predictions, sets)))


def covered_sentence(found: Interval, label: str = "") -> Phrase | None:
    """The fraction of sets with the true label, of all rows or those of a label; None: unknown."""
    if isnan(found.value):
        return None
    ends = dict(zip(("share", "low", "high"), map(percent, found), strict=True))
    if label:
        return phrase("“{label}”: {share} (95 % interval {low} to {high}).", label=label, **ends)
    return phrase("Measured on other rows: {share} (95 % interval {low} to {high}).", **ends)


def sizes_sentence(figures: SetFigures) -> Phrase:
    size, single = figures.mean_size, percent(figures.single)
    return phrase("{size:.2f} labels per set; {single} of sets have one.", size=size, single=single)

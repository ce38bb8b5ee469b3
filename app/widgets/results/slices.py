"""Slices of rows: those that somebody named, and those where the model is worst."""

from dataclasses import dataclass
from typing import Any, ClassVar

from app.translation import marked, translated
from app.widgets import numbers
from app.widgets.results.group_table import GroupPicture, Line, Lines
from engine.results.groups import row_scores
from engine.results.predictions import Predictions
from engine.results.slices import MIN_ROWS, Slice, WorstSlices, score_slices, worst_slices

NOTHING = WorstSlices((), 0, 0)


@dataclass(frozen=True)
class Slices(Lines):
    """The named slices first, then those that were found."""

    found: WorstSlices = NOTHING


def slices(predictions: Predictions, kept: tuple[Slice, ...] = ()) -> Slices:
    """The slices of these rows with their scores."""
    usable = tuple(
        one
        for one in kept
        if all(getattr(c, "column", None) in (None, *predictions.columns) for c in one.conditions)
    )
    scores, found = row_scores(predictions), worst_slices(predictions)
    named = tuple(
        Line(one.name, group.count, group.score, group.conditions)
        for one, group in zip(usable, score_slices(predictions, usable), strict=True)
    )
    worst = tuple(
        Line(one.group.name, one.group.count, one.group.score, one.conditions)
        for one in found.slices
    )
    return Slices((*named, *worst), scores.name, scores.more_is_better, found)


class SlicesPicture(GroupPicture):
    """A table of slices; below it the worst one in a sentence."""

    key = "slices"
    title = marked("Slices")
    measure: ClassVar[Any] = staticmethod(slices)

    def said(self, measured: Lines) -> str:
        assert isinstance(measured, Slices)
        tried = numbers.count(measured.found.tried)
        if not measured.found.slices:
            return self.tr(
                "No slice of at least {0} rows is worse than chance explains ({1} were tried). "
                "Filter the rows and keep them as a slice to see its score here."
            ).format(MIN_ROWS, tried)
        worst = translated(measured.found.slices[0].sentence)
        return self.tr("Worst of {0} slices: {1}.").format(tried, worst)

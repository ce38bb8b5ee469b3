"""Texts about the points of the map."""

from app.pages.explore.panels.map.state import MapState
from app.translation import tr
from app.widgets.text.numbers import percent
from engine.messages.explore.text_set import TextsPlaced


def vectors_name(state: MapState) -> str:
    """The kind of vector behind the points."""
    if state.pooling == "cls":
        return tr("Vectors of the first token")
    if state.pooling == "pooled":
        return tr("Pooled vectors")
    return tr("Means of the vectors of all tokens")


def axis_names(answer: TextsPlaced) -> tuple[str, str]:
    """Axis titles, with the explained variance of a PCA."""
    if answer.explained is None:
        return tr("t-SNE, axis 1"), tr("t-SNE, axis 2")
    first, second = (percent(share) for share in answer.explained)
    return (
        tr("First component ({0} of the variance)").format(first),
        tr("Second component ({0})").format(second),
    )

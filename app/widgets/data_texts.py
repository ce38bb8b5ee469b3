"""What the rows of a data set say, in a few words."""

from PySide6.QtCore import QCoreApplication

from app.widgets.number_field import written
from engine.data.columns.label_sets import counted
from engine.data.columns.numbers import is_scale, number_in
from engine.spec.dataset import DatasetSpec

translate = QCoreApplication.translate


def wanted_of(spec: DatasetSpec) -> str:
    """What a task can learn from each row: classes, several labels, numbers, …"""
    mapping, labels = spec.mapping, spec.labels
    if mapping.endings:
        return _endings(spec)
    if mapping.answers is not None:
        return translate("DataWords", "questions and answers")
    if mapping.tags is not None:
        return translate("DataWords", "%Ln kind(s) of tags", "", len(spec.spans))
    if mapping.flags:
        return translate("DataWords", "%Ln label(s), any number for a row", "", len(mapping.flags))
    if mapping.label is None:
        return translate("DataWords", "text without labels")
    if is_scale(labels):
        low, high = scale_of(labels)
        return translate("DataWords", "numbers from {0} to {1}").format(written(low), written(high))
    if (several := counted(labels)) is not None:
        return translate("DataWords", "%Ln label(s), any number for a row", "", len(several))
    return translate("DataWords", "%Ln class(es)", "", len(labels))


def scale_of(labels: dict[str, int]) -> tuple[float, float]:
    """The lowest and the highest of labels that are numbers."""
    found = [number for label in labels if (number := number_in(label)) is not None]
    return min(found), max(found)


def _endings(spec: DatasetSpec) -> str:
    if len(spec.mapping.endings) > 1:
        count = len(spec.mapping.endings)
        return translate("DataWords", "%Ln ending(s) to choose from", "", count)
    return translate("DataWords", "endings to choose from")

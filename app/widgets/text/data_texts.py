"""Data sets in words: splits, sizes, labels."""

from collections.abc import Mapping

from app.translation import tr
from app.widgets.text import numbers
from engine.config.dataset import DatasetSpec, SplitName
from engine.data.columns.label_sets import count_label_sets
from engine.data.columns.numbers import is_scale, parse_number
from engine.phrases import number_text


def split_title(name: SplitName) -> str:
    titles = {"train": tr("Training"), "validation": tr("Validation"), "test": tr("Test")}
    return titles[name]


def split_sizes(rows: Mapping[SplitName, int], separator: str = " · ") -> str:
    """“training 1,728 · validation 216”: the splits that have any rows."""
    templates = {
        "train": tr("training {0}"),
        "validation": tr("validation {0}"),
        "test": tr("test {0}"),
    }
    return separator.join(
        templates[name].format(numbers.count(count)) for name, count in rows.items() if count
    )


def targets_text(spec: DatasetSpec) -> str:
    """The targets in the rows: classes, several labels, numbers, …"""
    mapping, labels = spec.mapping, spec.labels
    if mapping.endings:
        return _endings(spec)
    if mapping.answers is not None:
        return tr("questions with answers")
    if mapping.tags is not None:
        if spec.has_text_spans:
            return tr("%Ln span label(s)", len(spec.spans))
        return tr("%Ln type(s) of tags", len(spec.spans))
    if mapping.flags:
        return tr("%Ln label(s), any number per row", len(mapping.flags))
    if mapping.label is None:
        return tr("text without labels")
    if is_scale(labels):
        low, high = label_range(labels)
        return tr("numbers from {0} to {1}").format(number_text(low), number_text(high))
    if (several := count_label_sets(labels)) is not None:
        return tr("%Ln label(s), any number per row", len(several))
    return tr("%Ln label(s)", sum(map(bool, labels)))  # “” is unlabelled


def label_range(labels: dict[str, int]) -> tuple[float, float]:
    """Minimum and maximum of labels that are numbers."""
    values = [number for label in labels if (number := parse_number(label)) is not None]
    return min(values), max(values)


def _endings(spec: DatasetSpec) -> str:
    if len(spec.mapping.endings) > 1:
        count = len(spec.mapping.endings)
        return tr("%Ln choice(s) per row", count)
    return tr("several choices per row")

"""How the columns of the runs are called in the sentence of a filter."""

from functools import cache

from app.pages.runs.columns import Column, all_columns, column_of
from app.pages.runs.rows import Measure
from app.translation import in_language
from app.widgets.text.run_texts import VALIDATION
from engine.config.tasks import metric_of


@cache
def field_keys() -> dict[str, str]:
    """The column for each name that may be typed, casefolded; the first that claims a name has it.

    Made once for a language: names are titles, and the keys themselves.
    """
    found: dict[str, str] = {}
    for key in all_columns():
        for name in names_of(key):
            found.setdefault(name.casefold(), key)
    return found


def names_of(key: str) -> list[str]:
    """How a column is called in a sentence, the best name first."""
    facts = column_of(key)
    title = facts.title() if facts is not None else key
    measure = facts.measure if facts is not None else None
    if measure is not None:
        return _names_of_measure(measure, title)
    short = title.partition(" (")[0]
    last = key.rpartition(".")[2]
    own = ["score"] if key == Column.BEST else []
    return [short.lower() if short.isascii() else short, title, *own, key, last]


def _names_of_measure(measure: Measure, title: str) -> list[str]:
    metric = metric_of(measure.name.removeprefix(VALIDATION))
    if not measure.name.startswith(VALIDATION) or metric is None:
        return [title.lower(), title, measure.key]
    bare = measure.name.removeprefix(VALIDATION)
    if bare == "loss":
        bare = "validation loss"
    prefix = {"at best": "", "last": "last "}.get(measure.when, "best ")
    names = [in_language(metric.title), metric.short, bare, bare.replace("_", " ")]
    if bare == "validation loss":
        names = [bare]
    plain_first = sorted((name for name in names if name), key=lambda name: "(" in name)
    return [*dict.fromkeys(f"{prefix}{name}" for name in plain_first), title, measure.key]


def name_of(key: str) -> str:
    """The best name of a column that no other column claims before it."""
    return next(name for name in names_of(key) if field_keys()[name.casefold()] == key)

"""Conditions as forms: a subject, an operator, and its values.

“gold is bad” is the subject “gold”, the operator “is” and the label “bad”. Reading a
condition and building it again gives an equal one, so typed conditions can equal those of pictures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.translation import in_language, marked, tr, translated
from app.widgets.text.labels import visible
from engine.config.task import RowFigure
from engine.config.tasks import TASKS
from engine.evaluation.measures import Side
from engine.results.coders import coder_codes
from engine.results.conditions import (
    FIGURE_NAMES,
    Between,
    CellBetween,
    CellContains,
    CellHasWord,
    CellIs,
    CellMatches,
    CodersDisagree,
    Condition,
    HasSpan,
    LabelIs,
    Outcome,
    Rows,
    ScoreBetween,
)
from engine.results.labels import labels
from engine.results.predictions import Predictions
from engine.results.spans import ERROR_NAMES, SPAN_KINDS, span_table

Values = tuple[Any, ...]  # str of a text or choice, float of a number
COMMON_FIGURES: tuple[RowFigure, ...] = ("loss", "words", "characters")


@dataclass(frozen=True)
class Value:
    """One input: a text, a number, or one of `choices`, each a pair of value and text."""

    name: str
    kind: Literal["text", "number", "choice"] = "text"
    choices: tuple[tuple[Any, str], ...] = ()
    is_fraction: bool = False  # a number that may be typed in per cent


@dataclass(frozen=True)
class Operator:
    """A predicate of a subject; `make` builds the condition from its values."""

    text: str
    make: Callable[..., Condition]
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Subject:
    """Subject of a condition; subjects with equal keys are the same."""

    key: tuple[str, ...]
    title: str
    operators: tuple[Operator, ...]


@dataclass(frozen=True)
class Form:
    """A condition as a form: key of its subject, operator and values."""

    key: tuple[str, ...]
    operator: int
    values: Values = ()


def subjects(predictions: Predictions, current: Form) -> list[Subject]:
    """All subjects of these predictions, including the subject of the current condition."""
    info, task = predictions.info, TASKS[predictions.info.task].info
    head = task.head
    offered = [outcome_subject()]
    if coder_codes(predictions) is not None:
        offered.append(coders_subject())
    if head is not None and (head.labels_inputs or head.scores_choices):
        sides: tuple[Side, ...] = ("gold", "predicted")
        offered += [label_subject(side, labels(predictions)) for side in sides]
    if head is not None and head.marks_text:
        offered.append(span_subject(span_table(predictions).types))
    offered += [figure_subject(figure) for figure in (*task.row_figures, *COMMON_FIGURES)]
    offered += [cell_subject(column) for column in predictions.columns]
    if head is not None and head.labels_inputs:
        offered += [score_subject(label) for label in info.labels]
    if all(subject.key != current.key for subject in offered):
        offered.append(MAKERS[current.key[0]](current.key[1]))
    return offered


def as_form(condition: Condition) -> Form | None:
    """The form of a condition; None for rows that were selected one by one."""
    match condition:
        case LabelIs():
            return Form(("label", condition.side), 1 - condition.holds, (condition.label,))
        case Outcome():
            return Form(("outcome",), 1 - condition.right)
        case CodersDisagree():
            return Form(("coders",), 1 - condition.holds)
        case Between():
            return _typed_range(("figure", condition.figure), 0, condition)
        case ScoreBetween():
            return _typed_range(("score", condition.label), 0, condition)
        case CellBetween():
            return _typed_range(("cell", condition.column), len(CELL_OPERATORS), condition)
        case HasSpan():
            kind = 0 if condition.error is None else 1 + SPAN_KINDS.index(condition.error)
            return Form(("span",), kind, (condition.gold, condition.predicted))
        case Rows():
            return None
    number, value = _typed_cell(condition)
    return Form(("cell", condition.column), number, (value,))


# ── subjects ─────────────────────────────────────────────────────────────────────────────────


def outcome_subject() -> Subject:
    operators = (
        Operator(tr("is correct"), lambda: Outcome(right=True)),
        Operator(tr("is wrong"), lambda: Outcome(right=False)),
    )
    return Subject(("outcome",), tr("the prediction"), operators)


def coders_subject() -> Subject:
    operators = (
        Operator(tr("disagree"), CodersDisagree),
        Operator(tr("do not disagree"), lambda: CodersDisagree(holds=False)),
    )
    return Subject(("coders",), tr("the coders"), operators)


def label_subject(side: Side, names: Sequence[str]) -> Subject:
    value = Value(tr("Label"), "choice", tuple((name, visible(name)) for name in names))
    operators = (
        Operator(tr("is"), lambda label: LabelIs(side=side, label=label), (value,)),
        Operator(
            tr("is not"), lambda label: LabelIs(side=side, label=label, holds=False), (value,)
        ),
    )
    return Subject(
        ("label", side), tr("true label") if side == "gold" else tr("predicted"), operators
    )


def figure_subject(figure: RowFigure) -> Subject:
    return Subject(
        ("figure", figure),
        translated(FIGURE_NAMES[figure]),
        _ranges(lambda **ends: Between(figure=figure, **ends), figure == "probability"),
    )


def score_subject(label: str) -> Subject:
    return Subject(
        ("score", label),
        tr("the probability of “{0}”").format(visible(label)),
        _ranges(lambda **ends: ScoreBetween(label=label, **ends), is_fraction=True),
    )


def cell_subject(column: str) -> Subject:
    value = Value(tr("Text"))
    operators = tuple(
        Operator(in_language(text), lambda entered, make=make: make(column, entered), (value,))
        for text, make in CELL_OPERATORS
    )
    ranges = _ranges(lambda **ends: CellBetween(column=column, **ends))
    return Subject(("cell", column), f"“{visible(column)}”", (*operators, *ranges))


def span_subject(types: Sequence[str]) -> Subject:
    """Subject “the row has a” with a kind of span error, a true type and a predicted type."""
    choices = ((None, tr("any type")), *((name, visible(name)) for name in types))
    values = (
        Value(tr("True type"), "choice", choices),
        Value(tr("Predicted type"), "choice", choices),
    )

    def operator(kind: Any, text: str) -> Operator:
        return Operator(
            text,
            lambda gold, predicted: HasSpan(error=kind, gold=gold, predicted=predicted),
            values,
        )

    kinds = [operator(kind, translated(ERROR_NAMES[kind])) for kind in SPAN_KINDS]
    return Subject(("span",), tr("the row has a"), (operator(None, tr("span")), *kinds))


CELL_OPERATORS: tuple[tuple[str, Callable[[str, str], Condition]], ...] = (
    (marked("is"), lambda column, text: CellIs(column=column, value=text)),
    (marked("contains"), lambda column, text: CellContains(column=column, text=text)),
    (marked("has the word"), lambda column, text: CellHasWord(column=column, word=text)),
    (
        marked("begins with the word"),
        lambda column, text: CellHasWord(column=column, word=text, first=True),
    ),
    (
        marked("matches the regular expression"),
        lambda column, text: CellMatches(column=column, pattern=text),
    ),
)


def _typed_cell(condition: CellIs | CellContains | CellHasWord | CellMatches) -> tuple[int, str]:
    """Index of a condition's operator in CELL_OPERATORS, and its text."""
    match condition:
        case CellIs():
            return 0, condition.value
        case CellContains():
            return 1, condition.text
        case CellHasWord():
            return 2 + condition.first, condition.word
    return 4, condition.pattern


def _ranges(make: Callable[..., Condition], is_fraction: bool = False) -> tuple[Operator, ...]:
    """Operators of a number; intervals include only the lower end."""
    low, high = (
        Value(name, "number", is_fraction=is_fraction) for name in (tr("At least"), tr("Below"))
    )
    return (
        Operator(tr("is at least"), lambda least: make(least=least), (low,)),
        Operator(tr("is below"), lambda most: make(most=most), (high,)),
        Operator(tr("is between"), lambda least, most: make(least=least, most=most), (low, high)),
        Operator(tr("is known"), make),
    )


def _typed_range(
    key: tuple[str, ...], first: int, condition: Between | ScoreBetween | CellBetween
) -> Form:
    """A range whose operators begin at the index `first`."""
    match condition.least, condition.most:
        case None, None:
            return Form(key, first + 3)
        case low, None:
            return Form(key, first, (low,))
        case None, high:
            return Form(key, first + 1, (high,))
        case low, high:
            return Form(key, first + 2, (low, high))


MAKERS: dict[str, Callable[[Any], Subject]] = {
    "figure": figure_subject,
    "score": score_subject,
    "cell": cell_subject,
    "label": lambda side: label_subject(side, ()),
}
"""Forms of a condition by the first part of its key; each is called with the second part."""

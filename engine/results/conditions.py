"""Conditions that select rows of predictions, shared by pictures, slices, lists and exports.

A condition is plain data with a mask and a sentence; several are combined by “and”. Ranges include
their lower end and exclude the upper one, so that adjacent ranges partition the rows.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from engine.config import Spec
from engine.config.task import RowFigure
from engine.errors import StudioError
from engine.evaluation.measures import Side
from engine.phrases import Phrase, phrase
from engine.results.coders import disputed_rows
from engine.results.labels import codes, has_label, labels
from engine.results.levels import nodes_at
from engine.results.predictions import Predictions
from engine.results.row_figures import Floats, figure, parse_numbers
from engine.results.spans import ERROR_NAMES, SpanKind, rows_with_spans

MAX_LISTED_ROWS = 3  # row numbers in a sentence
IN_WORD = r"\pL\pM\pN_"


class LabelIs(Spec):
    """The gold or predicted label is this one; for multi-label rows, it is among them.

    At a `level` of a hierarchy, the path that is cut to it is this one; 0: the whole label.
    """

    kind: Literal["label"] = "label"
    side: Side
    label: str
    holds: bool = True  # False: is not
    level: int = 0

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        if self.level:
            names, of = nodes_at(predictions, self.level)
            inside = np.flatnonzero(np.array(names)[of] == self.label)
            below: NDArray[np.bool_] = np.isin(codes(predictions, self.side), inside)
            return below if self.holds else ~below
        all_labels = labels(predictions)
        if self.label not in all_labels:
            return np.full(len(predictions), not self.holds)
        has = has_label(predictions, self.side, all_labels.index(self.label))
        return has if self.holds else ~has

    @property
    def sentence(self) -> Phrase:
        if self.level:
            return phrase(
                "{label} at level {level}",
                label=self.model_copy(update={"level": 0}).sentence,
                level=self.level,
            )
        if self.side == "gold":
            return (
                phrase("true label is “{label}”", label=self.label)
                if self.holds
                else phrase("true label is not “{label}”", label=self.label)
            )
        return (
            phrase("predicted is “{label}”", label=self.label)
            if self.holds
            else phrase("predicted is not “{label}”", label=self.label)
        )


class Outcome(Spec):
    """Rows whose prediction is correct, or else misclassified; none without gold."""

    kind: Literal["outcome"] = "outcome"
    right: bool

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        score = figure(predictions, "score")
        return score >= 1 if self.right else score < 1

    @property
    def sentence(self) -> Phrase:
        return (
            phrase("the prediction is correct") if self.right else phrase("the prediction is wrong")
        )


class CodersDisagree(Spec):
    """Rows to which coders gave different labels, or else all other rows."""

    kind: Literal["coders"] = "coders"
    holds: bool = True

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        disputed = disputed_rows(predictions)
        return disputed if self.holds else ~disputed

    @property
    def sentence(self) -> Phrase:
        return phrase("coders disagree") if self.holds else phrase("coders do not disagree")


class Between(Spec):
    """A number of the row is at least `least` and below `most`; None: unbounded."""

    kind: Literal["between"] = "between"
    figure: RowFigure
    least: float | None = None
    most: float | None = None

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        return _within(figure(predictions, self.figure), self.least, self.most)

    @property
    def sentence(self) -> Phrase:
        return _range(FIGURE_NAMES[self.figure], self.least, self.most)


class ScoreBetween(Spec):
    """The probability of one label is at least `least` and below `most`."""

    kind: Literal["label_score"] = "label_score"
    label: str
    least: float | None = None
    most: float | None = None

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        names = predictions.info.labels
        if self.label not in names:
            return np.zeros(len(predictions), dtype=bool)
        scores = predictions.scores[:, names.index(self.label)]
        return _within(scores, self.least, self.most)

    @property
    def sentence(self) -> Phrase:
        name = phrase("the probability of “{label}”", label=self.label)
        return _range(name, self.least, self.most)


class CellIs(Spec):
    """The cell of a column is this text."""

    kind: Literal["cell"] = "cell"
    column: str
    value: str

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        return _bools(pc.equal(_cells(predictions, self.column), pa.scalar(self.value)))

    @property
    def sentence(self) -> Phrase:
        return phrase("“{column}” is “{value}”", column=self.column, value=self.value)


class CellContains(Spec):
    """The cell of a column contains this text, ignoring case."""

    kind: Literal["contains"] = "contains"
    column: str
    text: str

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        cells = _cells(predictions, self.column)
        return _bools(pc.match_substring(cells, self.text, ignore_case=True))

    @property
    def sentence(self) -> Phrase:
        return phrase("“{column}” contains “{text}”", column=self.column, text=self.text)


class CellHasWord(Spec):
    """The cell of a column contains, or begins with, a word, ignoring case."""

    kind: Literal["word"] = "word"
    column: str
    word: str
    first: bool = False

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        before = rf"^[^{IN_WORD}]*" if self.first else rf"(^|[^{IN_WORD}])"
        word = self.word.replace(r"\E", r"\E\\E\Q")  # unlike Python, RE2 has \Q … \E
        pattern = rf"{before}\Q{word}\E($|[^{IN_WORD}])"
        cells = _cells(predictions, self.column)
        return _bools(pc.match_substring_regex(cells, pattern, ignore_case=True))

    @property
    def sentence(self) -> Phrase:
        if self.first:
            return phrase("“{column}” begins with “{word}”", column=self.column, word=self.word)
        return phrase("“{column}” has the word “{word}”", column=self.column, word=self.word)


class CellMatches(Spec):
    """The cell of a column matches a regular expression (RE2 syntax)."""

    kind: Literal["matches"] = "matches"
    column: str
    pattern: str

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        """Raises StudioError for an invalid regular expression."""
        try:
            matches = pc.match_substring_regex(_cells(predictions, self.column), self.pattern)
        except pa.ArrowInvalid as error:
            raise StudioError(
                "“{pattern}” is not a valid regular expression.",
                "Check its brackets; look-ahead and back-references are not supported.",
                pattern=self.pattern,
            ) from error
        return _bools(matches)

    @property
    def sentence(self) -> Phrase:
        return phrase("“{column}” matches {pattern}", column=self.column, pattern=self.pattern)


class CellBetween(Spec):
    """The number in the cell of a column is at least `least` and below `most`."""

    kind: Literal["cell_between"] = "cell_between"
    column: str
    least: float | None = None
    most: float | None = None

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        numbers = parse_numbers(_cells(predictions, self.column))
        return _within(numbers, self.least, self.most)

    @property
    def sentence(self) -> Phrase:
        return _range(phrase("“{column}”", column=self.column), self.least, self.most)


class Rows(Spec):
    """The rows with these numbers in the column `row`."""

    kind: Literal["rows"] = "rows"
    rows: tuple[int, ...]

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        rows = pa.array(self.rows, pa.int64())
        return _bools(pc.is_in(predictions.table["row"], value_set=rows))

    @property
    def sentence(self) -> Phrase:
        if len(self.rows) <= MAX_LISTED_ROWS:
            return phrase("the row is one of {rows}", rows=", ".join(map(str, self.rows)))
        return phrase("the row is one of {n} that were selected", n=len(self.rows))


class HasSpan(Spec):
    """The row has a span of this kind and of these types; None: any."""

    kind: Literal["span"] = "span"
    error: SpanKind | None = None
    gold: str | None = None  # type of the gold span
    predicted: str | None = None

    def mask(self, predictions: Predictions) -> NDArray[np.bool_]:
        return rows_with_spans(predictions, self.error, self.gold, self.predicted)

    @property
    def sentence(self) -> Phrase:
        name = phrase("span") if self.error is None else ERROR_NAMES[self.error]
        match self.gold, self.predicted:
            case None, None:
                return phrase("the row has a {name}", name=name)
            case str(gold), None:
                return phrase("the row has a {name}: true type “{gold}”", name=name, gold=gold)
            case None, str(predicted):
                return phrase(
                    "the row has a {name}: predicted “{predicted}”", name=name, predicted=predicted
                )
        return phrase(
            "the row has a {name}: true type “{gold}”, predicted “{predicted}”",
            name=name,
            gold=self.gold,
            predicted=self.predicted,
        )


Condition = Annotated[
    LabelIs
    | Outcome
    | CodersDisagree
    | Between
    | ScoreBetween
    | CellIs
    | CellContains
    | CellHasWord
    | CellMatches
    | CellBetween
    | Rows
    | HasSpan,
    Field(discriminator="kind"),
]
Conditions = tuple[Condition, ...]
CONDITIONS: TypeAdapter[Conditions] = TypeAdapter(Conditions)
"""Conditions to and from JSON: `dump_json`, `validate_json`."""

FIGURE_NAMES: dict[RowFigure, Phrase] = {
    "probability": phrase("probability"),
    "loss": phrase("loss"),
    "score": phrase("score of the row"),
    "words": phrase("length in words"),
    "characters": phrase("length in characters"),
    "gold": phrase("true number"),
    "predicted": phrase("predicted number"),
    "residual": phrase("residual"),
    "margin": phrase("margin"),
    "no_answer": phrase("no-answer score"),
}


def mask(predictions: Predictions, conditions: Sequence[Condition]) -> NDArray[np.bool_]:
    """The rows for which all conditions hold, bool [rows].

    Raises StudioError for a missing column or an invalid regular expression.
    """
    rows = np.ones(len(predictions), dtype=bool)
    for condition in conditions:
        rows &= condition.mask(predictions)
    return rows


def sentence(conditions: Sequence[Condition]) -> Phrase:
    """The conditions in words, joined with “and”; “all rows” for none."""
    if not conditions:
        return phrase("all rows")
    *others, text = (condition.sentence for condition in conditions)
    for other in reversed(others):
        text = phrase("{first} and {rest}", first=other, rest=text)
    return text


def _within(numbers: Floats, least: float | None, most: float | None) -> NDArray[np.bool_]:
    within: NDArray[np.bool_] = ~np.isnan(numbers)
    if least is not None:
        within &= numbers >= least
    if most is not None:
        within &= numbers < most
    return within


def _range(name: Phrase, least: float | None, most: float | None) -> Phrase:
    match least, most:
        case None, None:
            return phrase("{name} is known", name=name)
        case float(low), None:
            return phrase("{name} is at least {least:.4g}", name=name, least=low)
        case None, float(high):
            return phrase("{name} is below {most:.4g}", name=name, most=high)
    return phrase(
        "{name} is at least {least:.4g} and below {most:.4g}", name=name, least=least, most=most
    )


def _cells(predictions: Predictions, column: str) -> "pa.ChunkedArray[pa.StringScalar]":
    if column not in predictions.columns:
        raise StudioError(
            "These predictions have no column “{column}”.",
            "Choose one of these columns: {columns}.",
            column=column,
            columns=", ".join(predictions.columns),
        )
    return predictions.cells(column)


def _bools(values: Any) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return flags

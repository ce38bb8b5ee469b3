"""What a model suggests for the labels of a stored data set: likely errors, and missing ones.

Shapes: N rows, C classes, D size of a vector.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset
from engine.errors import StudioError
from engine.messages.labelling import LabelErrorsFound, LabelsSuggested, Suggestion
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.results.label_errors import label_errors
from engine.results.out_of_sample import out_of_sample
from engine.results.suggestions import most_diverse, most_uncertain
from engine.spec.dataset import SPLITS
from engine.tasks import learner_of
from engine.tasks.evaluating import collect_predictions
from engine.tasks.vectors import some_layers, vectors_at, vectors_of

SHOWN = 1_000  # rows that are suggested at most
SHARE = 0.1  # of all rows that are listed as suspicious, or as many as are likely errors
LAYER_ROWS = 100_000  # of which the vectors of several layers still fit into the memory
MAX_LENGTH = 128  # tokens of a row that are read
BATCH = 32

Tell = Callable[[str, int, int], None]


Scorer = Callable[[NDArray[np.int64], NDArray[np.int64], list[str]], NDArray[np.float64]]
"""From rows, their labels and the names of these to float64 [N, C], out of sample."""


def find_label_errors(
    dataset: Dataset, loaded: Checkpoint | None, tell: Tell, scorer: Scorer | None = None
) -> LabelErrorsFound:
    """The rows for training and validation whose label is the least credible.

    With `scorer`, by what it says; else by two quick models, of which one needs a `loaded` encoder.

    Raises StudioError where the rows have no labels of which each has one.
    """
    numbers = _numbers(dataset, labelled=True)
    labels = _labels(dataset, numbers)
    names = sorted(set(labels))
    if len(names) < 2:
        raise StudioError(
            phrase("The rows have fewer than two labels."),
            phrase("Label some rows of each kind first."),
        )
    place = {name: number for number, name in enumerate(names)}
    given = np.array([place[label] for label in labels], dtype=np.int64)
    if scorer is None:
        p = _by_quick_models(_rows(dataset, numbers), given, len(names), loaded, tell)
    else:
        p = scorer(numbers, given, names)
    found = label_errors(p, given)
    likely = int(found.is_likely.sum())
    listed = found.order[: min(SHOWN, max(likely, round(SHARE * len(given))))]
    return LabelErrorsFound(
        suggestions=tuple(
            Suggestion(
                row=int(numbers[n]),
                label=names[found.suggested[n]],
                probability=float(np.clip(p[n, found.suggested[n]], 0, 1)),
            )
            for n in listed
        ),
        likely=likely,
        rows=len(given),
    )


def _by_quick_models(
    rows: Rows, given: NDArray[np.int64], classes: int, loaded: Checkpoint | None, tell: Tell
) -> NDArray[np.float64]:
    """Probabilities of models that leave out a fold each, float64 [N, C]."""
    stage = phrase("Reading the rows with the model")
    vectors = None
    if loaded is not None:
        layers = some_layers(loaded) if len(rows) <= LAYER_ROWS else (-1,)
        vectors = vectors_at(loaded, rows, layers, MAX_LENGTH, lambda d, t: tell(stage, d, t))
    fitting = phrase("Fitting models that leave out a tenth of the rows each")
    pairs = rows.pairs or [""] * len(rows)
    texts = [" ".join(parts) for parts in zip(rows.texts, pairs, strict=True)]
    return out_of_sample(texts, given, classes, vectors, lambda d, t: tell(fitting, d, t))


def suggest_labels(dataset: Dataset, loaded: Checkpoint, order: str, tell: Tell) -> LabelsSuggested:
    """What a fine-tuned model says of the rows without a label, in the order to label them.

    Raises StudioError where the model sorts no texts into classes, or no row lacks its label.
    """
    learner = learner_of(loaded)
    if learner is None or loaded.network.heads.kind not in CLASSES:
        raise StudioError(
            phrase("This model does not classify texts."),
            phrase("Choose a model that was fine-tuned for text or pair classification."),
        )
    numbers = _numbers(dataset, labelled=False)
    if not len(numbers):
        raise StudioError(
            phrase("Every row has a label."), phrase("Import rows without labels to label them.")
        )
    rows = _rows(dataset, numbers)
    stage = phrase("Predicting the rows without a label")
    p = (
        collect_predictions(
            loaded, learner, rows, MAX_LENGTH, BATCH, lambda d, t: tell(stage, d, t)
        )
        .outcomes()
        .scores
    )  # [N, C]
    assert p is not None  # of a task with classes
    names = list(loaded.labels)
    if order == "diverse":
        reading = phrase("Reading the rows with the model")
        vectors = vectors_of(loaded, rows, MAX_LENGTH, lambda d, t: tell(reading, d, t))
        chosen = most_diverse(vectors, SHOWN)
    else:
        chosen = most_uncertain(np.asarray(p, dtype=np.float64))[:SHOWN]
    return LabelsSuggested(
        suggestions=tuple(
            Suggestion(
                row=int(numbers[n]),
                label=names[int(p[n].argmax())],
                probability=float(np.clip(p[n].max(), 0, 1)),
            )
            for n in chosen
        ),
        rows=len(numbers),
    )


CLASSES = ("text_classification", "pair_classification")


def _labels(dataset: Dataset, numbers: NDArray[np.int64]) -> list[str]:
    column = dataset.spec.mapping.label
    if column is None:
        raise StudioError(
            phrase("The rows have no column of labels."),
            phrase("Choose a data set in which each row has one label."),
        )
    return _cells(dataset, column, numbers)


def _numbers(dataset: Dataset, labelled: bool) -> NDArray[np.int64]:
    """The rows with a label that are not for the test, or all rows without one; int64 [N]."""
    everything = np.arange(len(dataset), dtype=np.int64)
    has_label = np.array([bool(label) for label in _labels(dataset, everything)], dtype=bool)
    if not labelled:
        return np.flatnonzero(~has_label)
    return np.flatnonzero(has_label & (dataset.splits != SPLITS.index("test")))


def _rows(dataset: Dataset, numbers: NDArray[np.int64]) -> Rows:
    mapping = dataset.spec.mapping
    columns = [_cells(dataset, name, numbers) for name in mapping.texts]
    return Rows(columns[0], columns[1] if len(columns) > 1 else None)


def _cells(dataset: Dataset, column: str, numbers: NDArray[np.int64]) -> list[str]:
    return [cell or "" for cell in dataset.column(column).take(numbers).to_pylist()]

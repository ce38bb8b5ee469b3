"""Gold and predicted labels as indices.

C labels: those of the predictions' info, then others that occur, sorted.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.config.tasks import TASKS
from engine.evaluation.measures import SIDES, Side
from engine.results.predictions import Predictions
from engine.results.row_figures import cached_per_table


@cached_per_table
def labels(predictions: Predictions) -> tuple[str, ...]:
    """The C labels."""
    model_labels = predictions.info.labels
    if is_multi_label(predictions):
        sets = _sets(predictions)[0]
        occurring = {label for pair in sets for side in pair.values() for label in side}
    else:
        gold, predicted = predictions.table["gold"], predictions.table["predicted"]
        values = (*pc.unique(gold).to_pylist(), *pc.unique(predicted).to_pylist())
        occurring = {label for label in values if label is not None}
    return (*model_labels, *sorted(occurring - set(model_labels)))


def is_multi_label(predictions: Predictions) -> bool:
    """Rows may have several labels."""
    head = TASKS[predictions.info.task].info.head
    return head is not None and head.is_multi_label


def codes(predictions: Predictions, side: Side) -> NDArray[np.int64]:
    """The label index of each row, int64 [rows]; -1 for none."""
    return _codes(predictions)[side]


def has_label(predictions: Predictions, side: Side, label: int) -> NDArray[np.bool_]:
    """The rows that have this label, by its index, bool [rows]."""
    has: NDArray[np.bool_] = (
        members(predictions, side)[:, label]
        if is_multi_label(predictions)
        else codes(predictions, side) == label
    )
    return has


@cached_per_table
def _codes(predictions: Predictions) -> dict[Side, NDArray[np.int64]]:
    all_labels = pa.array(labels(predictions), pa.string())
    indices = {side: pc.index_in(predictions.table[side], value_set=all_labels) for side in SIDES}
    return {
        side: column.fill_null(-1).to_numpy().astype(np.int64) for side, column in indices.items()
    }


def members(predictions: Predictions, side: Side) -> NDArray[np.bool_]:
    """The labels of each row, bool [rows, C]; none without gold."""
    return _members(predictions)[side]


@cached_per_table
def _members(predictions: Predictions) -> dict[Side, NDArray[np.bool_]]:
    names = labels(predictions)
    if not is_multi_label(predictions):
        return {side: codes(predictions, side)[:, None] == np.arange(len(names)) for side in SIDES}
    sets, kinds = _sets(predictions)
    columns = {name: index for index, name in enumerate(names)}
    tables: dict[Side, NDArray[np.bool_]] = {}
    for side in SIDES:
        table = np.zeros((len(sets), len(names)), dtype=bool)
        for index, pair in enumerate(sets):
            table[index, [columns[label] for label in pair[side]]] = True
        tables[side] = table[kinds]
    return tables


@cached_per_table
def _sets(predictions: Predictions) -> tuple[list[dict[Side, list[str]]], NDArray[np.int64]]:
    """The different pairs of label sets, and the index of each row's pair, int64 [rows]."""
    encoded = predictions.table["details"].combine_chunks().dictionary_encode()
    distinct = [json.loads(text) if text else {} for text in encoded.dictionary.to_pylist()]
    sets = [{side: list(record.get(side) or ()) for side in SIDES} for record in distinct]
    return sets, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


@cached_per_table
def labelled(predictions: Predictions) -> NDArray[np.bool_]:
    """The rows with gold, bool [rows]."""
    return pc.is_valid(predictions.table["gold"]).to_numpy()


def doubtful_label(predictions: Predictions, index: int) -> str | None:
    """A wrong label of a row: one predicted but not gold, else, for multi-label rows, a missed one.

    For a correct row, the predicted label; None if the task does not label rows.
    """
    head = TASKS[predictions.info.task].info.head
    if head is None or head.reads_tokens:
        return None
    model_labels = set(predictions.info.labels)
    if head.is_multi_label:
        sets, kinds = _sets(predictions)
        pair = sets[kinds[index]]
    else:
        pair = {side: [predictions.table[side][index].as_py()] for side in SIDES}
    gold, predicted = pair["gold"], pair["predicted"]
    wrong = [label for label in predicted if label not in gold]
    missed = [label for label in gold if label not in predicted]
    return next((label for label in (*wrong, *missed, *predicted) if label in model_labels), None)

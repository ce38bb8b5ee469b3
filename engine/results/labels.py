"""Labels of predictions as numbers: of the gold, and of what was predicted.

C labels, those of the facts first and then others that occur, in the order of the alphabet.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.config.tasks import TASKS
from engine.evaluation.measures import Side
from engine.results.predictions import Predictions
from engine.results.row_figures import once


@once
def labels(predictions: Predictions) -> tuple[str, ...]:
    """The C labels."""
    known = predictions.info.labels
    if is_multi_label(predictions):
        sets = _sets(predictions)[0]
        seen = {label for one in sets for side in one.values() for label in side}
    else:
        gold, predicted = predictions.table["gold"], predictions.table["predicted"]
        every = (*pc.unique(gold).to_pylist(), *pc.unique(predicted).to_pylist())
        seen = {label for label in every if label is not None}
    return (*known, *sorted(seen - set(known)))


def is_multi_label(predictions: Predictions) -> bool:
    """Whether a row may have several labels."""
    head = TASKS[predictions.info.task].info.head
    return head is not None and head.is_multi_label


def codes(predictions: Predictions, side: Side) -> NDArray[np.int64]:
    """Which label each row has, int64 [rows]; -1 where it has none."""
    return _gold_codes(predictions) if side == "gold" else _predicted_codes(predictions)


def has_label(predictions: Predictions, side: Side, label: int) -> NDArray[np.bool_]:
    """Which rows have this label, by its number, bool [rows]."""
    has: NDArray[np.bool_] = (
        members(predictions, side)[:, label]
        if is_multi_label(predictions)
        else codes(predictions, side) == label
    )
    return has


@once
def _gold_codes(predictions: Predictions) -> NDArray[np.int64]:
    return _codes(predictions, "gold")


@once
def _predicted_codes(predictions: Predictions) -> NDArray[np.int64]:
    return _codes(predictions, "predicted")


def _codes(predictions: Predictions, side: Side) -> NDArray[np.int64]:
    known = pa.array(labels(predictions), pa.string())
    found = pc.index_in(predictions.table[side], value_set=known).fill_null(-1)
    places: NDArray[np.int64] = found.to_numpy().astype(np.int64)
    return places


def members(predictions: Predictions, side: Side) -> NDArray[np.bool_]:
    """Which labels each row has, bool [rows, C]; no label where it has no gold."""
    return _members(predictions)[side]


@once
def _members(predictions: Predictions) -> dict[Side, NDArray[np.bool_]]:
    names = labels(predictions)
    if not is_multi_label(predictions):
        every = np.arange(len(names))
        return {
            "gold": codes(predictions, "gold")[:, None] == every,
            "predicted": codes(predictions, "predicted")[:, None] == every,
        }
    sets, kinds = _sets(predictions)
    place = {name: number for number, name in enumerate(names)}
    found: dict[Side, NDArray[np.bool_]] = {}
    sides: tuple[Side, ...] = ("gold", "predicted")
    for side in sides:
        table = np.zeros((len(sets), len(names)), dtype=bool)
        for number, one in enumerate(sets):
            table[number, [place[label] for label in one[side]]] = True
        found[side] = table[kinds]
    return found


@once
def _sets(predictions: Predictions) -> tuple[list[dict[str, list[str]]], NDArray[np.int64]]:
    """The different pairs of label sets, and which of them each row has, int64 [rows]."""
    encoded = predictions.table["details"].combine_chunks().dictionary_encode()
    different = [json.loads(one) if one else {} for one in encoded.dictionary.to_pylist()]
    sets = [
        {side: list(one.get(side) or ()) for side in ("gold", "predicted")} for one in different
    ]
    return sets, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


@once
def labelled(predictions: Predictions) -> NDArray[np.bool_]:
    """Which rows have gold, bool [rows]."""
    found: NDArray[np.bool_] = pc.is_valid(predictions.table["gold"]).to_numpy()
    return found


def doubtful_label(predictions: Predictions, place: int) -> str | None:
    """The label of a row that is wrong: predicted and not gold; of several, else a missed one.

    Of a row that is right, the predicted one; None where the task has no labels of whole rows.
    """
    head = TASKS[predictions.info.task].info.head
    if head is None or head.reads_tokens:
        return None
    known = set(predictions.info.labels)
    if head.is_multi_label:
        sets, kinds = _sets(predictions)
        one = sets[kinds[place]]
    else:
        sides: tuple[Side, ...] = ("gold", "predicted")
        one = {side: [predictions.table[side][place].as_py()] for side in sides}
    gold, predicted = one["gold"], one["predicted"]
    wrong = [label for label in predicted if label not in gold]
    missed = [label for label in gold if label not in predicted]
    return next((label for label in (*wrong, *missed, *predicted) if label in known), None)

"""Predictions as a plain table for other programs."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.results.predictions import CELL, Predictions

SAID = ("gold", "predicted", "probability", "loss", "score")


def plain_table(predictions: Predictions) -> pa.Table:
    """Row number, the row's cells under their own names, then the predictions.

    Each label has a column with its probability. Empty columns are left out; duplicate names get a
    number.
    """
    table = predictions.table
    columns: dict[str, pa.ChunkedArray[pa.Scalar[Any]]] = {}

    def add(name: str, values: "pa.ChunkedArray[pa.Scalar[Any]]") -> None:
        different, number = name, 2
        while different in columns:
            different, number = f"{name} {number}", number + 1
        columns[different] = values

    add("row", table["row"])
    for name in predictions.columns:
        add(name, table[CELL + name])
    for name in SAID:
        if table[name].null_count < len(table):
            add(name, table[name])
    labels = predictions.info.labels
    lengths = pc.unique(pc.list_value_length(table["scores"])).to_pylist()
    if labels and lengths == [len(labels)]:
        for number, label in enumerate(labels):
            add(f"probability of {label}", pc.list_element(table["scores"], number))
    return pa.table(columns)

"""Statements of a writer on a folder that it made, and the loop over its cases.

Runs in the environments of the writers, with none of our packages.
"""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Made:
    """A folder, and what the writer computes with it.

    Args:
        folder: its name.
        refused: part of the refusal if it cannot be read; empty if it must be read.
        texts: inputs, with `pairs` as second texts.
        ids: token ids of each input; empty if the writer does not show them.
        outputs: by the names of transformers, for the padded batch of the inputs.
        activation: of the logits for predictions: softmax, sigmoid, identity; empty: none.
        numbers: predictions of each input, [N, ...]: vectors, or numbers of a cross-encoder.
        labels: names of the classes; empty: the usual ones.
        base: folder of the base model of an adapter.
        noted: part of the note that a load must make if its ids differ, and only then.
    """

    folder: str
    refused: str
    texts: list[str]
    pairs: list[str] | None
    ids: list[list[int]] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    activation: str = ""
    numbers: Any = None
    labels: list[str] = field(default_factory=list)
    base: str = ""
    noted: str = ""


Cases = Callable[[Path], Iterator[Made]]


def write_all(folder: Path, groups: Iterable[Cases]) -> None:
    """Write the cases of all groups; `made.json` has a row for each, and FOLDER.npz its numbers.

    A group ends at an error of the writer, which `failed.json` keeps.
    """
    folder.mkdir(parents=True)
    rows, failed = [], []
    for group in groups:
        try:
            for made in group(folder):
                row = vars(made)
                arrays = dict(row.pop("outputs"))
                if (numbers := row.pop("numbers")) is not None:
                    arrays["numbers"] = np.asarray(numbers)
                np.savez(folder / f"{made.folder}.npz", **arrays)
                rows.append(row)
        except Exception:  # noqa: BLE001  # of the library
            failed.append(f"{group.__name__}: {traceback.format_exc()}")
    (folder / "made.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "failed.json").write_text(json.dumps(failed), encoding="utf-8")

"""Predict rows by the descriptions of labels, in the form of a trained model's predictions."""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.config.task import TaskSpec
from engine.config.tasks import parse_task
from engine.config.zero_shot import Described
from engine.data.datasets.rows import Rows
from engine.messages.applying import Agreement, Apply
from engine.models import checkpoint
from engine.progress import ProgressCallback, no_progress
from engine.serving.serving import Serving
from engine.tasks.coded_rows import joined_texts
from engine.tasks.inputs import truncation_note
from engine.tasks.multi_label import set_records
from engine.tasks.predicting import Predictor, Record, blank_note, clear_blank, is_blank
from engine.tasks.text_classification import class_records
from engine.tasks.zero_shot import LabelScorer

KNOWN_ROWS = 100_000  # distinct texts whose probabilities are kept


class DescribedPredictor:
    """Predicts rows like `Predictor`; both texts of a pair are read as one."""

    computed = "float32"
    agreement: Agreement | None = None

    def __init__(
        self,
        model: Path | Serving,
        described: Described,
        max_length: int | None = None,
        batch: int = 32,
    ) -> None:
        """Raises StudioError if the model finds no labels by their descriptions."""
        loaded = model.exact if isinstance(model, Serving) else checkpoint.load(model)
        self.loading = loaded.report
        self.task: TaskSpec = parse_task(described.task)
        self._labels, self._several = described.labels, described.several
        self._scorer = LabelScorer(loaded, described, max_length, batch)
        self.passes = len(self._labels) if self._scorer.way == "entailment" else 1
        self._known: dict[bytes, NDArray[np.float64]] = {}
        self._blank = 0  # rows without text so far

    def predict(self, rows: Rows, progress: ProgressCallback = no_progress) -> list[Record]:
        """Predict a record for each row, in order; that of a row without text has no prediction."""
        texts = joined_texts(rows)
        keys = [_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        found = dict(zip(new, self._scorer.probabilities([*new.values()], progress), strict=True))
        p = np.stack([found[key] if key in found else self._known[key] for key in keys])
        self._known |= dict([*found.items()][: KNOWN_ROWS - len(self._known)])
        blank = [is_blank(text) for text in texts]
        self._blank += sum(blank)
        records = (
            set_records(p, p >= 0.5, self._labels)
            if self._several
            else class_records(p, p.argmax(axis=1), self._labels)
        )
        return clear_blank(records, blank)

    def notes(self) -> tuple[str, ...]:
        """Notes on the rows so far."""
        scorer, notes = self._scorer, list[str]()
        if scorer.truncated:
            notes.append(truncation_note(scorer.truncated, scorer.length))
        if self._blank:
            notes.append(blank_note(self._blank))
        return tuple(notes)


def make_predictor(request: Apply, model: Path | Serving) -> Predictor | DescribedPredictor:
    """The predictor that a request needs. Raises StudioError if the model does not allow it."""
    settings = request.max_length, request.batch_size
    if request.described is not None:
        return DescribedPredictor(model, request.described, *settings)
    return Predictor(model, *settings, request.exact)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

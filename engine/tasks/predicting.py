"""Predict rows with a fine-tuned model, and evaluate the predictions."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.config.task import TaskSpec, WindowedTask
from engine.data.coverage import scripts_note, unknown_note
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.evaluation.report import Report
from engine.messages.applying import Agreement
from engine.messages.explore.text import PRECISIONS
from engine.models import checkpoint
from engine.phrases import Phrase, join, phrase
from engine.progress import ProgressCallback
from engine.serving.serving import Serving
from engine.tasks import checkpoint_learner
from engine.tasks.evaluating import KnownOutputs, collect_predictions
from engine.tasks.inputs import max_tokens, truncation_note
from engine.tasks.learner import Examples, PredictionCollector
from engine.tasks.precision_agreement import AgreementSearch
from engine.tasks.whole_text import label_sort_key, quote_labels

Record = dict[str, Any]
KNOWN_BYTES = 2**27  # of outputs of distinct inputs: 128 MB, of about 300,000 short texts


class Predictor:
    """Loads a checkpoint once and predicts any number of rows."""

    passes = 1  # forward passes for each row

    def __init__(
        self,
        model: Path | Serving,
        max_length: int | None = None,
        batch: int = 32,
        exact: bool = True,
    ) -> None:
        """Use the model in a folder, or a loaded one.

        `max_length`: maximum tokens of an input; None: the model's usual one, at most 512.

        Without `exact`, use the fastest precision whose results agree; `computed` names it, and
        `agreement` is that on validation rows; None if only built-in texts were compared.
        `loading` reports on the tensors of the folder.

        Raises StudioError if the model was not fine-tuned.
        """
        serving = model if isinstance(model, Serving) else Serving(checkpoint.load(model))
        loaded = serving.exact
        self.loading = loaded.report
        learner = checkpoint_learner(loaded)
        if learner is None:
            raise StudioError(
                "This model has not been fine-tuned: it has no task head.",
                join(" ", (*loaded.report.notes, phrase("Choose a fine-tuned model."))),
            )
        self.learner = learner
        learner.allows_new_labels = True
        self._max_length = min(max_length or max_tokens(loaded), loaded.spec.max_positions)
        self._batch = batch
        self.agreement: Agreement | None = None
        self.computed: str = "float32"
        self._loaded, self._exact = loaded, exact
        if not exact:
            self._use_fast(serving, model)
        self._known = KnownOutputs(KNOWN_BYTES)
        self._truncated = 0  # inputs of maximum length so far
        self._windowed = 0  # texts of several windows so far
        self._blank = 0  # rows without text so far
        self._characters = Counter[str]()  # of texts so far
        self._tokens = self._unknown = 0  # tokens of inputs so far, and those that are [UNK]

    @property
    def task(self) -> TaskSpec:
        return self.learner.task

    def predict(
        self, rows: Rows, progress: ProgressCallback = lambda done, total: None
    ) -> list[dict[str, Any]]:
        """Predict a record for each row, in order; that of a row without text has no prediction."""
        records = self.collect(rows.without_targets(), progress).predictions()
        texts = zip(rows.texts, *filter(None, (rows.pairs, rows.beginnings)), strict=True)
        blank = [all(map(is_blank, row)) for row in texts]
        self._blank += sum(blank)
        return clear_blank(records, blank)

    def evaluate(self, rows: Rows, progress: ProgressCallback = lambda done, total: None) -> Report:
        """Evaluate predictions for rows.

        Raises StudioError if rows are unlabelled, or the model knows none of their labels.
        """
        return self.collect(rows, progress).report()

    def collect(
        self, rows: Rows, progress: ProgressCallback = lambda done, total: None
    ) -> PredictionCollector:
        """Predict rows, for records, reports and storage."""
        self._characters.update("".join(rows.texts))
        return collect_predictions(
            *(self._loaded, self.learner, rows, self._max_length, self._batch, progress),
            *(self._count, self._known),
        )

    def notes(self) -> tuple[str, ...]:
        """Notes on the rows so far, such as how many were truncated or have no text."""
        notes: list[str] = [] if self._exact else [self._precision_note()]
        if self._truncated:
            notes.append(truncation_note(self._truncated, self._max_length))
        if self._windowed:
            notes.append(phrase("{n:,} long text(s) read in windows.", n=self._windowed))
        if note := unknown_note(self._unknown / max(self._tokens, 1)):
            scripts = scripts_note(self._characters)
            notes.append(join(" ", [note, f"{scripts}."]) if scripts else note)
        if new := self.learner.new_labels:
            notes.append(
                phrase(
                    "{n:,} label(s) unknown to the model, counted as misclassified: {labels}.",
                    n=new.total(),
                    labels=quote_labels(sorted(new, key=label_sort_key)),
                )
            )
        if self._blank:
            notes.append(blank_note(self._blank))
        return tuple(notes)

    def _use_fast(self, serving: Serving, model: Path | Serving) -> None:
        """Use the fastest precision that agrees on validation rows, or else on built-in texts."""
        found = None
        if isinstance(model, Path):
            settings = (self._max_length, self._batch)
            found = AgreementSearch(self._loaded, self.learner, model, *settings).find()
            self.learner.new_labels.clear()
        if found is None:
            serving.prepare_all(self._batch)
            self._loaded, self.computed, _ = serving.take(exact=False)
        else:
            self._loaded, self.agreement = found
            self.computed = self.agreement.computed

    def _precision_note(self) -> Phrase:
        if self.agreement is not None:
            return self.agreement.phrase
        if self.computed == "float32":
            return phrase("Computed in fp32: nothing faster agrees with it on this machine.")
        return phrase(
            "Computed in {precision}, which agrees with fp32 on built-in texts.",
            precision=PRECISIONS[self.computed],
        )

    def _count(self, examples: Examples) -> None:
        tokens = examples.tokenized.token_ids(0, examples.tokenized.tokens)
        self._tokens += len(tokens)
        self._unknown += int((tokens == self._loaded.tokenizer.unknown).sum())
        if self.learner.task.truncates:
            self._truncated += int((examples.tokenized.lengths >= self._max_length).sum())
        elif isinstance(self.learner.task, WindowedTask) and examples.owners is not None:
            self._windowed += int((np.bincount(examples.owners) > 1).sum())


def blank_note(rows: int) -> str:
    return phrase("{n:,} row(s) without text have no prediction.", n=rows)


def clear_blank(records: Sequence[Record], blank: Sequence[bool]) -> list[Record]:
    """The records, without a prediction for rows without text."""
    return [
        _without_prediction(record) if no_text else record
        for record, no_text in zip(records, blank, strict=True)
    ]


def is_blank(text: str) -> bool:
    """True if a text has only white space, control and format characters."""
    return all(unicodedata.category(character)[0] in "CZ" for character in text)


def _without_prediction(record: dict[str, Any]) -> dict[str, Any]:
    """The record with None for what is predicted. Vectors are kept, as are the tags of words."""
    return record if {"vector", "tags"} & record.keys() else dict.fromkeys(record)

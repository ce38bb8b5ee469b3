"""A fine-tuned model at work on rows: what it answers, and figures where the answers are known."""

import tempfile
from pathlib import Path
from typing import Any

from engine.data.store import Rows
from engine.errors import StudioError
from engine.evaluation.report import Report
from engine.models import checkpoint
from engine.tasks import learner_of
from engine.tasks.judging import judge
from engine.tasks.learner import AnswerTally, Progress


class Predictor:
    """Loads a checkpoint once and answers for any number of rows."""

    def __init__(self, folder: Path, max_length: int = 512, batch: int = 32) -> None:
        """Raises StudioError where the model was not fine-tuned for anything."""
        self._loaded = checkpoint.load(folder)
        learner = learner_of(self._loaded)
        if learner is None:
            raise StudioError(
                f"The model {folder.name} has no task head: it was not fine-tuned yet.",
                "Fine-tune it first, or choose a fine-tuned checkpoint.",
            )
        self.learner = learner
        self._longest = min(max_length, self._loaded.spec.positions)
        self._batch = batch

    def predict(
        self, rows: Rows, progress: Progress = lambda done, total: None
    ) -> list[dict[str, Any]]:
        """What is said of each row, as one record for each, in their order."""
        return self._go_through(rows.unanswered(), progress).answers()

    def judge(self, rows: Rows, progress: Progress = lambda done, total: None) -> Report:
        """What is said held against what the rows want.

        Raises StudioError where they do not say it, or it is nothing that the model can answer.
        """
        return self._go_through(rows, progress).report()

    def _go_through(self, rows: Rows, progress: Progress) -> AnswerTally:
        network, tokenizer = self._loaded.network, self._loaded.tokenizer
        with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
            examples = self.learner.pack(
                rows, tokenizer, self._longest, Path(scratch) / "packed", lambda done, total: None
            )
            tally = judge(network, self.learner, tokenizer, examples, self._batch, report=progress)
        assert isinstance(tally, AnswerTally)
        return tally

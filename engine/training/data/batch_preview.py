"""Reconstruct any batch of a run from its folder, exactly as the run sees it.

Order and masking depend on seed and step only, so the worker is not involved.
"""

from collections.abc import Callable, Iterator

from engine.checkpoints.config import parse_spec
from engine.config.job import FromScratch
from engine.errors import StudioError
from engine.files.regular_file import read_regular
from engine.messages.batch import BatchRow, BatchShown, Target
from engine.messages.events import Prepared
from engine.models.checkpoint import read_config
from engine.progress import ProgressCallback
from engine.runs.folder import RunFolder
from engine.tasks.learner import Batch
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.data.tokenizer import base_tokenizer, tokenizer_folder
from engine.training.data.training_data import TrainingData, read_rows, tokenise

StageCallback = Callable[[str, int, int], None]  # stage, done, total


def no_stages(stage: str, done: int, total: int) -> None:
    """No-op progress callback."""


class BatchPreview:
    """Shows batches of runs; caches the data of the last run."""

    def __init__(self) -> None:
        self._cached: tuple[str, TrainingData] | None = None

    def batch(self, run: RunFolder, step: int, progress: StageCallback = no_stages) -> Batch:
        """Return the batch of a step, counted from 1.

        Raises:
            StudioError: the run has no such step, or has not read its data yet.
        """
        data = self._data(run, progress)
        if not 1 <= step <= data.steps:
            raise StudioError(
                "This run has no step {step}.",
                "Its steps are 1 to {steps}.",
                step=step,
                steps=data.steps,
            )
        return data.batch(step - 1)

    def show(self, run: RunFolder, step: int, progress: StageCallback = no_stages) -> BatchShown:
        """Describe the batch of a step as text; raises like `batch`."""
        batch, data = self.batch(run, step, progress), self._data(run, progress)
        descriptions = data.learner.describe_targets(batch, data.tokenizer)
        if batch.windows is not None:  # one for each input
            counts = (batch.windows >= 0).sum(1).tolist()
            pairs = zip(descriptions, counts, strict=True)
            descriptions = [text for text, count in pairs for _ in range(count)]
        rows = tuple(
            _describe_row(batch, row, descriptions[row], data) for row in range(len(batch.tokens))
        )
        return BatchShown(step=step, steps=data.steps, rows=rows)

    def _data(self, run: RunFolder, progress: StageCallback) -> TrainingData:
        key = f"{run.path} {read_regular(run.spec_file)!r}"
        if self._cached is None or self._cached[0] != key:
            self._cached = (key, _load_data(run, progress))
        return self._cached[1]


def _load_data(run: RunFolder, progress: StageCallback) -> TrainingData:
    """Load the data of a run from its folder and the token cache."""
    if not any(isinstance(event, Prepared) for event in run.events_after(0)[0]):
        raise StudioError(
            "This run has not started training yet: its data is still being read or tokenised.",
            "Try again when the first step is done.",
        )

    def stage(name: str) -> ProgressCallback:
        return lambda done, total: progress(name, done, total)

    job = run.job()
    base_model, latest = job.base_model, run.checkpoint_folders()[-1:]
    if latest:
        tokenizer = Tokenizer.from_folder(latest[0])
    else:
        tokenizer = base_tokenizer(base_model) or Tokenizer.from_folder(tokenizer_folder(run))
    if isinstance(base_model, FromScratch):
        max_positions = base_model.model.max_positions
    else:
        file, config = read_config(latest[0] if latest else base_model.path)
        max_positions = parse_spec(config, file).max_positions
    return tokenise(read_rows(job, run.dataset, stage), tokenizer, max_positions, stage)


def _describe_row(batch: Batch, row: int, target: str, data: TrainingData) -> BatchRow:
    ids: list[int] = batch.tokens[row].tolist()
    return BatchRow(
        tokens=tuple(data.tokenizer.token(token) for token in ids),
        ids=tuple(ids),
        segments=tuple(batch.segments[row].tolist()),
        length=len(ids) if batch.attention_mask is None else int(batch.attention_mask[row].sum()),
        targets=tuple(_targets(batch, row, data)),
        expected=target,
    )


def _targets(batch: Batch, row: int, data: TrainingData) -> Iterator[Target]:
    """Yield the positions of a row that are predicted.

    A random token that equals the original is shown as kept. A causal model predicts every next
    token, so it has no targets to list.
    """
    if batch.positions is None or batch.targets.dim() > 1 or data.learner.causal:
        return
    width, tokenizer, labels = batch.tokens.size(1), data.tokenizer, data.learner.labels
    is_in_row = (batch.positions >= row * width) & (batch.positions < (row + 1) * width)
    positions: list[int] = (batch.positions[is_in_row] - row * width).tolist()
    for position, target in zip(positions, batch.targets[is_in_row].tolist(), strict=True):
        if not data.learner.heads.mlm:
            if target >= 0:
                yield Target(position=position, expected=labels[target], shown_as="label")
            continue
        token, shown = tokenizer.token(target), int(batch.tokens[row, position])
        if shown == target:
            yield Target(position=position, expected=token, shown_as="kept")
        elif shown == tokenizer.mask:
            yield Target(position=position, expected=token, shown_as="mask")
        else:
            yield Target(position=position, expected=token, shown_as="random")

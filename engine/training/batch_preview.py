"""A batch exactly as a run was or will be given it, made anew from the folder of the run.

Which examples a step sees, and how they are masked, follows from the seed and the step alone; so
nothing is asked of the worker, and nothing is in its way.
"""

from collections.abc import Callable, Iterator

from engine.checkpoints.config import spec_of
from engine.data.datasets.store import resolve
from engine.errors import StudioError
from engine.messages.batch import BatchRow, BatchShown, Target
from engine.messages.events import Prepared
from engine.models.checkpoint import read_config
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.spec.job import FromScratch
from engine.tasks import learner_for
from engine.tasks.learner import Batch
from engine.tasks.learner import Progress as Report
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.preparing import Material, given_tokenizer, material

Working = Callable[[str, int, int], None]  # hears a stage, what is done of it, and how much it is


def no_one(stage: str, done: int, total: int) -> None:
    """Where nobody wants to hear of progress."""


class Showing:
    """Shows steps of runs; the material of the last run is kept."""

    def __init__(self) -> None:
        self._known: tuple[str, Material] | None = None

    def batch(self, run: RunFolder, step: int, working: Working = no_one) -> Batch:
        """What the network is given in a step, which counts from 1.

        Raises:
            StudioError: the run has no such step, or has not begun to read its data.
        """
        found = self._material(run, working)
        if not 1 <= step <= found.steps:
            raise StudioError(
                phrase("There is no step {step} in this run.", step=step),
                phrase("It has the steps 1 to {steps}.", steps=found.steps),
            )
        return found.batch(step - 1)

    def show(self, run: RunFolder, step: int, working: Working = no_one) -> BatchShown:
        """The same for a person to read; raises as `batch` does."""
        batch = self.batch(run, step, working)
        found = self._material(run, working)
        wanted = found.learner.wanted(batch, found.tokenizer)
        inputs = tuple(_input(batch, row, wanted[row], found) for row in range(len(batch.tokens)))
        return BatchShown(step=step, steps=found.steps, rows=inputs)

    def _material(self, run: RunFolder, working: Working) -> Material:
        key = f"{run.path} {run.spec_file.read_bytes()!r}"
        if self._known is None or self._known[0] != key:
            self._known = (key, _material(run, working))
        return self._known[1]


def _material(run: RunFolder, working: Working) -> Material:
    """As `prepare` makes it, from what the worker left in the folder and in the cache."""
    if not any(isinstance(event, Prepared) for event in run.events_after(0)[0]):
        raise StudioError(
            phrase("This run has not taken a step yet: its data is still to be read or tokenised."),
            phrase("Look again when it has begun to train."),
        )

    def stage(name: str) -> Report:
        return lambda done, total: working(name, done, total)

    job, last = run.job(), run.checkpoint_folders()[-1:]
    if isinstance(job.base_model, FromScratch):
        positions = job.base_model.model.max_positions
    else:
        file, config = read_config(last[0] if last else job.base_model.path)
        positions = spec_of(config, file).max_positions
    tokenizer = None if last else given_tokenizer(job.base_model)
    if tokenizer is None:
        tokenizer = Tokenizer.from_folder(last[0] if last else run.cache / "vocabulary")
    dataset = resolve(job.data, run.dataset, stage(phrase("Reading the data")))
    learner = learner_for(job.task)
    rows = learner.rows(dataset, "train")
    learner.fit_labels(rows)
    return material(job, dataset, rows, learner, tokenizer, positions, stage)


def _input(batch: Batch, row: int, wanted: str, found: Material) -> BatchRow:
    ids: list[int] = batch.tokens[row].tolist()
    return BatchRow(
        tokens=tuple(found.tokenizer.piece(number) for number in ids),
        ids=tuple(ids),
        segments=tuple(batch.segments[row].tolist()),
        length=len(ids) if batch.real is None else int(batch.real[row].sum()),
        targets=tuple(_asked(batch, row, found)),
        wanted=wanted,
    )


def _asked(batch: Batch, row: int, found: Material) -> Iterator[Target]:
    """The places of a row at which something is wanted.

    A random piece that happens to be the right one is shown as itself. Of a left-to-right model
    each next piece is wanted, which need not be said at each place.
    """
    if batch.places is None or found.learner.causal:
        return
    width, tokenizer, labels = batch.tokens.size(1), found.tokenizer, found.learner.labels
    inside = (batch.places >= row * width) & (batch.places < (row + 1) * width)
    places: list[int] = (batch.places[inside] - row * width).tolist()
    for place, wanted in zip(places, batch.targets[inside].tolist(), strict=True):
        if not found.learner.heads.masked_words:
            if wanted >= 0:
                yield Target(position=place, wanted=labels[wanted], shown_as="label")
            continue
        piece, shown = tokenizer.piece(wanted), int(batch.tokens[row, place])
        if shown == wanted:
            yield Target(position=place, wanted=piece, shown_as="kept")
        elif shown == tokenizer.mask:
            yield Target(position=place, wanted=piece, shown_as="mask")
        else:
            yield Target(position=place, wanted=piece, shown_as="random")

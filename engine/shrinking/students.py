"""Students: smaller models, each a run in a folder of its own that learns from the teacher."""

import os
import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from engine.checkpoints.info import checkpoint_info
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.model import EncoderSpec
from engine.config.recommended import Situation, recommend
from engine.config.task import LabelledTask, TaskSpec
from engine.config.training import HardwareSpec
from engine.errors import StudioError
from engine.messages.events import Ended, Event, Measured, Prepared, Started
from engine.messages.shrinking import Shape
from engine.models import checkpoint
from engine.models.checkpoint import Checkpoint
from engine.models.fewer_heads import cut_heads
from engine.models.smaller import (
    can_lose_layers,
    can_lose_tokens,
    cut_vocabulary,
    make_smaller,
    needed_tokens,
)
from engine.phrases import Phrase, phrase
from engine.progress import no_progress
from engine.runs.folder import RunFolder
from engine.runs.snapshots import find_run
from engine.shrinking.material import Material
from engine.shrinking.measuring import Model
from engine.tasks.learner import Examples
from engine.training.loop import train

SAMPLE = 128  # inputs for the importance of neurons
FRACTIONS = (1 / 6, 1 / 4, 1 / 3, 1 / 2, 2 / 3)  # of the layers of the teacher
WIDTHS = (1 / 4, 1 / 2, 1)  # of its intermediate size
HEADS = (1 / 2, 1)  # of its heads in each layer
SHORTER = 0.9  # percentile of the lengths of the training texts that a shorter max. length keeps
MIN_SHORTER = 0.75  # of the usual length, above which a shorter one saves too little
MIN_LENGTH = 8  # tokens


class Student(NamedTuple):
    """A model that learns from the teacher: another one, or the teacher cut to a shape."""

    name: str
    start: Path
    shape: Shape | None = None


class Students:
    """Makes and trains the students of one teacher."""

    def __init__(
        self,
        job: JobSpec,
        teacher: Model,
        material: Material,
        folder: Path,
        epochs: float | None,
        seed: int | None,
    ) -> None:
        """`job` is that of the teacher; its seed and the recommended epochs replace None."""
        self._job, self._teacher, self._material = job, teacher, material
        self._folder, self._epochs = folder, epochs
        self.seed = job.training.seed if seed is None else seed

    def cut(self, shape: Shape) -> Student:
        """The teacher cut to a shape."""
        name = shape_name(shape, self._start.spec, self._teacher.max_length)
        return Student(name, self._teacher.folder, shape)

    def dimensions(self) -> tuple[tuple[int, ...], ...]:
        """The values of each field of `Shape` to choose from, the cheapest first."""
        spec, full = self._start.spec, self._teacher.max_length
        layers = {max(1, round(fraction * spec.layers)) for fraction in FRACTIONS}
        if not can_lose_layers(self._start):
            layers = {spec.layers}
        heads = {max(1, round(fraction * spec.heads)) for fraction in HEADS}
        sizes = {max(1, round(fraction * spec.intermediate_size)) for fraction in WIDTHS}
        longest = int(self._examples.lengths.max())
        shorter = max(MIN_LENGTH, int(np.quantile(self._examples.lengths, SHORTER)))
        lengths = {full, shorter} if shorter <= MIN_SHORTER * longest else {full}
        return tuple(tuple(sorted(values)) for values in (layers, heads, sizes, lengths))

    def run_of(self, trial: int, student: Student) -> RunFolder:
        """The run of a student, created unless an interrupted search has begun it."""
        number = trial + 1
        while (run := self._run(number, student)) is None:
            number += 1
        return run

    def train(self, run: RunFolder, on_step: Callable[[int, int], object]) -> None:
        """Train a student to its end, from its last checkpoint if it has one.

        `on_step` gets the step and the number of steps.
        """
        if any(isinstance(event, Ended) for event in run.milestones()):
            return
        steps = 0

        def on_event(event: Event) -> None:
            nonlocal steps
            run.append(event)
            if isinstance(event, Prepared):
                steps = event.steps
            elif isinstance(event, Measured) and event.name == "loss" and steps:
                on_step(event.step, steps)

        with run.lock():
            run.append(Started(pid=os.getpid()))
            outcome, step = train(run.job(), run, on_event)
            run.append(Ended(outcome=outcome, step=step))

    def _run(self, number: int, student: Student) -> RunFolder | None:
        """The run of this number; None if it belongs to another student or to other settings."""
        name, shape = f"student-{number:02d}", student.shape
        run = RunFolder(self._folder / name)
        start = student.start if shape is None else self._folder / "starts" / name
        is_new = not run.spec_file.is_file()
        if shape is not None:
            if is_new:
                shutil.rmtree(start, ignore_errors=True)  # unfinished, or of other texts
                smaller = self._make(shape)
                checkpoint.save(start, smaller.network, smaller.tokenizer, smaller.labels)
            info = checkpoint_info(start)
            found = Shape(
                layers=info.layers,
                heads=info.heads,
                intermediate_size=info.intermediate_size,
                max_length=shape.max_length,
            )
            if found != shape:
                return None
        job = self._student_job(name, start, shape)
        if is_new:
            return RunFolder.create(run.path, job)
        return run if run.job() == job else None

    def _student_job(self, name: str, start: Path, shape: Shape | None) -> JobSpec:
        job, length = self._job, self._teacher.max_length if shape is None else shape.max_length
        situation = Situation(
            task=job.task.info,
            network=checkpoint_info(start),
            rows=self._material.dataset.spec.rows["train"],
        )
        training = recommend(situation).training.model_copy(
            update={
                "max_length": length,
                "seed": self.seed,
                "best_metric": job.training.best_metric,
                "keep": 1,
                **({} if self._epochs is None else {"epochs": self._epochs}),
            }
        )
        return JobSpec(
            name=f"{job.name} {name}"[:200],
            task=with_labels(job.task, self._start.labels),
            base_model=FromCheckpoint(path=start),
            data=self._material.source,
            training=training,
            teacher=self._teacher.folder,
            hardware=HardwareSpec(threads=job.hardware.threads, cores=job.hardware.cores),
        )

    # ── the teacher cut to a shape ───────────────────────────────────────────────────────────

    @cached_property
    def _start(self) -> Checkpoint:
        return checkpoint.load(self._teacher.folder)

    @cached_property
    def _examples(self) -> Examples:
        """The training texts in tokens of the teacher."""
        folder, model = self._folder / "tokens", self._teacher
        shutil.rmtree(folder, ignore_errors=True)
        rows = self._material.dataset.rows("train").without_targets()
        return model.learner.tokenize(
            rows, model.loaded.tokenizer, model.max_length, folder, no_progress
        )

    def _make(self, shape: Shape) -> Checkpoint:
        """The teacher cut to a shape, with the tokens of the training texts only."""
        tokenized = self._examples.tokenized
        chosen = np.linspace(0, len(tokenized) - 1, min(SAMPLE, len(tokenized))).astype(int)
        sample = [
            (tokenized.ids(index).tolist(), tokenized.segments(index).tolist())
            for index in chosen.tolist()
        ]
        smaller = make_smaller(self._start, shape.layers, shape.intermediate_size, sample)
        if shape.heads < smaller.spec.heads:
            smaller = cut_heads(smaller, shape.heads, sample)
        if can_lose_tokens(smaller.tokenizer):
            counts = tokenized.counts(smaller.tokenizer.size)
            smaller = cut_vocabulary(smaller, needed_tokens(smaller.tokenizer, counts))
        return smaller


def shape_name(shape: Shape, teacher: EncoderSpec, max_length: int) -> Phrase:
    """Layers and intermediate size, and what else is smaller than in the teacher."""
    text = phrase(
        "{n} layer(s), intermediate size {size:,}", n=shape.layers, size=shape.intermediate_size
    )
    if shape.heads < teacher.heads:
        hidden = shape.heads * teacher.head_size
        text = phrase("{shape}, hidden size {hidden:,}", shape=text, hidden=hidden)
    if shape.max_length < max_length:
        text = phrase("{shape}, at most {length} tokens", shape=text, length=shape.max_length)
    return text


def with_labels(task: TaskSpec, labels: tuple[str, ...]) -> TaskSpec:
    """The task of the teacher with its labels in their order."""
    return task.with_labels(labels) if isinstance(task, LabelledTask) else task


def named(models: Sequence[Path]) -> dict[str, Path]:
    """Other models by their names, checkpoints of runs by those of the runs.

    Raises StudioError if two have the same name.
    """
    by_name = dict[str, Path]()
    for model in models:
        run = find_run(model)
        name = (model if run is None else run.path).name
        if name in by_name:
            raise StudioError(
                "Two students have the same name, “{name}”.",
                "Copy one of them to a folder with another name.",
                name=name,
            )
        by_name[name] = model
    return by_name

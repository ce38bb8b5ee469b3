"""One search for smaller models of a run: students learn from the teacher and are measured.

Each student is a run in a folder of its own, so an interrupted search continues.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.checkpoints.info import checkpoint_info
from engine.config.dataset import DataSource, FileData, Mapping, Reading, Split, moved
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.recommended import Situation, recommend
from engine.config.task import LabelledTask, TaskSpec
from engine.config.training import HardwareSpec
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset, resolve
from engine.errors import StudioError
from engine.messages.events import Ended, Event, Measured, Prepared, Started
from engine.messages.question import Working
from engine.messages.shrinking import Shape, Shrink, ShrinkPoint, Shrunk
from engine.models import checkpoint
from engine.models.checkpoint import Checkpoint
from engine.models.smaller import (
    can_lose_layers,
    can_lose_tokens,
    cut_vocabulary,
    make_smaller,
    needed_tokens,
)
from engine.phrases import Phrase, phrase
from engine.progress import no_progress
from engine.results.store import best_checkpoint
from engine.results.students import read_points, write_points
from engine.runs.folder import RunFolder
from engine.runs.snapshots import find_run
from engine.search.frontier import Tried, next_shape
from engine.shrinking.measuring import Measuring, Model, load_model
from engine.tasks.learner import Examples
from engine.training.loop import train

MAX_ROWS = 2_000  # validation rows
NO_SPLIT = Split(validation=0, test=0)
SAMPLE = 128  # inputs for the importance of neurons
FRACTIONS = (1 / 6, 1 / 4, 1 / 3, 1 / 2, 2 / 3)  # of the layers of the teacher
WIDTHS = (1 / 4, 1 / 2, 1)  # of its intermediate size
SHORTER = 0.9  # percentile of the lengths of the training texts that a shorter max. length keeps
MIN_SHORTER = 0.75  # of the usual length, above which a shorter one saves too little
MIN_LENGTH = 8  # tokens

Emit = Callable[[Working | Shrunk], object]


def shrink(question: Shrink, emit: Emit = lambda _: None) -> Shrunk:
    """Answer a Shrink; `emit` gets the progress and the points so far.

    Raises StudioError if the run cannot have students.
    """
    return _Bench(question, emit).run()


class _Student(NamedTuple):
    """A model that learns from the teacher: another one, or the teacher cut to a shape."""

    name: str
    start: Path
    shape: Shape | None = None


class _Bench:
    def __init__(self, question: Shrink, emit: Emit) -> None:
        self._question, self._emit = question, emit
        self._others = _named(question.students)
        run = RunFolder(question.run)
        job = run.job()
        self._job, self._folder = job, question.into
        self._check_task()
        teacher = best_checkpoint(run)
        length = self._job.training.max_length
        self._working(phrase("Loading the model"))
        self._teacher = load_model(teacher, length)
        self._start = checkpoint.load(teacher)
        is_copied = run.dataset.is_dir()
        self._data: DataSource = moved(job.data, run.dataset) if is_copied else job.data
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        dataset = resolve(self._data, self._folder / "rows", no_progress, task=job.task)
        self._validation = self._rows(dataset)
        self._mapping = dataset.spec.mapping
        if question.texts is not None:
            target = self._folder / f"texts-{_version(question.texts)}"
            self._data = self._with_texts(dataset, question.texts, target)
            dataset = resolve(self._data, target / "all", no_progress, task=job.task)
        self._dataset = dataset
        self._examples = self._tokenize(dataset.rows("train"))
        self._state = self._read_state()

    def run(self) -> Shrunk:
        """Measure the teacher, then train and measure students until the trials are over."""
        metric = self._job.training.best_metric or self._teacher.learner.best_metric
        first = self._state.points[0].milliseconds if self._state.points else 0.0
        measuring = Measuring(self._teacher, self._validation, self._mapping, metric, first)
        self._state = self._state.model_copy(update={"metric": metric})
        if not self._state.points:
            self._working(phrase("Measuring the teacher"))
            self._add(measuring.points(self._teacher, phrase("Teacher"), is_teacher=True), 0)
        while self._state.done < self._question.trials:
            trial = self._state.done
            student = self._next()
            if student is None:
                break
            run = self._run_of(trial, student)
            self._train(run, trial)
            self._working(phrase("Measuring {name}", name=student.name))
            length = run.job().training.max_length
            model = load_model(best_checkpoint(run), length)
            self._add(measuring.points(model, student.name, student.shape), trial + 1)
        return self._state.model_copy(update={"ended": True})

    # ── data ─────────────────────────────────────────────────────────────────────────────────

    def _check_task(self) -> None:
        head = self._job.task.info.head
        if head is None or not head.can_teach or self._job.features.trains_probe:
            raise StudioError(
                "Only models fine-tuned on labels or numbers of whole texts have students.",
                "Choose a run of text or pair classification, several labels, or regression.",
            )

    def _rows(self, dataset: Dataset) -> Rows:
        rows = self._teacher.learner.rows(dataset, "validation")
        if not len(rows):
            raise StudioError(
                "The run has no validation rows to measure students on.",
                "Train it on a data set with validation rows.",
            )
        chosen = np.random.default_rng(0).permutation(len(rows))[:MAX_ROWS]
        return rows.take(np.sort(chosen))

    def _with_texts(self, dataset: Dataset, file: Path, target: Path) -> FileData:
        """The rows of the run and further texts, whose label is what the teacher predicts.

        They are stored in `target`, unless they are there.
        """
        head = self._job.task.info.head
        assert head is not None
        train, validation = dataset.rows("train"), dataset.rows("validation")
        if train.pairs is not None or train.labels is None or head.is_multi_label:
            raise StudioError(
                "Texts without labels can be added only to single texts with one label or number.",
                "Leave the file out.",
            )
        target.mkdir(exist_ok=True)
        source = FileData(
            path=target / "train.parquet",
            validation=target / "validation.parquet",
            reading=Reading(format="parquet"),
            mapping=Mapping(text="text", label="label"),
        )
        if not source.path.exists():
            texts = (
                resolve(FileData(path=file, split=NO_SPLIT), target / "rows").rows("train").texts
            )
            known = {*train.texts, *validation.texts}
            new = [text for text in dict.fromkeys(texts) if text.strip() and text not in known]
            if not new:
                raise StudioError(
                    "{file} has no text that the data set lacks.",
                    "Choose a file with other texts, or leave it out.",
                    file=file.name,
                )
            self._working(phrase("Asking the teacher about {n:,} text(s)", n=len(new)))
            collector = self._teacher.predict(Rows(texts=new))
            labels = list(collector.row_predictions().predicted)
            assert source.validation is not None and validation.labels is not None
            _write(source.validation, validation.texts, validation.labels)
            _write(source.path, [*train.texts, *new], [*train.labels, *labels])
        return source

    def _tokenize(self, rows: Rows) -> Examples:
        folder = self._folder / "tokens"
        shutil.rmtree(folder, ignore_errors=True)
        model = self._teacher
        return model.learner.tokenize(
            rows.without_targets(), model.loaded.tokenizer, model.max_length, folder, no_progress
        )

    # ── students ─────────────────────────────────────────────────────────────────────────────

    def _next(self) -> _Student | None:
        """The next student; None if all shapes were tried."""
        names = {point.name for point in self._state.points}
        for name, other in self._others.items():
            if name not in names:
                return _Student(name, other)
        tried = [
            Tried(
                (point.shape.layers, point.shape.intermediate_size, point.shape.max_length),
                point.milliseconds,
                point.score if self._state.higher_is_better else -point.score,
            )
            for point in self._state.points
            if point.shape is not None and point.computed == "float32"
        ]
        values = next_shape(self._dimensions(), tried, self._question.seed)
        if values is None:
            return None
        layers, size, length = values
        shape = Shape(layers=layers, intermediate_size=size, max_length=length)
        return _Student(shape_name(shape, self._teacher), self._teacher.folder, shape)

    def _dimensions(self) -> tuple[tuple[int, ...], ...]:
        """Layers, intermediate sizes and maximum lengths to choose from, the cheapest first."""
        spec, full = self._start.spec, self._teacher.max_length
        layers = {max(1, round(fraction * spec.layers)) for fraction in FRACTIONS}
        if not can_lose_layers(self._start):
            layers = {spec.layers}
        sizes = {max(1, round(fraction * spec.intermediate_size)) for fraction in WIDTHS}
        longest = int(self._examples.lengths.max())
        shorter = max(MIN_LENGTH, int(np.quantile(self._examples.lengths, SHORTER)))
        lengths = {full, shorter} if shorter <= MIN_SHORTER * longest else {full}
        return tuple(sorted(layers)), tuple(sorted(sizes)), tuple(sorted(lengths))

    def _make(self, shape: Shape) -> Checkpoint:
        """The teacher cut to a shape, with the tokens of the training texts only."""
        tokenized = self._examples.tokenized
        chosen = np.linspace(0, len(tokenized) - 1, min(SAMPLE, len(tokenized))).astype(int)
        sample = [
            (tokenized.ids(index).tolist(), tokenized.segments(index).tolist())
            for index in chosen.tolist()
        ]
        smaller = make_smaller(self._start, shape.layers, shape.intermediate_size, sample)
        if can_lose_tokens(smaller.tokenizer):
            counts = tokenized.counts(smaller.tokenizer.size)
            smaller = cut_vocabulary(smaller, needed_tokens(smaller.tokenizer, counts))
        return smaller

    def _run_of(self, trial: int, student: _Student) -> RunFolder:
        """The run of a student, created unless an interrupted search has begun it."""
        number = trial + 1
        while not self._is_of(student, *self._places(number, student)):
            number += 1
        run, start = self._places(number, student)
        if run.spec_file.is_file():
            return run
        if student.shape is not None and not start.exists():
            smaller = self._make(student.shape)
            checkpoint.save(start, smaller.network, smaller.tokenizer, smaller.labels)
        return RunFolder.create(run.path, self._student_job(run.path.name, start, student.shape))

    def _places(self, number: int, student: _Student) -> tuple[RunFolder, Path]:
        """The run of this number, and the folder of the model that it starts from."""
        name = f"student-{number:02d}"
        start = student.start if student.shape is None else self._folder / "starts" / name
        return RunFolder(self._folder / name), start

    def _is_of(self, student: _Student, run: RunFolder, start: Path) -> bool:
        """True unless an interrupted search began another student in these folders."""
        shape, length = student.shape, self._teacher.max_length
        if shape is not None:
            length, sizes = shape.max_length, (shape.layers, shape.intermediate_size)
            info = checkpoint_info(start) if start.exists() else None
            if info is not None and (info.layers, info.intermediate_size) != sizes:
                return False
        if not run.spec_file.is_file():
            return True
        job = run.job()
        return job.base_model == FromCheckpoint(path=start) and job.training.max_length == length

    def _student_job(self, name: str, start: Path, shape: Shape | None) -> JobSpec:
        length = self._teacher.max_length if shape is None else shape.max_length
        situation = Situation(
            task=self._job.task.info,
            network=checkpoint_info(start),
            rows=self._dataset.spec.rows["train"],
        )
        training = recommend(situation).training.model_copy(
            update={
                "max_length": length,
                "seed": self._job.training.seed,
                "best_metric": self._job.training.best_metric,
                "keep": 1,
                **({} if self._question.epochs is None else {"epochs": self._question.epochs}),
            }
        )
        hardware = HardwareSpec(threads=self._job.hardware.threads, cores=self._job.hardware.cores)
        return JobSpec(
            name=f"{self._job.name} {name}"[:200],
            task=with_labels(self._job.task, self._start.labels),
            base_model=FromCheckpoint(path=start),
            data=self._data,
            training=training,
            teacher=self._teacher.folder,
            hardware=hardware,
        )

    def _train(self, run: RunFolder, trial: int) -> None:
        """Train a student to its end, from its last checkpoint if it has one."""
        if any(isinstance(event, Ended) for event in run.milestones()):
            return
        stage = phrase("Training student {n} of {total}", n=trial + 1, total=self._question.trials)
        steps = 0

        def on_event(event: Event) -> None:
            nonlocal steps
            run.append(event)
            if isinstance(event, Prepared):
                steps = event.steps
            elif isinstance(event, Measured) and event.name == "loss" and steps:
                self._working(stage, event.step, steps)

        with run.lock():
            run.append(Started(pid=os.getpid()))
            outcome, step = train(run.job(), run, on_event)
            run.append(Ended(outcome=outcome, step=step))

    # ── state ────────────────────────────────────────────────────────────────────────────────

    def _read_state(self) -> Shrunk:
        """The points of an earlier call for the same teacher.

        Raises StudioError if the folder belongs to another teacher.
        """
        name = self._job.training.best_metric or self._teacher.learner.best_metric
        higher = next(m.higher_is_better for m in self._job.task.info.metrics if m.name == name)
        empty = Shrunk(
            to=self._question.number,
            points=(),
            metric=name,
            higher_is_better=higher,
            rows=len(self._validation),
            done=0,
            trials=self._question.trials,
        )
        if (stored := read_points(self._folder)) is None:
            return empty
        if stored.points and stored.points[0].checkpoint != self._teacher.folder:
            raise StudioError(
                "{folder} has students of another model.",
                "Choose another folder.",
                folder=self._folder.name,
            )
        update = {"to": empty.to, "trials": empty.trials, "ended": False}
        return stored.model_copy(update=update)

    def _add(self, points: list[ShrinkPoint], done: int) -> None:
        all_points = (*self._state.points, *points)
        self._state = self._state.model_copy(update={"points": all_points, "done": done})
        write_points(self._folder, self._state)
        self._emit(self._state)

    def _working(self, stage: Phrase, done: int = 0, total: int = 0) -> None:
        self._emit(Working(to=self._question.number, stage=stage, done=done, total=total))


def shape_name(shape: Shape, teacher: Model) -> Phrase:
    """Layers and intermediate size, and the length if it is shorter."""
    text = phrase(
        "{n} layer(s), intermediate size {size:,}", n=shape.layers, size=shape.intermediate_size
    )
    if shape.max_length >= teacher.max_length:
        return text
    return phrase("{shape}, at most {length} tokens", shape=text, length=shape.max_length)


def with_labels(task: TaskSpec, labels: tuple[str, ...]) -> TaskSpec:
    """The task of the teacher with its labels in their order."""
    return task.with_labels(labels) if isinstance(task, LabelledTask) else task


def _named(models: Sequence[Path]) -> dict[str, Path]:
    """Other models by their names, checkpoints of runs by those of the runs.

    Raises StudioError if two have the same name.
    """
    named = dict[str, Path]()
    for model in models:
        run = find_run(model)
        name = (model if run is None else run.path).name
        if name in named:
            raise StudioError(
                "Two students have the same name, “{name}”.",
                "Copy one of them to a folder with another name.",
                name=name,
            )
        named[name] = model
    return named


def _version(file: Path) -> str:
    """A short text that differs for another or a changed file. Raises OSError."""
    state = file.stat()
    key = f"{file.absolute()} {state.st_size} {state.st_mtime_ns}"
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def _write(file: Path, texts: Sequence[str], labels: Sequence[str]) -> None:
    pq.write_table(pa.table({"text": list(texts), "label": list(labels)}), file)

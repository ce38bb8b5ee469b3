"""One search for smaller models of a run: students learn from the teacher and are measured.

Each student is a run in a folder of its own, so an interrupted search continues.
"""

from collections.abc import Callable
from functools import partial

from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.messages.question import Working
from engine.messages.shrinking import Shape, Shrink, ShrinkPoint, Shrunk
from engine.models import checkpoint
from engine.phrases import Phrase, phrase
from engine.results.store import best_checkpoint
from engine.results.students import read_points, write_points
from engine.runs.folder import RunFolder
from engine.search.frontier import Tried, next_shape
from engine.shrinking.material import read_material
from engine.shrinking.measuring import Measuring, load_model
from engine.shrinking.students import Student, Students, named

Emit = Callable[[Working | Shrunk], object]


def shrink(question: Shrink, emit: Emit = lambda _: None) -> Shrunk:
    """Answer a Shrink; `emit` gets the progress and the points so far.

    Raises StudioError if the run cannot have students.
    """
    return _Bench(question, emit).run()


class _Bench:
    def __init__(self, question: Shrink, emit: Emit) -> None:
        self._question, self._emit = question, emit
        self._others = named(question.students)
        run, self._folder = RunFolder(question.run), question.into
        self._job = job = run.job()
        check_task(job)
        self._working(phrase("Loading the model"))
        folder = best_checkpoint(run)
        self._teacher = load_model(folder, job.training.max_length)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        loaded = checkpoint.load(folder)
        self._material = read_material(run, loaded, question.texts, self._folder, self._working)
        self._students = Students(
            *(job, self._teacher, self._material, self._folder, question.epochs, question.seed)
        )
        self._state = self._read_state()

    def run(self) -> Shrunk:
        """Measure the teacher, then train and measure students until the trials are over."""
        first = self._state.points[0].milliseconds if self._state.points else 0.0
        validation, mapping = self._material.validation, self._material.mapping
        measuring = Measuring(self._teacher, validation, mapping, self._state.metric, first)
        if not self._state.points:
            self._working(phrase("Measuring the teacher"))
            self._add(measuring.points(self._teacher, phrase("Teacher"), is_teacher=True), 0)
        trials = self._question.trials
        while self._state.done < trials:
            trial = self._state.done
            student = self._next()
            if student is None:
                break
            run = self._students.run_of(trial, student)
            stage = phrase("Training student {n} of {total}", n=trial + 1, total=trials)
            self._students.train(run, partial(self._working, stage))
            self._working(phrase("Measuring {name}", name=student.name))
            model = load_model(best_checkpoint(run), run.job().training.max_length)
            self._add(measuring.points(model, student.name, student.shape), trial + 1)
        return self._state.model_copy(update={"ended": True})

    def _next(self) -> Student | None:
        """The next student; None if all shapes were tried."""
        names = {point.name for point in self._state.points}
        for name, other in self._others.items():
            if name not in names:
                return Student(name, other)
        tried = [
            Tried(
                tuple(getattr(point.shape, name) for name in Shape.model_fields),
                point.milliseconds,
                point.score if self._state.higher_is_better else -point.score,
            )
            for point in self._state.points
            if point.shape is not None and point.computed == "float32"
        ]
        values = next_shape(self._students.dimensions(), tried, self._students.seed)
        if values is None:
            return None
        shape = dict(zip(Shape.model_fields, values, strict=True))
        return self._students.cut(Shape(**shape))

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
            rows=len(self._material.validation),
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


def check_task(job: JobSpec) -> None:
    """Raise StudioError unless the outputs of such runs can be learned."""
    head = job.task.info.head
    if head is None or not head.can_teach or job.features.trains_probe:
        raise StudioError(
            "Only models fine-tuned on labels or numbers of whole texts have students.",
            "Choose a run of text or pair classification, several labels, or regression.",
        )

"""Evaluate checkpoints and baselines on rows, and store their predictions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from engine.checkpoints.info import checkpoint_info
from engine.config.dataset import DataSource, FileData, Split, SplitName
from engine.config.task import TaskSpec
from engine.config.tasks import parse_task
from engine.config.tasks.pretraining import Pretraining
from engine.data.columns.joined import other_texts_note
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset, resolve
from engine.errors import StudioError
from engine.evaluation.report import Report
from engine.messages.evaluating import BaselinesFitted, Evaluate, Evaluated, FitBaselines, Part
from engine.messages.explore.text import PRECISIONS
from engine.messages.question import Question, Working
from engine.messages.reports import LoadReport
from engine.models import checkpoint
from engine.phrases import Phrase, phrase
from engine.progress import ProgressCallback
from engine.results.masked_tokens import unigram
from engine.results.predictions import Predictions, read_predictions
from engine.results.store import log_evaluation, predictions_file, results_root
from engine.tasks import learner_for
from engine.tasks.evaluating import evaluate as evaluate_network
from engine.tasks.inputs import max_tokens
from engine.tasks.learner import Learner
from engine.tasks.predicting import Predictor
from engine.tasks.pretraining import PretrainingLearner, PretrainingMetrics
from engine.tasks.row_predictions import Origin, build_predictions
from engine.tasks.token_rows import MAPPING

Emit = Callable[[Working], object]
Stages = Callable[[str], ProgressCallback]


def evaluate(
    request: Evaluate, scratch: Path | None = None, emit: Emit = lambda _: None
) -> Evaluated:
    """Answer an Evaluate; `scratch` is a folder for temporary files.

    Raises StudioError as `score` does, and on a disk error.
    """
    scored = score(request, scratch, emit)
    info, evaluations = scored.predictions.info, 0
    if request.part == "test" and info.metrics:
        evaluations = log_evaluation(results_root(request.into), info)
    file = predictions_file(request.into, request.part, info.source)
    scored.predictions.write(file)
    return Evaluated(
        to=request.number,
        file=file,
        rows=len(scored.predictions),
        metrics=info.metrics,
        looks=evaluations,
        computed=scored.computed,
        notes=scored.notes if request.part == "file" else (),
    )


class Scored(NamedTuple):
    """Predictions for rows with their report."""

    predictions: Predictions
    report: Report | None  # None if the rows have no labels
    computed: str  # precision
    loading: LoadReport
    notes: tuple[str, ...] = ()  # about the rows


def score(request: Evaluate, scratch: Path | None = None, emit: Emit = lambda _: None) -> Scored:
    """Predict the rows of an Evaluate, without storing anything.

    Raises StudioError if the model, the data and their labels do not fit, or there are no rows.
    """
    stage = _stages(request, emit)
    stage(phrase("Loading the model"))(0, 0)
    if request.pretraining is not None:
        return _score_tokens(request, request.pretraining, scratch, stage)
    predictor = Predictor(request.checkpoint, request.max_length, request.batch_size, request.exact)
    with TemporaryDirectory(dir=scratch, prefix="evaluate-") as folder:
        reading = stage(phrase("Reading the data set"))
        task = predictor.learner.task
        texts = checkpoint_info(request.checkpoint).texts
        into = Path(folder) / "rows"
        dataset, part = open_rows(request.data, request.part, into, task, reading, texts)
        origin = _origin(request, dataset, predictor.learner)
        rows, cells = dataset.rows(part), dataset.cells(part)
        scored = score_rows(predictor, rows, cells, origin, stage(phrase("Predicting")))
        if request.part == "file":
            notes = dataset.spec.notes
        else:
            notes = (*filter(None, (other_texts_note(texts, dataset.spec.mapping),)),)
        if left_out := dataset.left_out(part):
            notes += (left_out_note(left_out),)
        return scored._replace(notes=(*notes, *scored.notes))


def left_out_note(rows: int) -> Phrase:
    """Say how many rows are not scored."""
    return phrase("{n:,} row(s) without a label left out.", n=rows)


def _score_tokens(
    request: Evaluate, task: Pretraining, scratch: Path | None, stage: Stages
) -> Scored:
    """Predict masked tokens as the run did in training.

    Raises StudioError also if the run predicted next tokens.
    """
    if task.causal:
        raise StudioError(
            "Results are stored for masked tokens only, but this model predicts next tokens.",
            "See the validation loss in the charts.",
        )
    learner = PretrainingLearner(task)
    loaded = checkpoint.load(request.checkpoint, learner.heads)
    max_length = min(request.max_length or max_tokens(loaded), loaded.spec.max_positions)
    with TemporaryDirectory(dir=scratch, prefix="evaluate-") as folder:
        reading = stage(phrase("Reading the data set"))
        dataset, part = open_rows(request.data, request.part, Path(folder) / "rows", task, reading)
        tokenization = stage(phrase("Tokenising"))
        parts: tuple[SplitName, ...] = (part, "train")
        examples, train = (
            learner.tokenize(
                learner.rows(dataset, part),
                loaded.tokenizer,
                max_length,
                Path(folder) / part / "tokens",  # sentences are stored next to it
                tokenization,
            )
            for part in parts
        )
        metrics = evaluate_network(
            loaded.network,
            learner,
            loaded.tokenizer,
            examples,
            request.batch_size,
            request.seed,
            report=stage(phrase("Predicting")),
        )
        counts = train.tokenized.counts(loaded.tokenizer.size)
        assert isinstance(metrics, PretrainingMetrics) and metrics.rows is not None
        predicted, cells = metrics.rows.rows(loaded.tokenizer, counts)
    report = metrics.report()
    origin = _origin(request, dataset, learner)._replace(mapping=MAPPING, precision="fp32")
    predictions = build_predictions(predicted, None, cells, origin, task.kind, (), report.metrics())
    return Scored(predictions, report, "float32", loaded.report)


def score_rows(
    predictor: Predictor,
    rows: Rows,
    cells: Mapping[str, Sequence[str]],
    origin: Origin,
    progress: ProgressCallback = lambda done, total: None,
) -> Scored:
    """Predict rows with a loaded model, with the cells of all their columns."""
    collector = predictor.collect(rows, progress)
    learner = predictor.learner
    report = collector.report() if learner.can_evaluate(rows) else None
    predicted = collector.row_predictions()
    below = learner.prediction.unsure_below
    settings = {**predicted.settings, **({"unsure_below": below} if below else {})}
    predictions = build_predictions(
        replace(predicted, settings=settings),
        rows.lines,
        cells,
        origin._replace(precision=PRECISIONS[predictor.computed]),
        learner.task.kind,
        learner.labels,
        report.metrics() if report else {},
        rows.numbers,
    )
    if learner.prediction.sets is not None:
        info = predictions.info.model_copy(update={"sets": learner.prediction.sets})
        predictions = replace(predictions, info=info)
    return Scored(predictions, report, predictor.computed, predictor.loading, predictor.notes())


def _origin(request: Evaluate, dataset: Dataset, learner: Learner) -> Origin:
    return Origin(
        part=request.part,
        source=request.source or request.data.name,
        mapping=dataset.spec.mapping,
        model=request.model,
        step=request.step,
        fingerprint=dataset.spec.fingerprint,
        best_metric=request.best_metric or learner.best_metric,
    )


def fit_baselines(
    request: FitBaselines, scratch: Path | None = None, emit: Emit = lambda _: None
) -> BaselinesFitted:
    """Answer a FitBaselines; tasks without baselines have no files.

    Raises StudioError if the data and the task do not fit, or there are no rows.
    """
    if isinstance(parse_task(request.task), Pretraining):
        file = predictions_file(request.into, request.part, baseline="unigram")
        unigram(read_predictions(predictions_file(request.into, request.part))).write(file)
        return BaselinesFitted(to=request.number, files=(file,))
    stage = _stages(request, emit)
    task = parse_task(request.task).with_labels(request.labels)
    files: list[Path] = []
    with TemporaryDirectory(dir=scratch, prefix="baselines-") as folder:
        reading = stage(phrase("Reading the data set"))
        dataset, part = open_rows(request.data, request.part, Path(folder) / "rows", task, reading)
        train, rows, cells = dataset.rows("train"), dataset.rows(part), dataset.cells(part)
        learner, fitting = learner_for(task), stage(phrase("Fitting the baselines"))
        learner.fit_labels(train)
        baselines = learner.baselines()
        for index, baseline in enumerate(baselines):
            fitting(index, len(baselines))
            predicted = baseline.predict(learner, train, rows)
            origin = Origin(
                part=request.part,
                source=request.source or request.data.name,
                mapping=dataset.spec.mapping,
                model=baseline.name,
                fingerprint=dataset.spec.fingerprint,
            )
            metrics = predicted.report().metrics() if rows.is_labelled else {}
            predictions = build_predictions(
                predicted.row_predictions(),
                rows.lines,
                cells,
                origin,
                task.kind,
                learner.labels,
                metrics,
                rows.numbers,
            )
            files.append(predictions_file(request.into, request.part, baseline=baseline.key))
            predictions.write(files[-1])
    return BaselinesFitted(to=request.number, files=tuple(files))


def open_rows(
    data: DataSource,
    part: Part,
    target: Path,
    task: TaskSpec,
    progress: ProgressCallback,
    model_texts: Mapping[str, str] | None = None,
) -> tuple[Dataset, SplitName]:
    """Open the rows of a data source that have a label, and return them with their split. A file is
    read as training rows.

    Raises StudioError if there are no such rows in this part.
    """
    if part == "file" and isinstance(data, FileData):
        data = data.model_copy(update={"split": Split(validation=0, test=0)})
    dataset = resolve(data, target, progress, task=task, model_texts=model_texts)
    split: SplitName = "train" if part == "file" else part
    if dataset.spec.rows.get(split, 0):
        return dataset, split
    if dataset.left_out(split):
        raise StudioError(
            "None of these rows has a label.",
            "Predict them in place of an evaluation, or label some of them.",
        )
    names = {
        "train": phrase("The data set has no training rows."),
        "validation": phrase("The data set has no validation rows."),
        "test": phrase("The data set has no test rows."),
    }
    raise StudioError(
        names[split], "Choose another split, or import the data set with other fractions."
    )


def _stages(question: Question, emit: Emit) -> Stages:
    def stage(name: str) -> ProgressCallback:
        def report(done: int, total: int) -> None:
            emit(Working(to=question.number, stage=name, done=done, total=total))

        return report

    return stage

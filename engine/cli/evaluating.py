"""Evaluate a fine-tuned model on labelled rows, and compare it with baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from engine.checkpoints.prediction_settings import prediction_settings
from engine.cli import options
from engine.cli.naming import find_checkpoint, find_run
from engine.cli.results import find_slices, slice_lines
from engine.cli.rows import (
    CLEANING,
    READING,
    ROW_COLUMNS,
    FileRows,
    parse_cleaning,
    read_table,
    refuse_target,
)
from engine.cli.stored import require_dataset
from engine.config.dataset import SplitName, StoredData
from engine.config.task import TaskSpec
from engine.config.tasks import metric_text
from engine.data.columns.placeholders import find_placeholders
from engine.errors import StudioError
from engine.files.home import Home
from engine.files.table_files import TABLE_WRITERS, check_suffix, write_table
from engine.messages.evaluating import Evaluate, FitBaselines
from engine.phrases import join, phrase
from engine.results import store
from engine.results.ceiling import ceiling, ceiling_sentence
from engine.results.comparing import baseline_advice, compare_with_baseline
from engine.results.intervals import Interval
from engine.results.masked_tokens import baseline_note
from engine.results.measures import interval, measures
from engine.results.neglected import neglect, never_predicted, unknown_classes, weights_advice
from engine.results.prediction_sets import set_figures, set_lines, with_coverage
from engine.results.predictions import PredictionInfo, Predictions, read_predictions
from engine.results.row_lists import plain_table
from engine.results.seeds import mean_over_seeds, scores_by_seed
from engine.runs.folder import RunFolder
from engine.system.terminal import echo, echo_error, echo_json

if TYPE_CHECKING:
    from engine.tasks.scoring import Scored


class Request(NamedTuple):
    """The evaluation, and the baselines for the same rows if the training rows are known."""

    question: Evaluate
    baselines: FitBaselines
    is_run: bool  # then the predictions are stored for the window


def evaluate(
    file: Annotated[Path | None, typer.Argument(help="A file with texts and labels.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A fine-tuned model or a run, by name or folder; not needed with --run.",
            callback=find_checkpoint,
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            help="A run by name or folder: score its best checkpoint, and store the predictions.",
            callback=find_run,
        ),
    ] = None,
    data: options.Stored = None,
    target: options.Target = None,
    part: Annotated[
        SplitName, typer.Option(help="Part of --run or --data to score.")
    ] = "validation",
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline",
            help="With --run or --data: fit baselines on the training rows and compare.",
        ),
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(
            help="Write each row and its prediction: .csv, .tsv, .jsonl, .parquet or .xlsx."
        ),
    ] = None,
    slices: Annotated[
        bool,
        typer.Option("--slices", help="Find slices in which the model is significantly worse."),
    ] = False,
    coverage: options.Coverage = None,
    by_class: options.ByClass = False,
    as_json: options.AsJson = False,
    max_length: Annotated[
        int | None,
        typer.Option(
            min=8,
            help=(
                "Max. length: longer inputs are truncated to this many tokens; without it, that of "
                "the run, or as the model states, at most 512."
            ),
        ),
    ] = None,
    batch_size: options.BatchSize = 32,
    precision: options.PrecisionOption = "exact",
    **extra: Any,
) -> None:
    """Evaluate a fine-tuned model on labelled rows, with 95 % intervals.

    The rows are those of a file, of a part of a stored data set, or of a part of the data of a run.
    Every evaluation on test rows is counted.
    """
    if predictions is not None:
        check_suffix(predictions, TABLE_WRITERS)
    if sum(source is not None for source in (file, run, data)) != 1:
        raise StudioError(
            "It is not clear which rows to score.",
            "Use one of these: a file, --data or --run.",
        )
    if data is None:
        refuse_target(target)
    coverage = options.parse_sets(coverage, by_class)
    settings = {"batch_size": batch_size, "exact": precision == "exact"}
    settings |= {"max_length": max_length} if max_length is not None else {}
    checkpoint = None if model is None else model.absolute()
    if file is not None:
        if baseline:
            raise StudioError(
                "Baselines need the training rows, and a file has none.",
                "Use --run or --data, or leave out --baseline.",
            )
        scored, evaluations, compared = (
            _score_file(file, _require_model(model), settings, extra),
            0,
            [],
        )
        seeds: dict[int, float] = {}
    else:
        if READING.select(extra) or ROW_COLUMNS.select(extra) or CLEANING.select(extra):
            raise StudioError(
                "The columns of a data set were chosen when it was imported.",
                "Leave out the options of format and columns, and --skip-empty.",
            )
        selection = _select_rows(run, data, target, model, part)
        question = selection.question.model_copy(update=settings)
        checkpoint = question.checkpoint
        scored, evaluations = _score(selection._replace(question=question))
        compared = _fit_baselines(selection, scored.predictions.info) if baseline else []
        folder = None if run is None else RunFolder(run.absolute())
        seeds = {} if folder is None else scores_by_seed(folder, scored.predictions)
    if coverage is not None and checkpoint is not None:
        scored = _with_coverage(scored, checkpoint, coverage, by_class)
    options.print_loading_notes(scored.loading)
    for note in scored.notes:
        echo_error(f"note: {note}")
    if predictions is not None:
        table = plain_table(scored.predictions)
        write_table(predictions, table.schema, [table])
    worst = find_slices(scored.predictions) if slices else None
    _print_report(scored, evaluations, seeds, compared, worst, as_json)
    if predictions is not None and not as_json:
        n = len(scored.predictions)
        echo(phrase("{n:,} row(s) written to {out}", n=n, out=str(predictions)))


evaluate_command = options.with_options(
    evaluate, [*READING.parameters(), *ROW_COLUMNS.parameters(), *CLEANING.parameters()]
)


def _with_coverage(scored: "Scored", checkpoint: Path, coverage: float, by_class: bool) -> "Scored":
    """Replace the prediction sets that are stored with the model."""
    stored = prediction_settings(checkpoint)
    sets = with_coverage(stored, checkpoint, coverage, by_class, Home()).sets
    info = scored.predictions.info.model_copy(update={"sets": sets})
    return scored._replace(predictions=replace(scored.predictions, info=info))


def _require_model(model: Path | None) -> Path:
    if model is None:
        raise StudioError(
            "It is not clear which model to evaluate.", "Choose its folder with --model."
        )
    return model


def _select_rows(
    run: Path | None,
    data: Path | None,
    target: str | None,
    model: Path | None,
    part: SplitName,
) -> Request:
    if run is not None:
        if model is not None:
            raise StudioError(
                "A run has its own checkpoints.",
                "Leave out --model, or name --data in place of --run.",
            )
        folder = RunFolder(run.absolute())
        fit = store.baselines_question(folder, part, ())
        return Request(store.evaluation_question(folder, part), fit, is_run=True)
    assert data is not None
    stored = StoredData(folder=require_dataset(data).folder.absolute(), target=target)
    checkpoint = _require_model(model).absolute()
    into = store.results_folder(checkpoint, Home())
    question = Evaluate(
        checkpoint=checkpoint,
        data=stored,
        part=part,
        into=into,
        model=checkpoint.name,
    )
    return Request(question, FitBaselines(data=stored, part=part, into=into, task=""), is_run=False)


def _score(request: Request) -> "tuple[Scored, int]":
    """Score the rows; also returns how often test rows of these data have been scored."""
    from engine.tasks.scoring import score

    question = request.question
    scored = score(question)
    info = scored.predictions.info
    evaluations = 0
    if question.part == "test" and info.metrics:
        evaluations = store.log_evaluation(store.results_root(question.into), info)
    if request.is_run:
        scored.predictions.write(store.predictions_file(question.into, question.part))
    return scored, evaluations


def _score_file(
    file: Path, model: Path, settings: dict[str, Any], extra: dict[str, Any]
) -> "Scored":
    from engine.tasks.predicting import Predictor
    from engine.tasks.row_predictions import Origin
    from engine.tasks.scoring import left_out_note, score_rows

    required = parse_cleaning(extra).skip_empty
    chosen = ROW_COLUMNS.select(extra)
    table = read_table(file, READING.select(extra), chosen, required, model=model)
    predictor = Predictor(
        model, settings.get("max_length"), settings["batch_size"], settings["exact"]
    )
    origin = Origin("file", file.name, table.mapping, model.name)
    labelled = _labelled_rows(table, predictor.learner.task)
    rows, cells, notes = table.rows, table.cells, tuple[str, ...]()
    if len(labelled) < len(rows):
        notes = (left_out_note(len(rows) - len(labelled)),)
        rows = rows.take(labelled)
        cells = {name: [column[row] for row in labelled] for name, column in cells.items()}
    scored = score_rows(predictor, rows, cells, origin)
    return scored._replace(notes=(*notes, *scored.notes))


def _labelled_rows(table: FileRows, task: TaskSpec) -> list[int]:
    """Rows with a label for a task. Raises StudioError if there are none."""
    rows = table.rows.labelled(task.labelled_by)
    if table.rows.labels is not None and "label" in task.labelled_by:
        none = find_placeholders(set(table.rows.labels))
        rows = [row for row in rows if table.rows.labels[row].strip() not in none]
    if not rows:
        raise StudioError(
            "None of these rows has a label.",
            "Predict them with `predict`, or choose the column of the labels with --label.",
        )
    return rows


def _fit_baselines(request: Request, info: PredictionInfo) -> list[Predictions]:
    from engine.tasks.scoring import fit_baselines

    update: dict[str, object] = {"task": info.task, "labels": info.labels}
    with TemporaryDirectory(prefix="bert-studio-") as scratch:
        into = request.baselines.into if request.is_run else Path(scratch)
        question = request.baselines.model_copy(update=update | {"into": into})
        return [read_predictions(file) for file in fit_baselines(question).files]


def _print_report(
    scored: "Scored",
    evaluations: int,
    seeds: Mapping[int, float],
    compared: Sequence[Predictions],
    worst: dict[str, Any] | None,
    as_json: bool,
) -> None:
    intervals = {measure.name: interval(measure) for measure in measures(scored.predictions)}
    comparisons = [compare_with_baseline(scored.predictions, other) for other in compared]
    sets = scored.predictions.info.sets
    figures = None if sets is None else set_figures(scored.predictions, sets)
    if as_json:
        report = scored.report.to_json() if scored.report else {}
        report |= {
            "intervals": {name: list(figure) for name, figure in intervals.items()},
            "never_predicted": never_predicted(scored.predictions),
            "unknown_classes": unknown_classes(scored.predictions),
            "seeds": seeds,
            "ceiling": None if (found := ceiling(scored.predictions)) is None else asdict(found),
            "baselines": [item._asdict() for item in comparisons],
            "test_looks": evaluations,
            "loading": scored.loading.to_json(),
        }
        if sets is not None and figures is not None:
            report["prediction_sets"] = figures.to_json() | {"sets": sets.model_dump(mode="json")}
        echo_json(report | ({} if worst is None else {"slices": worst}))
        return
    echo(*(scored.report.lines() if scored.report else ()))
    for name, figure in intervals.items():
        echo(f"{name} {_format_interval(name, figure)}")
    if sets is not None and figures is not None:
        echo(*set_lines(sets, figures))
    if note := baseline_note(scored.predictions):
        echo(note)
    if neglected := neglect(scored.predictions):
        echo(join(" ", filter(None, (neglected, weights_advice(scored.predictions)))))
    if human := ceiling_sentence(scored.predictions):
        echo(human)
    if mean_text := mean_over_seeds(scored.predictions, seeds):
        echo(mean_text)
    for item in comparisons:
        echo(f"{item.name}: {item.metric} {_format_interval(item.metric, item.score)}")
        difference = _format_interval(item.metric, item.difference, "+")
        echo(f"  the model minus the baseline: {difference}: {item.verdict}")
    if comparisons:
        echo(baseline_advice(comparisons))
    if worst is not None:
        echo(*slice_lines(worst))
    if evaluations:
        echo(phrase("The test rows were scored {n} time(s).", n=evaluations))


def _format_interval(name: str, figure: Interval, sign: str = "") -> str:
    value, low, high = (metric_text(name, number, sign) for number in figure)
    return f"{value} (95 % interval {low} to {high})"

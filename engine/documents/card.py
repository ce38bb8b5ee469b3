"""The model card of a checkpoint: README.md in the format of the Hugging Face Hub.

Unknown facts are left out.
"""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine.checkpoints.info import checkpoint_info, fine_tuned_task, probe_pooling
from engine.checkpoints.prediction_settings import ONE_NUMBER, PREDICTION, prediction_settings
from engine.checkpoints.source import named_licence, read_licence
from engine.config.dataset import SplitName
from engine.config.export import Form, Precision
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.joined_texts import SEPARATOR
from engine.config.prediction import PredictionSettings
from engine.config.task import F1_MACRO, TaskSpec, WindowedTask
from engine.config.tasks import TASKS, get_head
from engine.documents.code import Example, onnx_code, transformers_code
from engine.messages.reports import CheckpointInfo
from engine.phrases import Phrase, join, number_text, phrase
from engine.results.ceiling import ceiling_sentence
from engine.results.comparing import BaselineComparison, baseline_advice, compare_with_baseline
from engine.results.intervals import Interval
from engine.results.levels import levels_note
from engine.results.measures import interval, main_metric, main_score
from engine.results.neglected import macro_f1, neglect
from engine.results.prediction_sets import sets_note, sets_sentence
from engine.results.predictions import Predictions, read_predictions
from engine.results.seeds import mean_over_seeds, scores_by_seed
from engine.results.store import baselines_in, logged_evaluations, predictions_file
from engine.runs.folder import RunFolder
from engine.runs.snapshots import find_run
from engine.visible import one_line

PARTS: tuple[SplitName, ...] = ("validation", "test")
MERGES = "merges.txt"  # of byte-level BPE
MAX_BASES = 20  # models that were trained one from the other
MAX_LABELS = 50  # maximum of listed labels
INTERVAL = phrase("95 % interval over rows")


def model_card(checkpoint: Path, form: Form, precision: Precision = "float32") -> str:
    """The card of an export of `checkpoint`, in Markdown with a metadata header.

    Raises StudioError if the checkpoint cannot be read.
    """
    info, run = checkpoint_info(checkpoint), find_run(checkpoint)
    settings = prediction_settings(checkpoint)
    job = run.job() if run is not None else None
    results = stored_results(run, checkpoint) if run is not None else {}
    task = fine_tuned_task(checkpoint)
    notes = [*limits(info, task, job, results), *_library_notes(checkpoint, info, form, precision)]
    parts = [
        _metadata(info, form, job, results, named_licence(checkpoint)),
        f"# {_cell(job.name) if job else checkpoint.name}",
        _table(("", ""), about_rows(info, job)),
        _scores(run, results),
        "\n".join(("## Limits", "", *(f"- {note}" for note in notes))) if notes else "",
        _prediction_settings(settings, form),
        _usage(task, form, settings, Example(columns=info.texts, probe=probe_pooling(checkpoint))),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def stored_results(run: RunFolder, checkpoint: Path) -> dict[SplitName, Predictions]:
    results: dict[SplitName, Predictions] = {}
    for folder in (run.results, run.results / checkpoint.name):
        for part in PARTS:
            if (file := predictions_file(folder, part)).is_file():
                predictions = read_predictions(file)
                if run.checkpoint(predictions.info.step or 0) == checkpoint:
                    results[part] = predictions
    return results


def licensed_folder(checkpoint: Path) -> Path:
    """The imported model that a checkpoint was trained from, or the checkpoint itself."""
    for _ in range(MAX_BASES):
        run = find_run(checkpoint)
        base = run.job().base_model if run is not None else None
        if not isinstance(base, FromCheckpoint) or not base.path.is_dir():
            break
        checkpoint = base.path
    return checkpoint


def _metadata(
    info: CheckpointInfo,
    form: Form,
    job: JobSpec | None,
    results: dict[SplitName, Predictions],
    licence: str,
) -> str:
    """A YAML header whose values are JSON, a subset of YAML."""
    metadata: dict[str, Any] = {"library_name": "transformers" if form == "hf" else form}
    metadata |= {"license": licence} if licence else {}
    metadata["tags"] = ["bert-studio", info.family]
    if info.task is not None:
        metadata["pipeline_tag"] = TASKS[info.task].info.hub_pipeline
    if job is not None and results:
        metadata["model-index"] = [
            {
                "name": job.name,
                "results": [
                    {
                        "task": {"type": TASKS[result.info.task].info.hub_pipeline},
                        "dataset": {"name": result.info.source, "type": "other", "split": part},
                        "metrics": [
                            {"type": name, "value": round(value, 4)}
                            for name, value in finite_metrics(result).items()
                        ],
                    }
                    for part, result in results.items()
                ],
            }
        ]
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in metadata.items())
    return "\n".join(("---", *lines, "---"))


def finite_metrics(predictions: Predictions) -> dict[str, float]:
    names = [metric.name for metric in TASKS[predictions.info.task].info.metrics]
    metrics = predictions.info.metrics
    return {name: metrics[name] for name in names if math.isfinite(metrics.get(name, math.nan))}


def about_rows(info: CheckpointInfo, job: JobSpec | None) -> list[tuple[str, str]]:
    title = TASKS[info.task].info.title if info.task else "Encoder without a task head"
    network = phrase(
        "{family}, {layers} layers × {hidden}",
        family=info.family,
        layers=info.layers,
        hidden=info.hidden_size,
    )
    rows: list[tuple[str, str]] = [
        (phrase("task"), Phrase(title, {})),
        (phrase("network"), network),
        (phrase("parameters"), f"{info.parameters:,}"),
        (phrase("max. positions"), phrase("{n:,} token(s)", n=info.max_positions)),
    ]
    if info.texts:
        rows.append((phrase("text"), f" {SEPARATOR} ".join(info.texts.values())))
    if info.labels:
        more = len(info.labels) - MAX_LABELS
        labels = ", ".join(info.labels[:MAX_LABELS])
        text = phrase("{labels} and {n} more", labels=labels, n=more) if more > 0 else labels
        rows.append((phrase("labels"), text))
    if job is not None:
        training, base = job.training, job.base_model
        if isinstance(base, FromCheckpoint) and (
            licence := read_licence(licensed_folder(base.path))
        ):
            rows.append((phrase("licence of the base model"), licence))
        rows += [
            (phrase("trained on"), job.data.name),
            (phrase("learning rate"), number_text(training.learning_rate)),
            (phrase("batch size"), f"{training.batch_size}"),
            (phrase("max. length"), phrase("{n:,} token(s)", n=training.max_length)),
            (phrase("seed"), f"{training.seed}"),
        ]
    return rows


def _scores(run: RunFolder | None, results: dict[SplitName, Predictions]) -> str:
    """For each part, the main metric with its interval, the baselines, and the other metrics."""
    if run is None or not results:
        return ""
    paragraphs = ["## Scores"]
    for part, result in results.items():
        comparisons = baseline_comparisons(run, part, result)
        paragraphs += [
            f"{part.capitalize()} rows of {_cell(result.info.source)} ({len(result):,}):",
            _table(("", main_metric(result).title, INTERVAL), score_rows(result, comparisons)),
            baseline_advice(comparisons),
            classes_note(result),
            levels_note(result),
            ceiling_sentence(result),
            sets_note(result),
            mean_over_seeds(result, scores_by_seed(run, result)),
            other_metrics(result),
            precision_note(result),
            evaluations_note(run, part, result),
        ]
    return "\n\n".join(part for part in paragraphs if part)


def baseline_comparisons(
    run: RunFolder, part: SplitName, predictions: Predictions
) -> list[BaselineComparison]:
    baselines = baselines_in(run.results, part, predictions.info.fingerprint)
    return [compare_with_baseline(predictions, read_predictions(item.file)) for item in baselines]


def score_rows(
    predictions: Predictions, baselines: Sequence[BaselineComparison]
) -> list[tuple[str, str, str]]:
    scores = [
        (phrase("this model"), main_score(predictions)),
        *((b.name, b.score) for b in baselines),
    ]
    metric = main_metric(predictions)
    return [
        (name, metric.text(score.value), format_ends(score, metric.text)) for name, score in scores
    ]


def format_ends(score: Interval, text: Callable[[float], str]) -> str:
    """Both ends of an interval; empty for none."""
    if math.isnan(score.low):
        return ""
    return phrase("{low} to {high}", low=text(score.low), high=text(score.high))


def classes_note(predictions: Predictions) -> str:
    """Macro F1 with its interval, and neglected classes; empty for tasks without classes."""
    measure = macro_f1(predictions)
    if measure is None:
        return ""
    macro = interval(measure)
    ends = format_ends(macro, F1_MACRO.text)
    score = phrase("Macro F1 {value} ({ends}).", value=F1_MACRO.text(macro.value), ends=ends)
    return join(" ", filter(None, (score, neglect(predictions))))


def score_note(predictions: Predictions) -> str:
    """The main metric with its interval, in a sentence."""
    metric, score = main_metric(predictions), main_score(predictions)
    title, value = Phrase(metric.title, {}), metric.text(score.value)
    ends = format_ends(score, metric.text)
    if not ends:
        return phrase("Score: {metric} {value}.", metric=title, value=value)
    return phrase("Score: {metric} {value} ({ends}).", metric=title, value=value, ends=ends)


def precision_note(predictions: Predictions) -> str:
    """The precision of the evaluation, in a sentence; empty if unknown."""
    if not predictions.info.precision:
        return ""
    return phrase(
        "Computed in {precision}; in another precision the last digits differ.",
        precision=predictions.info.precision,
    )


def other_metrics(predictions: Predictions) -> str:
    """The metrics that are stated nowhere else, in a sentence; empty for none."""
    values = finite_metrics(predictions)
    stated = {main_metric(predictions).name}
    if macro_f1(predictions) is not None:
        stated.add(F1_MACRO.name)  # in `classes_note`
    shown = (
        join(" ", (Phrase(metric.title, {}), metric.text(values[metric.name])))
        for metric in TASKS[predictions.info.task].info.metrics
        if metric.name in values and metric.name not in stated
    )
    metrics = join(", ", shown)
    return phrase("Other metrics: {metrics}.", metrics=metrics) if metrics else ""


def evaluations_note(run: RunFolder, part: SplitName, predictions: Predictions) -> str:
    """The number of evaluations on test rows, in a sentence; empty for other rows."""
    if part != "test":
        return ""
    return phrase(
        "The test rows were scored {n} time(s); each time makes the score less reliable.",
        n=len(logged_evaluations(run.results, predictions.info.fingerprint)),
    )


def limits(
    info: CheckpointInfo,
    task: TaskSpec | None,
    job: JobSpec | None,
    results: dict[SplitName, Predictions],
) -> list[str]:
    notes: list[str] = []
    if job is not None:
        notes.append(phrase("Evaluated on this data only; other kinds of text were not tried."))
    if results and "test" not in results:
        notes.append(
            phrase(
                "The validation rows chose the checkpoint, so that their score is a little too "
                "high."
            )
        )
    if isinstance(task, WindowedTask) and task.reads_windows:
        notes.append(
            phrase(
                "Texts of more than {n:,} token(s) are read in overlapping windows; other programs "
                "must do the same.",
                n=task.window_length,
            )
        )
    elif task is not None and task.truncates:
        notes.append(
            phrase(
                "At most {n:,} token(s) of an input are read; other programs must truncate longer "
                "ones.",
                n=info.max_length,
            )
        )
    if info.task is not None and get_head(info.task).classifies:
        notes.append(phrase("Always predicts one of the labels, even if none fits."))
    return notes


def _library_notes(
    checkpoint: Path, info: CheckpointInfo, form: Form, precision: Precision
) -> list[str]:
    """Behaviour of other programs with the files of an export."""
    notes: list[str] = []
    head = None if info.task is None else get_head(info.task)
    if precision == "int8":
        notes.append(
            phrase(
                "With int8, an answer depends a little on the other texts of its batch, which are "
                "rounded together."
            )
        )
    if form == "hf" and head is not None and head.is_ordinal:
        notes.append(
            phrase(
                "Output k of the network is the logit of label k or a higher one, given label "
                "k - 1 or a higher one; the first is not used. The code below makes probabilities "
                "of the labels of them."
            )
        )
    if form == "onnx" and head is not None and head.problem_type == ONE_NUMBER:
        notes.append(
            phrase(
                "The pipeline of transformers.js shows 1 for every text, because it applies a "
                "softmax to the number; read the logits of the model instead."
            )
        )
    if form != "tf1" and head is not None and head.labels_spans:
        notes.append(
            phrase(
                "The pipelines of transformers and transformers.js do not find spans that overlap; "
                "use the code below."
            )
        )
    if form != "tf1" and head is not None and head.reads_tokens and not head.has_labels:
        notes.append(
            phrase(
                "The code below reads the first {n:,} token(s) of question and passage; BERT "
                "Studio reads longer passages in windows.",
                n=info.max_positions,
            )
        )
    if form != "tf1" and (checkpoint / MERGES).is_file():
        notes.append(phrase("tokenizer.json needs tokenizers 0.20 or newer."))
    return notes


def _prediction_settings(settings: PredictionSettings, form: Form) -> str:
    """The thresholds and the temperature, if not the defaults."""
    if settings.is_default:
        return ""
    parts = ["## Thresholds and temperature", _table(("", ""), settings_rows(settings))]
    if form != "tf1":
        parts.append(f"`{PREDICTION}` in config.json has them; other programs do not use them.")
    return "\n\n".join(parts)


def settings_rows(settings: PredictionSettings) -> list[tuple[str, str]]:
    """Names and values of what differs from the defaults; prediction sets in words."""
    values = settings.model_dump(mode="json", exclude_defaults=True, exclude={"sets"})
    rows = [(name.replace("_", " "), json.dumps(value)) for name, value in values.items()]
    sets = settings.sets
    return rows if sets is None else [*rows, ("prediction sets", sets_sentence(sets))]


def _usage(
    task: TaskSpec | None, form: Form, settings: PredictionSettings, example: Example
) -> str:
    if task is None or form == "tf1":
        return ""
    code = transformers_code if form == "hf" else onnx_code
    lines = code(task, ".", example, settings)
    return f"## Use\n\nIn this folder:\n\n```python\n{lines}```"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """Escape an untrusted text for one line of Markdown."""
    return one_line(text).replace("|", "\\|")

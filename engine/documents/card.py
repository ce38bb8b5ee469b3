"""The model card of a checkpoint: README.md in the form of the Hugging Face Hub.

What is not known is left out: a card says nothing that the checkpoint and its run do not say.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.prediction_settings import PREDICTION, prediction_settings
from engine.documents.code import onnx_code, transformers_code
from engine.messages.reports import CheckpointInfo
from engine.results.predictions import Predictions, read_predictions
from engine.results.scores import metric_of, score_of
from engine.results.store import baselines_in, file_of, looks_in
from engine.runs.folder import RunFolder
from engine.spec.dataset import SplitName
from engine.spec.export import Form
from engine.spec.job import JobSpec
from engine.spec.prediction import PredictionSettings
from engine.spec.tasks import TASKS
from engine.visible import one_line

PIPELINES = {  # the names of the Hub for tasks; the others have none
    "text_classification": "text-classification",
    "pair_classification": "text-classification",
    "multi_label": "text-classification",
    "regression": "text-classification",
    "token_classification": "token-classification",
    "question_answering": "question-answering",
    "multiple_choice": "multiple-choice",
}
PARTS: tuple[SplitName, ...] = ("validation", "test")
MOST_LABELS = 50  # that are named


def model_card(checkpoint: Path, form: Form) -> str:
    """The card of an export of `checkpoint` in this form, in Markdown with metadata before it.

    Raises StudioError where the checkpoint cannot be read.
    """
    info, run = checkpoint_info(checkpoint), run_of(checkpoint)
    settings = prediction_settings(checkpoint)
    job = run.job() if run is not None else None
    results = _results(run, checkpoint) if run is not None else {}
    parts = [
        _metadata(info, form, job, results),
        f"# {_cell(job.name) if job else checkpoint.name}",
        _about(info, job),
        _scores(run, results),
        _limits(info, job, results),
        _predicted_with(settings, form),
        _use(info, form, settings),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def run_of(checkpoint: Path) -> RunFolder | None:
    """The run that saved a checkpoint, where it still lies there."""
    folder = RunFolder(checkpoint.parent.parent)
    is_inside = checkpoint.parent == folder.checkpoints and folder.spec_file.is_file()
    return folder if is_inside else None


def _results(run: RunFolder, checkpoint: Path) -> dict[SplitName, Predictions]:
    """What is kept of this checkpoint on the parts of its data."""
    found: dict[SplitName, Predictions] = {}
    for folder in (run.results, run.results / checkpoint.name):
        for part in PARTS:
            if (file := file_of(folder, part)).is_file():
                predictions = read_predictions(file)
                if run.checkpoint(predictions.facts.step or 0) == checkpoint:
                    found[part] = predictions
    return found


def _metadata(
    info: CheckpointInfo, form: Form, job: JobSpec | None, results: dict[SplitName, Predictions]
) -> str:
    """YAML between two lines, each value as JSON, which YAML reads as well."""
    said: dict[str, Any] = {"library_name": "transformers" if form == "hf" else form}
    said["tags"] = ["bert-studio", info.family]
    if info.task is not None:
        said["pipeline_tag"] = PIPELINES[info.task]
    if job is not None and results:
        said["model-index"] = [
            {
                "name": job.name,
                "results": [
                    {
                        "task": {"type": PIPELINES[one.facts.task]},
                        "dataset": {"name": one.facts.source, "type": "other", "split": part},
                        "metrics": [
                            {"type": name, "value": round(value, 4)}
                            for name, value in _figures(one).items()
                        ],
                    }
                    for part, one in results.items()
                ],
            }
        ]
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in said.items())
    return "\n".join(("---", *lines, "---"))


def _figures(predictions: Predictions) -> dict[str, float]:
    """The metrics of the task, in its order."""
    names = [metric.name for metric in TASKS[predictions.facts.task].facts.metrics]
    metrics = predictions.facts.metrics
    return {name: metrics[name] for name in names if math.isfinite(metrics.get(name, math.nan))}


def _about(info: CheckpointInfo, job: JobSpec | None) -> str:
    title = TASKS[info.task].facts.title if info.task else "Encoder without a task head"
    rows = [
        ("task", title),
        ("network", f"{info.family}, {info.layers} layers × {info.hidden_size}"),
        ("parameters", f"{info.parameters:,}"),
        ("longest input", f"{info.max_positions:,} tokens"),
    ]
    if info.labels:
        more = f" and {len(info.labels) - MOST_LABELS} more" * (len(info.labels) > MOST_LABELS)
        rows.append(("labels", ", ".join(info.labels[:MOST_LABELS]) + more))
    if job is not None:
        training = job.training
        rows += [
            ("trained on", job.data.name),
            ("learning rate", f"{training.learning_rate:g}"),
            ("batch size", f"{training.batch_size}"),
            ("longest training input", f"{training.max_length} tokens"),
            ("seed", f"{training.seed}"),
        ]
    return _table(("", ""), rows)


def _scores(run: RunFolder | None, results: dict[SplitName, Predictions]) -> str:
    """Each part with the main metric and its interval, its baselines, and the other metrics."""
    if run is None or not results:
        return ""
    said = ["## Scores"]
    for part, one in results.items():
        metric, score = metric_of(one), score_of(one)
        rows = [("this model", f"{score.value:.4f}", f"{score.low:.4f} to {score.high:.4f}")]
        rows += [
            (kept.facts.model, f"{kept.facts.metrics.get(metric.name, math.nan):.4f}", "")
            for kept in baselines_in(run.results, part, one.facts.fingerprint)
        ]
        others = ", ".join(
            f"{name} {value:.4f}" for name, value in _figures(one).items() if name != metric.name
        )
        said += [
            f"{part.capitalize()} rows of {_cell(one.facts.source)} ({len(one):,}):",
            _table(("", metric.title, "95 % interval (bootstrap over rows)"), rows),
            f"Other metrics: {others}." if others else "",
        ]
    if "test" in results:
        looks = len(looks_in(run.results, results["test"].facts.fingerprint))
        said.append(f"The test rows were scored {looks} time(s); a score loses its worth with it.")
    return "\n\n".join(part for part in said if part)


def _limits(
    info: CheckpointInfo, job: JobSpec | None, results: dict[SplitName, Predictions]
) -> str:
    said = ["## Limits", ""]
    if job is not None:
        said.append("- It knows what its training rows show; other kinds of text were not tried.")
    if results and "test" not in results:
        said.append(
            "- The validation rows chose the checkpoint, so that their score is a little too high."
        )
    if info.task is not None and TASKS[info.task].facts.cuts_long_texts:
        said.append(f"- Of longer inputs only the first {info.max_positions:,} tokens are read.")
    if info.labels:
        said.append("- It predicts one of its labels also for texts that none of them fits.")
    return "\n".join(said) if len(said) > 2 else ""


def _predicted_with(settings: PredictionSettings, form: Form) -> str:
    """The thresholds and the temperature, where they are not the usual ones."""
    if settings.is_usual:
        return ""
    said = settings.model_dump(mode="json", exclude_defaults=True)
    rows = [(name.replace("_", " "), json.dumps(value)) for name, value in said.items()]
    parts = ["## Thresholds and temperature", _table(("", ""), rows)]
    if form != "tf1":
        parts.append(f"`{PREDICTION}` in config.json has them; other programs do not use them.")
    return "\n\n".join(parts)


def _use(info: CheckpointInfo, form: Form, settings: PredictionSettings) -> str:
    if info.task is None or form == "tf1":
        return ""
    code = transformers_code if form == "hf" else onnx_code
    return f"## Use\n\nIn this folder:\n\n```python\n{code(info.task, '.', settings=settings)}```"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """A text of somebody else in a line of Markdown."""
    return one_line(text).replace("|", "\\|")

"""Thresholds, temperature and prediction sets of a fine-tuned model."""

from pathlib import Path
from typing import Annotated

import typer

from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.prediction_settings import prediction_settings, save_settings
from engine.cli.naming import find_folder
from engine.cli.options import AsJson, ByClass, parse_sets, probability_option
from engine.cli.results import Part, load_predictions
from engine.config.prediction import PredictionSettings
from engine.config.tasks import get_head
from engine.errors import StudioError
from engine.files.home import Home
from engine.phrases import phrase
from engine.results.fitting import with_best_f1, with_temperature
from engine.results.prediction_sets import sets_sentence, with_sets
from engine.results.predictions import Predictions, read_predictions
from engine.results.store import best_checkpoint, predictions_file, results_folder
from engine.runs.folder import RunFolder
from engine.system.terminal import echo, echo_json


def calibrate(
    model: Annotated[
        Path,
        typer.Argument(
            help="A run (its best checkpoint is used) or a model, by name or folder.",
            callback=find_folder,
        ),
    ],
    fit_temperature: Annotated[
        bool,
        typer.Option(
            "--fit-temperature",
            help="Temperature scaling: the temperature with the lowest loss on labelled rows.",
        ),
    ] = False,
    best_f1: Annotated[
        bool,
        typer.Option(
            "--best-f1", help="Thresholds with the highest F1, per label or for “no answer”."
        ),
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0.05, max=20, help="Divide the logits by this.")
    ] = None,
    threshold: Annotated[
        float | None,
        probability_option("Minimum probability to predict --label, such as 60 %."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(help="The label of --threshold. Default: the second of two classes."),
    ] = None,
    no_answer_threshold: Annotated[
        float | None,
        typer.Option(
            min=-1e6, max=1e6, help="How much higher “no answer” must score than the best answer."
        ),
    ] = None,
    unsure_below: Annotated[
        float | None,
        probability_option(
            "Mark predictions with a lower probability as unsure, such as 80 %; 0: none."
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        probability_option(
            "Prediction sets that contain the true label of this fraction of rows, such as 90 %, "
            "calibrated on the predictions of the validation rows; 0: none."
        ),
    ] = None,
    by_class: ByClass = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="First reset to temperature 1 and thresholds of 0.5.")
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Fit on these predictions instead of the stored ones of --part."),
    ] = None,
    part: Part = "validation",
    as_json: AsJson = False,
) -> None:
    """Set thresholds, temperature and prediction sets of a fine-tuned model, or print them.

    They are stored with its weights, and used by every later prediction.
    """
    folder = _weights_folder(model)
    settings = before = prediction_settings(folder)
    if reset:
        settings = PredictionSettings()
    if temperature is not None:
        settings = settings.at_temperature(temperature)
    if threshold is not None:
        settings = _with_threshold(settings, folder, threshold, label)
    if no_answer_threshold is not None:
        change = {"no_answer_threshold": no_answer_threshold}
        settings = PredictionSettings.model_validate(settings.model_dump() | change)
    if unsure_below == 1:
        raise StudioError(
            "Below 100 %, almost every prediction would be unsure.", "Choose less, such as 80 %."
        )
    if unsure_below is not None:
        settings = settings.model_copy(update={"unsure_below": unsure_below})
    coverage = parse_sets(coverage, by_class)
    if best_f1 or fit_temperature or coverage:
        rows = _load_rows(model, folder, predictions, part)
        if best_f1:
            settings = with_best_f1(settings, rows)
        if fit_temperature:
            settings = _fit_temperature(settings, rows)
        if coverage:
            settings = with_sets(settings, rows, coverage, by_class)
    if coverage == 0:
        settings = settings.model_copy(update={"sets": None})
    if settings != before:
        save_settings(folder, settings)
    if as_json:
        echo_json(settings.model_dump(mode="json"))
        return
    echo(*_describe(settings))
    if before.sets is not None and settings.sets is None and coverage is None and not reset:
        echo(
            phrase(
                "The prediction sets were of the earlier temperature and are removed. Evaluate "
                "the model again, and choose --coverage."
            )
        )


def _weights_folder(model: Path) -> Path:
    """Find the folder of the weights. Raises StudioError if no model can be read."""
    run = RunFolder(model.absolute())
    folder = best_checkpoint(run) if run.spec_file.is_file() else model.absolute()
    checkpoint_info(folder)
    return folder


def _load_rows(model: Path, folder: Path, file: Path | None, part: Part) -> Predictions:
    if file is not None:
        return read_predictions(file)
    if RunFolder(model.absolute()).spec_file.is_file():
        return load_predictions(model, part)
    return read_predictions(predictions_file(results_folder(folder, Home()), part))


def _fit_temperature(settings: PredictionSettings, rows: Predictions) -> PredictionSettings:
    fitted = with_temperature(settings, rows)
    if fitted is None:
        raise StudioError(
            "A temperature is fitted on rows with labels, and these have none.",
            "Evaluate the model on rows with labels first.",
        )
    return fitted


def _with_threshold(
    settings: PredictionSettings, folder: Path, threshold: float, label: str | None
) -> PredictionSettings:
    info = checkpoint_info(folder)
    head = None if info.task is None else get_head(info.task)
    several = head is not None and head.is_multi_label
    by_class = head is not None and head.classifies
    if not (several or (by_class and len(info.labels) == 2)):
        raise StudioError(
            "This model predicts no label by a threshold.",
            "Thresholds are for two classes and for several labels.",
        )
    if not 0 < threshold < 1:
        raise StudioError(
            "A threshold is a probability between 0 and 1.", "Choose a number such as 0.5."
        )
    chosen = info.labels[-1] if label is None and not several else label
    if chosen not in info.labels:
        raise StudioError(
            "It is not clear which label the threshold is for.",
            "Choose one with --label: {labels}.",
            labels=", ".join(info.labels),
        )
    return settings.with_threshold(chosen, threshold, info.labels, several)


def _describe(settings: PredictionSettings) -> list[str]:
    lines = [f"temperature {settings.temperature:.4g}", f"threshold {settings.threshold:.4g}"]
    lines += [f"threshold of {label}: {value:.4g}" for label, value in settings.thresholds.items()]
    if settings.no_answer_threshold is not None:
        lines.append(f"no-answer threshold {settings.no_answer_threshold:.4g}")
    if settings.unsure_below:
        lines.append(f"unsure below {settings.unsure_below:.4g}")
    if settings.sets is not None:
        lines.append(sets_sentence(settings.sets))
    return lines

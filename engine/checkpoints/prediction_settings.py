"""Thresholds, temperature and activation of a checkpoint, in config.json or in a separate file.

The files of a run's checkpoint are protected by checksums, so later choices are stored in a
separate file. Exports and copies have them in config.json, as plain numbers. The activation of a
number is stored as the cross-encoders of sentence-transformers store it.
"""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.checkpoints.config import CONFIG, first_architecture
from engine.checkpoints.heads import TASK
from engine.checkpoints.sentence_layout import CLASSES, CROSS_ENCODER_TYPE, PROMPTS
from engine.config.prediction import PredictionSettings
from engine.config.task import SEQUENCE
from engine.config.tasks import get_head
from engine.config.tasks.regression import Regression
from engine.errors import BadCheckpoint
from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.untrusted import json_object, safe_name
from engine.phrases import phrase

FILE = "prediction_settings.json"
PREDICTION = "bert_studio_prediction"  # in config.json
CROSS_ENCODER = "sentence_transformers"  # in config.json, since sentence-transformers 4
ACTIVATION, OLDER_ACTIVATION = "activation_fn", "sbert_ce_default_activation_function"
ACTIVATIONS = ("identity", "sigmoid")
ONE_NUMBER = get_head(Regression().kind).problem_type  # of config.json


def prediction_settings(folder: Path) -> PredictionSettings:
    """The settings of the checkpoint in a folder.

    Raises BadCheckpoint if they are damaged.
    """
    return parse_settings(with_settings(folder, json_object(folder, CONFIG) or {}))


def with_settings(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """The config of a folder, updated with the settings chosen since it was written."""
    chosen, layout = json_object(folder, FILE), json_object(folder, PROMPTS) or {}
    names = (ACTIVATION, *(["prompts"] if layout.get("model_type") == CROSS_ENCODER_TYPE else []))
    stated = {name: layout[name] for name in names if layout.get(name)}  # since version 6
    if stated:
        before = config.get(CROSS_ENCODER)
        config = {
            **config,
            CROSS_ENCODER: {**(before if isinstance(before, dict) else {}), **stated},
        }
    return config if chosen is None else {**config, PREDICTION: chosen}


def parse_settings(config: dict[str, Any]) -> PredictionSettings:
    """The prediction settings in a config.

    Raises BadCheckpoint if they are damaged, or if the activation is not supported.
    """
    stated = _stated_activation(config) if _outputs(config) == 1 else None
    supported = {CLASSES[name]: name for name in ACTIVATIONS}
    if stated is not None and stated not in supported:
        raise BadCheckpoint(
            "The activation “{name}” of this cross-encoder is not supported.",
            "Supported are {names}.",
            name=safe_name(stated),
            names=", ".join(supported),
        )
    try:
        settings = PredictionSettings.model_validate(config.get(PREDICTION, {}))
    except ValidationError as error:
        raise BadCheckpoint(
            "The thresholds and the temperature of this model are damaged.",
            "Set them again with bert-studio calibrate, or delete {file}.",
            file=FILE,
        ) from error
    activation = "identity" if stated is None else supported[stated]
    return settings.model_copy(update={"activation": activation})


def cross_encoder_prompts(config: dict[str, Any]) -> dict[str, Any]:
    """The prompts of a cross-encoder, by name; none of them is applied by default."""
    stated = config.get(CROSS_ENCODER)
    prompts = stated.get("prompts") if isinstance(stated, dict) else None
    return prompts if isinstance(prompts, dict) else {}


def settings_entries(settings: PredictionSettings) -> dict[str, Any]:
    """The entries of config.json for these settings; empty for the defaults."""
    if settings.is_default:
        return {}
    return {PREDICTION: settings.model_dump(mode="json"), **activation_entries(settings)}


def activation_entries(settings: PredictionSettings) -> dict[str, Any]:
    """The entries by which CrossEncoder and the pipeline of transformers compute our number."""
    return {
        CROSS_ENCODER: {ACTIVATION: CLASSES[settings.activation]},
        "problem_type": ONE_NUMBER if settings.activation == "identity" else None,
    }


def activation_notes(config: dict[str, Any], outputs: int) -> list[str]:
    """Notes on a task head of another program whose outputs might be read otherwise."""
    stated = _stated_activation(config)
    is_classifier = first_architecture(config).endswith(SEQUENCE)
    if TASK in config or config.get("problem_type") or not is_classifier:
        return []
    if outputs == 1 and stated is None:
        return [
            phrase(
                "config.json states no activation, so the number is the output of the network; "
                "sentence-transformers would apply a sigmoid to it."
            )
        ]
    if outputs > 1 and (stated or "").endswith(".Sigmoid"):
        return [phrase("The sigmoid in config.json is ignored: classes have a softmax.")]
    return []


def save_settings(folder: Path, settings: PredictionSettings) -> None:
    """Store the settings of a checkpoint for all later predictions, atomically.

    Raises StudioError if they cannot be written.
    """
    with disk_errors_for(folder):
        write_file(folder / FILE, (settings.model_dump_json(indent=2) + "\n").encode("utf-8"))


def _stated_activation(config: dict[str, Any]) -> str | None:
    """The class of the activation that a cross-encoder applies; None if none is stated."""
    current = config.get(CROSS_ENCODER)
    if isinstance(current, dict) and ACTIVATION in current:
        stated = current[ACTIVATION]
    else:
        stated = config.get(OLDER_ACTIVATION)
    return None if stated is None else str(stated)


def _outputs(config: dict[str, Any]) -> int:
    """The number of outputs of the task head, as far as config.json says."""
    labels = config.get("id2label")
    return len(labels) if isinstance(labels, dict) else config.get("num_labels", 2)

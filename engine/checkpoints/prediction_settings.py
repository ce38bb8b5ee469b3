"""Thresholds and temperature of a checkpoint, in config.json or in a separate file.

The files of a run's checkpoint are protected by checksums, so later choices are stored in a
separate file. Exports and copies have them in config.json, as plain numbers.
"""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.checkpoints.config import CONFIG
from engine.config.prediction import PredictionSettings
from engine.errors import BadCheckpoint
from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.untrusted import json_object

FILE = "prediction_settings.json"
PREDICTION = "bert_studio_prediction"  # in config.json


def prediction_settings(folder: Path) -> PredictionSettings:
    """The settings of the checkpoint in a folder.

    Raises BadCheckpoint if they are damaged.
    """
    return parse_settings(with_settings(folder, json_object(folder, CONFIG) or {}))


def with_settings(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """The config of a folder, updated with the settings chosen since it was written."""
    chosen = json_object(folder, FILE)
    return config if chosen is None else {**config, PREDICTION: chosen}


def parse_settings(config: dict[str, Any]) -> PredictionSettings:
    """The prediction settings in a config.

    Raises BadCheckpoint if they are damaged.
    """
    try:
        return PredictionSettings.model_validate(config.get(PREDICTION, {}))
    except ValidationError as error:
        raise BadCheckpoint(
            "The thresholds and the temperature of this model are damaged.",
            "Set them again with bert-studio calibrate, or delete {file}.",
            file=FILE,
        ) from error


def settings_entries(settings: PredictionSettings) -> dict[str, Any]:
    """The entries of config.json for these settings; empty for the defaults."""
    return {} if settings.is_default else {PREDICTION: settings.model_dump(mode="json")}


def save_settings(folder: Path, settings: PredictionSettings) -> None:
    """Store the settings of a checkpoint for all later predictions, atomically.

    Raises StudioError if they cannot be written.
    """
    with disk_errors_for(folder):
        write_file(folder / FILE, (settings.model_dump_json(indent=2) + "\n").encode("utf-8"))

"""Inspect a checkpoint folder, and copy it in our layout."""

from pathlib import Path
from typing import ClassVar, Literal

from engine.messages.question import Answer, Question
from engine.messages.reports import CheckpointInfo, LoadReport


class Examined(Answer):
    kind: Literal["examined"] = "examined"
    info: CheckpointInfo
    report: LoadReport


class Examine(Question):
    """Inspect a folder and check whether it would load. Changes nothing."""

    answered_by: ClassVar[type[Answer]] = Examined
    kind: Literal["examine"] = "examine"
    folder: Path


class Imported(Answer):
    kind: Literal["imported"] = "imported"
    folder: Path
    info: CheckpointInfo
    report: LoadReport


class Import(Question):
    """Copy an untrusted checkpoint into `into` in our layout; it appears whole or not at all."""

    answered_by: ClassVar[type[Answer]] = Imported
    kind: Literal["import"] = "import"
    folder: Path
    into: Path

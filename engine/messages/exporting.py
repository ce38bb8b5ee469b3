"""Export a checkpoint to another format."""

from pathlib import Path
from typing import ClassVar, Literal

from engine.config.export import Form, Precision
from engine.messages.question import Answer, Question
from engine.messages.reports import ExportReport


class Exported(Answer):
    kind: Literal["exported"] = "exported"
    folder: Path
    bytes: int
    report: ExportReport


class Export(Question):
    """Write a checkpoint in another format to `into`, which appears complete and verified, or not
    at all.

    It is verified on built-in texts and on the first rows of `texts`, or else on the validation
    rows of the run that saved the checkpoint.
    """

    answered_by: ClassVar[type[Answer]] = Exported
    kind: Literal["export"] = "export"
    checkpoint: Path
    into: Path
    form: Form = "hf"
    precision: Precision = "float32"
    texts: Path | None = None

"""Import a model folder or an archive of one, in the window and by command."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.checkpoints.archives import find_model_folder, unpack
from engine.checkpoints.needed import CONFIGS
from engine.checkpoints.sentence_layout import MODULES
from engine.explore.limits import limited_memory
from engine.messages.reports import CheckpointInfo, LoadReport
from engine.models.adapters import SETTINGS
from engine.models.checkpoint import import_checkpoint
from engine.phrases import phrase

ROOTS = (*CONFIGS, MODULES, SETTINGS)  # files that only the folder of a model has


def import_model(
    source: Path, into: Path, stage: Callable[[str], object], base: Path | None = None
) -> tuple[CheckpointInfo, LoadReport]:
    """Copy the model in a folder or archive into `into`, which appears whole or not at all.

    Args:
        stage: receives a sentence about each stage.
        base: the base model of an adapter; by default the folder beside it that has its name.

    Raises BadCheckpoint if it cannot be loaded.
    """
    if source.is_file():
        into.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(dir=into.parent, prefix=".unpacked.tmp-") as unpacked:
            stage(phrase("Unpacking the archive"))
            return import_model(unpack(source, Path(unpacked)), into, stage, base)
    stage(phrase("Converting the model"))
    is_model = any((source / name).is_file() for name in ROOTS)
    folder = source if is_model else find_model_folder(source) or source
    with limited_memory(folder):
        return import_checkpoint(folder, into, base)

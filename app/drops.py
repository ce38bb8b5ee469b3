"""Find the page that handles files or folders dropped on the window, by their content."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from engine.checkpoints.archives import find_model_folder, is_model_archive
from engine.checkpoints.other_forms import folder_form
from engine.data.datasets.packets import SUFFIX
from engine.data.formats.archives import ARCHIVE_SUFFIX, is_archive, members
from engine.data.formats.sources import data_suffixes, holds_texts
from engine.data.word_vectors.reading import USUAL_SUFFIXES, holds_word_vectors
from engine.errors import BadFile
from engine.files.regular_file import read_json
from engine.runs.bundle import is_bundle

MODEL_FILES = {
    "config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "bert_config.json",
    "bert_model.ckpt.index",
}

VECTOR_SUFFIXES = (*USUAL_SUFFIXES, ARCHIVE_SUFFIX, "")
JOB_FIELDS = {"task", "base_model", "data"}  # required fields of a job
MAX_JOB_BYTES = 1_000_000


def page_for(paths: Sequence[Path]) -> str:
    """Key of the page that handles `paths`, or “” if none does."""
    if not paths:
        return ""
    pages = {_page(path) for path in paths}
    return pages.pop() if len(pages) == 1 else ""


def _page(path: Path) -> str:
    if path.is_dir():
        if (path / "spec.json").is_file() and (
            (path / "checkpoints").is_dir() or (path / "events.jsonl").is_file()
        ):
            return "runs"
        if any((path / name).is_file() for name in MODEL_FILES):
            return "models"
        if (path / "spec.json").is_file() and (path / "data.parquet").is_file():
            return "data"
        if holds_texts(path):
            return "data"
        is_model = find_model_folder(path) is not None or folder_form(path) is not None
        return "models" if is_model else ""
    if path.suffix.lower() == ARCHIVE_SUFFIX and is_bundle(path):
        return "runs"
    if _is_job(path):
        return "train"
    if path.name in MODEL_FILES or holds_model(path):
        return "models"
    if is_vectors_file(path):
        return "models"
    is_data = path.suffix.lower() in (*data_suffixes(), SUFFIX) or not path.suffix
    return "data" if is_data else ""


def holds_model(path: Path) -> bool:
    """Return True for an archive that contains a model."""
    if is_model_archive(path):
        return True
    if path.suffix.lower() != ARCHIVE_SUFFIX or not is_archive(path):
        return False
    try:
        names = members(path)
    except BadFile:
        return False  # the page that opens it reports the error
    return any(PurePosixPath(name).name in MODEL_FILES for name in names)


def is_vectors_file(path: Path) -> bool:
    """Return True for a file of word vectors, by its content."""
    return path.suffix.lower() in VECTOR_SUFFIXES and holds_word_vectors(path)


def _is_job(path: Path) -> bool:
    if path.suffix.lower() != ".json":
        return False
    try:
        content = read_json(path, MAX_JOB_BYTES)
    except (OSError, ValueError):
        return False  # the page that opens it reports the error
    return isinstance(content, dict) and content.keys() >= JOB_FIELDS

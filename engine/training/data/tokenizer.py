"""Tokenizer of a run: its base model's, or a new one trained on its texts."""

import hashlib
from pathlib import Path

from engine.config.job import BaseModelSource, FromCheckpoint, FromScratch
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.files.atomic_write import atomic_folder, verify
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.runs.folder import RunFolder
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.context import RunContext
from engine.training.data.token_cache import shared_tokens
from engine.training.data.training_data import TrainingRows


def base_tokenizer(base_model: BaseModelSource) -> Tokenizer | None:
    """Tokenizer of a base model; None if a new one is to be trained."""
    if isinstance(base_model, FromCheckpoint):
        return Tokenizer.from_folder(base_model.path)
    if base_model.tokenizer is None:
        return None
    if base_model.tokenizer.is_dir():
        return Tokenizer.from_folder(base_model.tokenizer)
    return Tokenizer.from_vocabulary(base_model.tokenizer, base_model.lowercase)


def tokenizer_for(context: RunContext, source: TrainingRows) -> Tokenizer:
    """Tokenizer of a new run; a trained one is saved in the run and shared through the cache."""
    base_model = context.job.base_model
    if (tokenizer := base_tokenizer(base_model)) is not None:
        return tokenizer
    assert isinstance(base_model, FromScratch)
    trained_folder = tokenizer_folder(context.folder)
    if not trained_folder.is_dir():
        progress = context.stage(phrase("Training the tokenizer"))
        with shared_tokens().reserve(
            _cache_key(base_model, source), lambda: progress(0, 0)
        ) as inside:
            trained = _load_or_train(inside / "made", source.rows, base_model, progress)
        with atomic_folder(trained_folder) as folder:
            trained.save(folder)
    return Tokenizer.from_folder(trained_folder)


def tokenizer_folder(folder: RunFolder) -> Path:
    """Folder of the tokenizer that a run has trained."""
    return folder.cache / "vocabulary"


def _cache_key(base_model: FromScratch, source: TrainingRows) -> str:
    """Cache key: equal for equal tokenizers."""
    rows = source.rows
    texts = (source.dataset.identity, rows.pairs is None, rows.tags is None)
    content = (*texts, base_model.model.vocab_size, base_model.lowercase)
    return f"vocabulary-{hashlib.sha256(repr(content).encode('utf-8')).hexdigest()[:24]}"


def _load_or_train(
    folder: Path, rows: Rows, base_model: FromScratch, progress: ProgressCallback
) -> Tokenizer:
    try:
        verify(folder)
        return Tokenizer.from_folder(folder)
    except StudioError:
        size, lowercase = base_model.model.vocab_size, base_model.lowercase
        trained = Tokenizer.train(rows.all_texts(), size, lowercase, progress)
        with atomic_folder(folder) as inside:
            trained.save(inside)
        return trained

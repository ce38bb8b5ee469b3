"""Configuration, tokenizer and card of one model. No widgets, no torch."""

import os
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.library import ModelEntry
from app.pages.models.model.table import find_tokens
from engine.checkpoints.config import CONFIG, parse_spec, with_family
from engine.checkpoints.outline import Block, outline
from engine.config.model import EncoderSpec
from engine.errors import BadCheckpoint, StudioError
from engine.files.regular_file import open_regular
from engine.files.untrusted import json_object
from engine.tokenizers.folder import GOOGLE_CONFIG
from engine.tokenizers.steps import steps
from engine.tokenizers.tokenizer import Tokenizer

MAX_CARD_BYTES = 200_000
MAX_LINE = 2_000  # characters; longer lines make the window slow


@dataclass(frozen=True)
class Contents:
    """Contents of a folder besides weights; `problem` says why there is no tokenizer."""

    parts: tuple[Block, ...]
    tokenizer: Tokenizer | None
    problem: str
    card: str


class ModelState(QObject):
    """Reads a model folder, and runs its tokenizer.

    Signals:
        read: `contents` is available.
        found: ids of matching tokens, or None for all.
        tokenized: the Steps of the text typed last.
    """

    read = Signal()
    found = Signal(object)
    tokenized = Signal(object)

    def __init__(self, model: ModelEntry, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self.contents: Contents | None = None
        self._searching = background.LatestJob(self)
        self._tokenizing = background.LatestJob(self)

    def start(self) -> None:
        """Read the folder outside the GUI thread."""
        model = self.model
        background.run(self, lambda: read_contents(model), self._on_read)

    def search(self, text: str) -> None:
        """Find tokens that contain `text`; all if it is empty."""
        self._searching.cancel()
        tokenizer = self._tokenizer()
        if tokenizer is None:
            return
        if not text.strip():
            self.found.emit(None)
            return
        vocabulary = tokenizer.vocabulary
        self._searching.run(lambda: find_tokens(vocabulary, text), self.found.emit)

    def tokenize(self, text: str) -> None:
        """Run the tokenizer's steps on `text`."""
        tokenizer = self._tokenizer()
        if tokenizer is not None:
            self._tokenizing.run(lambda: steps(tokenizer, text), self.tokenized.emit)

    def _tokenizer(self) -> Tokenizer | None:
        return self.contents.tokenizer if self.contents else None

    def _on_read(self, contents: Contents) -> None:
        self.contents = contents
        self.read.emit()


def read_contents(model: ModelEntry) -> Contents:
    """Read everything readable; a missing or damaged part stays empty."""
    tokenizer, problem = None, ""
    try:
        tokenizer = Tokenizer.from_folder(model.path)
    except StudioError as error:
        problem = error.problem
    parts: tuple[Block, ...] = ()
    spec = read_spec(model.path) if model.info else None
    if spec is not None and model.info is not None:
        parts = outline(spec, model.info.task_heads, len(model.info.labels))
    return Contents(parts, tokenizer, problem, _card(model.path))


def read_spec(folder: Path) -> EncoderSpec | None:
    """Configuration of the network; None if unreadable, which the list of models reports."""
    for name in (CONFIG, GOOGLE_CONFIG):
        try:
            if (config := json_object(folder, name)) is not None:
                return parse_spec(with_family(config, os.listdir(folder)), name)
        except BadCheckpoint:
            return None
    return None


def _card(folder: Path) -> str:
    """Start of README.md as plain text with truncated lines; empty if there is none."""
    try:
        with open_regular(folder / "README.md") as file:
            text = file.read(MAX_CARD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(
        line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…" for line in text.splitlines()
    )

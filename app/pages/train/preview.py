"""The first rows of the chosen data as the network reads them. No widgets."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import background
from app.notices import Notices
from app.timers import debounced
from app.widgets.text.tagged import token_spans
from engine.config.dataset import Mapping, StoredData
from engine.config.task import TaskSpec
from engine.config.tasks.pretraining import Pretraining
from engine.data.columns.label_sets import join_labels, parse_flag
from engine.data.columns.tags import Span
from engine.data.columns.text_spans import tagged_words
from engine.data.datasets.store import open_dataset
from engine.data.lengths import Lengths, lengths_in_dataset, row_texts
from engine.data.tokenized.sentences import sentences
from engine.errors import StudioError
from engine.messages.explore.text import Token
from engine.tokenizers.tokenizer import Tokenizer

EXAMPLE_COUNT = 3
MAX_TOKENS = 64  # per example


@dataclass(frozen=True)
class Example:
    """A row as the network sees it; without a vocabulary only its `text`."""

    text: str
    tokens: tuple[Token, ...]
    label: str | None
    truncated: bool
    spans: tuple[Span, ...] = ()  # of the tokens


@dataclass(frozen=True)
class Preview:
    """The first examples, and the text lengths of a sample, None without a vocabulary."""

    examples: tuple[Example, ...]
    lengths: Lengths | None
    unknown: int = -1  # id of [UNK]
    types: tuple[str, ...] = ()  # of the spans, in the order of their colours


def read_preview(data: StoredData, vocabulary: Path | None, task: TaskSpec) -> Preview:
    """Read the first training rows of a version of a data set. Call it outside the GUI thread.

    Args:
        vocabulary: checkpoint folder of the tokenizer; None: a new one is trained later.
        task: masks tokens if it is pre-training.

    Raises:
        StudioError: the data set or the vocabulary cannot be read.
    """
    dataset = open_dataset(data.folder).with_target(data.target).for_task(task)
    tokenizer = Tokenizer.from_folder(vocabulary) if vocabulary else None
    masking = task if isinstance(task, Pretraining) else None
    mapping, rows = dataset.spec.mapping, dataset.page(0, EXAMPLE_COUNT, "train")
    examples = tuple(_example(row, mapping, tokenizer, masking, n) for n, row in enumerate(rows))
    if tokenizer is None:
        return Preview(examples, None)
    lengths = lengths_in_dataset(dataset, tokenizer)
    types = tuple(name for name in dataset.spec.spans if name != "O")
    return Preview(examples, lengths, tokenizer.unknown, types)


def _label(mapping: Mapping, cells: dict[str, Any]) -> str | None:
    if mapping.flags:
        return join_labels([name for name in mapping.flags if parse_flag(str(cells[name]), name)])
    return None if mapping.label is None else str(cells[mapping.label])


def _example(
    row: dict[str, Any],
    mapping: Mapping,
    tokenizer: Tokenizer | None,
    masking: Pretraining | None,
    number: int,
) -> Example:
    first, second = row_texts(row, mapping)
    text = first if second is None else f"{first} / {second}"
    label = None if masking else _label(mapping, row)
    if tokenizer is None:
        return Example(text[:400], (), label, len(text) > 400)
    if masking:
        second = None
    if masking and masking.objective == "clm":
        masking = None  # a causal model has no masks and no pairs
    elif masking and masking.nsp:
        first, second = _spans(first)
    words, tags, _ = tagged_words(first, str(row.get(mapping.tags or "") or ""))
    is_tagged = not masking and bool(tags) and len(words) == len(tags)
    encoded = tokenizer.encode(" ".join(words) if is_tagged else first, second, MAX_TOKENS)
    tokens = encoded.tokens
    if is_tagged:
        spans = token_spans(words, tags, tokens)
        return Example(text[:400], tokens, label, encoded.truncated, spans)
    if masking:
        tokens = _mask_some(tokens, tokenizer, masking, random.Random(number))
    return Example(text[:400], tokens, label, encoded.truncated)


def _spans(text: str) -> tuple[str, str | None]:
    """The first two sentences of a text; the training worker takes longer spans."""
    result = sentences(text)
    return (result[0], result[1]) if len(result) > 1 else (text, None)


def _mask_some(
    tokens: tuple[Token, ...], tokenizer: Tokenizer, masking: Pretraining, rng: random.Random
) -> tuple[Token, ...]:
    """Mask some tokens as an example; training draws others."""
    maskable = [n for n, token in enumerate(tokens) if not token.special]
    count = min(len(maskable), max(1, round(masking.mlm_probability * len(maskable))))
    masked = set(rng.sample(maskable, count))
    mask = tokenizer.token(tokenizer.mask)
    return tuple(
        token.model_copy(update={"text": mask, "id": tokenizer.mask}) if n in masked else token
        for n, token in enumerate(tokens)
    )


CHOICE_PAUSE_MS = 250  # from the last choice until files are read


@dataclass(frozen=True)
class PreviewRequest:
    """Everything a preview depends on."""

    data: StoredData
    vocabulary: Path | None
    task: TaskSpec


class PreviewState(QObject):
    """Reads the preview after a pause, off the GUI thread.

    Signals:
        changed: `result`, `problem` or `is_reading` changed.
    """

    changed = Signal()

    def __init__(self, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._notices = notices
        self._request: PreviewRequest | None = None
        self.result: Preview | None = None
        self.problem: StudioError | None = None
        self._reading = background.LatestJob(self)
        self._delay = debounced(self, CHOICE_PAUSE_MS, self._read)

    @property
    def is_reading(self) -> bool:
        return self._delay.isActive() or self._reading.is_busy

    def show(self, request: PreviewRequest | None) -> None:
        """Read this preview after a short pause, unless it is shown already; None: no preview."""
        if request == self._request:
            return
        self._request = request
        self.result = self.problem = None
        self._reading.cancel()
        self._delay.start()
        self.changed.emit()

    def _read(self) -> None:
        request = self._request
        if request is None:
            self.changed.emit()
            return
        self._reading.run(
            lambda: read_preview(request.data, request.vocabulary, request.task),
            self._on_read,
            self._on_failed,
        )

    def _on_read(self, preview: Preview) -> None:
        self.result = preview
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        if isinstance(error, StudioError):
            self.problem = error
        else:
            self._notices.show(error)
        self.changed.emit()

"""Tags of a file: one per word, converted to BIO from any scheme, or spans of characters."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.config.dataset import Reading
from engine.data.columns.lists import is_shortened
from engine.data.columns.tags import Scheme, UnknownTag, recognise_scheme, split_tags, to_bio
from engine.data.columns.text_spans import (
    NO_SPANS,
    format_spans,
    marks_characters,
    read_spans,
    valid_spans,
)
from engine.data.columns.words import join_words, split_words
from engine.data.formats.batches import Batch
from engine.data.formats.reading import get_format, read
from engine.data.formats.rows import Remarks
from engine.errors import BadFile
from engine.phrases import phrase

ADVICE = phrase(
    "Every word needs one tag: write one tag per word, separated by spaces or in a list."
)
SPANS_ADVICE = phrase(
    "Write start, end and label of each span, such as [[0, 5, “person”]], and [] for none."
)


class TagColumn:
    """Validates the tags of each row and converts them to BIO, or the spans of characters.

    `scheme` is the scheme of the file; None if the tags are classes of words, which stay
    unchanged, or spans.
    """

    def __init__(
        self,
        path: Path,
        reading: Reading,
        text: int,
        tags: int,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """Read the file once to recognise the scheme.

        Args:
            path: the file.
            reading: its format.
            text: index of the words among the cells of a row.
            tags: index of their tags.
            cancelled: returns true to stop.

        Raises:
            BadFile: with the line, if nearly all tags name spans and one does not, or if a list
                is shortened.
            StudioError: if the tags mix two schemes.
            Cancelled: soon after `cancelled()` is true.
        """
        self._path, self._text, self._tags = path, text, tags
        self._word_lines = get_format(reading).has_line_per_word
        self.are_spans = False  # of characters
        lines = array("q")

        def sentences() -> Iterator[list[str]]:
            for row in read(path, reading, None, cancelled):
                lines.append(row.line)
                if is_shortened(row.cells[text]) or is_shortened(row.cells[tags]):
                    problem = phrase("the list was shortened with “...” when it was written.")
                    advice = phrase("Write the file again as JSON or Parquet.")
                    raise BadFile(path, problem, advice, line=row.line)
                self.are_spans |= marks_characters(row.cells[text], row.cells[tags].strip())
                if not self.are_spans:
                    yield split_tags(row.cells[tags])

        try:
            self.scheme: Scheme | None = recognise_scheme(sentences())
        except UnknownTag as error:
            line = self._line(lines[error.sentence - 1], error.token - 1)
            shown = error.tag if len(error.tag) <= 60 else error.tag[:60] + "…"
            problem = phrase("“{shown}” is not a valid span tag.", shown=shown)
            raise BadFile(path, problem, error.advice, line=line) from error

    @property
    def note(self) -> str:
        """Note on the conversion; empty without one."""
        if self.scheme in (None, "BIO"):
            return ""
        return phrase(
            "The tags use the {scheme} scheme; they were converted to BIO with the same spans.",
            scheme=self.scheme,
        )

    def convert(self, batch: Batch, remarks: Remarks) -> "pa.Array[Any]":
        """Convert the tag cells of a batch."""
        cells = [self.read(line, row, remarks) for line, row in batch.rows()]
        return pa.array(cells, type=pa.string())

    def read(self, line: int, cells: Sequence[str], remarks: Remarks) -> str:
        """Convert the tags of a row to BIO, or its spans to the notation of `format_spans`.

        Raises BadFile unless there are as many tags as words, or none; or if a cell has no spans.
        """
        if self.are_spans:
            return self._read_spans(line, cells, remarks)
        words, tags = split_words(cells[self._text]), split_tags(cells[self._tags])
        if not cells[self._tags].strip():
            return ""  # unlabelled
        if len(words) != len(tags):
            problem = phrase(
                "there are {count} and {count2}.",
                count=_count(len(words), "word"),
                count2=_count(len(tags), "tag"),
            )
            raise BadFile(self._path, problem, ADVICE, line=line)
        if self.scheme is None:
            return cells[self._tags]
        converted, invalid = to_bio(tags, self.scheme)
        for token in invalid:
            remark = phrase(
                "A tag such as “{tag}-” is not valid in its position and was corrected",
                tag=tags[token][:1],
            )
            remarks.count(remark, self._line(line, token))
        is_same = converted == split_words(cells[self._tags])
        return cells[self._tags] if is_same else join_words(converted)

    def _read_spans(self, line: int, cells: Sequence[str], remarks: Remarks) -> str:
        cell = cells[self._tags].strip()
        if not cell:
            return ""  # unlabelled
        spans = [] if cell == NO_SPANS else read_spans(cell)
        if spans is None:
            problem = phrase("“{cell}” is no list of spans.", cell=cell[:60])
            raise BadFile(self._path, problem, SPANS_ADVICE, line=line)
        lost = list[str]()
        valid = valid_spans(cells[self._text], spans, lost)
        for remark in lost:
            remarks.count(remark, line)
        return format_spans(valid)

    def _line(self, first: int, token: int) -> int:
        """Line of a token (from 0) of the row that starts in line `first`."""
        return first + token if self._word_lines else first


def _count(number: int, noun: str) -> str:
    return phrase("one {what}", what=noun) if number == 1 else f"{number} {noun}s"

"""brat folders: texts in `.txt`, and spans in the `.ann` of the same name."""

import re
from collections.abc import Iterator
from pathlib import Path

from engine.data.columns.answers import find_nearest
from engine.data.columns.text_spans import TextSpan, format_spans, valid_spans
from engine.data.formats.folder import ANNOTATIONS, TextFolder, list_texts, read_text
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row
from engine.errors import BadFile
from engine.files.regular_file import open_regular
from engine.phrases import phrase

SPAN = re.compile(r"T\S*\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t(.*)")
LINE = re.compile(r"[^\r\n]+")
COLUMNS = ("text", "spans", "file")
CONFIGURATION = "annotation.conf"
ROW_PER_TEXT = "# Each text is a row of a data set."
"""First line of a configuration whose texts are not split into lines."""


def open_brat(folder: TextFolder, remarks: Remarks) -> Content:
    """A row for each line of each text, with its spans.

    Lines that a span crosses are joined, and so are all of a text that was a row. The “line” of a
    row is the number of its file.

    Raises:
        BadFile: with the line of the `.ann` that is invalid or does not match its text.
        Cancelled: soon after `cancelled()` is true.
    """
    files = list_texts(folder.path)
    return Content(COLUMNS, folder.limit(_rows(folder, files, remarks)))


def _rows(folder: TextFolder, files: list[Path], remarks: Remarks) -> Iterator[Row]:
    is_whole = _is_row_per_text(folder.path / CONFIGURATION)
    for number, file in folder.enumerate_files(files):
        spans_file = file.with_suffix(ANNOTATIONS)
        if not spans_file.is_file():
            remarks.count(phrase("Text without an .ann file skipped"), number)
            continue
        text = read_text(file, folder.encoding)
        spans = _spans(spans_file, text, folder.encoding, remarks, number)
        parts = [(0, len(text))] if is_whole else _join_crossed_lines(text, spans)
        for start, end in parts:
            inner_spans = [
                TextSpan(span.start - start, span.end - start, span.label)
                for span in spans
                if start <= span.start and span.end <= end
            ]
            lost = list[str]()
            valid = valid_spans(text[start:end], inner_spans, lost)
            for remark in lost:
                remarks.count(remark, number)
            if text[start:end].strip():
                name = file.relative_to(folder.path).as_posix()
                yield Row(number, (text[start:end], format_spans(valid), name))


def _is_row_per_text(configuration: Path) -> bool:
    if not configuration.is_file():
        return False
    with open_regular(configuration) as file:
        return file.readline(100).decode("utf-8", "replace").strip() == ROW_PER_TEXT


def _join_crossed_lines(text: str, spans: list[TextSpan]) -> Iterator[tuple[int, int]]:
    """Yield the offsets of lines; lines that a span crosses are joined."""
    start = end = -1
    for line in LINE.finditer(text):
        crossed = any(span.start < end and line.start() < span.end for span in spans)
        if end >= 0 and not crossed:
            yield start, end
        if not crossed:
            start = line.start()
        end = line.end()
    if end >= 0:
        yield start, end


def _spans(file: Path, text: str, encoding: str, remarks: Remarks, number: int) -> list[TextSpan]:
    spans: list[TextSpan] = []
    if not file.stat().st_size:
        return spans
    for line, content in enumerate(Lines(file, encoding), start=1):
        stripped = content.rstrip("\r\n")
        if not stripped.startswith("T"):
            if stripped.strip():
                remark = phrase("Relations, events, attributes and notes of brat left out")
                remarks.count(remark, number)
            continue
        match = SPAN.fullmatch(stripped)
        if match is None:
            raise BadFile(
                file,
                phrase("this line is not a span, such as “T1, tab, Person 0 5, tab, Peter”."),
                phrase("Correct or delete this line."),
                line=line,
            )
        label, positions, words = match.groups()
        if ";" in positions:
            remarks.count(phrase("Discontinuous span left out"), number)
            continue
        start, end = map(int, positions.split())
        spans.append(_locate_span(TextSpan(start, end, label), words, text, file, line, remarks))
    return spans


def _locate_span(
    span: TextSpan, words: str, text: str, file: Path, line: int, remarks: Remarks
) -> TextSpan:
    if text[span.start : span.end].split() == words.split():
        return span
    position = find_nearest(text, words, span.start) if words else None
    if position is None:
        raise BadFile(
            file,
            phrase(
                "the text does not contain “{words}” at {start}.",
                words=words[:60],
                start=span.start,
            ),
            phrase("Use the .txt and .ann files that were saved together."),
            line=line,
        )
    remarks.add_note(
        phrase(
            "{file}, line {line}: the span is not at its position; its nearest occurrence was"
            " used.",
            file=file.name,
            line=line,
        )
    )
    return TextSpan(position, position + len(words), span.label)


BRAT = Format("brat", phrase("brat folder"), (), open_folder=open_brat)

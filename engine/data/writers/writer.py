"""The `Writer` type, and the export of rows by one."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from engine.data.datasets.editing import has_span_tags
from engine.data.writers.export import Export
from engine.errors import StudioError
from engine.files.atomic_write import (
    apply_user_umask,
    atomic_file,
    atomic_folder,
    check_new_folder,
)
from engine.phrases import join, phrase

MAX_NAMED = 10  # columns in a sentence


class Writer(NamedTuple):
    """Name, description and function of a format to export.

    `write` fills an empty file; without a `suffix`, an empty folder. `problem` says why a data set
    does not fit at all; `losses` says what is left out, in whole sentences.
    """

    name: str
    title: str
    help: str
    suffix: str
    write: Callable[[Path, Export], None]
    losses: Callable[[Export], list[str]] = lambda _: []
    problem: Callable[[Export], str] = lambda _: ""

    def note(self, export: Export, per_split: bool = False) -> str:
        """The sentences on what is left out; "" if nothing is."""
        return join(" ", self.losses(export.without_split() if per_split else export))


def write_export(export: Export, writer: Writer, path: Path, per_split: bool = False) -> None:
    """Write rows to a file or new folder, complete or not at all.

    With `per_split`, `path` is a new folder with a file for each split, named after it.

    Raises:
        StudioError: if the data set does not fit into the format, or `path` cannot be written.
        Cancelled: soon after `export.cancelled()` is true.
    """
    if problem := writer.problem(export):
        raise StudioError(problem, "Choose another format, such as JSON Lines or Parquet.")
    if writer.suffix and not per_split:
        with atomic_file(path, shared=True) as file:
            writer.write(file, export)
        return
    check_new_folder(path)
    with atomic_folder(path, has_manifest=False) as folder:
        if not writer.suffix:
            writer.write(folder, export)
        else:
            for split, part in export.splits.items():
                file = folder / f"{split}{writer.suffix}"
                writer.write(file, part.without_split())
        apply_user_umask(folder)


def write_json(file: Path, items: Iterable[object]) -> None:
    """Write a JSON document with a list, an item in each line."""
    with open(file, "w", encoding="utf-8", newline="\n") as out:
        separator = "["
        for item in items:
            out.write(f"{separator}\n{json.dumps(item, ensure_ascii=False)}")
            separator = ","
        out.write("\n]\n")


def write_lines(file: Path, items: Iterable[object]) -> None:
    """Write JSON Lines."""
    with open(file, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items)


def columns_left_out(export: Export, held: tuple[str, ...]) -> list[str]:
    """The sentence on columns that are not `held`; none without such columns."""
    lost = [name for name in export.columns if name not in held]
    if not lost:
        return []
    names = join(", ", [f"“{name[:60]}”" for name in lost[:MAX_NAMED]])
    more = ", …" if len(lost) > MAX_NAMED else ""
    return [phrase("Columns left out: {names}{more}.", names=names, more=more)]


def word_losses(export: Export) -> list[str]:
    """The sentence on words that only their spaces mark."""
    if export.spec.mapping.tags is None or export.spec.has_text_spans:
        return []
    return [phrase("Words are joined by spaces, so their exact boundaries are lost.")]


def offset_losses(export: Export) -> list[str]:
    """The sentences on what tags of words lose of spans of characters."""
    if not export.spec.has_text_spans:
        return []
    positions = phrase("The positions of the words in their texts are lost.")
    overlaps = phrase(
        "{n:,} span(s) of this version overlap a longer one and are left out.",
        n=export.spec.overlaps,
    )
    return [positions, *([overlaps] if export.spec.overlaps else [])]


def untagged_losses(export: Export) -> list[str]:
    """The sentence on rows without tags, if there are some."""
    if export.spec.mapping.tags is None or all(map(export.is_labelled, export.rows.tolist())):
        return []
    return [phrase("Rows without tags become rows without spans.")]


def classes_of_words(export: Export) -> str:
    """The problem of tags that are classes of words; "" without it."""
    spec = export.spec
    if spec.mapping.tags is None or spec.has_text_spans or has_span_tags(export.dataset):
        return ""
    return phrase("The tags are classes of single words, but this format holds spans.")

"""brat: a text and its spans for each row, in a folder for each split."""

from pathlib import Path

from engine.data.formats.brat import CONFIGURATION, ROW_PER_TEXT
from engine.data.formats.folder import ANNOTATIONS
from engine.data.writers.examples import iter_examples
from engine.data.writers.export import Export
from engine.data.writers.writer import (
    Writer,
    classes_of_words,
    columns_left_out,
    untagged_losses,
    word_losses,
)
from engine.phrases import phrase


def _write(folder: Path, export: Export) -> None:
    several = len(export.splits) > 1
    for split, part in export.splits.items():
        target = folder / split if several else folder
        target.mkdir(exist_ok=True)
        types = _write_texts(target, part, len(str(export.rows.max())))
        sections = ["[entities]", *sorted(types), "[relations]", "[events]", "[attributes]"]
        _write_text(target / CONFIGURATION, "\n".join((ROW_PER_TEXT, *sections, "")))


def _write_texts(folder: Path, export: Export, digits: int) -> set[str]:
    """Write the texts and their spans; returns the types of the spans."""
    types = set[str]()
    for example in iter_examples(export):
        name, lines = f"{example.number:0{digits}}", list[str]()
        for number, (start, end, label) in enumerate(example.spans or (), start=1):
            type_, words = "_".join(label.split()), " ".join(example.text[start:end].split())
            types.add(type_)
            lines.append(f"T{number}\t{type_} {start} {end}\t{words}\n")
        _write_text(folder / f"{name}.txt", example.text)
        _write_text(folder / f"{name}{ANNOTATIONS}", "".join(lines))
    return types


def _write_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="")


def _losses(export: Export) -> list[str]:
    mapping = export.spec.mapping
    spaces = phrase("Spaces in the names of labels become “_”.")
    held = (mapping.text, mapping.tags or "")
    lost = (*word_losses(export), *untagged_losses(export))
    return [*columns_left_out(export, held), *lost, spaces]


def _problem(export: Export) -> str:
    if export.spec.mapping.tags is None:
        return phrase("brat has spans in texts, but this data set has none.")
    return classes_of_words(export)


BRAT = Writer(
    "brat",
    "brat",
    phrase("A folder with a text and a list of spans for each row."),
    "",
    _write,
    _losses,
    _problem,
)

"""CoNLL: a word and its tag in each line, and an empty line after each sentence."""

from pathlib import Path

from engine.data.columns.text_spans import tagged_words
from engine.data.formats.conll import EMPTY, NO_BREAK_SPACE
from engine.data.writers.export import Export
from engine.data.writers.writer import Writer, columns_left_out, offset_losses, untagged_losses
from engine.phrases import phrase


def _write(file: Path, export: Export) -> None:
    mapping = export.spec.mapping
    assert mapping.tags is not None  # otherwise there is a problem
    with open(file, "w", encoding="utf-8", newline="\n") as out:
        for record in export.records():
            words, tags, _ = tagged_words(record[mapping.text], record[mapping.tags])
            tags = tags or ["O"] * len(words)
            pairs = zip(words, tags, strict=True)
            out.writelines(f"{_one_word(word)}\t{tag}\n" for word, tag in pairs)
            out.write("\n")


def _one_word(word: str) -> str:
    return NO_BREAK_SPACE.join(word.split()) or EMPTY


def _losses(export: Export) -> list[str]:
    mapping = export.spec.mapping
    spaces = phrase("Spaces within words become no-break spaces.")
    held = (mapping.text, mapping.tags or "")
    lost = (*untagged_losses(export), *offset_losses(export))
    return [*columns_left_out(export, held), *lost, spaces]


def _problem(export: Export) -> str:
    if export.spec.mapping.tags is not None:
        return ""
    return phrase("CoNLL has a tag for each word, but this data set has no tags.")


CONLL = Writer(
    "conll",
    "CoNLL",
    phrase("A word and its tag in each line, for taggers such as flair and NeuroNER."),
    ".conll",
    _write,
    _losses,
    _problem,
)

"""The glossary of the help decides which words the texts use."""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools import texts

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "resources" / "help" / "glossary.md"
TITLE = re.compile(r"\*[^*\n]+\*")  # of a paper
NAMES = (  # in code, for which the field has other words
    *("Ragged", "ragged", "PlacedWords", "forgetting", "chance_targets", "judge", "judged_by"),
    *("Tally", "figures_of", "made_up", "Steering", "News", "Wish", "Hands", "Errand", "Channel"),
    *("Asking", "Shelf", "Spare", "LaidOut", "PAUSE", "LONGEST", "MOST", "FEW", "NAMED", "KEPT"),
    *("HeadKind", "patience", "micro_batch", "layer_decay", "pair_draws", "head_start"),
    *("longest_input", "whole_words", "dev_rows", "going_on", "go_on", "certificate"),
)


class Row(NamedTuple):
    word: str
    code: str
    refused: tuple[str, ...]


def rows() -> list[Row]:
    found = []
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith(("| Word |", "| --- ")):
            word, code, _, refused = (cell.strip() for cell in line.strip("|").split("|"))
            found.append(Row(word, code, tuple(w.strip() for w in refused.split(",") if w.strip())))
    return found


def refused() -> re.Pattern[str]:
    words = sorted({word for row in rows() for word in row.refused}, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, words))})(?![\w-])", re.IGNORECASE)


def said() -> Iterator[tuple[str, str]]:
    """Place and text: window, engine, fields, commands, help."""
    for text in texts.collected():
        place = ":".join(map(str, text.places[0]))
        if "glossary.md" not in place:
            yield place, text.source


def test_every_text_uses_the_words_of_the_glossary() -> None:
    pattern = refused()
    wrong = [
        f"{place}: “{m[0]}” in: {text}"
        for place, text in said()
        for m in pattern.finditer(TITLE.sub("", text))
    ]
    assert not wrong, "\n".join(wrong)


def test_names_in_the_code_are_those_of_the_field() -> None:
    refused_names = re.compile(rf"\b({'|'.join(NAMES)})\b")
    wrong = list[str]()
    for file in sorted([*(ROOT / "app").rglob("*.py"), *(ROOT / "engine").rglob("*.py")]):
        if not refused_names.search(file.read_text("utf-8")):
            continue  # reading tokens takes long
        with tokenize.open(file) as code:
            wrong += [
                f"{file.relative_to(ROOT)}:{token.start[0]}: {token.string}"
                for token in tokenize.generate_tokens(code.readline)
                if token.type == tokenize.NAME and token.string in NAMES
            ]
    assert not wrong, "\n".join(wrong)


def test_a_concept_has_one_word_and_a_word_one_concept() -> None:
    words = [row.word.casefold() for row in rows()]
    assert len(set(words)) == len(words)
    avoided = [word.casefold() for row in rows() for word in row.refused]
    assert len(set(avoided)) == len(avoided)
    pattern = refused()
    assert not [row.word for row in rows() if pattern.search(row.word)]

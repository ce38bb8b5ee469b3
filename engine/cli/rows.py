"""The rows of a file for the headless commands."""

from pathlib import Path

from pydantic import ValidationError

from engine.data.reading import Recognised, read, recognise
from engine.data.store import Rows
from engine.errors import BadFile, MissingColumn, StudioError, describe_validation
from engine.spec.dataset import Mapping


def chosen_mapping(
    found: Recognised, text: str | None, pair: str | None, label: str | None
) -> Mapping | None:
    """The columns that were recognised, with those that the user named put in their place.

    Raises StudioError where a named column is not there, or has two meanings.
    """
    named = {"text": text, "pair": pair, "label": label}
    named = {key: value for key, value in named.items() if value is not None}
    for column in named.values():
        if column not in found.columns:
            raise MissingColumn(str(column), list(found.columns))
    guessed = found.mapping.model_dump() if found.mapping else {}
    free = {key: value for key, value in guessed.items() if value not in named.values()}
    merged = free | named
    if "text" not in merged:
        return None
    try:
        return Mapping.model_validate(merged)
    except ValidationError as error:
        raise describe_validation(error, "The choice of columns") from error


def read_rows(
    file: Path, text: str | None, pair: str | None, label: str | None, labelled: bool = False
) -> Rows:
    """All rows of a file by the named or recognised columns.

    Raises StudioError where there is no text column, or no label column though `labelled`.
    """
    found = recognise(file)
    mapping = chosen_mapping(found, text, pair, label)
    if mapping is None:
        raise StudioError(
            f"It is not clear which column of {file.name} holds the text.",
            f"Name it with --text; the columns are {', '.join(found.columns[:20])}.",
        )
    if labelled and mapping.label is None:
        raise StudioError(
            f"It is not clear which column of {file.name} holds the label.",
            f"Name it with --label; the columns are {', '.join(found.columns[:20])}.",
        )
    places = {name: number for number, name in enumerate(found.columns)}

    def cell(row: tuple[str, ...], column: str) -> str:
        return row[places[column]]

    texts, pairs, labels = list[str](), list[str](), list[str]()
    for row in read(file, found.reading):
        texts.append(cell(row.cells, mapping.text))
        if mapping.pair is not None:
            pairs.append(cell(row.cells, mapping.pair))
        if mapping.label is not None:
            labels.append(cell(row.cells, mapping.label))
    if not texts:
        raise BadFile(file, "There are no rows in it.", "Choose a file with rows.")
    return Rows(texts, pairs if mapping.pair else None, labels if mapping.label else None)

"""Texts that are joined from several columns by a template (see `engine.config.joined_texts`)."""

import re
from collections.abc import Collection, Mapping, Sequence

from engine.config.dataset import Mapping as Columns
from engine.config.joined_texts import COLUMN, SEPARATOR, template_columns
from engine.data.columns.words import join_list
from engine.errors import MissingColumn
from engine.phrases import phrase

# between two columns: what closes the first one, what separates them, what introduces the second
BETWEEN = re.compile(r"([)\]}»”’]*)(\W*?)(\w.*|[(\[{«“„‚]?)", re.DOTALL)


class JoinedColumn:
    """A column that joins the cells of others.

    Of an empty cell, the words that introduce it and the brackets around it are left out, and no
    separator is written: “{subject}. {body}” is the body alone if there is no subject.

    Raises MissingColumn if one of `columns` is missing.
    """

    def __init__(self, template: str, columns: Sequence[str]) -> None:
        self.name = template
        self.columns = template_columns(template)
        for name in self.columns:
            if name not in columns:
                raise MissingColumn(name, list(columns))
        self.indices = [columns.index(name) for name in self.columns]
        first, *between, last = COLUMN.split(template)[::2]
        parsed = [match.groups() for text in between if (match := BETWEEN.fullmatch(text))]
        ending = BETWEEN.fullmatch(last)
        assert ending is not None and len(parsed) == len(between)
        closing, *rest = ending.groups()
        self._closing = [*(part[0] for part in parsed), closing]
        self._separators = ["", *(part[1] for part in parsed)]
        self._openings = [first, *(part[2] for part in parsed)]
        self._end = "".join(rest)

    def join(self, cells: Sequence[str | None]) -> str:
        """The text of a row with these cells, in the order of the template; "" if all are empty."""
        text = ""
        parts = zip(cells, self._separators, self._openings, self._closing, strict=True)
        for cell, separator, opening, closing in parts:
            if content := join_list((cell or "").strip()):
                text += f"{separator if text else ''}{opening}{content}{closing}"
        return f"{text}{self._end}".strip() if text else ""

    def join_rows(self, columns: Sequence[Sequence[str | None]]) -> list[str]:
        """The text of each row, from the cells of the columns of the template."""
        return [self.join(row) for row in zip(*columns, strict=True)]


def can_join(template: str, columns: Collection[str]) -> bool:
    """True if all columns of a template are there."""
    return all(name in columns for name in template_columns(template))


def joined_columns(mapping: Columns, columns: Sequence[str]) -> list[JoinedColumn]:
    """The joined columns that are not among those of a file.

    Raises MissingColumn for a template with an unknown column.
    """
    return [JoinedColumn(name, columns) for name in mapping.templates if name not in columns]


def columns_of_model(
    texts: Mapping[str, str], guess: Columns | None, columns: Sequence[str]
) -> tuple[Columns | None, str]:
    """The columns that a model was trained on, by name; returns them and a note on missing ones.

    Args:
        texts: the columns or templates of the model's texts by role.
        guess: the columns to read otherwise: of a single text, or with a pair that is recognised.

    None if several columns belong to the texts and one of them is missing.
    """
    is_joined = any(map(template_columns, texts.values()))
    if not is_joined and guess is not None and (guess.tags or guess.answers or guess.endings):
        return guess, ""
    needed = [
        column
        for name in texts.values()
        for column in ((name,) if name in columns else template_columns(name) or (name,))
    ]
    missing = next((name for name in needed if name not in columns), None)
    if missing is not None:
        is_known = len(needed) == 1 or (guess is not None and guess.pair is not None)
        if is_known and not is_joined:
            return guess, ""
        note = phrase(
            "The model reads “{template}”, and there is no column “{name}”.",
            template=f" {SEPARATOR} ".join(texts.values()),
            name=missing,
        )
        return None, note
    others = {} if guess is None else guess.model_dump(exclude={"text", "pair"})
    free = {
        role: value
        for role, value in others.items()
        if not {*needed} & {*([value] if isinstance(value, str) else value or ())}
    }
    return Columns.model_validate({**free, **texts}), ""


def columns_of_stored(
    texts: Mapping[str, str], mapping: Columns, columns: Sequence[str]
) -> tuple[Columns, str]:
    """The roles of a stored version for a model: its own, unless the model joins columns.

    Arguments and note as in `columns_of_model`.
    """
    if not any(map(template_columns, texts.values())):
        return mapping, ""
    joined, note = columns_of_model(texts, mapping, columns)
    return joined or mapping, note


def other_texts_note(texts: Mapping[str, str], mapping: Columns) -> str:
    """Say that rows have other texts than a model was trained on; “” if they are the same.

    Args:
        texts: the columns or templates of the model's texts by role.
    """
    given = [getattr(mapping, role) for role in texts]
    if given == [*texts.values()]:
        return ""
    return phrase(
        "The text is “{given}”; the model was trained on “{trained}”.",
        given=f" {SEPARATOR} ".join(filter(None, given)),
        trained=f" {SEPARATOR} ".join(texts.values()),
    )


def with_joined(mapping: Columns, cells: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The cells of all columns, with those of the joined ones. Raises as `joined_columns`."""
    columns = [*cells.values()]
    return {
        **cells,
        **{
            joined.name: joined.join_rows([columns[index] for index in joined.indices])
            for joined in joined_columns(mapping, [*cells])
        },
    }

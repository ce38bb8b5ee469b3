"""Display of foreign text in the table cells of this page."""

from collections.abc import Collection, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTableView

from app.resources import icon
from app.theme import SEGMENTS, SPACE, Role
from app.widgets.text.labels import tooltip, visible
from app.widgets.text.spec_texts import title_of
from engine.config.dataset import Mapping

PAINTED_CHARACTERS = 300  # of a cell; its tooltip and the row's text have more
TEXTS = ("text", "pair", "beginning", "negative")
PICTURES = dict.fromkeys(TEXTS, "text")  # all others have a tag
COLOURS = dict(zip(("text", "pair"), SEGMENTS, strict=True))


def one_line(cell: str) -> str:
    """Start of a cell as one line of visible characters."""
    shown = visible(cell[:PAINTED_CHARACTERS]).replace("\n", "⏎").replace("\t", "⇥")
    return f"{shown}…" if len(cell) > PAINTED_CHARACTERS else shown


def roles_in(mapping: Mapping) -> dict[str, str]:
    """Role of each used column, by column name."""
    named = {role: value for role, value in mapping if value is not None}
    return {
        column: role
        for role, value in named.items()
        for column in (value if isinstance(value, tuple) else (value,))
    }


def heading(column: str, roles: dict[str, str], role: int) -> Any:
    """Header of a column: its name and an icon for its role.

    Qt asks for a dozen roles of up to 200 columns at once, so each answer is short.
    """
    if role == Qt.ItemDataRole.DisplayRole:
        return one_line(column[:100])
    used = roles.get(column)
    if role == Qt.ItemDataRole.ToolTipRole:
        return tooltip(f"{_named(used)}: {column}" if used else column)
    if used is None:
        return None
    if role == Qt.ItemDataRole.DecorationRole:
        return icon(PICTURES.get(used, "tag"), COLOURS.get(used, Role.MUTED))
    if role == Qt.ItemDataRole.AccessibleTextRole:
        return f"{one_line(column[:100])}, {_named(used)}"
    return None


def size_columns(
    table: QTableView, names: Sequence[str], texts: Collection[str | None], first: int, taken: int
) -> None:
    """Give the columns `names`, from index `first` on, a width: texts share what others leave.

    `taken` is the width of further columns in px.
    """
    wide_ones = [name for name in names if name in texts]
    narrow = 34 * SPACE
    room = table.viewport().width() - taken - narrow * (len(names) - len(wide_ones))
    wide = max(room // max(len(wide_ones), 1), 80 * SPACE)
    for column, name in enumerate(names, start=first):
        table.setColumnWidth(column, wide if name in texts else narrow)


def _named(role: str) -> str:
    return title_of(role, Mapping.model_fields[role])

"""Display of untrusted text in the table cells of the Data page."""

from collections.abc import Collection, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTableView

from app.resources import icon
from app.theme import SEGMENTS, SPACE, Role
from app.widgets.text.labels import tooltip, visible
from app.widgets.text.spec_texts import title_of
from engine.config.dataset import Mapping

MAX_CELL_CHARACTERS = 300  # the tooltip and the row's text show more
TEXTS = ("text", "pair", "beginning", "negative")
ICONS = dict.fromkeys(TEXTS, "text")  # other roles have “tag”
COLOURS = dict(zip(("text", "pair"), SEGMENTS, strict=True))


def one_line(cell: str) -> str:
    """Start of a cell as one line of visible characters."""
    text = visible(cell[:MAX_CELL_CHARACTERS]).replace("\n", "⏎").replace("\t", "⇥")
    return f"{text}…" if len(cell) > MAX_CELL_CHARACTERS else text


def column_roles(mapping: Mapping) -> dict[str, str]:
    """Role of each used column, by column name."""
    columns = {role: value for role, value in mapping if value is not None}
    return {
        column: role
        for role, value in columns.items()
        for column in (value if isinstance(value, tuple) else (value,))
    }


def header_data(column: str, roles: dict[str, str], role: int) -> Any:
    """Header of a column: its name and an icon for its role.

    Qt asks for a dozen roles of up to 200 columns, so this must be fast.
    """
    if role == Qt.ItemDataRole.DisplayRole:
        return one_line(column[:100])
    column_role = roles.get(column)
    if role == Qt.ItemDataRole.ToolTipRole:
        return tooltip(f"{_role_title(column_role)}: {column}" if column_role else column)
    if column_role is None:
        return None
    if role == Qt.ItemDataRole.DecorationRole:
        return icon(ICONS.get(column_role, "tag"), COLOURS.get(column_role, Role.MUTED))
    if role == Qt.ItemDataRole.AccessibleTextRole:
        return f"{one_line(column[:100])}, {_role_title(column_role)}"
    return None


def size_columns(
    table: QTableView,
    names: Sequence[str],
    texts: Collection[str | None],
    first: int,
    used_width: int,
) -> None:
    """Resize the columns `names`, from index `first` on; texts share the remaining width.

    `used_width` is the width of other columns in px.
    """
    text_columns = [name for name in names if name in texts]
    min_width = 34 * SPACE
    available = table.viewport().width() - used_width - min_width * (len(names) - len(text_columns))
    text_width = max(available // max(len(text_columns), 1), 80 * SPACE)
    for column, name in enumerate(names, start=first):
        table.setColumnWidth(column, text_width if name in texts else min_width)


def _role_title(role: str) -> str:
    return title_of(role, Mapping.model_fields[role])

"""How cells of foreign text are shown in the tables of this page."""

from typing import Any

from PySide6.QtCore import QCoreApplication, Qt

from app.resources import icon
from app.theme import Role
from app.widgets.text import tooltip, visible
from engine.spec.dataset import Mapping

PAINTED = 300  # characters of a cell that are painted; its tooltip and the row's text have more
PICTURES = {"text": "text", "pair": "text", "label": "tag"}
COLOURS = {"text": Role.CHART_1, "pair": Role.CHART_2, "label": Role.CHART_3}


def one_line(cell: str) -> str:
    """The beginning of a cell as one line of visible characters."""
    shown = visible(cell[:PAINTED]).replace("\n", "⏎").replace("\t", "⇥")
    return f"{shown}…" if len(cell) > PAINTED else shown


def role_of(column: str, text: str | None, pair: str | None, label: str | None) -> str | None:
    """“text”, “pair” or “label” where the column is that one."""
    pairs = (("text", text), ("pair", pair), ("label", label))
    return next((role for role, name in pairs if name == column), None)


def role_in_mapping(column: str, mapping: Mapping) -> str | None:
    return role_of(column, mapping.text, mapping.pair, mapping.label)


def heading(column: str, used: str | None, role: int) -> Any:
    """What the header of a column shows: its name, and a picture of what it is used for."""
    name = one_line(column[:100])
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return name
        case Qt.ItemDataRole.ToolTipRole:
            return tooltip(f"{_named(used)}: {column}" if used else column)
        case Qt.ItemDataRole.AccessibleTextRole if used:
            return f"{name}, {_named(used)}"
        case Qt.ItemDataRole.DecorationRole if used:
            return icon(PICTURES[used], COLOURS[used])
    return None


def _named(role: str) -> str:
    names = {
        "text": QCoreApplication.translate("cells", "text"),
        "pair": QCoreApplication.translate("cells", "second text"),
        "label": QCoreApplication.translate("cells", "label"),
    }
    return names[role]

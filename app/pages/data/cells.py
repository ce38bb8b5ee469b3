"""How cells of foreign text are shown in the tables of this page."""

from app.theme import Role
from app.widgets.text import visible

PAINTED = 300  # characters of a cell that are painted; its tooltip and the row's text have more
ROLE_COLOURS = {"text": Role.CHART_1, "pair": Role.CHART_2, "label": Role.CHART_3}


def one_line(cell: str) -> str:
    """The beginning of a cell as one line of visible characters."""
    shown = visible(cell[:PAINTED]).replace("\n", "⏎").replace("\t", "⇥")
    return f"{shown}…" if len(cell) > PAINTED else shown

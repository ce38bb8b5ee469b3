"""What every part of the workbench has in common.

A panel is a widget over the study. It knows no other panel: what is picked in one is picked in all
through `Study.pick`, `pick_target`, `pick_head` and `point`. To compare, it has one `LiveQuery` for
each of the two sides and shows the second where `Study.is_compared`. Each of its figures has a
`FigureButton`, whose captions end with `source(study)`.
"""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QDate, Qt
from PySide6.QtWidgets import QWidget

from app.pages.explore.live_query import LiveQuery
from app.pages.explore.side import Input
from app.pages.explore.study import Study

LONGEST_QUOTE = 300  # characters of a text in a caption


class Panel(QWidget):
    """Asks only while it is on the screen."""

    def __init__(self, queries: Sequence[LiveQuery] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._queries = tuple(queries)

    def set_seen(self, seen: bool) -> None:
        """Whether the panel is on the screen; what was put off is asked now."""
        for query in self._queries:
            query.set_seen(seen)


def source(study: Study, side: int = 0) -> str:
    """Where the numbers of a figure come from: model, text, what is hidden, and the day."""
    shown = study.both[side]
    parts = [_tr("Model: {0}.").format(shown.model.name if shown.model else "–")]
    parts += [_tr("Text: “{0}”").format(quoted(text)) for text in shown.texts]
    hidden = words_of(shown.input)
    if hidden:
        parts.append(_tr("Hidden: {0}.").format(", ".join(f"“{word}”" for word in hidden)))
    if shown.cut:
        parts.append(_tr("Only the first {0} tokens are read.").format(len(shown.tokens)))
    parts.append(QDate.currentDate().toString(Qt.DateFormat.ISODate))
    return " ".join(parts)


def words_of(given: Input) -> list[str]:
    """The words that are hidden, as they were typed."""
    return [
        quoted(given.texts[segment][start:end])
        for segment, stretches in enumerate(given.masks[: len(given.texts)])
        for start, end in sorted(stretches)
    ]


def quoted(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text[: LONGEST_QUOTE + 1].split())
    return line if len(text) <= LONGEST_QUOTE else f"{line[:LONGEST_QUOTE]}…"


def _tr(text: str) -> str:
    return QCoreApplication.translate("Panel", text)

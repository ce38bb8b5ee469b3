"""Description of the Words panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.words.state import WordsState
from app.pages.explore.panels.words.view import WordsView


def panel() -> PanelDescription:
    return PanelDescription(
        id="words",
        title=QCoreApplication.translate("Panels", "Words"),
        icon="message-circle-question-mark",
        help="predictions",
        make=_make,
    )


def _make(context: PanelContext) -> MakePanel:
    state = WordsState(context.study, context.explorer)
    return lambda: WordsView(state, context.notices)

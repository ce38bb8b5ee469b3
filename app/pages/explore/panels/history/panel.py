"""Description of the History panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.history.state import History
from app.pages.explore.panels.history.view import HistoryView


def panel() -> PanelDescription:
    return PanelDescription(
        id="history",
        title=QCoreApplication.translate("Panels", "History"),
        icon="history",
        help="history",
        make=_make,
        place="right",
        is_open=False,
    )


def _make(context: PanelContext) -> MakePanel:
    history = History(context.study, context.home.inputs, context.notices)
    return lambda: HistoryView(history)

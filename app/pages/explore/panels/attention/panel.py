"""The panel Attention as the table of panels has it."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import Panel, PanelContext, PanelDescription
from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.attention.view import AttentionView


def panel() -> PanelDescription:
    return PanelDescription(
        id="attention",
        title=QCoreApplication.translate("Panels", "Attention"),
        icon="scan-search",
        help="attention",
        make=_make,
    )


def _make(context: PanelContext) -> Panel:
    view = AttentionView(AttentionState(context.study, context.explorer), context.notices)
    context.settings.remember(view.halves, "explore.heads")
    context.settings.remember(view.pictures, "explore.pictures")
    return view

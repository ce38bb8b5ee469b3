"""The panel Attention as the table of panels has it."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
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


def _make(context: PanelContext) -> MakePanel:
    state = AttentionState(context.explore, context.explorer)

    def view() -> Panel:
        made = AttentionView(state, context.notices)
        context.settings.remember(made.halves, "explore.heads")
        context.settings.remember(made.pictures, "explore.pictures")
        return made

    return view

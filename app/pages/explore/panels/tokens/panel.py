"""Description of the Tokens panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.tokens.state import TokensState
from app.pages.explore.panels.tokens.view import TokensView


def panel() -> PanelDescription:
    return PanelDescription(
        id="tokens",
        title=QCoreApplication.translate("Panels", "Tokens"),
        icon="text",
        help="tokens",
        make=_make,
    )


def _make(context: PanelContext) -> MakePanel:
    state = TokensState(context.study, context.explorer)
    return lambda: TokensView(state, context.notices)

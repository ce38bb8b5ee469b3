"""Description of the Heads panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.heads.state import HeadsState
from app.pages.explore.panels.heads.view import HeadsView


def panel() -> PanelDescription:
    return PanelDescription(
        id="heads",
        title=QCoreApplication.translate("Panels", "Heads"),
        icon="layers",
        help="heads",
        make=_make,
        works_on_texts=True,
    )


def _make(context: PanelContext) -> MakePanel:
    state = HeadsState(context.study, context.home, context.one_time_worker)
    return lambda: HeadsView(state, context.notices, context.models_changed)

"""The panel Vectors as the table of panels has it."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import Panel, PanelContext, PanelDescription
from app.pages.explore.panels.vectors.state import VectorsState
from app.pages.explore.panels.vectors.view import VectorsView


def panel() -> PanelDescription:
    return PanelDescription(
        id="vectors",
        title=QCoreApplication.translate("Panels", "Vectors"),
        icon="boxes",
        help="vectors",
        make=_make,
    )


def _make(context: PanelContext) -> Panel:
    state = VectorsState(context.study, context.explorer, context.home, context.one_time_worker)
    return VectorsView(state, context.notices)

"""Description of the Vectors panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
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


def _make(context: PanelContext) -> MakePanel:
    state = VectorsState(context.study, context.explorer, context.home, context.one_time_worker)
    return lambda: VectorsView(state, context.notices)

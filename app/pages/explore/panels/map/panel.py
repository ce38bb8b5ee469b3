"""Description of the Map panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.map.state import MapState
from app.pages.explore.panels.map.view import MapView


def panel() -> PanelDescription:
    return PanelDescription(
        id="map",
        title=QCoreApplication.translate("Panels", "Map"),
        icon="boxes",
        help="map",
        make=_make,
        works_on_texts=True,
    )


def _make(context: PanelContext) -> MakePanel:
    state = MapState(context.study, context.home, context.one_time_worker)
    return lambda: MapView(state, context.notices)

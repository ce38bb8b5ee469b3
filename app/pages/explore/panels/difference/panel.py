"""Description of the Difference panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.difference.state import DifferenceState
from app.pages.explore.panels.difference.view import DifferenceView


def panel() -> PanelDescription:
    return PanelDescription(
        id="difference",
        title=QCoreApplication.translate("Panels", "Difference"),
        icon="columns-2",
        help="difference",
        make=_make,
        works_on_texts=True,
    )


def _make(context: PanelContext) -> MakePanel:
    state = DifferenceState(context.study, context.home, context.one_time_worker)
    return lambda: DifferenceView(state, context.notices)

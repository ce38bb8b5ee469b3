"""Description of the Texts panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.texts.state import TextsState
from app.pages.explore.panels.texts.view import TextsView


def panel() -> PanelDescription:
    return PanelDescription(
        id="texts",
        title=QCoreApplication.translate("Panels", "Texts"),
        icon="scroll-text",
        help="texts",
        make=_make,
        works_on_texts=True,
    )


def _make(context: PanelContext) -> MakePanel:
    state = TextsState(context.study, context.home, context.one_time_worker)
    return lambda: TextsView(state, context.notices)

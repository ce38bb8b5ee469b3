"""Description of the Templates panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.templates.state import TemplatesState
from app.pages.explore.panels.templates.view import TemplatesView
from app.pages.explore.study import Study


def panel() -> PanelDescription:
    return PanelDescription(
        id="templates",
        title=QCoreApplication.translate("Panels", "Templates"),
        icon="text",
        help="templates",
        make=_make,
        is_offered=_has_mask,
    )


def _has_mask(study: Study) -> bool:
    return study.has_head("mlm")


def _make(context: PanelContext) -> MakePanel:
    state = TemplatesState(context.study, context.explorer)
    return lambda: TemplatesView(state, context.notices)

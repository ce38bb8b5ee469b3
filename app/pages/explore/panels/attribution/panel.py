"""Description of the Attributions panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.attribution.choice import Choice, has_target
from app.pages.explore.panels.attribution.edits import EditsState
from app.pages.explore.panels.attribution.faithfulness import FaithfulnessState
from app.pages.explore.panels.attribution.state import AttributionState
from app.pages.explore.panels.attribution.view import AttributionView
from app.pages.explore.study import Study


def panel() -> PanelDescription:
    return PanelDescription(
        id="attribution",
        title=QCoreApplication.translate("Panels", "Attributions"),
        icon="flag",
        help="attribution",
        make=_make,
        is_offered=_has_logits,
    )


def _make(context: PanelContext) -> MakePanel:
    study, explorer = context.study, context.explorer
    choice = Choice(study)
    first, second = (AttributionState(study, explorer, choice, side) for side in (0, 1))
    faithfulness = FaithfulnessState(first, explorer)
    edits = EditsState(first, explorer, context.home)
    return lambda: AttributionView((first, second), faithfulness, edits, context.notices)


def _has_logits(study: Study) -> bool:
    return study.has_head("mlm") or has_target(study.both[0])

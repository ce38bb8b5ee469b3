"""Description of the Task predictions panel."""

from PySide6.QtCore import QCoreApplication

from app.pages.explore.panel import MakePanel, PanelContext, PanelDescription
from app.pages.explore.panels.predictions.deciding import DecidingState
from app.pages.explore.panels.predictions.state import PredictionsState
from app.pages.explore.panels.predictions.view import PredictionsView
from app.pages.explore.study import Study


def panel() -> PanelDescription:
    return PanelDescription(
        id="predictions",
        title=QCoreApplication.translate("Panels", "Task predictions"),
        icon="tags",
        help="task-predictions",
        make=_make,
        is_offered=_has_task_head,
        is_best=_has_no_other_head,
    )


def _make(context: PanelContext) -> MakePanel:
    first, second = (PredictionsState(context.study, context.explorer, side) for side in (0, 1))
    one, other = (DecidingState(context.study, context.explorer, side) for side in (0, 1))
    return lambda: PredictionsView((first, second), (one, other), context.notices)


def _has_task_head(study: Study) -> bool:
    return study.task is not None


def _has_no_other_head(study: Study) -> bool:
    return study.task is not None and not study.has_head("mlm")

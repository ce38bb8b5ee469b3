"""The tasks in the window: cards, sentences, prediction views, pictures of results."""

from importlib import import_module

from app.tasks.part import TaskPart
from app.tasks.prediction_view import PredictionView
from engine.config.tasks import class_name


def task_part(kind: str) -> TaskPart:
    """The window's part of a task."""
    part: type[TaskPart] = getattr(import_module(f"{__name__}.{kind}"), f"{class_name(kind)}Part")
    return part()


def view_class(kind: str) -> type[PredictionView]:
    """The widget class that shows predictions of a task."""
    view = task_part(kind).view
    assert view is not None
    return view

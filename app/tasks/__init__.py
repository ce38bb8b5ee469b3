"""What the window says and shows of each task: its card, its sentences, its predictions."""

from importlib import import_module

from app.tasks.part import TaskPart
from app.tasks.prediction_view import PredictionView
from engine.config.tasks import class_name


def part_of(kind: str) -> TaskPart:
    """The part of the window that belongs to a task."""
    found: type[TaskPart] = getattr(import_module(f"{__name__}.{kind}"), f"{class_name(kind)}Part")
    return found()


def view_of(kind: str) -> type[PredictionView]:
    """What shows the predictions of a model that was fine-tuned for a task."""
    view = part_of(kind).view
    assert view is not None
    return view

"""What is said of a checkpoint wherever it can be chosen: those of one run are told apart by it."""

from app.library import ModelEntry
from app.translation import tr
from app.widgets import moments, numbers, run_texts


def score_of(entry: ModelEntry) -> str:
    """The score of a run's checkpoint with its metric: “79.3 % acc”; empty where there is none."""
    return run_texts.score(entry.metric, entry.score) if entry.score is not None else ""


def past_of(entry: ModelEntry) -> list[str]:
    """Of a run's checkpoint the data set and the step, and when a model was saved here."""
    step = tr("step {0}").format(numbers.count(entry.step)) if entry.step else ""
    saved = tr("saved {0}").format(moments.day(entry.saved)) if entry.saved else ""
    return [part for part in (entry.data, step, saved) if part]

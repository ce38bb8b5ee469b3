"""What the status bar says of a run that is not finished."""

from app.running import RunningRun
from app.translation import tr
from app.widgets import numbers
from app.widgets.status_bar import Activity


def activity_of(run: RunningRun) -> Activity:
    """How far a run is, in a few words and as a share; -1 where that is not known."""
    share = run.step / run.steps if run.steps and run.is_working else -1.0
    return Activity(run.id, run.name, _progress(run), share)


def _progress(run: RunningRun) -> str:
    states = {
        "queued": tr("queued"),
        "starting": tr("starting"),
        "stopping": tr("saving before stopping"),
    }
    if run.state in states:
        return states[run.state]
    if not run.steps:
        return tr("preparing")
    said = tr("step {0} of {1}").format(numbers.count(run.step), numbers.count(run.steps))
    if run.seconds_left is None:
        return said
    return tr("{0}, {1} left").format(said, numbers.duration(run.seconds_left))

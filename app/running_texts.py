"""Progress of a run in words, for the status bar, the table and the run page."""

from app.running import RunningRun, RunProgress
from app.translation import tr, translated
from app.widgets.status_bar import Activity
from app.widgets.text import numbers
from app.widgets.text.run_texts import state_text


def run_activity(run: RunningRun) -> Activity:
    """Progress in a few words and as a fraction, -1 if unknown."""
    fraction = run.fraction if run.steps and run.is_working else -1.0
    return Activity(run.id, run.name, _progress(run), fraction)


def _progress(run: RunProgress) -> str:
    if run.state in ("queued", "on hold", "starting", "paused", "not responding"):
        return state_text(run.state)
    if run.state == "stopping":
        return tr("saving before stopping")
    if run.stage:
        return stage_text(run)
    if not run.steps:
        return tr("preparing")
    text = tr("step {0} of {1}").format(numbers.count(run.step), numbers.count(run.steps))
    if run.seconds_left is None:
        return text
    return tr("{0}, {1} left").format(text, numbers.duration(run.seconds_left))


def stage_text(run: RunProgress) -> str:
    """The activity other than training, with its progress; “” if there is none."""
    stage = translated(run.stage)
    if not stage or not run.stage_total:
        return f"{stage} …" if stage else ""
    done, total = numbers.count(run.stage_done), numbers.count(run.stage_total)
    return tr("{0}: {1} of {2}").format(stage, done, total)


def step_text(run: RunProgress) -> str:
    """“Step 3 of 100”; “” before that is known."""
    if not run.steps:
        return ""
    template = tr("Step {0} of {1}")
    return template.format(numbers.count(run.step), numbers.count(run.steps))

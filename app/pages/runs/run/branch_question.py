"""Which settings a branch of a run should have; what they change is said at once."""

from PySide6.QtWidgets import QLineEdit, QWidget

from app.pages.runs.run.checkpoints_state import CheckpointsState
from app.translation import tr, translated
from app.widgets.dialogs import Choice, ask
from app.widgets.forms.form import SpecForm
from app.widgets.page import labelled
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from engine.config.changes import changes
from engine.config.fields import branch_fields
from engine.config.job import RUN_NAME_LENGTH, JobSpec
from engine.config.training import TrainingSpec
from engine.runs.branching import nothing_left

FORM_WIDTH = 640  # px


def ask_to_branch(owner: QWidget, state: CheckpointsState, step: int) -> None:
    """Ask for a name and for changes, then make the branch."""
    row = state.row
    if row is None or row.job is None:
        return
    job, steps = row.job, row.steps
    template = tr("{0}, from step {1}")
    name = QLineEdit(template.format(job.name, step)[:RUN_NAME_LENGTH])
    name.setMaxLength(RUN_NAME_LENGTH)
    name.setAccessibleName(tr("Name"))
    form = SpecForm(
        TrainingSpec,
        branch_fields(TrainingSpec),
        values=job.training.model_dump(),
        others=job.training.model_dump(),
    )
    form.setMinimumWidth(FORM_WIDTH)  # narrower, its usual values are cut off
    said = Text("", "strong")

    def wanted() -> JobSpec:
        training = {**job.training.model_dump(), **form.value()}
        title = name.text().strip() or job.name
        update = {"training": TrainingSpec.model_validate(training), "name": title}
        return job.model_copy(update=update)

    def tell() -> None:
        problem = form.is_valid() and nothing_left(job, wanted(), step, steps)
        question.buttons["branch"].setEnabled(form.is_valid() and not problem)
        said.set_style("bad" if problem else "strong")
        if problem:
            said.setText(f"{translated(problem.problem)} {translated(problem.advice)}")
        elif form.is_valid():
            found = [translated(change.sentence()) for change in changes(job, wanted())]
            same = tr(
                "No setting is changed, so this branch will reproduce the original run exactly.",
            )
            said.setText("; ".join(found) + "." if found else same)

    question = ask(
        owner,
        tr("Branch from step {0}").format(numbers.count(step)),
        tr(
            "A new run continues from this checkpoint, with its weights, optimiser state and"
            " progress. Task, data and model stay the same.",
        ),
        [
            Choice("branch", tr("&Start branch"), "primary"),
            Choice("cancel", tr("&Cancel")),
        ],
        lambda key: state.branch(step, wanted()) if key == "branch" else None,
        [labelled(tr("Name"), name), said, form],
    )
    form.changed.connect(tell)
    tell()

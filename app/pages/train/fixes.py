"""What can be done at once about an obstacle: each is a button beside the sentence."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from PySide6.QtCore import QCoreApplication

from app.pages.train.choices import Choices, Step
from app.pages.train.fit import label_names, likely_goal
from engine.config.dataset import Cleaning, DatasetSpec, Mapping
from engine.config.families import FAMILIES
from engine.config.task import LabelledTask, TaskSpec
from engine.config.tasks.pretraining import Pretraining
from engine.data.columns.fit import empty_columns, problems_of_dataset

translate = QCoreApplication.translate


@dataclass(frozen=True)
class Edit:
    """A new version of the chosen data set: with these columns, cleaned; and what is said of it."""

    mapping: Mapping
    cleaning: Cleaning
    sentence: str


@dataclass(frozen=True)
class Fix:
    """A button, and what is chosen once it was pressed; with an `edit`, a new version of the data
    is made and chosen."""

    title: str
    choices: Choices
    edit: Edit | None = None


def fixes(choices: Choices, step: Step) -> list[Fix]:
    """What settles the obstacle of this step; empty where only another choice does."""
    match step:
        case Step.DATA:
            return [*_of_data(choices)]
        case Step.BASE_MODEL:
            return [*_of_direction(choices)]
        case Step.SETTINGS:
            return [*_of_length(choices), *_of_nsp(choices), *_of_weights(choices)]
        case _:
            return []


def _of_data(choices: Choices) -> Iterator[Fix]:
    data = choices.data
    if choices.goal is None or data is None or data.spec is None or data.is_gone:
        return
    if not problems_of_dataset(data.spec, choices.task):
        return
    unlisted = _without_names(choices.task)
    if unlisted != choices.task and not problems_of_dataset(data.spec, unlisted):
        title = translate("Train", "Use the labels of the data")
        yield Fix(title, choices.with_task(unlisted))
    yield from _edits(choices, data.spec)
    likely = likely_goal(data.spec)
    if likely.kind != choices.goal.kind and not problems_of_dataset(data.spec, likely.task):
        title = translate("Train", "Change the task to “{task}”").format(task=likely.title)
        yield Fix(title, replace(choices, goal=likely))


def _edits(choices: Choices, spec: DatasetSpec) -> Iterator[Fix]:
    """What a new version of the data set would settle."""
    task = choices.task
    holes = empty_columns(spec, task)
    if holes and sum(spec.empty[name] for name in holes) < spec.rows.get("train", 0):
        names = ", ".join(f"“{name[:40]}”" for name in holes)
        said = translate("Train", "Version {version} skips the rows in which {columns} is empty.")
        edit = Edit(spec.mapping, Cleaning(skip_empty=holes), said.replace("{columns}", names))
        yield Fix(_skip(spec.mapping, holes), choices, edit)
    label = spec.label_for.get(task.kind)
    if label is not None:
        mapping = spec.mapping.model_copy(update={"label": label, "flags": ()})
        title = translate("Train", "Use “{column}” as the label").format(column=label[:40])
        said = translate("Train", "Version {version} has the labels of “{column}”.")
        edit = Edit(mapping, Cleaning(), said.replace("{column}", label[:60]))
        yield Fix(title, choices, edit)


def _skip(mapping: Mapping, holes: tuple[str, ...]) -> str:
    """What stands on the button, by what is missing."""
    if holes == (mapping.label,):
        return translate("Train", "Skip rows without a label")
    if holes == (mapping.text,):
        return translate("Train", "Skip rows without a text")
    return translate("Train", "Skip incomplete rows")


def _without_names(task: TaskSpec) -> TaskSpec:
    """The task with the labels of whatever data it gets."""
    return task.model_copy(update={"labels": ()}) if isinstance(task, LabelledTask) else task


def _of_direction(choices: Choices) -> Iterator[Fix]:
    info, task = choices.model.info if choices.model else None, choices.task
    if info is None or choices.from_scratch or task.causal in (None, info.causal):
        return
    objective = "clm" if info.causal else "mlm"
    title = translate("Train", "Change the objective to {objective}")
    other = choices.kept_task.model_copy(update={"objective": objective})
    yield Fix(title.format(objective=objective.upper()), choices.with_task(other))


def _of_length(choices: Choices) -> Iterator[Fix]:
    spec, training = choices.network, choices.training
    if spec is not None and training.max_length > spec.max_positions:
        title = translate("Train", "Set “Max. length” to {most}").format(most=spec.max_positions)
        shorter = training.model_copy(update={"max_length": spec.max_positions})
        yield Fix(title, choices.with_training(shorter))


def _of_nsp(choices: Choices) -> Iterator[Fix]:
    info = choices.model.info if choices.model and not choices.from_scratch else None
    family = FAMILIES.get(info.family) if info else None
    wanted = isinstance(choices.task, Pretraining) and choices.task.needs_nsp
    if wanted and family is not None and not family.has_nsp_head:
        off = choices.task.model_copy(update={"nsp": False})
        yield Fix(translate("Train", "Turn NSP off"), choices.with_task(off))


def _of_weights(choices: Choices) -> Iterator[Fix]:
    task = choices.task
    unknown = task.unknown_weights(label_names(choices))
    if unknown and isinstance(task, LabelledTask):
        kept = {name: w for name, w in task.class_weights.items() if name not in unknown}
        title = translate("Train", "Remove this weight")
        if len(unknown) > 1:
            title = translate("Train", "Remove the weights of unknown labels")
        yield Fix(title, choices.with_task(task.model_copy(update={"class_weights": kept})))

"""Reasons why a step of the wizard is incomplete, and the buttons that fix them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pydantic import ValidationError

from app.pages.train.choices import Choices, Step, likely_goal
from app.pages.train.job import compose_job
from app.translation import tr, translated
from app.widgets.forms.several import varied_values
from app.widgets.text.spec_texts import problem_text
from engine.checkpoints.fit import direction_error, nsp_head_error
from engine.config.dataset import Cleaning, DatasetSpec, Mapping
from engine.config.families import FAMILIES
from engine.config.job import JobSpec
from engine.config.task import LabelledTask, TaskSpec
from engine.config.validation import list_problems
from engine.data.columns.fit import dataset_problems, empty_columns, suitable_target


@dataclass(frozen=True)
class Edit:
    """A new version of the chosen data set, cleaned.

    `sentence` announces it; its “{version}” is replaced.
    """

    cleaning: Cleaning
    sentence: str


@dataclass(frozen=True)
class Fix:
    """A button, and the choices after it is pressed; `edit` first makes a version of the data."""

    title: str
    choices: Choices
    edit: Edit | None = None


@dataclass(frozen=True)
class Obstacle:
    """A sentence that says why a step is not complete, with its fixes."""

    sentence: str
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True)
class Validation:
    """The obstacle of each incomplete step, or the job if there are none."""

    obstacles: dict[Step, Obstacle]
    job: JobSpec | None = None


Check = Callable[[Choices], Obstacle | None]


def validate(choices: Choices) -> Validation:
    """Check each step once, and compose the job."""
    obstacles = {step: result for step, check in CHECKS.items() if (result := check(choices))}
    if not obstacles:
        try:
            return Validation({}, compose_job(choices))
        except ValidationError as error:  # the spec of a job validates it
            obstacles[Step.SETTINGS] = Obstacle(problem_text(list_problems(error)[0]))
    return Validation(obstacles)


# ── task and data ────────────────────────────────────────────────────────────────────────────────


def _check_task(choices: Choices) -> Obstacle | None:
    return None if choices.goal else Obstacle(tr("Choose a task."))


def _check_data(choices: Choices) -> Obstacle | None:
    data = choices.data
    if data is None:
        return Obstacle(tr("Choose a data set, or import one."))
    if data.is_deleted:
        template = tr("The data set “{name}” no longer exists. Choose another one.")
        return Obstacle(template.format(name=data.name))
    if choices.goal is None or data.spec is None:
        return None
    problems = dataset_problems(data.spec, choices.task)
    if not problems:
        return None
    template = tr("“{name}” does not fit this task: {problem}")
    sentence = template.format(name=data.name, problem=translated(problems[0].phrase))
    return Obstacle(sentence, tuple(_data_fixes(choices, choices.goal.kind, data.spec)))


def _data_fixes(choices: Choices, kind: str, spec: DatasetSpec) -> Iterator[Fix]:
    unlisted = _without_labels(choices.task)
    if unlisted != choices.task and not dataset_problems(spec, unlisted):
        title = tr("Use the labels of the data")
        yield Fix(title, choices.with_task(unlisted))
    yield from _edit_fixes(choices, spec)
    goal = likely_goal(spec)
    if goal.kind != kind and not dataset_problems(spec, goal.task):
        title = tr("Change the task to “{task}”").format(task=goal.title)
        yield Fix(title, replace(choices, goal=goal))


def _without_labels(task: TaskSpec) -> TaskSpec:
    return task.model_copy(update={"labels": ()}) if isinstance(task, LabelledTask) else task


def _edit_fixes(choices: Choices, spec: DatasetSpec) -> Iterator[Fix]:
    """Yield the fixes that create a new version of the data set, or choose another label."""
    task = choices.task
    columns = empty_columns(spec, task)
    if columns and sum(spec.empty[name] for name in columns) < spec.rows.get("train", 0):
        names = ", ".join(f"“{name[:40]}”" for name in columns)
        template = tr("Version {version} skips the rows in which {columns} is empty.")
        sentence = template.replace("{columns}", names)
        edit = Edit(Cleaning(skip_empty=columns), sentence)
        yield Fix(_skip_title(spec.mapping, columns), choices, edit)
    label = suitable_target(spec, task)
    if label is not None and choices.data is not None:
        title = tr("Use “{column}” as the label").format(column=label[:40])
        yield Fix(title, choices.with_data(choices.data.with_target(label)))


def _skip_title(mapping: Mapping, columns: tuple[str, ...]) -> str:
    if columns == (mapping.text,):
        return tr("Skip rows without a text")
    return tr("Skip incomplete rows")


# ── base model ───────────────────────────────────────────────────────────────────────────────────


def _check_base_model(choices: Choices) -> Obstacle | None:
    if choices.from_scratch:
        vocabulary = choices.scratch.vocabulary
        return _missing_model(vocabulary.name) if vocabulary and not vocabulary.info else None
    model, task = choices.model, choices.task
    if model is None:
        return Obstacle(tr("Choose a base model."))
    if model.info is None:
        return _missing_model(model.name)
    problem = direction_error(task, model.name, model.info.causal)
    if problem is None:
        return None
    objective = "clm" if model.info.causal else "mlm"
    title = tr("Change the objective to {objective}")
    changed = choices.stored_task.model_copy(update={"objective": objective})
    fix = Fix(title.format(objective=objective.upper()), choices.with_task(changed))
    return Obstacle(translated(problem.phrase), (fix,))


def _missing_model(name: str) -> Obstacle:
    template = tr("The model “{name}” no longer exists. Choose another one.")
    return Obstacle(template.format(name=name))


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


def _check_settings(choices: Choices) -> Obstacle | None:
    """Return the first problem's sentence with the fixes of all problems."""
    checks = (_check_length, _check_nsp, _check_weights)
    result = [obstacle for check in checks if (obstacle := check(choices))]
    if not result:
        return None
    return Obstacle(result[0].sentence, tuple(fix for obstacle in result for fix in obstacle.fixes))


def _check_length(choices: Choices) -> Obstacle | None:
    network, training = choices.network, choices.training
    lengths = choices.varied_in("training").get("max_length", ())
    max_length = max(training.max_length, *varied_values(lengths), 0)
    if network is None or max_length <= network.max_positions:
        return None
    limit = network.max_positions
    sentence = tr("The model reads at most {limit} tokens, but “Max. length” is {length}.").format(
        limit=limit, length=max_length
    )
    if training.max_length <= limit:
        return Obstacle(sentence)
    title = tr("Set “Max. length” to {limit}").format(limit=limit)
    shorter = choices.with_training(training.model_copy(update={"max_length": limit}))
    return Obstacle(sentence, (Fix(title, shorter),))


def _check_nsp(choices: Choices) -> Obstacle | None:
    info = choices.model.info if choices.model and not choices.from_scratch else None
    family = FAMILIES.get(info.family) if info else None
    problem = nsp_head_error(choices.task.needs_nsp, family) if family else None
    if problem is None:
        return None
    without_nsp = choices.with_task(choices.task.model_copy(update={"nsp": False}))
    return Obstacle(translated(problem.phrase), (Fix(tr("Turn NSP off"), without_nsp),))


def _check_weights(choices: Choices) -> Obstacle | None:
    task = choices.task
    unknown = task.unknown_weights(choices.label_names)
    if not unknown:
        return None
    template = tr("There is a class weight for “{label}”, but the data has no such label.")
    sentence = template.format(label=unknown[0])
    if not isinstance(task, LabelledTask):
        return Obstacle(sentence)
    title = tr("Remove this weight")
    if len(unknown) > 1:
        title = tr("Remove the weights of unknown labels")
    weights = {name: w for name, w in task.class_weights.items() if name not in unknown}
    fix = Fix(title, choices.with_task(task.model_copy(update={"class_weights": weights})))
    return Obstacle(sentence, (fix,))


CHECKS: dict[Step, Check] = {
    Step.TASK: _check_task,
    Step.DATA: _check_data,
    Step.BASE_MODEL: _check_base_model,
    Step.SETTINGS: _check_settings,
}

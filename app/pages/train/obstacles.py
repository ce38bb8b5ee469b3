"""Why a step of the wizard is not done yet, in a sentence."""

from pydantic import ValidationError
from PySide6.QtCore import QCoreApplication

from app.pages.train.choices import Choices, Step
from app.pages.train.fit import label_names
from app.pages.train.job import job, suggested_name
from app.translation import translated
from app.widgets.forms.several import ends_of
from app.widgets.text.spec_texts import problem_text
from engine.checkpoints.fit import missing_nsp_head, wrong_direction
from engine.config.families import FAMILIES
from engine.config.validation import problems_in
from engine.data.columns.fit import problems_of_dataset

translate = QCoreApplication.translate


def obstacle(choices: Choices, step: Step) -> str:
    """One sentence that says why this step is not done; empty where it is."""
    match step:
        case Step.TASK:
            return "" if choices.goal else translate("Train", "Choose a task.")
        case Step.DATA:
            return _of_data(choices)
        case Step.BASE_MODEL:
            return _of_base_model(choices)
        case Step.SETTINGS:
            return _of_settings(choices)
        case Step.REVIEW:
            named = choices.name.strip() or suggested_name(choices)
            return "" if named else translate("Train", "Give the run a name.")


def _of_data(choices: Choices) -> str:
    if choices.data is None:
        return translate("Train", "Choose a data set, or import one.")
    if choices.data.is_gone:
        template = translate("Train", "The data set “{name}” no longer exists. Choose another one.")
        return template.format(name=choices.data.name)
    if choices.goal is None or choices.data.spec is None:
        return ""
    problems = problems_of_dataset(choices.data.spec, choices.task)
    if not problems:
        return ""
    template = translate("Train", "“{name}” does not fit this task: {problem}")
    return template.format(name=choices.data.name, problem=translated(problems[0].phrase))


def _of_base_model(choices: Choices) -> str:
    if choices.from_scratch:
        vocabulary = choices.scratch.vocabulary
        if vocabulary is not None and vocabulary.info is None:
            return _gone(vocabulary.name)
        return ""
    if choices.model is None:
        return translate("Train", "Choose a base model.")
    if choices.model.info is None:
        return _gone(choices.model.name)
    return _of_direction(choices)


def _gone(name: str) -> str:
    return translate("Train", "The model “{name}” no longer exists. Choose another one.").format(
        name=name
    )


def _of_direction(choices: Choices) -> str:
    assert choices.model is not None and choices.model.info is not None
    problem = wrong_direction(choices.task, choices.model.name, choices.model.info.causal)
    return translated(problem.phrase) if problem else ""


def _of_settings(choices: Choices) -> str:
    return _of_length(choices) or _of_nsp(choices) or _of_weights(choices) or _of_job(choices)


def _of_length(choices: Choices) -> str:
    spec, lengths = choices.network, choices.varied_in("training").get("max_length", ())
    asked = max(choices.training.max_length, *ends_of(lengths), 0)
    if spec is None or asked <= spec.max_positions:
        return ""
    return translate(
        "Train", "The model reads at most {most} tokens, but “Max. length” is {asked}."
    ).format(most=spec.max_positions, asked=asked)


def _of_nsp(choices: Choices) -> str:
    info = choices.model.info if choices.model else None
    family = FAMILIES.get(info.family) if info and not choices.from_scratch else None
    problem = missing_nsp_head(choices.task.needs_nsp, family) if family else None
    return translated(problem.phrase) if problem else ""


def _of_weights(choices: Choices) -> str:
    unknown = choices.task.unknown_weights(label_names(choices))
    if not unknown:
        return ""
    return translate(
        "Train", "There is a class weight for “{label}”, but the data has no such label."
    ).format(label=unknown[0])


def _of_job(choices: Choices) -> str:
    """What the rules of a job say, which stand in its spec."""
    if any(obstacle(choices, step) for step in (Step.TASK, Step.DATA, Step.BASE_MODEL)):
        return ""
    try:
        job(choices)
    except ValidationError as error:
        return problem_text(problems_in(error)[0])
    return ""

"""`bert-studio job`: compose a job from options, most of which are fields of its spec."""

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from engine.cli import searching
from engine.cli.naming import find_checkpoint
from engine.cli.options import FieldOptions, Target, choice_option, get_flag, with_options
from engine.cli.recommending import apply_recommended
from engine.cli.rows import (
    CLEANING,
    COLUMNS,
    READING,
    parse_cleaning,
    raise_problems,
    reading_notes,
    recognise_files,
    refuse_file_options,
    refuse_target,
)
from engine.cli.stored import find_version, require_dataset
from engine.config.dataset import FileData, StoredData
from engine.config.families.bert import PRESETS, BertSpec
from engine.config.fields import get_settings
from engine.config.job import RUN_NAME_LENGTH, FromScratch, JobSpec
from engine.config.recommended import Recipe
from engine.config.search import METHODS
from engine.config.task import AggregatingTask
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec
from engine.config.validation import describe_validation
from engine.data.columns.fit import (
    dataset_problems,
    likely_task,
    suitable_target,
    unlabelled_notes,
)
from engine.data.datasets.collecting import FileImport
from engine.data.datasets.importing import label_notes, survey, survey_notes, survey_problems
from engine.data.formats.sources import data_files, format_titles, split_files
from engine.errors import StudioError
from engine.files.shipped import default_base_model
from engine.phrases import phrase
from engine.system.terminal import echo_error, echo_json_text

SCRATCH = "From scratch, with --size"
SCRATCH_OPTIONS = (
    FieldOptions(SCRATCH, "base_model.model", BertSpec, ("vocab_size",)),
    FieldOptions(SCRATCH, "base_model", FromScratch, tuple(get_settings(FromScratch))),
)
ALWAYS_OPTIONS = (
    FieldOptions("Training", "training", TrainingSpec, tuple(get_settings(TrainingSpec))),
    FieldOptions("Long texts", "task", AggregatingTask, tuple(get_settings(AggregatingTask))),
    FieldOptions("Hardware", "hardware", HardwareSpec, tuple(get_settings(HardwareSpec))),
)

Assignments = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="<field=value>",
        help=(
            "Set any field of the job, for example training.max_grad_norm=0.5, "
            "task.mlm_probability=0.2 or features.vectors=last; may be repeated. Several values, "
            "as in training.learning_rate=1e-5,3e-5 or base_model=FOLDER,FOLDER, make a run for "
            "each combination; a range, as in 1e-5..1e-4, is for --search random and tpe."
        ),
    ),
]


def compose(
    data: Annotated[
        Path,
        typer.Option(
            help=phrase(
                "A file ({formats}), a folder of texts with one sub-folder per label, or an "
                "imported data set by name or folder.",
                formats=format_titles(),
            )
        ),
    ],
    base_model: Annotated[
        Path | None,
        typer.Option(
            help=(
                "A model or a run, by name or folder; without it and without --size: MiniLM, or "
                "the starter model for pre-training."
            ),
            callback=find_checkpoint,
        ),
    ] = None,
    validation: Annotated[
        Path | None, typer.Option(help="A second file with the validation rows.")
    ] = None,
    target: Target = None,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    recipe: Annotated[
        Recipe,
        typer.Option(
            help=(
                "Values of the settings that are not given: paper trains all weights; quick "
                "freezes the lower layers and trains for fewer epochs, for models of MiniLM's size."
            )
        ),
    ] = "paper",
    assignments: Assignments = [],  # noqa: B006 (Typer copies it)
    **extra: Any,
) -> None:
    """Compose a job and print it as JSON: bert-studio job --data FILE > JOB.json."""
    source, task = _source_and_task(data, validation, target, extra)
    raw: dict[str, Any] = {
        "name": name or f"{data.stem} · {TASKS[task].info.title}"[:RUN_NAME_LENGTH],
        "task": {"kind": task},
        "base_model": _base_model(base_model, task, extra),
        "data": source.model_dump(),
    }
    for options in ALWAYS_OPTIONS:
        set_values(raw, options.select(extra))
    varied, single = searching.split_assignments(assignments)
    for assignment in single:
        assign(raw, assignment)
    for part in searching.WHOLE_PARTS:
        if isinstance(raw[part], str):
            raw[part] = searching.parse_part(part, raw[part])
    base, chosen_task = raw["base_model"], raw["task"]
    sets_causal = any(text.startswith("base_model.model.causal=") for text in assignments)
    is_scratch = isinstance(base, dict) and isinstance(base.get("model"), dict)
    if is_scratch and isinstance(chosen_task, dict) and not sets_causal:
        base["model"]["causal"] = chosen_task.get("objective") == "clm"
    for text in searching.text_assignments(validate_job(raw), varied):
        varied.remove(text)
        assign(raw, text)
    search = searching.parse_search(
        validate_job(raw), varied, extra["search"], searching.SEARCH.select(extra)
    )
    if search is not None:
        set_values(raw, {field.path: searching.first_value(field) for field in search.fields})
    fixed = raw.get("training", {}), raw.get("features", {})
    job = apply_recommended(validate_job(raw), *fixed, recipe=recipe)
    job = validate_job(job.model_dump() | {"search": search})
    echo_json_text(job.model_dump_json(indent=1))


job_command = with_options(
    compose,
    [
        choice_option("task", TASKS, None, phrase("The task to train. Default: inferred. One of:")),
        choice_option(
            "search", METHODS, None, phrase("Search method for several values. Default: grid.")
        ),
        choice_option("size", PRESETS, None, phrase("Train a model of this size from scratch.")),
        *(
            p
            for options in (
                READING,
                COLUMNS,
                CLEANING,
                *SCRATCH_OPTIONS,
                *ALWAYS_OPTIONS,
                searching.SEARCH,
            )
            for p in options.parameters()
        ),
    ],
)


def validate_job(raw: dict[str, Any], subject: str = "The job") -> JobSpec:
    try:
        return JobSpec.model_validate(raw)
    except ValidationError as error:
        raise describe_validation(error, subject) from error


def _base_model(folder: Path | None, task: str, extra: dict[str, Any]) -> dict[str, Any]:
    """Choose the model: of --size with its options, a checkpoint, or the task's default.

    Raises StudioError if both are given.
    """
    scratch: dict[str, Any] = {}
    for options in SCRATCH_OPTIONS:
        scratch |= options.select(extra)
    if extra["size"] is None:
        for path in scratch:
            flag = get_flag(path.rpartition(".")[2])
            raise StudioError("{flag} is for a model from scratch.", "Add --size.", flag=flag)
        default = default_base_model(pretrains=TASKS[task].info.is_pretraining)
        return searching.parse_part("base_model", str(folder or default))
    if folder is not None:
        raise StudioError("--base-model and --size cannot be combined.", "Leave one of them out.")
    model = FromScratch(model=PRESETS[extra["size"]]).model_dump()
    set_values({"base_model": model}, scratch)
    model["tokenizer"] = _absolute(model["tokenizer"])
    return model


def _source_and_task(
    data: Path, validation: Path | None, target: str | None, extra: dict[str, Any]
) -> tuple[FileData | StoredData, str]:
    """Read the data, and choose the requested task or the most likely one for the columns.

    All rows are read, since a job for unusable rows would fail later.

    Raises StudioError with all problems that make the data unusable for the task.
    """
    task: str | None = extra["task"]
    if find_version(data) is not None or (data.is_dir() and not data_files([data])):
        dataset = require_dataset(data)
        refuse_file_options(extra)
        spec = dataset.with_target(target).spec
        kind = task or likely_task(spec.mapping, spec.labels, spec.overlaps).kind
        problems = dataset_problems(spec, TASKS[kind](kind=kind))
        other = suitable_target(spec, TASKS[kind](kind=kind)) if problems and not target else None
        if other is not None:
            advice = phrase("Add --target “{other}”, which suits this task.", other=other[:60])
            problems = [StudioError(problems[0].problem, advice)]
        notes = unlabelled_notes(spec, TASKS[kind](kind=kind))
        source: FileData | StoredData = StoredData(
            folder=dataset.folder.absolute(), fingerprint=spec.fingerprint, target=target
        )
    else:
        refuse_target(target)
        source = _file_data(data, validation, extra)
        assert source.mapping is not None and source.reading is not None
        files = split_files(source.path, source.validation).sources
        rows = survey(
            FileImport(files, source.reading, source.mapping, source.split, source.cleaning)
        )
        kind = task or likely_task(source.mapping, rows.flags or rows.labels).kind
        problems = survey_problems(rows, source.mapping, TASKS[kind](kind=kind))
        notes = [*rows.notes, *reading_notes(rows.labels)]
        notes += label_notes(rows.labels or rows.spans)
        notes += survey_notes(rows, source.mapping, TASKS[kind](kind=kind))
    for note in filter(None, notes):
        echo_error(f"note: {note}")
    raise_problems(problems)
    return source, kind


def _file_data(data: Path, validation: Path | None, extra: dict[str, Any]) -> FileData:
    files = recognise_files(data, extra, validation)
    for note in files.notes:
        echo_error(f"note: {note}")
    return FileData(
        path=data.absolute(),
        validation=_absolute(validation),
        reading=files.recognition.reading,
        mapping=files.mapping,
        cleaning=parse_cleaning(extra),
    )


def _absolute(path: Path | None) -> Path | None:
    return path.absolute() if path else None


def assign(raw: dict[str, Any], assignment: str) -> None:
    """Apply `--set a.b=value`; the value is parsed as JSON if possible, 10 % of a fraction as 0.1.

    Raises StudioError if it is malformed.
    """
    path, equals, text = assignment.partition("=")
    if not equals or not all(path.split(".")):
        raise StudioError(
            "“{assignment}” is not of the form field=value.",
            "Write for example --set training.max_grad_norm=0.5.",
            assignment=assignment,
        )
    set_values(raw, {path: searching.parse_value(path, text)})


def set_values(raw: dict[str, Any], values: dict[str, Any]) -> None:
    """Put values into nested dicts, each at its path.

    Raises StudioError if a part of a path is not a dict.
    """
    for path, value in values.items():
        *parents, last = path.split(".")
        node = raw
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise StudioError(
                    "A job has no field “{path}”.", "See an existing job file.", path=path
                )
        node[last] = value

"""Jobs without a window: compose one, train it, go on with it, and check a file for it."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from engine.cli import several
from engine.cli.progress import ProgressLine
from engine.cli.rows import COLUMN_HELP, chosen_mapping, named_columns
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import Recognised, read, recognise
from engine.data.formats.sources import format_titles, holds_texts
from engine.errors import BadFile, StudioError
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.runs.groups import split
from engine.shipped import starter_model
from engine.spec.dataset import FileData, StoredData
from engine.spec.job import BaseModelSource, FromCheckpoint, FromScratch, JobSpec
from engine.spec.model import PRESETS
from engine.validation import describe_validation


class Task(StrEnum):
    """What can be learned."""

    text_classification = "text_classification"
    question_answering = "question_answering"
    token_classification = "token_classification"  # noqa: S105
    multi_label = "multi_label"
    regression = "regression"
    multiple_choice = "multiple_choice"
    pretraining = "pretraining"


class Size(StrEnum):
    """The published sizes of BERT."""

    tiny = "tiny"
    mini = "mini"
    small = "small"
    medium = "medium"
    base = "base"
    large = "large"


DATA_HELP = (
    "A file ({formats}), a folder of texts with one sub-folder per label, or the folder of an "
    "imported data set."
)
Assignments = Annotated[
    list[str],
    typer.Option(
        "--set",
        help=(
            "Any other field, as training.max_grad_norm=0.5, task.mlm_probability=0.2 or "
            "hardware.threads=2; may be repeated."
        ),
    ),
]


def compose(
    data: Annotated[
        Path,
        typer.Option(help=DATA_HELP.format(formats=format_titles())),
    ],
    task: Annotated[Task, typer.Option(help="What is learned.")] = Task.text_classification,
    model: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Start from this checkpoint folder; without it and without --size: the starter "
                "model."
            )
        ),
    ] = None,
    size: Annotated[
        Size | None, typer.Option(help="Start from scratch with a network of this size.")
    ] = None,
    vocabulary: Annotated[
        int, typer.Option(help="Pieces of a new vocabulary, with --size.")
    ] = 30522,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="Use this vocab.txt or folder instead of a new vocabulary, with --size."),
    ] = None,
    cased: Annotated[
        bool, typer.Option("--cased", help="A new vocabulary keeps case and accents.")
    ] = False,
    head_start: Annotated[
        bool,
        typer.Option(
            "--head-start",
            help=(
                "Begin with word vectors from counts and heads that look at the nearest words, "
                "with --size."
            ),
        ),
    ] = False,
    dev: Annotated[
        Path | None, typer.Option(help="A second file with the rows to judge by.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    column: Annotated[list[str], typer.Option("--column", help=COLUMN_HELP)] = [],  # noqa: B006
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    epochs: Annotated[float | None, typer.Option(help="How often each example is seen.")] = None,
    steps: Annotated[int | None, typer.Option(help="Updates, instead of epochs.")] = None,
    batch: Annotated[int | None, typer.Option(help="Examples in each update.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Highest learning rate.")] = None,
    max_length: Annotated[int | None, typer.Option(help="Longest input in word pieces.")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides all chance.")] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Repeat with so many seeds, a run for each.")
    ] = None,
    share: Annotated[float | None, typer.Option(help="Train on this share of the data.")] = None,
    precision: Annotated[str | None, typer.Option(help="auto, fp32, bf16 or fp16.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or mps.")] = None,
    threads: Annotated[
        int | None, typer.Option(help="Processor threads; 0: what is quickest here.")
    ] = None,
    cores: Annotated[
        str | None, typer.Option(help="Processor cores that the run keeps to, as 0-3,8.")
    ] = None,
    assignments: Assignments = [],  # noqa: B006 (Typer copies it)
) -> None:
    """Compose a job and print it as JSON: bert-studio job --data FILE > JOB.json."""
    source = _source(data, dev, named_columns(text, pair, label, column))
    start: BaseModelSource
    if size is not None:
        network = PRESETS[size].model_copy(update={"vocab_size": vocabulary})
        start = FromScratch(
            model=network,
            tokenizer=_absolute(tokenizer),
            lowercase=not cased,
            warm_init=head_start,
        )
    else:
        start = FromCheckpoint(path=(model or starter_model()).absolute())
    training = {
        "epochs": epochs,
        "steps": steps,
        "batch_size": batch,
        "learning_rate": learning_rate,
        "max_length": max_length,
        "seed": seed,
        "seeds": seeds,
        "train_fraction": share,
    }
    hardware = {"precision": precision, "device": device, "threads": threads, "cores": cores}
    raw: dict[str, Any] = {
        "name": name or f"{task} of {data.stem}",
        "task": {"kind": task.value},
        "base_model": start.model_dump(),
        "data": source.model_dump(),
        "training": {key: value for key, value in training.items() if value is not None},
        "hardware": {key: value for key, value in hardware.items() if value is not None},
    }
    for assignment in assignments:
        assign(raw, assignment)
    if raw["base_model"]["kind"] == "scratch" and "base_model.model.causal" not in " ".join(
        assignments
    ):
        raw["base_model"]["model"]["causal"] = raw["task"].get("objective") == "clm"
    try:
        job = JobSpec.model_validate(raw)
    except ValidationError as error:
        raise describe_validation(error, "The job") from error
    print(job.model_dump_json(indent=1))


def train(
    job: Annotated[Path, typer.Argument(help="The job file.")],
    into: Annotated[Path, typer.Option(help="The run folder to make.")],
) -> int:
    """Train a job into a new run folder; Ctrl+C stops and saves, and `resume` goes on.

    A job with several seeds, or a layer sweep, gets a folder for each run below it, and a
    summary.json of all.
    """
    wanted = given_job(job)
    (one, *others) = split(wanted)
    if others:
        return several.begin(wanted, into.absolute())
    return _work(RunFolder.create(into.absolute(), one))


def resume(
    folder: Annotated[Path, typer.Argument(help="The run folder.")],
    processes: Annotated[
        int | None, typer.Option(min=1, help="Another number of processes than the job says.")
    ] = None,
) -> int:
    """Go on with a run that was stopped or killed, from its last checkpoint.

    The folder of a job of several runs goes on with those that are not finished.
    """
    if several.is_several(folder):
        return several.go_on(folder.absolute())
    run = RunFolder(folder.absolute())
    run.job()
    run.clear_stop()
    return _work(run, processes)


def check(
    file: Annotated[Path, typer.Argument(help="A file of texts.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Read a file from end to end and say what is in it, or what is wrong and where."""
    found: Recognised | None = None
    try:
        found = recognise(file)
        table = read(file, found.reading)
        count = sum(1 for _ in table)
    except BadFile as error:
        if as_json:
            wrong = {"ok": False, "problem": error.problem, "advice": error.advice}
            place = {"line": error.line or None, "column": error.column or None}
            print(json.dumps(wrong | place, ensure_ascii=False))
        raise
    facts: dict[str, Any] = {
        "ok": True,
        "file": str(file),
        "rows": count,
        **found.reading.model_dump(),
        "columns": list(found.columns),
        "mapping": found.mapping.model_dump() if found.mapping else None,
        "notes": [*found.notes, *(note for note in table.notes if note not in found.notes)],
    }
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return 0
    for key, value in facts.items():
        if key not in ("ok", "notes"):
            shown = ", ".join(value) if isinstance(value, list) else value
            print(f"{key}: {shown if not isinstance(shown, dict) else json.dumps(shown)}")
    for note in facts["notes"]:
        print(f"note: {note}")
    return 0


def given_job(file: Path) -> JobSpec:
    """The job in a file, its relative paths taken from where the file lies."""
    try:
        job = JobSpec.model_validate_json(file.read_bytes())
    except OSError as error:
        raise StudioError(
            phrase(
                "The job file {file} cannot be read: {strerror}.",
                file=file,
                strerror=error.strerror,
            )
        ) from error
    except ValidationError as error:
        raise describe_validation(error, f"The job file {file.name}") from error
    return _from(job, file.absolute().parent)


def _from(job: JobSpec, base: Path) -> JobSpec:
    """The job with its relative paths taken from where the job file lies."""

    def absolute(value: Any) -> Any:
        if isinstance(value, Path):
            return base / value
        if isinstance(value, dict):
            return {key: absolute(inner) for key, inner in value.items()}
        return value

    return JobSpec.model_validate(absolute(job.model_dump()))


def _work(run: RunFolder, processes: int | None = None) -> int:
    from engine.worker.train import main as work

    line = ProgressLine(sys.stderr)
    code = work(run.path, line.hear, processes)
    line.end()
    print(run.path)
    return code


def _source(
    data: Path, dev: Path | None, named: dict[str, str | list[str]]
) -> FileData | StoredData:
    if data.is_dir() and not holds_texts(data):
        dataset = open_dataset(data.absolute())
        return StoredData(folder=data.absolute(), fingerprint=dataset.spec.fingerprint)
    found = recognise(data)
    mapping = chosen_mapping(found, named)
    return FileData(
        path=data.absolute(), validation=_absolute(dev), reading=found.reading, mapping=mapping
    )


def _absolute(path: Path | None) -> Path | None:
    return path.absolute() if path else None


def assign(raw: dict[str, Any], assignment: str) -> None:
    """Put `a.b=value` into nested dicts; the value is JSON where it can be read as such."""
    path, equals, text = assignment.partition("=")
    *parents, last = path.split(".")
    if not equals or not all((*parents, last)):
        raise StudioError(
            phrase("“{assignment}” is not of the form field=value.", assignment=assignment),
            phrase("Write --set training.max_grad_norm=0.5."),
        )
    place = raw
    for part in parents:
        inner = place.setdefault(part, {})
        if not isinstance(inner, dict):
            raise StudioError(
                phrase("“{path}” names no field of a job.", path=path),
                phrase("See an existing job file."),
            )
        place = inner
    try:
        place[last] = json.loads(text)
    except ValueError:
        place[last] = text

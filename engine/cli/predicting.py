"""Predict all rows of a file, or rows of a data set, with a fine-tuned model."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli import options
from engine.cli.progress import ProgressLine
from engine.cli.rows import (
    INPUT_COLUMNS,
    READING,
    list_notes,
    recognise_file,
    require_mapping,
    single_file,
    text_notes,
)
from engine.cli.stored import find_version
from engine.config.dataset import SplitName, StoredData
from engine.config.zero_shot import TEMPLATE, Described
from engine.config.zero_shot import describe as describe_labels
from engine.errors import StudioError
from engine.files.home import Home
from engine.messages.applying import Apply, FileInput, StoredInput
from engine.messages.question import Working
from engine.phrases import phrase
from engine.system.terminal import echo, echo_error


def predict(
    file: Annotated[
        Path,
        typer.Argument(help="A file with a column of texts, or a stored data set by name."),
    ],
    model: options.Model,
    out: Annotated[
        Path, typer.Option(help="Output file: .csv, .tsv, .jsonl, .parquet, .xlsx, .conll or .npy.")
    ],
    max_length: options.MaxLength = None,
    batch_size: options.BatchSize = 32,
    precision: options.PrecisionOption = "exact",
    threshold: Annotated[
        float | None,
        options.probability_option(
            "Add a column “unsure”: probability below this, such as 80 %; of several labels or "
            "tags the least certain one counts; 0: no column. By default the threshold stored "
            "with the model."
        ),
    ] = None,
    coverage: options.Coverage = None,
    by_class: options.ByClass = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help=(
                "CSV and TSV: write cells unchanged. Without it, cells that a spreadsheet would "
                "run as a formula get a leading apostrophe."
            ),
        ),
    ] = False,
    part: Annotated[
        SplitName | None, typer.Option(help="Of a stored data set, only the rows of this split.")
    ] = None,
    unlabelled: Annotated[
        bool,
        typer.Option(
            "--unlabelled",
            help="Of a stored data set, only the rows without a label; `relabel` reads the result.",
        ),
    ] = False,
    target: options.Target = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue an interrupted prediction of the same file to the same output.",
        ),
    ] = False,
    describe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<LABEL: DESCRIPTION>",
            help="Instead of the labels that a model was trained for: a label and what its texts "
            "are about, such as “sport: matches and players”. Repeat it for each label. For "
            "sentence encoders and for models of natural language inference (NLI).",
        ),
    ] = None,
    template: Annotated[
        str,
        typer.Option(
            help="NLI: the hypothesis; {} is the description, or the label without one. A "
            "description that ends with a full stop is a hypothesis as it is."
        ),
    ] = TEMPLATE,
    several: Annotated[
        bool, typer.Option("--several", help="NLI: a text has any number of the labels.")
    ] = False,
    **extra: Any,
) -> None:
    """Write every row of a file with all its columns and the predictions of a fine-tuned model.

    With --describe, the labels are found by their descriptions, without training.

    The rows of a stored data set have their number in the column “row”, too.

    A prediction column whose name is already used gets the prefix “predicted_”. Unfinished
    predictions are cached next to the output file until it is complete.
    """
    from engine.applying.apply import apply
    from engine.applying.chunks import chunk_folder
    from engine.results.prediction_sets import sets_sentence, with_coverage
    from engine.tasks.describing import make_predictor
    from engine.tasks.predicting import Predictor

    coverage = options.parse_sets(coverage, by_class)
    described = _described(describe or [], template, several, coverage, precision)
    given = _given(file, None if described else model, part, unlabelled, target, extra)
    question = Apply(
        checkpoint=model.absolute(),
        given=given,
        out=out.absolute(),
        threshold=threshold or None,
        raw=raw,
        described=described,
        max_length=max_length,
        batch_size=batch_size,
        exact=precision == "exact",
        resume=resume,
    )
    predictor = make_predictor(question, model)
    options.print_loading_notes(predictor.loading)
    sets = None
    if isinstance(predictor, Predictor):
        learner, folder = predictor.learner, question.checkpoint
        if coverage is not None:
            chosen = with_coverage(learner.prediction, folder, coverage, by_class, Home())
            learner.prediction = chosen
        sets = learner.prediction.sets
        if threshold is None:
            below = learner.prediction.unsure_below or None
            question = question.model_copy(update={"threshold": below})
    try:
        with ProgressLine(sys.stderr) as line:
            done = apply(question, predictor, lambda working: line.draw(_progress_text(working)))
    except BaseException:
        if (cached := chunk_folder(question.out)).is_dir():
            echo_error(f"The predictions so far are in {cached.name}; add --resume to continue.")
        raise
    for note in done.notes:
        echo_error(f"note: {note}")
    if sets is not None:
        echo_error(f"note: {sets_sentence(sets)}")
    unsure = "" if done.unsure is None else f", {done.unsure:,} of them unsure"
    echo(phrase("{n:,} row(s) written to {out}", n=done.rows, out=str(out)) + unsure)


def _described(
    lines: list[str], template: str, several: bool, coverage: float | None, precision: str
) -> Described | None:
    """The described labels; None without any. Raises StudioError for options that do not fit."""
    if not lines:
        if several or template != TEMPLATE:
            raise StudioError(
                "--several and --template are for labels found by descriptions.",
                "Give each label with --describe, or leave these options out.",
            )
        return None
    if coverage is not None or precision != "exact":
        raise StudioError(
            "Prediction sets and faster precisions need a model trained for the labels.",
            "Leave out --coverage and --precision, or --describe.",
        )
    return describe_labels(lines, template, several)


def _given(
    data: Path,
    model: Path | None,
    part: SplitName | None,
    unlabelled: bool,
    target: str | None,
    extra: dict[str, Any],
) -> FileInput | StoredInput:
    """The rows of a file, or of a stored data set.

    Raises StudioError for options that do not apply to it.
    """
    folder = None if data.is_file() else find_version(data)
    chosen, options_for_files = INPUT_COLUMNS.select(extra), READING.select(extra)
    if folder is None:
        if part or unlabelled or target:
            raise StudioError(
                "{name} is not a stored data set, which --part, --unlabelled and --target need.",
                "Import the file first, or leave out these options.",
                name=data.name,
            )
        file = single_file(data)
        recognition = recognise_file(file, options_for_files, chosen, model=model)
        mapping = require_mapping(file, recognition, chosen)
        notes = list_notes(recognition, chosen, reads_labels=False)
        for note in (*text_notes(recognition, mapping), *notes):
            echo_error(f"note: {note}")
        return FileInput(path=file.absolute(), reading=recognition.reading, mapping=mapping)
    if chosen or options_for_files:
        raise StudioError(
            "The columns and the format of a stored data set are fixed.",
            "Leave out the options that say how a file is read.",
        )
    if part is not None and unlabelled:
        raise StudioError("--part and --unlabelled cannot be combined.", "Leave one of them out.")
    source = StoredData(folder=folder.absolute(), target=target)
    return StoredInput(data=source, rows="unlabelled" if unlabelled else part or "all")


def _progress_text(working: Working) -> str:
    percent = f", {100 * working.done / working.total:.0f} %" if working.total else ""
    return f"{working.stage}{percent}"


predict_command = options.with_options(
    predict, [*READING.parameters(), *INPUT_COLUMNS.parameters()]
)

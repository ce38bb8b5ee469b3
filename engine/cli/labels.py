"""`bert-studio label-errors`, `relabel` and `label-gain`: find errors, correct labels, and estimate
what more labels would add."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from engine.cli.naming import find_checkpoint
from engine.cli.options import AsJson, Encoding, StoredPath, Target, print_loading_notes
from engine.cli.progress import ProgressLine
from engine.cli.stored import make_version, print_version, require_dataset
from engine.config.dataset import SPLITS, SplitName
from engine.data.datasets.deriving import derive
from engine.data.datasets.differences import RowDifference, differences
from engine.data.datasets.relabelling import NEW_LABEL, ROW, read_corrections
from engine.data.datasets.store import Dataset
from engine.files.home import Home
from engine.files.shipped import minilm
from engine.files.table_files import TABLE_WRITERS, check_suffix, write_table
from engine.messages.labelling import EstimateGain, LabelErrorsFound
from engine.system.terminal import echo, echo_error, echo_json

MAX_PRINTED_ROWS = 20
MAX_TEXT_CHARACTERS = 80  # per printed row


def label_errors(
    data: StoredPath,
    out: Annotated[Path, typer.Option(help="Output file: .csv, .tsv, .jsonl, .parquet or .xlsx.")],
    model: Annotated[
        Path | None,
        typer.Option(
            help="Encoder for the rows, by name or folder. Default: the included MiniLM.",
            callback=find_checkpoint,
        ),
    ] = None,
    fine_tune: Annotated[
        bool,
        typer.Option(
            "--fine-tune",
            help="Fine-tune the model itself on five folds; resumes after a cancellation.",
        ),
    ] = False,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """List the rows whose label is probably wrong, the least credible first.

    Delete the rows with correct labels from the list, and pass it to `relabel`.
    """
    from engine.models import checkpoint
    from engine.tasks.suggesting import find_label_errors
    from engine.training.fold_runs import fold_scorer

    check_suffix(out, TABLE_WRITERS)
    dataset, base = require_dataset(data).with_target(target), (model or minilm()).absolute()
    with ProgressLine(sys.stderr) as line:

        def report(stage: str, done: int, total: int) -> None:
            line.draw(f"{stage}: {done:,} of {total:,}")

        try:
            if fine_tune:
                scorer = fold_scorer(dataset, base, Home().cache / "folds", report)
                errors = find_label_errors(dataset, None, report, scorer)
            else:
                loaded = checkpoint.load(base)
                print_loading_notes(loaded.report)
                errors = find_label_errors(dataset, loaded, report)
        except KeyboardInterrupt:
            if fine_tune:
                echo_error("Finished folds are kept; the same command resumes.")
            raise
    table = _table(dataset, errors)
    write_table(out, table.schema, [table])
    facts = {"rows": errors.rows, "likely": errors.likely, "listed": len(table), "file": str(out)}
    if as_json:
        echo_json(facts)
        return
    echo(f"An estimated {errors.likely:,} of {errors.rows:,} labels are wrong.")
    echo(f"The {len(table):,} least credible ones are written to {out}")


def label_gain(
    data: StoredPath,
    more: Annotated[int, typer.Option(min=1, help="Number of rows to label next.")] = 200,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Encoder for the rows, by name or folder. Default: the included MiniLM.",
            callback=find_checkpoint,
        ),
    ] = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Estimate how much more labelled rows would add to the accuracy, with its 95 % interval.

    From the learning curve of a light model on the rows labelled so far, without the test set.
    """
    from engine.models import checkpoint
    from engine.tasks.next_rows import estimate_label_gain

    dataset, base = require_dataset(data).with_target(target), (model or minilm()).absolute()
    loaded = checkpoint.load(base)
    print_loading_notes(loaded.report)
    question = EstimateGain(data=dataset.folder, checkpoint=base, more=more)
    with ProgressLine(sys.stderr) as line:
        found = estimate_label_gain(
            dataset, loaded, question, lambda s, d, t: line.draw(f"{s}: {d:,} of {t:,}")
        )
    if as_json:
        echo_json(found.model_dump(exclude={"to", "kind"}))
        return
    echo(f"Light model on {found.rows:,} labelled rows: accuracy {100 * found.accuracy:.1f} %")
    mostly = f", mostly “{found.label}”" if found.label else ""
    gain, low, high = (100 * value for value in (found.gain, found.low, found.high))
    echo(f"{more:,} more rows: {gain:+.1f} points ({low:.1f} to {high:.1f}){mostly}")
    if found.hardly_pays:
        echo("More labels hardly pay.")


def _table(dataset: Dataset, errors: LabelErrorsFound) -> pa.Table:
    """The suspicious rows in the format of `relabel`, each with the suggested label."""
    mapping, rows = dataset.spec.mapping, [item.row for item in errors.suggestions]
    assert mapping.label is not None  # otherwise nothing is found
    columns = {ROW: pa.array(rows, pa.int64()), "line": dataset.column("_line").take(rows)}
    for name in (*mapping.texts, mapping.label):
        columns[name] = dataset.column(name).take(rows)
    columns[NEW_LABEL] = pa.array([item.label for item in errors.suggestions], pa.string())
    columns["probability"] = pa.array(
        [item.probability for item in errors.suggestions], pa.float32()
    )
    return pa.table(columns)


def relabel(
    data: StoredPath,
    file: Annotated[
        Path,
        typer.Argument(help="A table with the columns “row” and “new_label”, a line per row."),
    ],
    label: Annotated[
        str | None,
        typer.Option(
            help="The column with the new labels. Default: new_label, else the label column."
        ),
    ] = None,
    part: Annotated[
        SplitName | None,
        typer.Option(help="Row numbers are relative to this split, as in an export from Results."),
    ] = None,
    target: Target = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
) -> None:
    """Correct labels, tags or answers of a stored data set from a file, and print the differences.

    The result is a new version; the original is unchanged. Row numbers start at 0.
    """
    old = require_dataset(data).with_target(target)
    edits = read_corrections(file, old, label, part, encoding).edits()
    write = partial(derive, old.folder, edits=edits)
    version = make_version(old, write)
    changed = differences(old, version)
    if as_json:
        print_version(version, as_json, {"labels": [_change(old, row) for row in changed]})
        return
    for row in changed[:MAX_PRINTED_ROWS]:
        facts = _change(old, row)
        text = " ".join(str(facts["text"]).split())
        excerpt = text if len(text) <= MAX_TEXT_CHARACTERS else f"{text[:MAX_TEXT_CHARACTERS]}…"
        echo(f"row {facts['row']}: {facts['before']} → {facts['after']}  {excerpt}")
    if len(changed) > MAX_PRINTED_ROWS:
        echo(f"… and {len(changed) - MAX_PRINTED_ROWS:,} more rows")
    print_version(version, as_json)


def _change(old: Dataset, difference: RowDifference) -> dict[str, object]:
    mapping = old.spec.mapping
    label = mapping.label or mapping.tags or mapping.answers
    assert label is not None and difference.before is not None
    before, after = difference.cells[label]
    row = old.page(difference.before, 1)[0]
    return {
        "row": difference.before,
        "line": difference.line,
        "part": SPLITS[old.splits[difference.before]],
        "text": row[mapping.text],
        "before": before,
        "after": after,
    }

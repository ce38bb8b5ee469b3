"""What a fine-tuned model says of the rows of a file."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from engine.atomic_write import disk_errors_for, write_file
from engine.cli.rows import COLUMN_HELP, named_columns, read_rows
from engine.data.datasets.store import Rows
from engine.data.formats.conll import EMPTY, NO_BREAK_SPACE
from engine.errors import StudioError
from engine.phrases import phrase

Model = Annotated[Path, typer.Option(help="A fine-tuned checkpoint folder.")]
TextColumn = Annotated[str | None, typer.Option(help="Column of the text; recognised without it.")]
PairColumn = Annotated[str | None, typer.Option(help="Column of the second text.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the label.")]
FurtherColumns = Annotated[list[str], typer.Option("--column", help=COLUMN_HELP)]
MaxLength = Annotated[int, typer.Option(help="Longer inputs are cut to this many word pieces.")]
BatchSize = Annotated[int, typer.Option(help="Rows at a time.")]
HowPrecise = Annotated[
    Literal["exact", "fast"],
    typer.Option(
        help=(
            "exact: in float32. fast: in shorter numbers, where they are quicker here and agree on "
            "built-in texts: probabilities within 0.01."
        )
    ),
]


def predict(
    file: Annotated[Path, typer.Argument(help="A file with a column of texts.")],
    model: Model,
    out: Annotated[Path, typer.Option(help="Where the rows go: .csv, .tsv, .jsonl or .conll.")],
    text: TextColumn = None,
    pair: PairColumn = None,
    column: FurtherColumns = [],  # noqa: B006 (Typer copies it)
    max_length: MaxLength = 512,
    batch: BatchSize = 32,
    precision: HowPrecise = "exact",
) -> None:
    """Write what a fine-tuned model says of every row of a file."""
    from engine.tasks.predicting import Predictor

    if out.suffix not in WRITERS:
        raise StudioError(
            phrase(
                "{out} has none of the endings {writers}.", out=out.name, writers=", ".join(WRITERS)
            ),
            phrase("Choose one of them."),
        )
    rows = read_rows(file, named_columns(text, pair, None, column), answered=False)
    predictor = Predictor(model, max_length, batch, precision == "exact")
    _say_how(predictor.computed, precision)
    answers = predictor.predict(rows)
    records = [_record(rows, number, answer) for number, answer in enumerate(answers)]
    with disk_errors_for(out):
        write_file(out, WRITERS[out.suffix](records).encode("utf-8"))
    print(f"{len(records)} rows written to {out}")


def evaluate(
    file: Annotated[Path, typer.Argument(help="A file with texts and labels.")],
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    text: TextColumn = None,
    pair: PairColumn = None,
    label: LabelColumn = None,
    column: FurtherColumns = [],  # noqa: B006 (Typer copies it)
    max_length: MaxLength = 512,
    batch: BatchSize = 32,
    precision: HowPrecise = "exact",
) -> None:
    """Compare what a fine-tuned model says with what the rows of a file want."""
    from engine.tasks.predicting import Predictor

    rows = read_rows(file, named_columns(text, pair, label, column))
    predictor = Predictor(model, max_length, batch, precision == "exact")
    _say_how(predictor.computed, precision)
    report = predictor.evaluate(rows)
    if as_json:
        print(json.dumps(report.to_json(), ensure_ascii=False))
        return
    print("\n".join(report.lines()))


def _say_how(computed: str, precision: str) -> None:
    """Beside the answers, in what they were computed where that was left open."""
    if precision == "exact":
        return
    if computed == "float32":
        print("Computed in float32: nothing quicker agrees with it here.", file=sys.stderr)
    else:
        print(f"Computed in {computed}, which agreed on built-in texts.", file=sys.stderr)


def _record(rows: Rows, number: int, answer: dict[str, Any]) -> dict[str, Any]:
    """A row with what is said of it."""
    record: dict[str, Any] = {"text": rows.texts[number]}
    if rows.pairs:
        record["pair"] = rows.pairs[number]
    return record | {part: _rounded(value) for part, value in answer.items()}


def _rounded(value: Any) -> Any:
    """Six digits behind the point, also inside of what holds numbers."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return value


def _table(records: list[dict[str, Any]], delimiter: str) -> str:
    out = io.StringIO(newline="")
    if records:
        writer = csv.DictWriter(out, list(records[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows({key: _cell(v) for key, v in one.items()} for one in records)
    return out.getvalue()


def _cell(value: Any) -> Any:
    """What holds several things as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _conll(records: list[dict[str, Any]]) -> str:
    """A word and its tag in each line, and an empty line between sentences.

    White space in a word becomes a no-break space, and a word of nothing “_”.

    Raises StudioError where the records are not of a model that tags words.
    """
    if not all("tags" in record for record in records):
        raise StudioError(
            phrase("The model gives no tags, and .conll holds nothing else."),
            phrase("Choose another ending, or a model that was fine-tuned for tagging."),
        )
    sentences = [
        [
            f"{NO_BREAK_SPACE.join(word.split()) or EMPTY}\t{tag}\n"
            for word, tag in zip(one["words"], one["tags"], strict=True)
        ]
        for one in records
    ]
    return "\n".join("".join(lines) for lines in sentences if lines)


WRITERS = {
    ".csv": lambda records: _table(records, ","),
    ".tsv": lambda records: _table(records, "\t"),
    ".jsonl": _lines,
    ".conll": _conll,
}

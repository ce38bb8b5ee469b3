"""Predictions of a fine-tuned model for the rows of a file, and its evaluation on them."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from engine.atomic_write import disk_errors_for, write_file
from engine.cli.options import with_options
from engine.cli.rows import COLUMNS, INPUT_COLUMNS, read_rows
from engine.data.datasets.store import Rows
from engine.data.formats.conll import EMPTY, NO_BREAK_SPACE
from engine.errors import StudioError
from engine.phrases import phrase

Model = Annotated[Path, typer.Option(help="A fine-tuned checkpoint folder.")]
MaxLength = Annotated[
    int, typer.Option(help="Max. length: longer inputs are truncated to this many tokens.")
]
BatchSize = Annotated[int, typer.Option(help="Batch size: rows computed at once.")]
HowPrecise = Annotated[
    Literal["exact", "fast"],
    typer.Option(
        help=(
            "exact: fp32. fast: bf16 or int8 where that is faster on this machine and agrees on "
            "built-in texts (probabilities within 0.01)."
        )
    ),
]


def predict(
    file: Annotated[Path, typer.Argument(help="A file with a column of texts.")],
    model: Model,
    out: Annotated[Path, typer.Option(help="Output file: .csv, .tsv, .jsonl or .conll.")],
    max_length: MaxLength = 512,
    batch_size: BatchSize = 32,
    precision: HowPrecise = "exact",
    **given: Any,
) -> None:
    """Write a fine-tuned model's predictions for every row of a file."""
    from engine.tasks.predicting import Predictor

    if out.suffix not in WRITERS:
        raise StudioError(
            phrase(
                "The name {out} ends with none of {suffixes}.",
                out=out.name,
                suffixes=", ".join(WRITERS),
            ),
            phrase("Choose one of them."),
        )
    rows = read_rows(file, INPUT_COLUMNS.given(given), labelled=False)
    predictor = Predictor(model, max_length, batch_size, precision == "exact")
    _print_precision(predictor.computed, precision)
    predictions = predictor.predict(rows)
    records = [_record(rows, number, one) for number, one in enumerate(predictions)]
    with disk_errors_for(out):
        write_file(out, WRITERS[out.suffix](records).encode("utf-8"))
    print(f"{len(records)} rows written to {out}")


def evaluate(
    file: Annotated[Path, typer.Argument(help="A file with texts and labels.")],
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    max_length: MaxLength = 512,
    batch_size: BatchSize = 32,
    precision: HowPrecise = "exact",
    **given: Any,
) -> None:
    """Evaluate a fine-tuned model on the labelled rows of a file."""
    from engine.tasks.predicting import Predictor

    rows = read_rows(file, COLUMNS.given(given))
    predictor = Predictor(model, max_length, batch_size, precision == "exact")
    _print_precision(predictor.computed, precision)
    report = predictor.evaluate(rows)
    if as_json:
        print(json.dumps(report.to_json(), ensure_ascii=False))
        return
    print("\n".join(report.lines()))


predict_command = with_options(predict, INPUT_COLUMNS.parameters())
evaluate_command = with_options(evaluate, COLUMNS.parameters())


def _print_precision(computed: str, precision: str) -> None:
    """Beside the predictions, in which numbers they were computed where that was left open."""
    if precision == "exact":
        return
    if computed == "float32":
        print("Computed in fp32: nothing faster agrees with it on this machine.", file=sys.stderr)
    else:
        print(f"Computed in {computed}, which agrees with fp32 on built-in texts.", file=sys.stderr)


def _record(rows: Rows, number: int, prediction: dict[str, Any]) -> dict[str, Any]:
    """A row with its prediction."""
    record: dict[str, Any] = {"text": rows.texts[number]}
    if rows.pairs:
        record["pair"] = rows.pairs[number]
    return record | {part: _rounded(value) for part, value in prediction.items()}


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

    Raises StudioError where the records are not of a token classification model.
    """
    if not all("tags" in record for record in records):
        raise StudioError(
            phrase("The model does not predict tags, and .conll files hold nothing else."),
            phrase("Choose another suffix, or a token classification model."),
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

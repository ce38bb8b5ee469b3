"""What a fine-tuned model says of the rows of a file."""

import csv
import io
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.durable import disk_errors_for, write_file
from engine.errors import StudioError

Model = Annotated[Path, typer.Option(help="A checkpoint folder with a class head.")]
TextColumn = Annotated[str | None, typer.Option(help="Column of the text; recognised without it.")]
PairColumn = Annotated[str | None, typer.Option(help="Column of the second text.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the label.")]
MaxLength = Annotated[int, typer.Option(help="Longer inputs are cut to this many word pieces.")]
BatchSize = Annotated[int, typer.Option(help="Rows at a time.")]


def predict(
    file: Annotated[Path, typer.Argument(help="A file with a column of texts.")],
    model: Model,
    out: Annotated[Path, typer.Option(help="Where the rows go: .csv, .tsv or .jsonl.")],
    text: TextColumn = None,
    pair: PairColumn = None,
    max_length: MaxLength = 512,
    batch: BatchSize = 32,
) -> None:
    """Write the class of every row, with the probability of each class."""
    from engine.cli.rows import read_rows
    from engine.tasks.predicting import Predictor

    if out.suffix not in WRITERS:
        raise StudioError(
            f"{out.name} has none of the endings {', '.join(WRITERS)}.", "Choose one of them."
        )
    rows = read_rows(file, text, pair, None)
    predictor = Predictor(model, max_length, batch)
    shares = predictor.probabilities(rows.texts, rows.pairs)  # [rows, C]
    records = []
    for number, chances in enumerate(shares):
        record: dict[str, Any] = {"text": rows.texts[number]}
        if rows.pairs:
            record["pair"] = rows.pairs[number]
        best = int(chances.argmax())
        record["label"] = predictor.labels[best]
        record["probability"] = round(float(chances[best]), 6)
        for label, chance in zip(predictor.labels, chances, strict=True):
            record[f"p({label})"] = round(float(chance), 6)
        records.append(record)
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
    max_length: MaxLength = 512,
    batch: BatchSize = 32,
) -> None:
    """Compare a model's classes with the labels of a file."""
    from engine.cli.rows import read_rows
    from engine.tasks.predicting import Predictor

    rows = read_rows(file, text, pair, label, labelled=True)
    report = Predictor(model, max_length, batch).judge(rows)
    if as_json:
        print(json.dumps(report.to_json(), ensure_ascii=False))
        return
    print(f"accuracy {report.accuracy:.4f} ({report.correct} of {report.examples})")
    print(f"macro F1 {report.f1_macro:.4f}, loss {report.loss:.4f}")
    for one in report.classes:
        print(
            f"{one.label}: precision {one.precision:.4f}, recall {one.recall:.4f}, "
            f"F1 {one.f1:.4f}, {one.support} rows"
        )


def _table(records: list[dict[str, Any]], delimiter: str) -> str:
    out = io.StringIO(newline="")
    if records:
        writer = csv.DictWriter(out, list(records[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(records)
    return out.getvalue()


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


WRITERS = {
    ".csv": lambda records: _table(records, ","),
    ".tsv": lambda records: _table(records, "\t"),
    ".jsonl": _lines,
}

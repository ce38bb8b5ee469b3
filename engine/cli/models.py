"""Predictions of a fine-tuned model for the rows of a file, and its evaluation on them."""

import json
from collections.abc import Callable, Container
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from engine.atomic_write import disk_errors_for, write_file
from engine.cli.loading import remark_loading
from engine.cli.options import Encoding, with_options
from engine.cli.rows import COLUMNS, INPUT_COLUMNS, read_rows, read_table
from engine.data.formats.conll import EMPTY, NO_BREAK_SPACE
from engine.errors import StudioError
from engine.phrases import phrase
from engine.spreadsheet import table_text
from engine.terminal import remark, say, say_json

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
            "built-in texts (every probability within 5 % of itself and within 0.01)."
        )
    ),
]


def predict(
    file: Annotated[Path, typer.Argument(help="A file with a column of texts.")],
    model: Model,
    out: Annotated[Path, typer.Option(help="Output file: .csv, .tsv, .jsonl or .conll.")],
    encoding: Encoding = None,
    max_length: MaxLength = 512,
    batch_size: BatchSize = 32,
    precision: HowPrecise = "exact",
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help=(
                "CSV and TSV: write cells as they are. Without it, an apostrophe stands before a "
                "cell that a spreadsheet would run as a formula."
            ),
        ),
    ] = False,
    **given: Any,
) -> None:
    """Write every row of a file with all its columns and what a fine-tuned model predicts.

    A column of the prediction whose name the file already has begins with “predicted_”.
    """
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
    table = read_table(file, INPUT_COLUMNS.given(given), False, encoding)
    predictor = Predictor(model, max_length, batch_size, precision == "exact")
    remark_loading(predictor.loading)
    _print_precision(predictor.computed, precision)
    predictions = [_rounded(one) for one in predictor.predict(table.rows)]
    records = _records(table.cells, predictions)
    with disk_errors_for(out):
        write_file(out, WRITERS[out.suffix](records, predictions, raw).encode("utf-8"), shared=True)
    say(f"{len(records)} rows written to {out}")


def evaluate(
    file: Annotated[Path, typer.Argument(help="A file with texts and labels.")],
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    encoding: Encoding = None,
    max_length: MaxLength = 512,
    batch_size: BatchSize = 32,
    precision: HowPrecise = "exact",
    **given: Any,
) -> None:
    """Evaluate a fine-tuned model on the labelled rows of a file."""
    from engine.tasks.predicting import Predictor

    rows = read_rows(file, COLUMNS.given(given), encoding)
    predictor = Predictor(model, max_length, batch_size, precision == "exact")
    remark_loading(predictor.loading)
    _print_precision(predictor.computed, precision)
    report = predictor.evaluate(rows)
    if as_json:
        say_json(report.to_json() | {"loading": predictor.loading.besides()})
        return
    say(*report.lines())


predict_command = with_options(predict, INPUT_COLUMNS.parameters())
evaluate_command = with_options(evaluate, COLUMNS.parameters())


def _print_precision(computed: str, precision: str) -> None:
    """Beside the predictions, in which numbers they were computed where that was left open."""
    if precision == "exact":
        return
    if computed == "float32":
        remark("Computed in fp32: nothing faster agrees with it on this machine.")
    else:
        remark(f"Computed in {computed}, which agrees with fp32 on built-in texts.")


def _records(
    cells: dict[str, list[str]], predictions: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Every row with all its columns, and its prediction behind them."""
    parts = dict.fromkeys(part for one in predictions for part in one)
    names = {part: _free(part, cells) for part in parts}
    return [
        {name: column[number] for name, column in cells.items()}
        | {names[part]: value for part, value in one.items()}
        for number, one in enumerate(predictions)
    ]


def _free(name: str, taken: Container[str]) -> str:
    """The name of a column of the prediction that no column of the file has."""
    while name in taken:
        name = f"predicted_{name}"
    return name


def _rounded(value: Any) -> Any:
    """Six digits behind the point, also inside of what holds numbers."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return value


def _table(records: list[dict[str, Any]], delimiter: str, raw: bool) -> str:
    header = list(dict.fromkeys(name for one in records for name in one))
    rows = ([_cell(one.get(name)) for name in header] for one in records)
    return table_text(header, rows, delimiter, raw)


def _cell(value: Any) -> Any:
    """What holds several things as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _conll(predictions: list[dict[str, Any]]) -> str:
    """A word and its tag in each line, and an empty line between sentences.

    White space in a word becomes a no-break space, and a word of nothing “_”.

    Raises StudioError where the predictions are not of a token classification model.
    """
    if not all("tags" in one for one in predictions):
        raise StudioError(
            phrase("The model does not predict tags, and .conll files hold nothing else."),
            phrase("Choose another suffix, or a token classification model."),
        )
    sentences = [
        [
            f"{NO_BREAK_SPACE.join(word.split()) or EMPTY}\t{tag}\n"
            for word, tag in zip(one["words"], one["tags"], strict=True)
        ]
        for one in predictions
    ]
    return "\n".join("".join(lines) for lines in sentences if lines)


Writer = Callable[[list[dict[str, Any]], list[dict[str, Any]], bool], str]
WRITERS: dict[str, Writer] = {  # from records, what in them was predicted, and whether to be raw
    ".csv": lambda records, _, raw: _table(records, ",", raw),
    ".tsv": lambda records, _, raw: _table(records, "\t", raw),
    ".jsonl": lambda records, *_: _lines(records),
    ".conll": lambda _, predictions, __: _conll(predictions),
}

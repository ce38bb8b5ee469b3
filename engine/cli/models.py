"""The evaluation of a fine-tuned model on the rows of a file."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from engine.cli.loading import remark_loading
from engine.cli.options import Encoding, with_options
from engine.cli.rows import COLUMNS, read_rows
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
    print_precision(predictor.computed, precision)
    report = predictor.evaluate(rows)
    if as_json:
        say_json(report.to_json() | {"loading": predictor.loading.besides()})
        return
    say(*report.lines())


evaluate_command = with_options(evaluate, COLUMNS.parameters())


def print_precision(computed: str, precision: str) -> None:
    """Beside the predictions, in which numbers they were computed where that was left open."""
    if precision == "exact":
        return
    if computed == "float32":
        remark("Computed in fp32: nothing faster agrees with it on this machine.")
    else:
        remark(f"Computed in {computed}, which agrees with fp32 on built-in texts.")

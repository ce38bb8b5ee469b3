"""Options of the commands that use a fine-tuned model."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from engine.system.terminal import echo_error

Model = Annotated[Path, typer.Option(help="A fine-tuned checkpoint folder.")]
MaxLength = Annotated[
    int, typer.Option(min=8, help="Max. length: longer inputs are truncated to this many tokens.")
]
BatchSize = Annotated[int, typer.Option(min=1, help="Batch size: rows computed at once.")]
HowPrecise = Annotated[
    Literal["exact", "fast"],
    typer.Option(
        help=(
            "exact: fp32. fast: bf16 or int8 where that is faster on this machine and agrees on "
            "built-in texts (every probability within 5 % of itself and within 0.01)."
        )
    ),
]


def print_precision(computed: str, precision: str) -> None:
    """Report the precision of the predictions if it was chosen automatically."""
    if precision == "exact":
        return
    if computed == "float32":
        echo_error("Computed in fp32: nothing faster agrees with it on this machine.")
    else:
        echo_error(f"Computed in {computed}, which agrees with fp32 on built-in texts.")

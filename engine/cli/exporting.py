"""Write a checkpoint in another form."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from engine.errors import StudioError
from engine.messages.exporting import Export
from engine.phrases import phrase
from engine.spec.export import Precision


class FormName(StrEnum):
    """In which form a checkpoint is written."""

    hf = "hf"
    tf1 = "tf1"
    onnx = "onnx"


class Half(StrEnum):
    """How the weights are stored, where not as float32."""

    float16 = "float16"
    bfloat16 = "bfloat16"


def export(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    to: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
    form: Annotated[
        FormName,
        typer.Option(
            help=(
                "hf: the Hugging Face layout with safetensors; tf1: Google's TensorFlow 1 files; "
                "onnx: a graph for programs without torch."
            )
        ),
    ] = FormName.hf,
    dtype: Annotated[
        Half | None, typer.Option(help="Store the weights in two bytes each; form hf.")
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Store the weights in one byte each; form onnx.")
    ] = False,
    texts: Annotated[
        Path | None,
        typer.Option(help="Try the export on the first rows of this file, too."),
    ] = None,
) -> None:
    """Write a checkpoint in another form, load it again in a clean process, and compare.

    The folder appears only when the export says what the model says; a report lies in it.
    """
    if dtype is not None and int8:
        raise StudioError(
            phrase("The weights can be stored as --dtype says or with --int8, and not both."),
            phrase("Leave one of them out."),
        )
    precision: Precision = "int8" if int8 else "float32" if dtype is None else dtype.value
    from engine.export.exporting import export as carry_out
    from engine.export.report import TEXT

    done = carry_out(
        Export(
            checkpoint=checkpoint.absolute(),
            into=to.absolute(),
            form=form.value,
            precision=precision,
            texts=None if texts is None else texts.absolute(),
        ),
        tell=lambda working: print(f"{working.stage} …", file=sys.stderr),
    )
    for one in done.report.comparisons:
        print(one.sentence())
    print(f"{done.bytes / 1e6:.1f} MB written to {done.folder}; see {TEXT} in it.")

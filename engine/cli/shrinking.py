"""Train smaller models that copy a run, and compare them with it."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.naming import find_checkpoints
from engine.cli.options import AsJson, Run
from engine.cli.progress import ProgressLine
from engine.config.tasks import metric_text
from engine.desktop.awake import awake_while_training
from engine.files.home import Home
from engine.messages.explore.text import PRECISIONS
from engine.messages.question import Working
from engine.messages.shrinking import Shrink, ShrinkPoint, Shrunk
from engine.results.students import students_folder
from engine.system.terminal import echo, echo_json


def shrink(
    run: Run,
    into: Annotated[
        Path | None,
        typer.Option(
            help=(
                "A folder for the smaller models; if it has some already, the search continues. "
                "Default: in the run."
            )
        ),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, max=100, help="Number of smaller models.")] = 8,
    student: Annotated[
        list[Path] | None,
        typer.Option(
            help="Another model that learns from the run, such as MiniLM; may be repeated.",
            callback=find_checkpoints,
        ),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(help="A file of further texts, without labels, to learn from."),
    ] = None,
    epochs: Annotated[
        float | None,
        typer.Option(min=0.01, help="Epochs of each. Default: recommended for its size."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the smaller models. Default: of the run.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a fine-tuned model smaller: one search, measured against it on its validation rows.

    The smaller models have fewer layers, heads, neurons and tokens, and learn the outputs of the
    run instead of labels. Each is also measured in reduced precision.
    """
    from engine.shrinking.bench import shrink as search

    question = Shrink(
        run=run.absolute(),
        into=(into or students_folder(run)).absolute(),
        trials=trials,
        students=tuple(path.absolute() for path in student or ()),
        texts=None if texts is None else texts.absolute(),
        epochs=epochs,
        seed=seed,
    )
    with ProgressLine(sys.stderr) as line, awake_while_training(Home().settings):

        def emit(answer: Working | Shrunk) -> None:
            if isinstance(answer, Working):
                of = f": {answer.done:,} of {answer.total:,}" if answer.total else ""
                line.draw(f"{answer.stage}{of}")

        shrunk = search(question, emit)
    if as_json:
        frontier = [shrunk.points.index(point) for point in shrunk.frontier()]
        echo_json(shrunk.model_dump(mode="json") | {"frontier": frontier})
        return
    echo(*_lines(shrunk))


def _lines(shrunk: Shrunk) -> Iterator[str]:
    """A line for each point, the quickest first; those of the frontier are marked."""
    text = partial(metric_text, shrunk.metric)
    chosen = shrunk.frontier()
    for point in sorted(shrunk.points, key=lambda point: point.milliseconds):
        yield (
            f"{'*' if point in chosen else ' '} {point.milliseconds:8.3f} ms  "
            f"{point.times:5.1f} × ({point.slowest:.1f} to {point.fastest:.1f})  "
            f"{point.bytes / 1e6:6.1f} MB  {shrunk.metric} {text(point.score)} "
            f"(95 % interval {text(point.low)} to {text(point.high)})  {_name(point)}"
        )
    yield f"*: no other is as fast and better. {shrunk.rows:,} validation rows."
    students = [point for point in (*shrunk.points, *chosen) if not point.is_teacher]
    if students:
        yield f"Export it, verified: bert-studio export {students[-1].checkpoint} --to FOLDER"


def _name(point: ShrinkPoint) -> str:
    return f"{point.name}, {PRECISIONS[point.computed]}"

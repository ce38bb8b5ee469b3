"""`bert-studio tour`: train, predict, fill a mask, and plot a head."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.progress import ProgressLine
from engine.cli.recommending import apply_recommended
from engine.config.dataset import FileData, Split
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.tasks.text_classification import TextClassification
from engine.config.training import TrainingSpec
from engine.data.datasets.rows import Rows
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from engine.files import shipped
from engine.files.atomic_write import write_file
from engine.files.home import Home, free_folder
from engine.messages.events import Ended, Event, Measured, Saved
from engine.messages.explore.fill_mask import FillMask
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.system.terminal import echo, echo_error

SENTENCE = "The president of the United [MASK] lives in Washington."
PASSAGES = (
    "The violins take up the melody. A slow movement in a minor key follows.",
    "They hunt at night and sleep in hollow trees. The young leave the nest in early summer.",
)


def tour(
    into: Annotated[Path | None, typer.Option(help="New folder for the results.")] = None,
) -> int:
    """Fine-tune MiniLM on the sample, predict, fill a mask, save two charts."""
    home = Home()
    if into is None:
        home.make()
    folder = into.absolute() if into else free_folder(home.runs, "tour")
    echo(f"1 of 4  Fine-tune MiniLM on {shipped.sample_data().name}: what is a passage about?")
    run, curves, best = _train(folder)

    echo("2 of 4  Predict two new passages:")
    from engine.tasks.predicting import Predictor

    predictor = Predictor(best)
    for text, predicted in zip(PASSAGES, predictor.predict(Rows(list(PASSAGES))), strict=True):
        echo(f"        {predicted['label']} ({100 * predicted['probability']:.0f} %)  {text}")

    echo(f"3 of 4  Fill a mask: {SENTENCE}")
    from engine.explore.attention import weights
    from engine.explore.fill_mask import fill_mask
    from engine.explore.pictures import attention_svg, curve_svg
    from engine.models import checkpoint

    starter = checkpoint.load(shipped.starter_model())
    answer = fill_mask(starter, FillMask(checkpoint=shipped.starter_model(), text=SENTENCE, top=5))
    predictions = ", ".join(
        f"{x.label} {100 * x.probability:.0f} %" for x in answer.predictions[0].ranked
    )
    echo(f"        {predictions}")

    echo("4 of 4  Charts:")
    tokens, array = weights(starter, SENTENCE, None)
    layer = array.shape[0] - 1
    title = f"Starter model, layer {layer + 1}, head 1: each row attends to the columns"
    head = attention_svg(title, [token.text for token in tokens], array[layer, 0])
    for name, picture in (
        ("attention.svg", head),
        ("loss.svg", curve_svg("Loss of the fine-tuning run", curves)),
    ):
        write_file(run.path / name, picture.encode("utf-8"))
        echo(f"        {run.path / name}")
    echo(f"The run is in {run.path}; its best checkpoint is {best.name}.")
    echo("More: bert-studio --help (job, train, resume, check, predict, evaluate, fill, attention)")
    return 0


def _train(folder: Path) -> tuple[RunFolder, dict[str, list[tuple[int, float]]], Path]:
    from engine.worker.train import main as work

    recognition = recognise(shipped.sample_data())
    job = JobSpec(
        name="Tour: topics of passages",
        task=TextClassification(),
        base_model=FromCheckpoint(path=shipped.default_base_model(pretrains=False)),
        data=FileData(
            path=shipped.sample_data(),
            reading=recognition.reading,
            mapping=recognition.mapping,
            split=Split(test=shipped.SAMPLE_TEST),
        ),
        training=TrainingSpec.model_validate(shipped.FIRST_TRAINING),
    )
    run = RunFolder.create(folder, apply_recommended(job, fixed=shipped.FIRST_TRAINING))
    curves: dict[str, list[tuple[int, float]]] = {"training": [], "validation": []}
    names = {"loss": "training", "validation_loss": "validation"}
    best: list[str] = []
    problem: list[Ended] = []

    with ProgressLine(sys.stdout, run) as line:

        def on_event(event: Event) -> None:
            if not isinstance(event, Ended):
                line.on_event(event)
            match event:
                case Measured(name=name, step=step, value=float(value)) if name in names:
                    curves[names[name]].append((step, value))
                case Saved(best=True, folder=saved):
                    best.append(saved)
                case Ended(outcome="failed" | "stopped"):
                    problem.append(event)

        code = work(run.path, on_event)
    if problem and problem[0].bug:
        echo_error(f"bert-studio: {problem[0].problem} {problem[0].advice}")
        raise typer.Exit(code)
    if problem:
        raise StudioError(
            problem[0].problem or phrase("The tour was stopped."),
            problem[0].advice or phrase("Resume with: bert-studio resume {path}", path=run.path),
        )
    return run, curves, run.path / best[-1]

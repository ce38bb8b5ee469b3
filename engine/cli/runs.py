"""Finished and unfinished runs: what they keep, whether they can be repeated, and branches."""

import math
import shutil
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pydantic import ValidationError

from engine.atomic_write import sha256
from engine.cli.jobs import Assignments, assign
from engine.errors import StudioError
from engine.messages.batch import Target
from engine.messages.events import Measured
from engine.phrases import phrase
from engine.runs.branching import branch as make_branch
from engine.runs.folder import RunFolder, step_of
from engine.runs.reproducibility import WEIGHTS, Certificate, certificate, damages
from engine.runs.retention import check_removal, kept_checkpoints
from engine.spec.changes import changes
from engine.spec.job import JobSpec
from engine.validation import describe_validation

Folder = Annotated[Path, typer.Argument(help="The run folder.")]
DIFFERENT = 1


def certify(folder: Folder) -> int:
    """Check every file of a run's checkpoints, and print what decided its weights."""
    run = RunFolder(folder.absolute())
    run.job()
    for line in certificate_lines(certificate(run)):
        print(line)
    wrong = damages(run)
    count = len(run.checkpoint_folders())
    print(f"files: {count} checkpoints, " + ("all as saved" if not wrong else "damaged"))
    for sentence in wrong:
        print(f"  {sentence}")
    return DIFFERENT if wrong else 0


def certificate_lines(found: Certificate) -> list[str]:
    """A certificate in words."""
    lines = [f"{name}: {value}" for name, value in found.conditions.items()]
    if found.branched is not None:
        lines.append(found.branched.sentence())
    for stretch in found.stretches:
        how = f"not bit for bit: {', '.join(stretch.differences)}" if stretch.differences else ""
        begins = f"went on from step {stretch.first}, {how or 'bit for bit'}"
        what = begins if stretch.first else "began"
        upto = f"up to step {stretch.last}" if stretch.counts else "nothing of it is in the weights"
        lines.append(f"{stretch.at:%Y-%m-%d %H:%M:%S}: {what}; {upto}")
    state = "finished" if found.is_finished else "not finished"
    lines.append(f"step: {found.step} of {found.steps}, {state}")
    for what, peak in (("memory", found.memory), ("GPU memory", found.device_memory)):
        if peak:
            lines.append(f"{what}: at most {peak / 1e6:,.0f} MB")
    lines.append(f"weights: {found.weights or 'not written down'}")
    lines.append(f"optimiser: {found.optimiser or 'not written down'}")
    lines.append("repeatable: " + ("no" if found.obstacles else "yes, under these conditions"))
    return lines + [f"  {obstacle}" for obstacle in found.obstacles]


def compare(
    first: Annotated[Path, typer.Argument(help="A run folder.")],
    second: Annotated[Path, typer.Argument(help="Another run folder.")],
) -> int:
    """Say whether two runs had the same job and have the same weights, or where they differ."""
    runs = RunFolder(first.absolute()), RunFolder(second.absolute())
    different = changes(runs[0].job(), runs[1].job())
    print("job: " + ("the same" if not different else "different"))
    for change in different:
        print(f"  {change.path}: {change.old} | {change.new}")
    here, there = (certificate(run).conditions for run in runs)
    unlike = [
        n for n in (*here, *(n for n in there if n not in here)) if here.get(n) != there.get(n)
    ]
    print("conditions: " + ("the same" if not unlike else "different"))
    for name in unlike:
        print(f"  {name}: {here.get(name, 'unknown')} | {there.get(name, 'unknown')}")
    step = _first_other_loss(*runs)
    print("losses: " + ("the same" if step is None else f"different from step {step} on"))
    same = _compare_weights(*runs)
    return 0 if same else DIFFERENT


def branch(
    folder: Folder,
    step: Annotated[int, typer.Option(help="The step of the checkpoint to begin with.")],
    into: Annotated[Path, typer.Option(help="The run folder to make.")],
    name: Annotated[str | None, typer.Option(help="Name of the new run.")] = None,
    assignments: Assignments = [],  # noqa: B006 (Typer copies it)
) -> None:
    """Make a new run that goes on from a checkpoint of another one; `resume` then trains it."""
    source = RunFolder(folder.absolute())
    raw = source.job().model_dump(mode="json")
    raw["name"] = name or f"{raw['name']}, from step {step}"[:200]
    for assignment in assignments:
        assign(raw, assignment)
    try:
        job = JobSpec.model_validate(raw)
    except ValidationError as error:
        raise describe_validation(error, "The job of the branch") from error
    made = make_branch(source, step, job, into.absolute())
    for change in changes(source.job(), job):
        print(change.sentence())
    print(made.path)


def checkpoints(
    folder: Folder,
    delete: Annotated[
        int | None, typer.Option(help="Delete the checkpoint of this step for good.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also where the run could then not go on.")
    ] = False,
) -> None:
    """List the checkpoints of a run: step, size, and why each is kept."""
    run = RunFolder(folder.absolute())
    run.job()
    if delete is not None:
        lost = check_removal(run, delete)
        if lost and not anyway:
            raise StudioError(lost, phrase("Say --anyway if you are sure."))
        shutil.rmtree(run.checkpoint(delete))
    total = 0
    for kept in kept_checkpoints(run):
        total += kept.bytes
        print(f"step {kept.step}: {kept.bytes / 1e6:.1f} MB, {', '.join(kept.reasons) or 'kept'}")
    print(f"all: {total / 1e6:.1f} MB")


def _first_other_loss(first: RunFolder, second: RunFolder) -> int | None:
    """The first step at which the losses of two runs are not the same; None: there is none."""
    here, there = _losses(first), _losses(second)
    return next((s for s in sorted(here.keys() & there.keys()) if here[s] != there[s]), None)


def _losses(run: RunFolder) -> dict[int, tuple[float | None, str]]:
    """The last word on the loss of each step."""
    found: dict[int, tuple[float | None, str]] = {}
    byte, before = 0, -1
    while byte != before:
        before = byte
        events, byte = run.events_after(byte)
        found |= {
            e.step: (e.value, e.status)
            for e in events
            if isinstance(e, Measured) and e.name == "loss"
        }
    return found


def _compare_weights(first: RunFolder, second: RunFolder) -> bool:
    """Whether the last checkpoints hold the same weights, and if not, where they differ."""
    folders = [run.checkpoint_folders()[-1:] for run in (first, second)]
    if not all(folders):
        print("weights: not compared, because one of the runs has no checkpoint")
        return False
    here, there = (folder[0] for folder in folders)
    steps = f"of step {step_of(here)}" + (
        "" if step_of(here) == step_of(there) else f" and of step {step_of(there)}"
    )
    if sha256(here / WEIGHTS) == sha256(there / WEIGHTS):
        print(f"weights {steps}: the same, bit for bit")
        return True
    from safetensors import safe_open

    with safe_open(here / WEIGHTS, "np") as one, safe_open(there / WEIGHTS, "np") as other:
        names, known = list(one.keys()), set(other.keys())
        missing = sorted(set(names) ^ known)
        if missing:
            print(f"weights {steps}: different tensors ({', '.join(missing[:4])})")
            return False
        gaps = {name: _gap(one.get_tensor(name), other.get_tensor(name)) for name in names}
    unlike = [name for name in names if gaps[name] != 0]
    if not unlike:
        print(f"weights {steps}: the same, bit for bit (the files differ in form)")
        return True
    greatest = max(unlike, key=lambda name: gaps[name])
    print(
        f"weights {steps}: {len(unlike)} of {len(names)} tensors differ, first {unlike[0]}; the "
        f"greatest difference is {gaps[greatest]:.3g}, in {greatest}"
    )
    return False


def _gap(here: np.ndarray, there: np.ndarray) -> float:
    """The greatest difference; infinite where the shapes differ."""
    if here.shape != there.shape:
        return math.inf
    return float(np.abs(here.astype(np.float64) - there.astype(np.float64)).max(initial=0))


def batch(
    folder: Folder,
    step: Annotated[
        int | None, typer.Option(help="Counts from 1; without it: the last one taken.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a run's network is given in a step: ids, masks, pairs, padding, and what is wanted.

    In the text, “[MASK]=word” was hidden, “other=word” is another piece in its place, “word=word”
    is asked for though it is shown, and “word/LABEL” wants a label.
    """
    from engine.training.batch_preview import BatchPreview

    run = RunFolder(folder.absolute())
    run.job()
    shown = BatchPreview().show(run, step or _last_step(run))
    if as_json:
        print(shown.model_dump_json(exclude={"to", "kind"}))
        return
    print(f"step {shown.step} of {shown.steps}: {len(shown.rows)} inputs")
    for number, row in enumerate(shown.rows, start=1):
        asked = {one.position: one for one in row.targets}
        words = [
            piece + (_asked_in_words(asked[place]) if place in asked else "")
            for place, piece in enumerate(row.tokens[: row.length])
        ]
        padding = len(row.tokens) - row.length
        print(f"\n{number}. {row.wanted}".rstrip())
        print(" ".join(words) + (f" and {padding} x {row.tokens[-1]}" if padding else ""))


def _asked_in_words(one: Target) -> str:
    return f"/{one.wanted}" if one.shown_as == "label" else f"={one.wanted}"


def _last_step(run: RunFolder) -> int:
    """The last step that a run has told of; 1 where there is none."""
    losses = [e.step for e in run.last_words() if isinstance(e, Measured) and e.name == "loss"]
    return max(losses, default=1)

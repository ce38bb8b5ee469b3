"""Check if a run can be reproduced, and compare two runs."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from engine.config.changes import changes
from engine.files.atomic_write import sha256
from engine.files.regular_file import check_regular
from engine.messages.events import Measured
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.reproducibility import (
    WEIGHTS,
    Reproducibility,
    damaged_checkpoints,
    read_reproducibility,
)
from engine.system.terminal import echo

DIFFERENT = 1  # exit code


def reproducibility(folder: Annotated[Path, typer.Argument(help="The run folder.")]) -> int:
    """Verify the checkpoints of a run, and print the environment and checksums of its weights."""
    run = RunFolder(folder.absolute())
    run.job()
    for line in report_lines(read_reproducibility(run)):
        echo(line)
    wrong = damaged_checkpoints(run)
    count = len(run.checkpoint_folders())
    echo(f"files: {count} checkpoints, " + ("all checksums match" if not wrong else "damaged"))
    for sentence in wrong:
        echo(f"  {sentence}")
    return DIFFERENT if wrong else 0


def report_lines(report: Reproducibility) -> list[str]:
    lines = [f"{name}: {value}" for name, value in report.environment.items()]
    if report.branched is not None:
        lines.append(report.branched.sentence())
    for session in report.sessions:
        how = f"not bit for bit: {', '.join(session.differences)}" if session.differences else ""
        resumed = f"resumed from step {session.first}, {how or 'bit for bit'}"
        began = resumed if session.first else "started"
        upto = f"up to step {session.last}" if session.counts else "no checkpoint saved"
        lines.append(f"{session.at:%Y-%m-%d %H:%M:%S}: {began}; {upto}")
    state = "finished" if report.is_finished else "not finished"
    lines.append(f"step: {report.step} of {report.steps}, {state}")
    for title, peak in (("memory", report.memory), ("GPU memory", report.device_memory)):
        if peak:
            lines.append(f"peak {title}: {peak / 1e6:,.0f} MB")
    lines.append(f"weights: {report.weights or 'not recorded'}")
    lines.append(f"optimiser: {report.optimiser or 'not recorded'}")
    lines.append("reproducible: " + ("no" if report.obstacles else "yes, in this environment"))
    return lines + [f"  {obstacle}" for obstacle in report.obstacles]


def compare(
    first: Annotated[Path, typer.Argument(help="A run folder.")],
    second: Annotated[Path, typer.Argument(help="Another run folder.")],
) -> int:
    """Compare two runs: their jobs, environments, losses and weights."""
    runs = RunFolder(first.absolute()), RunFolder(second.absolute())
    different = changes(runs[0].job(), runs[1].job())
    echo("job: " + ("the same" if not different else "different"))
    for change in different:
        echo(f"  {change.path}: {change.old} | {change.new}")
    a, b = (read_reproducibility(run).environment for run in runs)
    unlike = [n for n in (*a, *(n for n in b if n not in a)) if a.get(n) != b.get(n)]
    echo("environment: " + ("the same" if not unlike else "different"))
    for name in unlike:
        echo(f"  {name}: {a.get(name, 'unknown')} | {b.get(name, 'unknown')}")
    losses, others = _losses(runs[0]), _losses(runs[1])
    both = sorted(losses.keys() & others.keys())
    step = next((step for step in both if losses[step] != others[step]), None)
    echo("losses: " + ("the same" if step is None else f"different from step {step} on"))
    same = _compare_weights(*runs)
    return 0 if same else DIFFERENT


def _losses(run: RunFolder) -> dict[int, tuple[float | None, str]]:
    return {
        event.step: (event.value, event.status)
        for event in run.all_events()
        if isinstance(event, Measured) and event.name == "loss"
    }


def _compare_weights(first: RunFolder, second: RunFolder) -> bool:
    folders = [run.checkpoint_folders()[-1:] for run in (first, second)]
    if not all(folders):
        echo("weights: not compared, because one of the runs has no checkpoint")
        return False
    a, b = (folder[0] for folder in folders)
    steps = f"of step {checkpoint_step(a)}" + (
        "" if checkpoint_step(a) == checkpoint_step(b) else f" and of step {checkpoint_step(b)}"
    )
    if sha256(a / WEIGHTS) == sha256(b / WEIGHTS):
        echo(f"weights {steps}: the same, bit for bit")
        return True
    from safetensors import safe_open

    with (
        safe_open(check_regular(a / WEIGHTS), "np") as a_file,
        safe_open(check_regular(b / WEIGHTS), "np") as b_file,
    ):
        names, known = list(a_file.keys()), set(b_file.keys())
        missing = sorted(set(names) ^ known)
        if missing:
            echo(f"weights {steps}: different tensors ({', '.join(missing[:4])})")
            return False
        gaps = {name: _gap(a_file.get_tensor(name), b_file.get_tensor(name)) for name in names}
    unlike = [name for name in names if gaps[name] != 0]
    if not unlike:
        echo(f"weights {steps}: the same, bit for bit (the files differ in form)")
        return True
    largest = max(unlike, key=lambda name: gaps[name])
    echo(
        f"weights {steps}: {len(unlike)} of {len(names)} tensors differ, first {unlike[0]}; the "
        f"largest difference is {gaps[largest]:.3g}, in {largest}"
    )
    return False


def _gap(here: np.ndarray, there: np.ndarray) -> float:
    if here.shape != there.shape:
        return math.inf
    return float(np.abs(here.astype(np.float64) - there.astype(np.float64)).max(initial=0))

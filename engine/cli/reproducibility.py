"""Check if a run can be reproduced, and compare two runs."""

import math

import numpy as np

from engine.cli.options import Run
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


def reproducibility(folder: Run) -> int:
    """Verify the checkpoints of a run, and print the environment and checksums of its weights."""
    run = RunFolder(folder.absolute())
    run.job()
    for line in report_lines(read_reproducibility(run)):
        echo(line)
    damaged = damaged_checkpoints(run)
    count = len(run.checkpoint_folders())
    echo(f"files: {count} checkpoints, " + ("all checksums match" if not damaged else "damaged"))
    for sentence in damaged:
        echo(f"  {sentence}")
    return DIFFERENT if damaged else 0


def report_lines(report: Reproducibility) -> list[str]:
    lines = [f"{name}: {value}" for name, value in report.environment.items()]
    if report.branched is not None:
        lines.append(report.branched.sentence())
    for session in report.sessions:
        how = f"not bit for bit: {', '.join(session.differences)}" if session.differences else ""
        resumed = f"resumed from step {session.first}, {how or 'bit for bit'}"
        start = resumed if session.first else "started"
        end = f"up to step {session.last}" if session.affects_weights else "no checkpoint saved"
        lines.append(f"{session.at:%Y-%m-%d %H:%M:%S}: {start}; {end}")
    state = "finished" if report.is_finished else "not finished"
    lines.append(f"step: {report.step} of {report.steps}, {state}")
    for title, peak in (("memory", report.memory), ("GPU memory", report.device_memory)):
        if peak:
            lines.append(f"peak {title}: {peak / 1e6:,.0f} MB")
    lines.append(f"weights: {report.weights or 'not recorded'}")
    lines.append(f"optimiser: {report.optimiser or 'not recorded'}")
    lines.append("reproducible: " + ("no" if report.obstacles else "yes, in this environment"))
    return lines + [f"  {obstacle}" for obstacle in report.obstacles]


def compare(first: Run, second: Run) -> int:
    """Compare two runs: their jobs, environments, losses and weights."""
    runs = RunFolder(first.absolute()), RunFolder(second.absolute())
    different = changes(runs[0].job(), runs[1].job())
    echo("job: " + ("the same" if not different else "different"))
    for change in different:
        echo(f"  {change.path}: {change.old} | {change.new}")
    a, b = (read_reproducibility(run).environment for run in runs)
    differing = [n for n in (*a, *(n for n in b if n not in a)) if a.get(n) != b.get(n)]
    echo("environment: " + ("the same" if not differing else "different"))
    for name in differing:
        echo(f"  {name}: {a.get(name, 'unknown')} | {b.get(name, 'unknown')}")
    losses, other_losses = _losses(runs[0]), _losses(runs[1])
    common = sorted(losses.keys() & other_losses.keys())
    step = next((step for step in common if losses[step] != other_losses[step]), None)
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
        names, other_names = list(a_file.keys()), set(b_file.keys())
        missing = sorted(set(names) ^ other_names)
        if missing:
            echo(f"weights {steps}: different tensors ({', '.join(missing[:4])})")
            return False
        gaps = {name: _max_diff(a_file.get_tensor(name), b_file.get_tensor(name)) for name in names}
    differing = [name for name in names if gaps[name] != 0]
    if not differing:
        echo(f"weights {steps}: the same, bit for bit (the files differ in form)")
        return True
    largest = max(differing, key=lambda name: gaps[name])
    echo(
        f"weights {steps}: {len(differing)} of {len(names)} tensors differ, first {differing[0]}; "
        f"the largest difference is {gaps[largest]:.3g}, in {largest}"
    )
    return False


def _max_diff(a: np.ndarray, b: np.ndarray) -> float:
    if a.shape != b.shape:
        return math.inf
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0))

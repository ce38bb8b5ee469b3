"""Retention of checkpoints: which are kept, why, and their size."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.messages.events import Ended
from engine.phrases import phrase
from engine.runs.folder import RunFolder, checkpoint_step


@dataclass(frozen=True)
class RetainedCheckpoint:
    """One checkpoint; `reasons` is empty if a setting or a deletion has removed them."""

    step: int
    folder: Path
    bytes: int
    reasons: tuple[str, ...]  # of “best”, “last” and “every n”


def reasons_to_keep(
    steps: Iterable[int], best_step: int, plan: TrainingSpec
) -> dict[int, tuple[str, ...]]:
    """The steps whose checkpoints are kept, each with its reasons."""
    ordered = sorted(steps)
    result: dict[int, tuple[str, ...]] = {}
    for step in ordered:
        reasons = [
            *(["best"] if step == best_step else []),
            *(["last"] if step in ordered[-plan.keep :] else []),
            *(
                [phrase("every {keep_every}", keep_every=plan.keep_every)]
                if is_milestone(step, plan)
                else []
            ),
        ]
        if reasons:
            result[step] = tuple(reasons)
    return result


def is_milestone(step: int, plan: TrainingSpec) -> bool:
    return plan.keep_every > 0 and step % plan.keep_every == 0


def max_checkpoints(steps: int, save_every: int, plan: TrainingSpec) -> int:
    """Maximum number of checkpoints of a run, while one more is being written."""
    saved = range(save_every, steps + 1, save_every)
    milestones = sum(is_milestone(step, plan) for step in saved[: -plan.keep])
    return min(len(saved) + 1, plan.keep + milestones + 1) + 1


def retained_checkpoints(run: RunFolder) -> list[RetainedCheckpoint]:
    plan, folders = run.job().training, run.checkpoint_folders()
    best = run.best_step()
    reasons = reasons_to_keep(map(checkpoint_step, folders), -1 if best is None else best, plan)
    return [
        RetainedCheckpoint(checkpoint_step(f), f, size(f), reasons.get(checkpoint_step(f), ()))
        for f in folders
    ]


def size(folder: Path) -> int:
    """Bytes of all files below a folder; files that vanish meanwhile count as 0."""
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return total


def check_removal(run: RunFolder, step: int) -> str:
    """Describe what is lost with the checkpoint of a step; empty if nothing depends on it.

    Raises StudioError if there is none, or a worker needs it.
    """
    steps = [checkpoint_step(folder) for folder in run.checkpoint_folders()]
    if step not in steps:
        raise StudioError(
            "{run} has no checkpoint at step {step}.",
            "It has checkpoints at: {steps}.",
            run=run.path.name,
            step=step,
            steps=", ".join(map(str, steps)) or "none",
        )
    is_last = step == steps[-1]
    if is_last and run.has_worker():
        raise StudioError(
            "The run is training, and would resume from the checkpoint at step {step}.",
            "Stop the run first, or wait for its next checkpoint.",
            step=step,
        )
    ended = [event for event in run.milestones() if isinstance(event, Ended)]
    if not is_last or (ended and ended[-1].outcome == "finished"):
        return ""
    if len(steps) == 1:
        return phrase(
            "The run is not finished. Without this checkpoint it starts again from step 0."
        )
    return phrase(
        "The run is not finished. It will resume from step {before} instead of step {step}.",
        before=steps[-2],
        step=step,
    )

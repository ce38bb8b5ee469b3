"""Find the examples that cause a NaN or infinite loss or gradient."""

import math
from dataclasses import dataclass

import numpy as np
import torch

from engine.errors import StudioError
from engine.phrases import join, phrase
from engine.tasks.learner import Batch, Examples, total
from engine.training.device.sharding import full_tensor
from engine.training.optimiser import gradients
from engine.training.training_run import TrainingRun

MAX_CHARACTERS = 80  # per example
MAX_EXAMPLES = 3  # in the message; the details list all


class NotFinite(StudioError):
    """Loss or gradient is NaN or infinite; the weights were not updated."""


@dataclass(frozen=True)
class FailedStep:
    """Input of a failed step; `step` counts from 1, `indices` is int64 [B]."""

    step: int
    examples: Examples
    indices: np.ndarray
    batch: Batch


def not_finite_error(run: TrainingRun, step: FailedStep, what: str, value: float) -> NotFinite:
    """Build the error of a step, naming the examples that cause it on their own.

    `what` is “loss” or “gradient”. Runs a forward and backward pass per example.
    """
    causes = _causes(run, step)
    lines = _describe_examples(run, step, causes or [int(index) for index in step.indices])
    if len(causes) in (0, len(step.indices)):
        sentence = phrase("No single example causes this.")
        if causes:
            sentence = phrase("Each of its {count} examples causes this.", count=len(lines))
        advice = phrase(
            "The last checkpoint is still good. Branch from it, or start a new run, with a lower "
            "learning rate, a longer warm-up or fp32."
        )
    else:
        rest = len(lines) - MAX_EXAMPLES
        more = phrase("; and {count} more", count=rest) if rest > 0 else ""
        shown = join("; ", lines[:MAX_EXAMPLES])
        sentence = phrase(
            "{count} of its {total} examples cause this: {shown}{more}.",
            count=len(lines),
            total=len(step.indices),
            shown=shown,
            more=more,
        )
        advice = phrase(
            "The last checkpoint is still good. Check these examples; if they are fine, use a "
            "lower learning rate or fp32."
        )
    return NotFinite(
        "The {what} is not finite ({value}) at step {step}, so the step was not taken. {sentence}",
        advice,
        f"The {'examples' if causes else 'batch'} of step {step.step}:\n" + "\n".join(lines),
        what=phrase("loss") if what == "loss" else phrase("gradient"),
        value=value,
        step=step.step,
        sentence=sentence,
    )


def _causes(run: TrainingRun, step: FailedStep) -> list[int]:
    """Examples with a non-finite loss or gradient on their own, without dropout."""
    network, machine, causes = run.network, run.machine, []
    network.eval()
    counts = run.setup.data.learner.counts(step.batch)
    for index, example in zip(step.indices, step.batch.parts(1), strict=True):
        network.zero_grad(set_to_none=True)
        with machine.precision():
            losses = run.setup.data.learner.losses
            loss = total(network(losses, example.to(machine.device), counts))
        loss.backward()
        if not (math.isfinite(float(loss.detach())) and math.isfinite(gradient_norm(network))):
            causes.append(int(index))
    network.zero_grad(set_to_none=True)
    return causes


def gradient_norm(network: torch.nn.Module) -> float:
    total_norm = torch.nn.utils.get_total_norm(gradients(network.parameters()))
    return float(full_tensor(total_norm))


def _describe_examples(run: TrainingRun, step: FailedStep, indices: list[int]) -> list[str]:
    """Line or row of each example in the source, and its beginning."""
    data = run.setup.data
    rows = data.learner.rows(data.dataset, "train")
    lines: list[str] = []
    for index in indices:
        row = data.learner.row(step.examples, index)
        if row is None:
            ids = step.examples.tokenized.ids(index * step.examples.inputs_per_example)
            tokens = (data.tokenizer.token(int(id_)) for id_ in ids[: MAX_CHARACTERS // 2])
            text, location = " ".join(tokens), phrase("example {number}", number=index + 1)
        else:
            text = rows.texts[row]
            location = (
                phrase("line {line}", line=rows.lines[row])
                if rows.lines
                else phrase("row {row}", row=row + 1)
            )
        text = " ".join(text.replace(" ##", "").split())
        cut = "…" if len(text) > MAX_CHARACTERS else ""
        beginning = text[:MAX_CHARACTERS] + cut
        lines.append(phrase("{location} (“{beginning}”)", location=location, beginning=beginning))
    return lines

"""Find the examples that cause a NaN or infinite loss or gradient."""

import math
from dataclasses import dataclass

import numpy as np
import torch

from engine.errors import StudioError
from engine.phrases import join, phrase
from engine.tasks.learner import Batch, Examples, total
from engine.training.device.sharding import full_tensor
from engine.training.training_run import TrainingRun

SHOWN_CHARACTERS = 80  # per example
SHOWN_EXAMPLES = 3  # in the message; the details list all


class NotFinite(StudioError):
    """Loss or gradient is NaN or infinite; the weights were not updated."""


@dataclass(frozen=True)
class FailedStep:
    """Input of a failed step; `number` counts from 1, `chosen` is int64 [B]."""

    number: int
    examples: Examples
    chosen: np.ndarray
    batch: Batch


def not_finite(run: TrainingRun, step: FailedStep, what: str, value: float) -> NotFinite:
    """Build the error of a step, naming the examples that cause it on their own.

    `what` is “loss” or “gradient”. Runs a forward and backward pass per example.
    """
    causes = _causes(run, step)
    named = _named(run, step, causes or [int(number) for number in step.chosen])
    if len(causes) in (0, len(step.chosen)):
        sentence = phrase("No single example causes this.")
        if causes:
            sentence = phrase("Each of its {count} examples causes this.", count=len(named))
        advice = phrase(
            "The last checkpoint is still good. Branch from it, or start a new run, with a lower "
            "learning rate, a longer warm-up or fp32."
        )
    else:
        rest = len(named) - SHOWN_EXAMPLES
        more = phrase("; and {count} more", count=rest) if rest > 0 else ""
        shown = join("; ", named[:SHOWN_EXAMPLES])
        sentence = phrase(
            "{count} of its {total} examples cause this: {shown}{more}.",
            count=len(named),
            total=len(step.chosen),
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
        f"The {'examples' if causes else 'batch'} of step {step.number}:\n" + "\n".join(named),
        what=phrase("loss") if what == "loss" else phrase("gradient"),
        value=value,
        step=step.number,
        sentence=sentence,
    )


def _causes(run: TrainingRun, step: FailedStep) -> list[int]:
    """Examples with a non-finite loss or gradient on their own, without dropout."""
    network, machine, rows = run.network, run.machine, []
    network.eval()
    counts = run.setup.data.learner.counts(step.batch)
    for number, example in zip(step.chosen, step.batch.parts(1), strict=True):
        network.zero_grad(set_to_none=True)
        with machine.precision():
            losses = run.setup.data.learner.losses
            loss = total(network(losses, example.to(machine.device), counts))
        loss.backward()
        if not (math.isfinite(float(loss.detach())) and math.isfinite(gradient_norm(network))):
            rows.append(int(number))
    network.zero_grad(set_to_none=True)
    return rows


def gradient_norm(network: torch.nn.Module) -> float:
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    return float(full_tensor(torch.nn.utils.get_total_norm(gradients)))


def _named(run: TrainingRun, step: FailedStep, numbers: list[int]) -> list[str]:
    """Line or row of each example in the source, and its beginning."""
    data = run.setup.data
    rows = data.learner.rows(data.dataset, "train")
    named: list[str] = []
    for number in numbers:
        row = data.learner.row(step.examples, number)
        if row is None:
            ids = step.examples.tokenized.ids(number * step.examples.inputs_per_example)
            tokens = (data.tokenizer.token(int(id_)) for id_ in ids[: SHOWN_CHARACTERS // 2])
            text, where = " ".join(tokens), phrase("example {number}", number=number + 1)
        else:
            text = rows.texts[row]
            where = (
                phrase("line {line}", line=rows.lines[row])
                if rows.lines
                else phrase("row {row}", row=row + 1)
            )
        text = " ".join(text.replace(" ##", "").split())
        cut = "…" if len(text) > SHOWN_CHARACTERS else ""
        begins = text[:SHOWN_CHARACTERS] + cut
        named.append(phrase("{where} (“{begins}”)", where=where, begins=begins))
    return named

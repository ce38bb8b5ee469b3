"""A step whose loss or gradient is no number is not taken; which examples are to blame."""

import math
from dataclasses import dataclass

import numpy as np
import torch

from engine.errors import StudioError
from engine.phrases import phrase
from engine.tasks.learner import Batch, Examples, total
from engine.training.devices import Machine
from engine.training.preparing import Prepared
from engine.training.sharding import whole

SHOWN = 80  # characters of each example
FEW = 3  # examples in the sentence; all stand in the details


class NotFinite(StudioError):
    """A loss or a gradient is infinite or no number; the weights are those of the step before."""


@dataclass
class Step:
    """What a step was made of; `number` counts from 1, `chosen` are its examples, int64 [B]."""

    number: int
    examples: Examples
    chosen: np.ndarray
    batch: Batch


def not_finite(made: Prepared, machine: Machine, step: Step, what: str, value: float) -> NotFinite:
    """The error of a step, with the examples that give a `what` that is not finite by themselves.

    `what` is “loss” or “gradient”. Takes a forward and a backward pass for each example.
    """
    guilty = _guilty(made, machine, step)
    named = _named(made, step, guilty or [int(number) for number in step.chosen])
    if len(guilty) in (0, len(step.chosen)):
        blame = (
            phrase("Each of its {count} examples", count=len(named))
            if guilty
            else phrase("Only all together its examples")
        )
        sentence = phrase(
            "{blame} give{what} such a {what2}.",
            blame=blame,
            what="s" if guilty else "",
            what2=what,
        )
        advice = phrase(
            "The last checkpoint is still good. Branch from it, or start again, with a lower "
            "learning rate, a longer warm-up or fp32 precision."
        )
    else:
        more = phrase("; and {count} more", count=len(named) - FEW) if len(named) > FEW else ""
        sentence = phrase(
            "Of its {count} examples these do: {named}{more}.",
            count=len(step.chosen),
            named="; ".join(named[:FEW]),
            more=more,
        )
        advice = phrase(
            "The last checkpoint is still good. Look at these examples; where they are sound, a "
            "lower learning rate or fp32 precision helps."
        )
    return NotFinite(
        phrase(
            "The {what} is not finite ({value}) at step {number}; that step was not taken. "
            "{sentence}",
            what=what,
            value=value,
            number=step.number,
            sentence=sentence,
        ),
        advice,
        phrase(
            "The {what} of step {number}:\n",
            what="examples" if guilty else "batch",
            number=step.number,
        )
        + "\n".join(named),
    )


def _guilty(made: Prepared, machine: Machine, step: Step) -> list[int]:
    """Which examples alone give a loss or a gradient that is not finite; without dropout."""
    network, found = made.network, []
    network.eval()
    for number, one in zip(step.chosen, step.batch.parts(1), strict=True):
        network.zero_grad(set_to_none=True)
        with machine.precision():
            loss = total(network(made.learner.losses, one.to(machine.device), step.batch))
        loss.backward()
        if not (math.isfinite(float(loss.detach())) and math.isfinite(gradient_length(network))):
            found.append(int(number))
    network.zero_grad(set_to_none=True)
    return found


def gradient_length(network: torch.nn.Module) -> float:
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    return float(whole(torch.nn.utils.get_total_norm(gradients)))


def _named(made: Prepared, step: Step, numbers: list[int]) -> list[str]:
    """Where each example stands in the source, and how it begins."""
    rows = made.learner.rows(made.dataset, "train")
    named = []
    for number in numbers:
        row = made.learner.row(step.examples, number)
        if row is None:
            ids = step.examples.packed.ids(number * step.examples.endings)
            text = " ".join(made.tokenizer.piece(int(id_)) for id_ in ids[: SHOWN // 2])
            where = phrase("example {number}", number=number + 1)
        else:
            text = rows.texts[row]
            where = (
                phrase("line {lines}", lines=rows.lines[row])
                if rows.lines
                else phrase("row {row}", row=row + 1)
            )
        text = " ".join(text.replace(" ##", "").split())
        named.append(f"{where} (“{text[:SHOWN]}{'…' if len(text) > SHOWN else ''}”)")
    return named

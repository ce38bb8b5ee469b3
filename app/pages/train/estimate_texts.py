"""What a measured step says of the time, the memory and the disk that a job needs."""

from typing import Literal

from PySide6.QtCore import QCoreApplication

from app.widgets.text import numbers
from app.widgets.text.spec_texts import value_text
from engine.messages.estimating import Estimated

translate = QCoreApplication.translate

Verdict = Literal["fits", "tight", "too big"]
TIGHT_SHARE = 0.75  # of the memory that is free


def verdict(estimate: Estimated) -> Verdict:
    """Whether the memory of this machine is enough."""
    share = estimate.memory / max(1, estimate.available)
    return "fits" if share <= TIGHT_SHARE else "tight" if share <= 1 else "too big"


def verdict_word(estimate: Estimated) -> str:
    """The verdict in a word or two."""
    titles = {
        "fits": translate("Train", "fits"),
        "tight": translate("Train", "tight"),
        "too big": translate("Train", "too large"),
    }
    return titles[verdict(estimate)]


def verdict_sentence(estimate: Estimated) -> str:
    """The verdict, and how long it takes."""
    sentences = {
        "fits": translate("Train", "Fits in memory. Takes about {0}."),
        "tight": translate("Train", "Barely fits in memory. Takes about {0}."),
        "too big": translate("Train", "Does not fit in memory. Would take about {0}."),
    }
    said = sentences[verdict(estimate)].format(numbers.duration(estimate.seconds))
    if estimate.runs == 1:
        return said
    return translate("Train", "{0} ({1} runs together)").format(said, numbers.count(estimate.runs))


def estimate_text(estimate: Estimated) -> str:
    """Steps, memory, size, device and disk."""
    template = translate(
        "Train",
        "{steps} steps at {pace} each. Memory: {memory} of {available} free."
        " {parameters} parameters on {device}.",
    )
    text = template.format(
        steps=numbers.count(estimate.steps),
        pace=pace(estimate.seconds_per_step),
        memory=numbers.size(estimate.memory),
        available=numbers.size(estimate.available),
        parameters=numbers.short(estimate.parameters),
        device=_device(estimate),
    )
    return f"{text} {disk_text(estimate)}".strip()


def disk_text(estimate: Estimated) -> str:
    """What checkpoints, snapshots and cached vectors take on the disk; nothing where that is not
    known."""
    if not estimate.checkpoint:
        return ""
    parts = [
        translate("Train", "{0} checkpoints of {1}").format(
            numbers.count(estimate.checkpoints), numbers.size(estimate.checkpoint)
        )
    ]
    if estimate.snapshots:
        parts.append(
            translate("Train", "{0} snapshots of {1}").format(
                numbers.count(estimate.snapshots), numbers.size(estimate.snapshot)
            )
        )
    if estimate.cache:
        parts.append(translate("Train", "a cache of {0}").format(numbers.size(estimate.cache)))
    return translate("Train", "Needs up to {total} of disk ({parts}).").format(
        total=numbers.size(estimate.disk), parts=", ".join(parts)
    )


def pace(seconds: float) -> str:
    """The time of one step, also where it is short."""
    if seconds < 1:
        return translate("Train", "{0} ms").format(max(1, round(1000 * seconds)))
    if seconds < 10:
        return translate("Train", "{0} s").format(numbers.decimal(seconds, 1))
    return numbers.duration(seconds)


def _device(estimate: Estimated) -> str:
    threads = translate("Train", "%n thread(s)", "", estimate.threads) if estimate.threads else ""
    device = value_text(estimate.device)
    return ", ".join(part for part in (device, estimate.precision, threads) if part)

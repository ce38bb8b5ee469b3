"""What the user should know before starting; none of it forbids the start."""

from PySide6.QtCore import QCoreApplication

from app.pages.train.choices import Choices
from app.pages.train.estimate_texts import verdict
from app.pages.train.fit import label_rows
from app.widgets.text import numbers
from engine.data.lengths import Lengths
from engine.messages.estimating import Estimated

translate = QCoreApplication.translate

FEW_EXAMPLES = 50  # of one label
LONG_TRAINING = 12 * 3600  # s


def warnings(
    choices: Choices, lengths: Lengths | None = None, estimate: Estimated | None = None
) -> list[str]:
    """What is doubtful about the data, the model, and the time and memory."""
    return [
        *_of_data(choices),
        *_of_lengths(choices, lengths),
        *_of_model(choices),
        *(_of_estimate(estimate) if estimate else []),
    ]


def _of_data(choices: Choices) -> list[str]:
    spec = choices.data.spec if choices.data else None
    found = []
    if spec is not None and not spec.rows.get("validation"):
        found.append(
            translate(
                "Train",
                "The data set has no validation rows, so the best checkpoint cannot be chosen.",
            )
        )
    rare = [label for label, rows in label_rows(choices).items() if rows < FEW_EXAMPLES]
    if rare:
        shown = ", ".join(f"“{label}”" for label in rare[:3]) + (", …" if rare[3:] else "")
        found.append(
            translate(
                "Train", "Few rows have the label {labels}, so expect poor predictions for it."
            ).format(labels=shown)
        )
    return found


def _of_lengths(choices: Choices, lengths: Lengths | None) -> list[str]:
    cut = lengths.fraction_above(choices.training.max_length) if lengths else 0
    if cut <= 0.01 or not choices.task.info.cuts_long_texts:
        return []
    template = translate(
        "Train", "About {share} % of the inputs are longer than {longest} tokens and are truncated."
    )
    return [template.format(share=round(100 * cut), longest=choices.training.max_length)]


def _of_model(choices: Choices) -> list[str]:
    info = choices.model.info if choices.model else None
    if choices.continues and info is not None and "mlm" not in info.task_heads:
        return [
            translate(
                "Train",
                "The model has no head for masked language modelling (MLM); a new one is trained.",
            )
        ]
    return []


def _of_estimate(estimate: Estimated) -> list[str]:
    return [text for text in (_of_memory(estimate), _of_disk(estimate), _of_time(estimate)) if text]


def _of_memory(estimate: Estimated) -> str:
    match verdict(estimate):
        case "too big":
            return translate(
                "Train",
                "This needs more memory than is free and will probably fail."
                " Reduce the micro-batch size or the max. length.",
            )
        case "tight":
            return translate(
                "Train", "This needs nearly all of the free memory. Close other programs."
            )
    return ""


def _of_disk(estimate: Estimated) -> str:
    wanted = estimate.disk
    if estimate.disk_free is None or wanted <= estimate.disk_free:
        return ""
    return translate(
        "Train",
        "Its checkpoints, snapshots and caches need up to {wanted}, but only {free} are free on"
        " this disk. Training pauses when the disk is full. Keep fewer checkpoints, or free some"
        " space.",
    ).format(wanted=numbers.size(wanted), free=numbers.size(estimate.disk_free))


def _of_time(estimate: Estimated) -> str:
    if estimate.seconds <= LONG_TRAINING:
        return ""
    return translate(
        "Train",
        "This takes a long time. Training continues when the window is closed, and can be"
        " stopped and resumed at any time.",
    )

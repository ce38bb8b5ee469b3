"""The settings of every task, fixed before any run and read by both sides.

One rate, decay, warm-up and clip for all: 3e-4 is the highest of the four rates that Turc et al.
(2019) give for networks of this size, which learn little at the rates of larger ones. The rest is
that of Devlin et al. (2019, appendix A.2 and A.3). Epochs and rows are such that a run takes some
minutes on one thread. Nothing was chosen by a score.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEEDS = (1, 2, 3)

# Questions, as in run_squad.py of the paper's code
STRIDE = 128  # tokens between the beginnings of two windows
MAX_QUESTION = 64  # tokens
MAX_ANSWER = 30  # tokens
BEST = 20  # starts and ends that are tried in each window
NULL_THRESHOLD = 0.0  # no answer if its score exceeds the best answer's by more


@dataclass(frozen=True)
class Setting:
    """One task. The last weights of a run are evaluated; no row of `evaluated` is seen before."""

    kind: str  # as the engine names it
    train: str  # a file of the folder that prepare.py makes
    evaluated: dict[str, str]  # what its figures begin with, and the file
    figures: tuple[str, ...]  # those that the table shows; the first is what a task is known by
    epochs: int
    max_length: int  # tokens
    batch: int = 32
    learning_rate: float = 3e-4
    warmup: float = 0.1  # share of the steps, in a line from 0; then in a line down to 0
    weight_decay: float = 0.01  # of AdamW, of all weights but biases and layer norms
    clip: float = 1.0  # longest gradient


def _setting(
    kind: str, name: str, figures: str, epochs: int, max_length: int, **more: Any
) -> Setting:
    """A task that is trained on NAME-train.* and evaluated on NAME-test.*."""
    suffix = {
        "token_classification": "conll",
        "multiple_choice": "csv",
        "question_answering": "json",
    }.get(kind, "tsv")
    evaluated = {"": f"{name}-test.{suffix}"} | more.pop("also", {})
    train = f"{name}-train.{suffix}"
    return Setting(kind, train, evaluated, tuple(figures.split()), epochs, max_length, **more)


_CLASSES, _QUESTIONS = "text_classification", "question_answering"
_STSB = {"also": {"dev_": "stsb-dev.tsv"}}
_STSB_FIGURES = "pearson spearman dev_pearson dev_spearman"
TASKS: dict[str, Setting] = {
    "sst2": _setting(_CLASSES, "sst2", "accuracy", 2, 64),
    "trec-qc": _setting(_CLASSES, "trec-qc", "accuracy", 4, 64),
    "subj": _setting(_CLASSES, "subj", "accuracy", 3, 64),
    "mrpc": _setting(_CLASSES, "mrpc", "accuracy f1", 4, 128, batch=16),
    "stsb": _setting("regression", "stsb", _STSB_FIGURES, 4, 128, **_STSB),
    "wnut17": _setting("token_classification", "wnut17", "f1 precision recall", 6, 256, batch=16),
    "codah": _setting("multiple_choice", "codah", "accuracy", 4, 64, batch=16),
    "squad1-devhalf": _setting(_QUESTIONS, "squad1-devhalf", "f1 exact_match", 3, 384, batch=16),
    "squad2-devhalf": _setting(
        _QUESTIONS, "squad2-devhalf", "f1 exact_match has_answer_f1", 2, 384, batch=16
    ),
}


def data_folder(work: Path) -> Path:
    """Data files of a work folder."""
    return work / "data"


def results_file(work: Path) -> Path:
    """A JSON object in each line: side, task, seed, setting, data, figures, seconds."""
    return work / "results.jsonl"

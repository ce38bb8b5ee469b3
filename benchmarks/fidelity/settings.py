"""The settings of every task, fixed before any run and read by both sides.

One rate, decay, warm-up and clip for all: 3e-4 is the highest of the four rates that Turc et al.
(2019) give for networks of this size, which learn little at the rates of larger ones. The rest is
that of Devlin et al. (2019, appendix A.2 and A.3). Epochs and rows are such that a run takes some
minutes on one thread. Nothing was chosen by a score.
"""

from dataclasses import dataclass
from pathlib import Path

SEEDS = (1, 2, 3)

# Questions, as in run_squad.py of the paper's code
STRIDE = 128  # tokens between the beginnings of two windows
LONGEST_QUESTION = 64  # tokens
LONGEST_ANSWER = 30  # tokens
BEST = 20  # starts and ends that are tried in each window
NULL_THRESHOLD = 0.0  # no answer, where its score is higher than the best answer's by more


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


TASKS: dict[str, Setting] = {
    "sst2": Setting(
        kind="text_classification",
        train="sst2-train.tsv",
        evaluated={"": "sst2-test.tsv"},
        figures=("accuracy",),
        epochs=2,
        max_length=64,
    ),
    "trec-qc": Setting(
        kind="text_classification",
        train="trec-qc-train.tsv",
        evaluated={"": "trec-qc-test.tsv"},
        figures=("accuracy",),
        epochs=4,
        max_length=64,
    ),
    "subj": Setting(
        kind="text_classification",
        train="subj-train.tsv",
        evaluated={"": "subj-test.tsv"},
        figures=("accuracy",),
        epochs=3,
        max_length=64,
    ),
    "mrpc": Setting(
        kind="text_classification",
        train="mrpc-train.tsv",
        evaluated={"": "mrpc-test.tsv"},
        figures=("accuracy", "f1"),
        epochs=4,
        max_length=128,
        batch=16,
    ),
    "stsb": Setting(
        kind="regression",
        train="stsb-train.tsv",
        evaluated={"": "stsb-test.tsv", "dev_": "stsb-dev.tsv"},
        figures=("pearson", "spearman", "dev_pearson", "dev_spearman"),
        epochs=4,
        max_length=128,
    ),
    "wnut17": Setting(
        kind="token_classification",
        train="wnut17-train.conll",
        evaluated={"": "wnut17-test.conll"},
        figures=("f1", "precision", "recall"),
        epochs=6,
        max_length=256,
        batch=16,
    ),
    "codah": Setting(
        kind="multiple_choice",
        train="codah-train.csv",
        evaluated={"": "codah-test.csv"},
        figures=("accuracy",),
        epochs=4,
        max_length=64,
        batch=16,
    ),
    "squad1-devhalf": Setting(
        kind="question_answering",
        train="squad1-devhalf-train.json",
        evaluated={"": "squad1-devhalf-test.json"},
        figures=("f1", "exact_match"),
        epochs=3,
        max_length=384,
        batch=16,
    ),
    "squad2-devhalf": Setting(
        kind="question_answering",
        train="squad2-devhalf-train.json",
        evaluated={"": "squad2-devhalf-test.json"},
        figures=("f1", "exact_match", "has_answer_f1"),
        epochs=2,
        max_length=384,
        batch=16,
    ),
}


def data_folder(work: Path) -> Path:
    """Where the files of a work folder lie."""
    return work / "data"


def results_file(work: Path) -> Path:
    """A JSON object in each line: side, task, seed, setting, data, figures, seconds."""
    return work / "results.jsonl"

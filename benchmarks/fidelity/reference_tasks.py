"""Tasks of the reference: models, examples and figures of transformers."""

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from scipy.stats import pearsonr, spearmanr
from seqeval import metrics as tag_metrics
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor
from transformers import (
    AutoModelForMultipleChoice,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    BatchEncoding,
    DataCollatorForTokenClassification,
)

from benchmarks.fidelity.settings import Setting

EVALUATION_BATCH = 64
Example = dict[str, Any]


class ReferenceTask(ABC):
    """A transformers model with the head of a task, and its training examples."""

    model: torch.nn.Module
    examples: list[Example]

    def __init__(self, checkpoint: Path, setting: Setting, train: Path) -> None:
        self.setting = setting
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.start(checkpoint, train)

    @abstractmethod
    def start(self, checkpoint: Path, train: Path) -> None:
        """Make `model` from a checkpoint, with a fresh head, and `examples` from a file."""

    @abstractmethod
    def evaluate(self, path: Path) -> dict[str, float]:
        """Scores of the model on a file."""

    def collate(self, examples: list[Example]) -> dict[str, Tensor]:
        """A batch, padded to the longest of its examples."""
        return dict(self.tokenizer.pad(examples, return_tensors="pt"))

    def outputs(self, examples: list[Example]) -> Iterator[Any]:
        """Model outputs batch by batch, in order."""
        for first in range(0, len(examples), EVALUATION_BATCH):
            yield self.model(**self.collate(examples[first : first + EVALUATION_BATCH]))


Row = dict[str, str]


class Classes(ReferenceTask):
    """Cross-entropy; the labels are the training rows', sorted."""

    def start(self, checkpoint: Path, train: Path) -> None:
        rows = _rows(train)
        self.labels = sorted({row["label"] for row in rows})
        self.model = AutoModelForSequenceClassification.from_pretrained(
            checkpoint, num_labels=len(self.labels)
        )
        self.examples = self.read(train)

    def read(self, path: Path) -> list[Example]:
        """Examples of a file, with the labels of the training rows."""
        return [self._example(row, self.target(row)) for row in _rows(path)]

    def target(self, row: Row) -> float:
        """The target of a row."""
        return self.labels.index(row["label"])

    def evaluate(self, path: Path) -> dict[str, float]:
        rows = _rows(path)
        true = [self.labels.index(row["label"]) for row in rows]
        predicted = self.logits(rows).argmax(dim=-1).tolist()
        figures = {
            "accuracy": accuracy_score(true, predicted),
            "f1_macro": f1_score(true, predicted, average="macro"),
        }
        if len(self.labels) == 2:
            figures["f1"] = f1_score(true, predicted)  # of the second label
        return figures

    def logits(self, rows: list[Row]) -> Tensor:
        """float32 [rows, classes]"""
        return torch.cat([out.logits for out in self.outputs([self._example(r) for r in rows])])

    def _example(self, row: Row, label: float | None = None) -> Example:
        encoded: dict[str, Any] = self.tokenizer(
            row["text"], row.get("pair"), truncation=True, max_length=self.setting.max_length
        )
        return dict(encoded) if label is None else {**encoded, "labels": label}


class Scores(Classes):
    """Mean squared error."""

    def start(self, checkpoint: Path, train: Path) -> None:
        self.model = AutoModelForSequenceClassification.from_pretrained(
            checkpoint, num_labels=1, problem_type="regression"
        )
        self.examples = self.read(train)

    def target(self, row: Row) -> float:
        return float(row["score"])

    def evaluate(self, path: Path) -> dict[str, float]:
        rows = _rows(path)
        true = [float(row["score"]) for row in rows]
        predicted = self.logits(rows)[:, 0].tolist()
        return {
            "pearson": float(pearsonr(predicted, true).statistic),
            "spearman": float(spearmanr(predicted, true).statistic),
        }


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


ENDINGS = 4


class Choices(ReferenceTask):
    """The context with each ending is a pair; cross-entropy over their scores."""

    def start(self, checkpoint: Path, train: Path) -> None:
        self.model = AutoModelForMultipleChoice.from_pretrained(checkpoint)
        self.examples = self._read(train)

    def evaluate(self, path: Path) -> dict[str, float]:
        examples = self._read(path)
        predicted = torch.cat([out.logits for out in self.outputs(examples)]).argmax(dim=-1)
        true = torch.tensor([example["labels"] for example in examples])
        return {"accuracy": float((predicted == true).double().mean())}

    def collate(self, examples: list[Example]) -> dict[str, Tensor]:
        """Inputs are int64 [B, endings, T]."""
        flat = [pair for example in examples for pair in example["pairs"]]
        padded = self.tokenizer.pad(flat, return_tensors="pt")
        labels = torch.tensor([example["labels"] for example in examples])
        shaped = {key: rows.unflatten(0, (len(examples), -1)) for key, rows in padded.items()}
        return {**shaped, "labels": labels}

    def _read(self, path: Path) -> list[Example]:
        with path.open(encoding="utf-8", newline="") as file:
            return [self._example(row) for row in csv.DictReader(file)]

    def _example(self, row: dict[str, str]) -> Example:
        endings = [row[f"ending{number}"] for number in range(ENDINGS)]
        longest = self.setting.max_length
        return {
            "pairs": [
                dict(self.tokenizer(row["sent1"], ending, truncation=True, max_length=longest))
                for ending in endings
            ],
            "labels": int(row["label"]),
        }


NO_TAG = -100  # ignored by cross-entropy
OUTSIDE = "O"
Sentence = tuple[list[str], list[str]]  # words and tags


class Tags(ReferenceTask):
    """Cross-entropy over first tokens; the tags are those of all rows, sorted."""

    def start(self, checkpoint: Path, train: Path) -> None:
        files = [train, *(train.parent / name for name in self.setting.evaluated.values())]
        sentences = [sentence for file in files for sentence in _sentences(file)]
        self.tags = sorted({tag for _, tags in sentences for tag in tags})
        self.model = AutoModelForTokenClassification.from_pretrained(
            checkpoint, num_labels=len(self.tags)
        )
        self._collate = DataCollatorForTokenClassification(self.tokenizer)
        self.examples = self.read(train)

    def read(self, path: Path) -> list[Example]:
        """Examples of a file, with the tags of the training rows."""
        return [self._example(words, tags) for words, tags in _sentences(path)]

    def collate(self, examples: list[Example]) -> dict[str, Tensor]:
        batch: dict[str, Tensor] = self._collate(examples)
        return batch

    def evaluate(self, path: Path) -> dict[str, float]:
        sentences = _sentences(path)
        by_token = [
            row
            for out in self.outputs([dict(self._encode(words)) for words, _ in sentences])
            for row in out.logits.argmax(dim=-1).tolist()
        ]
        true = [tags for _, tags in sentences]
        predicted = [
            self._of_words(words, r) for (words, _), r in zip(sentences, by_token, strict=True)
        ]
        return {
            "f1": tag_metrics.f1_score(true, predicted),
            "precision": tag_metrics.precision_score(true, predicted),
            "recall": tag_metrics.recall_score(true, predicted),
        }

    def _of_words(self, words: list[str], row: list[int]) -> list[str]:
        """Tag of each word: its first token's, or O if truncated."""
        tags = [OUTSIDE] * len(words)
        for index, word in _first_tokens(self._encode(words).word_ids()):
            tags[word] = self.tags[row[index]]
        return tags

    def _example(self, words: list[str], tags: list[str]) -> Example:
        encoded = self._encode(words)
        labels = [NO_TAG] * len(encoded["input_ids"])
        for index, word in _first_tokens(encoded.word_ids()):
            labels[index] = self.tags.index(tags[word])
        return {**encoded, "labels": labels}

    def _encode(self, words: list[str]) -> BatchEncoding:
        longest = self.setting.max_length
        encoded: BatchEncoding = self.tokenizer(
            words, is_split_into_words=True, truncation=True, max_length=longest
        )
        return encoded


def _first_tokens(words: list[int | None]) -> list[tuple[int, int]]:
    """(token, word) indices of the first token of each word."""
    return [
        (index, word)
        for index, word in enumerate(words)
        if word is not None and word != words[index - 1]
    ]


def _sentences(path: Path) -> list[Sentence]:
    blocks = path.read_text(encoding="utf-8").strip("\n").split("\n\n")
    rows = [[line.split("\t") for line in block.strip("\n").split("\n")] for block in blocks]
    return [([word for word, _ in cells], [tag for _, tag in cells]) for cells in rows]

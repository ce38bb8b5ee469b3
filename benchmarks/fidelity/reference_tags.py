"""A tag for each word, learned at its first token."""

from pathlib import Path

from seqeval.metrics import f1_score, precision_score, recall_score
from torch import Tensor
from transformers import (
    AutoModelForTokenClassification,
    BatchEncoding,
    DataCollatorForTokenClassification,
)

from benchmarks.fidelity.reference_task import Example, ReferenceTask

NO_TAG = -100  # what cross-entropy leaves out
OUTSIDE = "O"
Sentence = tuple[list[str], list[str]]  # words and tags


class Tags(ReferenceTask):
    """Cross-entropy over first tokens; the tags are those of the training rows, sorted."""

    def start(self, checkpoint: Path, train: Path) -> None:
        sentences = _sentences(train)
        self.tags = sorted({tag for _, tags in sentences for tag in tags})
        self.model = AutoModelForTokenClassification.from_pretrained(
            checkpoint, num_labels=len(self.tags)
        )
        self._collate = DataCollatorForTokenClassification(self.tokenizer)
        self.examples = [self._example(words, tags) for words, tags in sentences]

    def collate(self, examples: list[Example]) -> dict[str, Tensor]:
        batch: dict[str, Tensor] = self._collate(examples)
        return batch

    def evaluate(self, path: Path) -> dict[str, float]:
        sentences = _sentences(path)
        by_token = [
            row
            for one in self.outputs([dict(self._encode(words)) for words, _ in sentences])
            for row in one.logits.argmax(dim=-1).tolist()
        ]
        true = [tags for _, tags in sentences]
        predicted = [
            self._of_words(words, r) for (words, _), r in zip(sentences, by_token, strict=True)
        ]
        return {
            "f1": f1_score(true, predicted),
            "precision": precision_score(true, predicted),
            "recall": recall_score(true, predicted),
        }

    def _of_words(self, words: list[str], row: list[int]) -> list[str]:
        """The tag of each word: that of its first token, and O where it has none."""
        found = [OUTSIDE] * len(words)
        for place, word in _first_tokens(self._encode(words).word_ids()):
            found[word] = self.tags[row[place]]
        return found

    def _example(self, words: list[str], tags: list[str]) -> Example:
        encoded = self._encode(words)
        labels = [NO_TAG] * len(encoded["input_ids"])
        for place, word in _first_tokens(encoded.word_ids()):
            labels[place] = self.tags.index(tags[word])
        return {**encoded, "labels": labels}

    def _encode(self, words: list[str]) -> BatchEncoding:
        longest = self.setting.max_length
        encoded: BatchEncoding = self.tokenizer(
            words, is_split_into_words=True, truncation=True, max_length=longest
        )
        return encoded


def _first_tokens(words: list[int | None]) -> list[tuple[int, int]]:
    """The place of the first token of each word, and which word it is."""
    return [
        (place, word)
        for place, word in enumerate(words)
        if word is not None and word != words[place - 1]
    ]


def _sentences(path: Path) -> list[Sentence]:
    blocks = path.read_text(encoding="utf-8").strip("\n").split("\n\n")
    rows = [[line.split("\t") for line in block.strip("\n").split("\n")] for block in blocks]
    return [([word for word, _ in cells], [tag for _, tag in cells]) for cells in rows]

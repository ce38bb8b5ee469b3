"""Some of the training rows of a job, tokenised to learn the lengths of all."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.data.datasets.rows import Rows
from engine.data.datasets.store import StoredTexts
from engine.progress import no_progress
from engine.tasks.learner import Examples
from engine.tasks.rng import SHARE, rng_for
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.training_data import TrainingRows

SAMPLED_ROWS = 1_000
SAMPLED_CHARACTERS = 4_000_000  # at most, where the rows are texts of any length
LONGEST_ROWS = 20  # sampled besides: those with most characters


@dataclass(frozen=True)
class Sample:
    """What is known of the training examples from some of the rows.

    `examples` has first those of a fair sample, as many as `fair`, and then those of the longest
    rows, unless rows are joined and cut.
    """

    lengths: np.ndarray  # int [examples of the job], tokens of each; those of the sample, repeated
    examples: Examples
    fair: int

    def heaviest(self, batches: list[np.ndarray]) -> np.ndarray:
        """The batch with most tokens of these, and in it the longest example of all."""
        batch = max(batches, key=lambda numbers: int(self.lengths[numbers].sum())) % self.fair
        lengths = self.examples.lengths
        longest = int(lengths.argmax())
        if lengths[longest] > lengths[batch].max():
            batch[lengths[batch].argmax()] = longest
        return batch[np.argsort(lengths[batch], kind="stable")]


def sample(read: TrainingRows, tokenizer: Tokenizer, folder: Path) -> Sample:
    """Tokenise some of the rows into `folder`."""
    settings, learner, rows = read.job.training, read.learner, read.rows
    random = rng_for(settings.seed, SHARE)

    def tokenize(some: Rows) -> Examples:
        return learner.tokenize(some, tokenizer, settings.max_length, folder, no_progress)

    if isinstance(rows.texts, StoredTexts):
        texts = _limited(rows.texts.some(SAMPLED_ROWS, random))
        examples = tokenize(Rows(texts))
        count = max(1, round(len(examples) * len(rows) / max(1, len(texts))))
        return Sample(np.resize(examples.lengths, count), examples, len(examples))
    pick = random.permutation(len(rows))[:SAMPLED_ROWS]
    examples = tokenize(rows.take(np.concatenate([pick, _longest(rows)])))
    owners = np.array([learner.row(examples, number) for number in range(len(examples))])
    fair = int((owners < len(pick)).sum())
    count = max(1, round(fair * len(rows) / max(1, len(pick))))
    return Sample(np.resize(examples.lengths[:fair], count), examples, fair)


def _limited(texts: list[str]) -> list[str]:
    """The first texts, as many as are tokenised in a moment; one at least."""
    ends = np.cumsum([len(text) for text in texts])
    return texts[: max(1, int((ends <= SAMPLED_CHARACTERS).sum()))]


def _longest(rows: Rows) -> np.ndarray:
    """The numbers of the rows with most characters."""
    columns = [rows.texts, rows.pairs or (), rows.beginnings or (), rows.negatives or ()]
    sizes = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        sizes[: len(column)] += np.fromiter(map(len, column), np.int64, len(column))
    for place, endings in enumerate(rows.endings or ()):
        sizes[place] += max(map(len, endings))
    return np.argsort(sizes)[-LONGEST_ROWS:]

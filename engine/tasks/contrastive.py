"""Contrastive fine-tuning of a classifier (SetFit: Tunstall et al. 2022).

The network learns from pairs of training rows: the cosine of their vectors shall be 1 if they have
the same label, else 0. The vector of a text is the mean of its last hidden states. A logistic
regression on the vectors of the training rows becomes the linear layer of the classifier. Shapes: B
pairs, T tokens, D hidden size, N training rows, C classes.
"""

from contextlib import nullcontext

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from numpy.typing import NDArray

from engine.config.features import Features
from engine.models.heads import Heads
from engine.models.network import Network
from engine.phrases import phrase
from engine.tasks.baselines import logistic_regression
from engine.tasks.evaluating import Precision, batches_by_length, for_each
from engine.tasks.learner import Batch, Counts, Examples, Losses, pad
from engine.tasks.learner import random_tokens as random_ids
from engine.tasks.text_classification import TextClassificationLearner
from engine.tokenizers.tokenizer import Tokenizer

MEAN_AND_LINEAR = Features(vectors="last", probe="linear", pooling="mean")
ENCODING_BATCH = 32  # rows
NO_ROW = -1e4  # logit of a class without training rows


class ContrastiveLearner(TextClassificationLearner):
    """Learns classes from pairs of rows; `fit_classifier` before each use of the linear layer."""

    term = "pairs"

    @property
    def heads(self) -> Heads:
        return Heads(outputs=len(self.labels), kind=self.task.kind, features=MEAN_AND_LINEAR)

    def training_batch(
        self, examples: Examples, indices: np.ndarray, tokenizer: Tokenizer, rng: Generator
    ) -> Batch:
        """A batch of pairs: `indices` are int64 [2 B], the rows of each pair one after the other.

        Targets are float32 [B], 1 for the same class.
        """
        assert examples.targets is not None
        classes = examples.targets[indices].reshape(-1, 2)
        same = (classes[:, 0] == classes[:, 1]).astype(np.float32)
        return Batch(
            *pad(examples.tokenized, indices, tokenizer.pad),
            targets=torch.from_numpy(same),
            positions=None,
            inputs_per_example=2,
        )

    def dummy_batch(self, count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> Batch:
        tokens = torch.from_numpy(random_ids(2 * count, width, tokenizer, rng))
        targets = torch.from_numpy(rng.integers(0, 2, count).astype(np.float32))
        segments = torch.zeros_like(tokens)
        return Batch(tokens, segments, None, targets, None, inputs_per_example=2)

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        names = [phrase("other label"), phrase("same label")]
        return [text for same in batch.targets.tolist() for text in ("", names[int(same)])]

    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        """The mean squared error of the cosines."""
        counts = counts or self.counts(batch)
        first, second = text_vectors(network, batch).view(batch.size, 2, -1).unbind(1)  # [B, D]
        errors = (F.cosine_similarity(first, second) - batch.targets) ** 2
        return {self.term: errors.sum() / counts[self.term]}

    def counts(self, batch: Batch) -> dict[str, float]:
        return {self.term: batch.size or 1}

    def fit_classifier(
        self,
        network: Network,
        examples: Examples,
        rows: NDArray[np.int64],
        tokenizer: Tokenizer,
        precision: Precision = nullcontext,
    ) -> None:
        """Fit the linear layer on these training rows, int64 [N].

        A logistic regression with C = 1 on vectors divided by their mean length, so that the
        regularisation does not depend on their scale; the length is then part of the weights.
        """
        assert examples.targets is not None and network.probe is not None
        vectors = _encode_rows(network, examples, rows, tokenizer, precision)
        scale = float(np.linalg.norm(vectors, axis=1).mean())
        true = examples.targets[rows]
        weights = None if self._weights is None else self._weights.numpy()[true]
        model = logistic_regression().fit(vectors / scale, true, sample_weight=weights)
        weight, bias = model.coef_ / scale, model.intercept_
        if len(weight) == 1:  # of two classes: half to each
            weight, bias = np.vstack([-weight, weight]) / 2, np.append(-bias, bias) / 2
        dense = network.probe.dense
        with torch.no_grad():
            dense.weight.zero_()
            dense.bias.fill_(NO_ROW)
            dense.weight[model.classes_] = torch.from_numpy(weight).to(dense.weight)
            dense.bias[model.classes_] = torch.from_numpy(bias).to(dense.bias)


def text_vectors(network: Network, batch: Batch) -> torch.Tensor:
    """The vector that the linear layer reads, of each row of a batch, float32."""
    assert network.probe is not None
    hidden = network.encode(batch.tokens, batch.segments, batch.attention_mask).last
    return network.probe.pool(hidden.float(), batch.attention_mask)


def _encode_rows(
    network: Network,
    examples: Examples,
    rows: NDArray[np.int64],
    tokenizer: Tokenizer,
    precision: Precision,
) -> NDArray[np.float64]:
    """The vectors of training rows, float64 [N, D]."""
    vectors = np.zeros((len(rows), network.spec.hidden_size))
    device, was_training = next(network.parameters()).device, network.training

    def encode(positions: np.ndarray) -> None:
        padded = pad(examples.tokenized, rows[positions], tokenizer.pad)
        batch = Batch(*padded, targets=torch.zeros(0), positions=None).to(device)
        vectors[positions] = text_vectors(network, batch).cpu().numpy()

    network.eval()
    batches = batches_by_length(examples.lengths[rows], ENCODING_BATCH)
    for_each(batches, encode, precision, lambda done, total: None, parallel=False)
    network.train(was_training)
    return vectors

"""Masked words and next sentence (Devlin et al. 2019, §3.1 and appendices A.1 and A.2).

Shapes: B sequences, T tokens in each, N predicted tokens, V vocabulary, D width.
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from engine.config.dataset import SplitName
from engine.config.tasks.pretraining import Pretraining
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset
from engine.data.tokenized.dataset import tokenize_stream
from engine.data.tokenized.sentence_pairs import IS_NEXT, NOT_NEXT, tokenize_pairs
from engine.evaluation.pretraining import PretrainingReport, report
from engine.models.encoder import Encoded
from engine.models.heads import Heads
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks.learner import (
    Baseline,
    Batch,
    Counts,
    Examples,
    Learner,
    Losses,
    Metrics,
    Padded,
    pad,
    random_tokens,
    scaled_cross_entropy,
    special_ids,
)
from engine.tasks.token_rows import TokenRows
from engine.tokenizers.tokenizer import Tokenizer

PAIRS_SEED, MASKS_SEED = 11, 12  # pairs and static masks of a data set


class PretrainingLearner(Learner):
    """The loss of masked words, plus the next-sentence loss if enabled."""

    task: Pretraining

    @property
    def heads(self) -> Heads:
        return Heads(mlm=True, nsp=self.task.nsp)

    @property
    def metric_names(self) -> tuple[str, ...]:
        pair_metrics = () if self.task.nsp else ("loss_mlm", "loss_nsp", "nsp_accuracy")
        return tuple(name for name in super().metric_names if name not in pair_metrics)

    @property
    def long_inputs(self) -> tuple[int, float]:
        return self.task.long_length, self.task.long_share

    def rows(self, dataset: Dataset, part: SplitName) -> Rows:
        """Stream the rows while tokenizing: a corpus may not fit into memory."""
        return dataset.stream(part)

    @property
    def tokenization(self) -> str:
        task = self.task
        if not task.nsp:
            return "stream"
        return f"pairs-{task.is_next_ratio}-{task.dupe_factor}"

    def fit_labels(self, rows: Rows) -> None:
        """No-op: plain text has no labels."""

    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> Examples:
        if not self.task.nsp:
            return Examples(
                tokenize_stream(rows.texts, tokenizer, max_length, folder, progress, len(rows))
            )
        is_next_ratio = self.task.is_next_ratio
        return Examples(
            *tokenize_pairs(
                rows.texts,
                tokenizer,
                max_length,
                folder,
                is_next_ratio,
                PAIRS_SEED,
                progress,
                len(rows),
                self.task.dupe_factor,
            )
        )

    def row(self, examples: Examples, index: int) -> None:
        """None: rows are joined and cut into inputs."""

    @torch.no_grad()
    def init_output_bias(self, network: Network, examples: Examples, tokenizer: Tokenizer) -> None:
        """Initialise the decoder bias with log token frequencies.

        A new network then predicts by frequency at step 0. Otherwise it spends its first thousand
        steps learning just that, by shifting all embeddings, which are tied to the decoder, in one
        direction.
        """
        assert network.mlm is not None
        counts = examples.tokenized.counts(tokenizer.size).astype(np.float64)
        excluded = special_ids(tokenizer)
        if self.causal:
            excluded.remove(tokenizer.sep)  # ends of documents are predicted too
        counts[excluded] = 0
        fractions = (counts + 0.5) / (counts + 0.5).sum()
        network.mlm.bias.copy_(torch.from_numpy(np.log(fractions)))

    def batch(
        self, examples: Examples, indices: np.ndarray, tokenizer: Tokenizer, rng: Generator
    ) -> Batch:
        padded = pad(examples.tokenized, indices, tokenizer.pad)
        if self.causal:
            return _next_tokens(padded)
        nsp_targets = None if examples.targets is None else examples.targets[indices]
        if self.task.masking == "dynamic":
            return self._build_batch(
                padded, nsp_targets, *mask_tokens(padded.tokens.numpy(), tokenizer, self.task, rng)
            )
        shown, chosen = padded.tokens.clone().numpy(), np.zeros(padded.tokens.shape, dtype=bool)
        for row, index in enumerate(indices):
            ids = padded.tokens[row : row + 1, : examples.tokenized.lengths[index]]
            row_rng = np.random.default_rng([MASKS_SEED, int(index)])
            region = np.s_[row : row + 1, : ids.size(1)]
            shown[region], chosen[region] = mask_tokens(ids.numpy(), tokenizer, self.task, row_rng)
        return self._build_batch(padded, nsp_targets, shown, chosen)

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        if self.causal:
            return [phrase("each next token")] * len(batch.tokens)
        if batch.nsp_targets is None:
            return super().describe_targets(batch, tokenizer)
        names = {IS_NEXT: phrase("IsNext"), NOT_NEXT: phrase("NotNext")}
        return [names[target] for target in batch.nsp_targets.tolist()]

    def dummy_batch(self, count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> Batch:
        tokens = torch.from_numpy(random_tokens(count, width, tokenizer, rng))
        nsp_targets = rng.integers(0, 2, count) if self.task.nsp else None
        padded = Padded(tokens, torch.zeros_like(tokens), None)
        if self.causal:
            return _next_tokens(padded)
        return self._build_batch(
            padded, nsp_targets, *mask_tokens(tokens.numpy(), tokenizer, self.task, rng)
        )

    def _build_batch(
        self, padded: Padded, nsp_targets: np.ndarray | None, shown: np.ndarray, chosen: np.ndarray
    ) -> Batch:
        positions = torch.from_numpy(np.flatnonzero(chosen))  # [N]
        return Batch(
            torch.from_numpy(shown),
            padded.segments,
            padded.attention_mask,
            targets=padded.tokens.reshape(-1)[positions],
            positions=positions,
            nsp_targets=None if nsp_targets is None else torch.from_numpy(nsp_targets),
        )

    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        assert network.mlm is not None and batch.positions is not None
        counts = counts or self.counts(batch)
        encoded = network.encode(
            batch.tokens, batch.segments, batch.attention_mask, batch.positions, batch.unpadded
        )
        nsp_logits = _nsp_logits(network, batch, encoded)
        term = self._term
        losses = {term: network.mlm.loss(encoded.last, batch.targets, counts[term])}
        if nsp_logits is not None:
            assert batch.nsp_targets is not None
            losses["nsp"] = scaled_cross_entropy(nsp_logits, batch.nsp_targets, counts["nsp"])
        return losses

    def counts(self, batch: Batch) -> dict[str, float]:
        counts: dict[str, float] = {self._term: len(batch.targets) or 1}
        if batch.nsp_targets is not None:
            counts["nsp"] = len(batch.nsp_targets) or 1
        return counts

    @property
    def _term(self) -> str:
        return "clm" if self.causal else "mlm"

    def baselines(self) -> tuple[Baseline, ...]:
        return ()  # `engine.results.masked_tokens` counts instead

    def make_metrics(self, examples: Examples) -> "PretrainingMetrics":
        rows = None if self.causal else TokenRows(examples, self.task.mlm_probability)
        return PretrainingMetrics(rows)


def _next_tokens(padded: Padded) -> Batch:
    """Predict every token but the first, at the position before it."""
    mask = (
        torch.ones_like(padded.tokens, dtype=torch.bool)
        if padded.attention_mask is None
        else padded.attention_mask
    )
    has_next = torch.zeros_like(mask)
    has_next[:, :-1] = mask[:, 1:]
    positions = has_next.reshape(-1).nonzero()[:, 0]  # [N]
    return Batch(*padded, targets=padded.tokens.reshape(-1)[positions + 1], positions=positions)


class PretrainingMetrics(Metrics):
    """Sums over the predicted tokens and sentence pairs.

    `rows` are the predictions of masked tokens; None for a causal model.
    """

    def __init__(self, rows: TokenRows | None) -> None:
        self.rows = rows
        self._sums: dict[int, NDArray[np.float64]] = {}  # [7] of each batch, by its first example

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.indices is not None
        tokens, pair_logits = predicted_logits(network, batch)  # [N, V], [B, 2]
        if self.rows is not None:
            self.rows.add(batch, tokens)
        loss = float(F.cross_entropy(tokens, batch.targets, reduction="sum"))
        best = tokens.topk(min(5, tokens.size(1)), dim=1).indices  # [N, 5]
        hits = best == batch.targets[:, None]
        sums = [len(batch.targets), loss, int(hits[:, 0].sum()), int(hits.any(dim=1).sum())]
        pairs, targets = [0, 0.0, 0], batch.nsp_targets
        if pair_logits is not None:
            assert targets is not None
            loss = float(F.cross_entropy(pair_logits, targets, reduction="sum"))
            pairs = [len(targets), loss, int((pair_logits.argmax(1) == targets).sum())]
        self._sums[int(batch.indices[0])] = np.array([*sums, *pairs])

    def report(self) -> PretrainingReport:
        in_order = (self._sums[first] for first in sorted(self._sums))
        sums = sum(in_order, start=np.zeros(7))
        return report(*sums.tolist())

    def compute(self) -> dict[str, float]:
        return self.report().metrics()


def mask_tokens(
    tokens: np.ndarray, tokenizer: Tokenizer, task: Pretraining, rng: Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose tokens to predict and mask them: 80 % [MASK], 10 % random, 10 % unchanged.

    Of each sequence, round(probability x tokens) are chosen, at least one, as in the paper's code;
    special tokens never are. Whole words are chosen as long as they fit into that number.

    Args:
        tokens: int64 [B, T], of the text.

    Returns:
        int64 [B, T] as the network sees them, and bool [B, T], True for predicted tokens.
    """
    ordinary = ~np.isin(tokens, special_ids(tokenizer))  # [B, T]
    count = ordinary.sum(axis=1, keepdims=True)
    target = np.where(count > 0, np.maximum(1, np.rint(task.mlm_probability * count)), 0)
    if task.whole_word_masking:
        continues = tokenizer.vocabulary.continuation_mask(tokens) & ordinary
        chosen = _whole_words(ordinary, continues, target[:, 0], rng)
    else:
        draw = np.where(ordinary, rng.random(tokens.shape), 2.0)
        rank = draw.argsort(axis=1).argsort(axis=1)  # rank of each token in its row's random order
        chosen = rank < target

    action_draw = rng.random(tokens.shape)
    random_ids = rng.integers(0, tokenizer.size, tokens.shape)
    shown = np.where(chosen & (action_draw < task.mask_token_share), tokenizer.mask, tokens)
    is_random = (
        chosen
        & (action_draw >= task.mask_token_share)
        & (action_draw < task.mask_token_share + task.random_token_share)
    )
    return np.where(is_random, random_ids, shown), chosen


def _whole_words(
    ordinary: np.ndarray, continues: np.ndarray, targets: np.ndarray, rng: Generator
) -> np.ndarray:
    """Choose words in random order as long as they fit; the first one always.

    Args:
        ordinary: bool [B, T], False for special tokens.
        continues: bool [B, T], True for tokens that continue a word.
        targets: float [B], number of tokens.
    """
    chosen = np.zeros_like(ordinary)
    for row, limit in enumerate(targets):
        positions = np.flatnonzero(ordinary[row])
        if not len(positions):
            continue
        starts_word = ~continues[row, positions]
        starts_word[0] = True
        starts_word[1:] |= np.diff(positions) > 1  # special tokens end words
        words = np.split(positions, np.flatnonzero(starts_word)[1:])
        size = 0
        for index in rng.permutation(len(words)):
            word = words[index]
            if not size or size + len(word) <= limit:
                chosen[row, word] = True
                size += len(word)
    return chosen


def predicted_logits(network: Network, batch: Batch) -> tuple[Tensor, Tensor | None]:
    """Logits of the predicted tokens only, float32 [N, V], and of the pairs, float32 [B, 2]."""
    assert network.mlm is not None and batch.positions is not None
    encoded = network.encode(
        batch.tokens, batch.segments, batch.attention_mask, batch.positions, batch.unpadded
    )
    tokens: Tensor = network.mlm(encoded.last)  # [N, V]
    return tokens.float(), _nsp_logits(network, batch, encoded)


def _nsp_logits(network: Network, batch: Batch, encoded: Encoded) -> Tensor | None:
    """Logits of the pairs, float32 [B, 2]; None without pairs."""
    if batch.nsp_targets is None:
        return None
    assert network.nsp is not None
    logits: Tensor = network.nsp(encoded.pooled)
    return logits.float()

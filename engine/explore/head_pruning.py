"""Head pruning: the score of a model with ever fewer heads (Michel et al. 2019, §4), and a copy
without them.

Shapes: L layers, H heads, N texts, K head size, D hidden size.
"""

import math
import time
from collections.abc import Callable

import numpy as np
import torch

from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import load_rows
from engine.errors import StudioError
from engine.explore.ablation import Head, ablate_heads
from engine.explore.head_importance import build_batch, check_loss, score_heads
from engine.explore.over_texts import REPORT_SECONDS, ArrayStore
from engine.explore.text_scores import BATCH, labelled_texts, learner_for_rows
from engine.files.atomic_write import atomic_folder
from engine.messages.explore.text_set import (
    HeadsPruned,
    HeadsRemoved,
    PruneHeads,
    PruningRound,
    RemoveHeads,
    TextSet,
    WeighHeads,
)
from engine.messages.question import Answer
from engine.models.checkpoint import Checkpoint, load, write_copy
from engine.models.encoder import Layer
from engine.models.network import Network
from engine.progress import ProgressCallback
from engine.tasks.evaluating import collect_predictions
from engine.tasks.inputs import max_tokens
from engine.tasks.learner import Learner

MAX_SAMPLE = 128  # evenly spaced texts to compute the importance on
MASKED_ACCURACY = "accuracy"  # on masked tokens, if there is no task head


def prune(
    checkpoint: Checkpoint, question: PruneHeads, emit: Callable[[Answer], object]
) -> HeadsPruned:
    """Remove heads in rounds; `emit` gets the rounds so far. Needs the plain network.

    The score is the selection metric of the task, or, for a model with only an MLM head, the
    accuracy on every seventh token, masked. At least one head remains.

    Raises StudioError as `score_heads` does.
    """
    return _Pruning(checkpoint, question, emit).run()


class _Pruning:
    def __init__(
        self, checkpoint: Checkpoint, question: PruneHeads, emit: Callable[[Answer], object]
    ) -> None:
        if question.head_means is not None:
            raise StudioError(
                "Pruned heads have no output, so their mean cannot replace them.",
                "Choose the ablation by zero.",
            )
        texts = labelled_texts(checkpoint, question.texts)
        question = question.model_copy(update={"texts": texts})
        self.checkpoint, self.question, self._emit = checkpoint, question, emit
        self.rows = load_rows(question.texts)
        self.learner = learner_for_rows(checkpoint, self.rows)
        check_loss(checkpoint, self.learner, self.rows)
        self.metric = MASKED_ACCURACY if self.learner is None else self.learner.best_metric
        self.units = units(checkpoint.network)
        head_count = sum(len(unit) for unit in self.units)
        heads = max(1, round(question.fraction * head_count))
        self.units_per_round = max(1, heads // len(self.units[0]))
        self.sample = _sample(question.texts, len(self.rows))
        self.sample_size = min(len(self.rows), MAX_SAMPLE)
        rounds = math.ceil((len(self.units) - 1) / self.units_per_round)
        self.total = len(self.rows) + rounds * (self.sample_size + len(self.rows))
        self.done = 0.0
        self._reported = time.perf_counter()
        self.rounds: list[PruningRound] = []

    def run(self) -> HeadsPruned:
        store = ArrayStore(self.question)
        for chunk in store.chunks:
            heads = tuple((int(layer), int(head)) for layer, head in chunk["heads"][0])
            self.done += len(self.rows) + (self.sample_size if self.rounds else 0)
            self._add(heads, float(chunk["figure"][0]))
            if not self.is_within_limit:
                return self._answer(True)
        if not self.rounds:
            self._measure(store, self.question.heads_off)
        while self.is_within_limit and (next_heads := self._next_heads()):
            self._measure(store, next_heads)
        return self._answer(True)

    @property
    def removed_heads(self) -> tuple[Head, ...]:
        """All heads removed so far."""
        return tuple(sorted({head for pruning in self.rounds for head in pruning.heads}))

    @property
    def is_within_limit(self) -> bool:
        """True if the last round is within the allowed loss."""
        return self._is_allowed(self.rounds[-1])

    def _is_allowed(self, pruning: PruningRound) -> bool:
        full = self.rounds[0].figure
        if pruning is self.rounds[0]:
            return True
        if pruning.figure is None or full is None:
            return False
        return pruning.figure >= full - self.question.max_fall - 1e-9

    def _next_heads(self) -> tuple[Head, ...]:
        """The heads of the next round; empty if at most one would remain."""
        removed = set(self.removed_heads)
        remaining = [unit for unit in self.units if not removed.issuperset(unit)]
        count = min(self.units_per_round, len(remaining) - 1)
        if count < 1:
            return ()
        question = WeighHeads(
            checkpoint=self.question.checkpoint,
            texts=self.sample,
            cache=self.question.cache,
            heads_off=self.removed_heads,
        )
        before = self.done
        with ablate_heads(self.checkpoint.network, self.removed_heads):
            arrays = score_heads(
                self.checkpoint, question, lambda _, first, done: self._report(before + done)
            )
        importance = arrays["importance"].mean(0)  # [L, H]
        # normalised per layer, as in §4.1
        norms = np.linalg.norm(importance, axis=1, keepdims=True)
        importance = importance / np.maximum(norms, np.finfo(float).tiny)
        remaining.sort(key=lambda unit: (sum(importance[head] for head in unit), unit))
        return tuple(sorted(head for unit in remaining[:count] for head in unit))

    def _measure(self, store: ArrayStore, heads: tuple[Head, ...]) -> None:
        """Measure the score without these heads and the earlier ones."""
        before = self.done

        def progress(done: int, total: int) -> None:
            self._report(before + len(self.rows) * done / max(1, total))

        with ablate_heads(self.checkpoint.network, sorted({*self.removed_heads, *heads})):
            figure = pruned_score(self.checkpoint, self.learner, self.rows, progress)
        store.add(
            {
                "figure": np.array([figure]),
                "heads": np.array(heads, np.int64).reshape(1, len(heads), 2),
            }
        )
        self._add(heads, figure)
        self._report(before + len(self.rows))

    def _add(self, heads: tuple[Head, ...], figure: float) -> None:
        self.rounds.append(
            PruningRound(heads=heads, figure=figure if math.isfinite(figure) else None)
        )

    def _report(self, done: float) -> None:
        self.done, now = done, time.perf_counter()
        if now - self._reported >= REPORT_SECONDS:
            self._reported = now
            self._emit(self._answer(False))

    def _answer(self, is_last: bool) -> HeadsPruned:
        allowed = [pruning for pruning in self.rounds if self._is_allowed(pruning)]
        return HeadsPruned(
            to=self.question.number,
            done=self.total if is_last else min(int(self.done), self.total - 1),
            total=self.total,
            rounds=tuple(self.rounds),
            metric=self.metric,
            pruned=tuple(sorted({head for pruning in allowed for head in pruning.heads})),
        )


def units(network: Network) -> list[tuple[Head, ...]]:
    """Groups of heads that can be removed separately: single heads; if layers share a module, the
    same head of all of them."""
    served: dict[torch.nn.Module, list[int]] = {}
    for layer, module in enumerate(network.encoder.iter_layers()):
        served.setdefault(module, []).append(layer)
    return [
        tuple((layer, head) for layer in layers)
        for layers in served.values()
        for head in range(network.spec.heads)
    ]


def pruned_score(
    checkpoint: Checkpoint,
    learner: Learner | None,
    rows: Rows,
    progress: ProgressCallback = lambda done, total: None,
) -> float:
    """Score of a model on rows; higher is better, NaN if undefined."""
    if learner is None:
        return _masked_accuracy(checkpoint, rows, progress)
    max_length = max_tokens(checkpoint)
    collector = collect_predictions(checkpoint, learner, rows, max_length, BATCH, progress)
    return collector.report().metrics().get(learner.best_metric, math.nan)


@torch.inference_mode()
def _masked_accuracy(checkpoint: Checkpoint, rows: Rows, progress: ProgressCallback) -> float:
    """Accuracy on the masked tokens; the same tokens as for the importance."""
    network, right, count = checkpoint.network, 0, 0
    assert network.mlm is not None
    for index in range(len(rows)):
        batch, _ = build_batch(checkpoint, None, rows.take([index]))
        assert batch.positions is not None
        last = network.encoder(batch.tokens, batch.segments).last[0, batch.positions]
        if len(batch.positions):
            predictions = network.mlm(last)[:, : checkpoint.tokenizer.size].argmax(-1)
            right += int((predictions == batch.targets).sum())
            count += len(batch.positions)
        progress(index + 1, len(rows))
    return right / count if count else math.nan


def _sample(texts: TextSet, count: int) -> TextSet:
    """Evenly spaced texts on which the importance is computed."""
    if count <= MAX_SAMPLE:
        return texts
    rows = texts.rows if texts.rows is not None else range(count)
    chosen = np.linspace(0, count - 1, MAX_SAMPLE).round().astype(int)
    return texts.model_copy(update={"rows": tuple(int(rows[n]) for n in chosen)})


# ── a copy without them ──────────────────────────────────────────────────────────────────────


def remove(question: RemoveHeads) -> HeadsRemoved:
    """Write a checkpoint whose output matrices have zero columns for these heads, atomically.

    It loads wherever the original does, and has the same size.

    Raises StudioError if a head does not exist, or if a module serves several layers and `heads`
    does not have the head in all of them.
    """
    loaded = load(question.checkpoint)
    cut(loaded.network, question.heads)
    with atomic_folder(question.into) as inside:
        write_copy(loaded, question.checkpoint, inside)
    return HeadsRemoved(to=question.number, folder=question.into)


@torch.no_grad()
def cut(network: Network, heads: tuple[Head, ...]) -> None:
    """Zero the columns of these heads in the output matrices. Raises as `remove` does."""
    with ablate_heads(network, heads):  # validates the heads
        pass
    removed, layers = set(heads), list(network.encoder.iter_layers())
    for unit in units(network):
        if not removed.intersection(unit):
            continue
        if not removed.issuperset(unit):
            raise StudioError(
                "Layers of this model share their weights, so a head is in all of them.",
                "Choose head {head} of all layers that share them.",
                head=unit[0][1] + 1,
            )
        layer = layers[unit[0][0]]
        assert isinstance(layer, Layer)
        size = layer.attention.head_size
        layer.attention.output.weight[:, unit[0][1] * size : (unit[0][1] + 1) * size] = 0

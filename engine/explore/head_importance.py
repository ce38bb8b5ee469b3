"""Importance of the heads of a model on many texts (Michel et al. 2019).

Shapes: L layers, H heads, T tokens, D hidden size, K head size, N texts.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.errors import StudioError
from engine.explore.ablation import Change, change_head_outputs, head_means
from engine.explore.over_texts import (
    BATCH_TOKENS,
    Arrays,
    ArrayStore,
    batches,
    compute_texts,
    concatenate,
    group_size,
    write_array,
)
from engine.explore.text_scores import labelled_texts, learner_for_rows, no_labels_error
from engine.messages.explore.text_set import AverageHeads, HeadsWeighed, WeighHeads
from engine.messages.question import Answer, Working
from engine.models.attention import Attention, Layout
from engine.models.checkpoint import Checkpoint
from engine.models.fast.unpadded import UnpaddedBatch
from engine.models.network import Network, Plan
from engine.models.probe import select_layers
from engine.phrases import phrase
from engine.tasks.inputs import encode_text, max_tokens
from engine.tasks.learner import Batch, Learner, total
from engine.tasks.rng import VALIDATION, rng_for

RESAMPLES, SEED = 1_000, 7
MASK_EVERY = 7  # if the model has only an MLM head, one token in seven is masked


def weigh(
    checkpoint: Checkpoint, question: WeighHeads, scratch: Path, emit: Callable[[Answer], object]
) -> HeadsWeighed:
    """Measure the importance of all heads; `emit` gets the means so far. Needs the plain network.

    Raises StudioError as `score_heads` does.
    """
    texts = labelled_texts(checkpoint, question.texts)
    question = question.model_copy(update={"texts": texts})
    total = len(load_rows(texts))
    parts: list[Arrays] = []

    def answer(arrays: Arrays, done: int) -> HeadsWeighed:
        values, columns = summary(arrays)
        return HeadsWeighed(
            to=question.number,
            done=done,
            total=total,
            file=write_array(scratch, values),
            columns=columns,
            loss=float(arrays["loss"].mean()),
        )

    def on_part(arrays: Arrays, first: int, done: int) -> None:
        if not first:
            parts.clear()
        parts.append(arrays)
        if done < total:
            emit(answer(concatenate(parts), done))

    def on_means(done: int) -> None:
        stage = phrase("Computing the means of the heads")
        emit(Working(to=question.number, stage=stage, done=done, total=total))

    return answer(score_heads(checkpoint, question, on_part, on_means), total)


Emit = Callable[[Arrays, int, int], object]  # as in `compute_texts`


def score_heads(
    checkpoint: Checkpoint,
    question: WeighHeads,
    emit: Emit,
    on_means: Callable[[int], object] = lambda done: None,
) -> Arrays:
    """The arrays of `measure_texts`, one row per text.

    Raises StudioError if the texts have no labels for the task, or there is no head to score.
    """
    rows = load_rows(question.texts)
    learner = learner_for_rows(checkpoint, rows)
    check_loss(checkpoint, learner, rows)
    replacement: Tensor | None = None
    if question.each_head and question.replacement == "mean":
        average = AverageHeads(
            checkpoint=question.checkpoint, texts=question.texts, cache=question.cache
        )
        replacement = torch.from_numpy(head_means(checkpoint, average, on_means))

    step = 1 if question.each_head else group_size(typed_pairs(rows))

    def compute(start: int, stop: int) -> Arrays:
        texts = [build_batch(checkpoint, learner, rows.take([n])) for n in range(start, stop)]
        parts = measure_texts(checkpoint.network, texts, question.each_head, replacement)
        return {name: np.stack([arrays[name] for arrays in parts]) for name in parts[0]}

    return compute_texts(ArrayStore(question), len(rows), compute, emit, step)


def check_loss(checkpoint: Checkpoint, learner: Learner | None, rows: Rows) -> None:
    """Raise StudioError if the model has no loss on these rows."""
    if learner is None and checkpoint.network.mlm is None:
        raise StudioError(
            "This model has neither a task head nor an MLM head, so it has no loss.",
            "Choose a fine-tuned model, or one that was pre-trained with MLM.",
        )
    if learner is not None and not learner.can_evaluate(rows):
        raise no_labels_error()


# ── some texts ───────────────────────────────────────────────────────────────────────────────

Loss = Callable[[Network, Batch], Tensor]  # float32 [], mean loss of a batch


def measure_texts(
    network: Network,
    texts: Sequence[tuple[Batch, Loss]],
    each_head: bool,
    replacement: Tensor | None = None,
) -> list[Arrays]:
    """Importance and losses of each text.

    importance: float64 [L, H], |∂L/∂ξ|, with gates ξ = 1 on each head's slice before the output
    matrix (§4.1). loss: float64. off: float64 [L, H], the loss without each head (§3.2), if
    `each_head`; `replacement`, float [L, D], replaces their outputs; None: zero.

    Texts of similar length are batched, since reading the weights takes most of the time.
    """
    results: list[Arrays] = [{} for _ in texts]
    for indices in batches([batch.tokens.numel() for batch, _ in texts]):
        group = [texts[index] for index in indices]
        for index, arrays in zip(indices, _importance(network, group), strict=True):
            results[index] = arrays
    if each_head:
        with torch.inference_mode():
            for arrays, (batch, loss) in zip(results, texts, strict=True):
                arrays["off"] = _ablated_losses(network, batch, loss, replacement)
    return results


def _importance(network: Network, texts: Sequence[tuple[Batch, Loss]]) -> list[Arrays]:
    """The importance and the loss of each text, from one forward and one backward pass."""
    layers, heads = network.spec.layers, network.spec.heads
    inputs = [batch.tokens.shape for batch, _ in texts]
    max_length = max(count for _, count in inputs)

    def stack(parts: Sequence[Tensor]) -> Tensor:
        return torch.cat([F.pad(part, (0, max_length - part.size(1))) for part in parts])  # [B, T]

    tokens = stack([batch.tokens for batch, _ in texts])
    segments = stack([batch.segments for batch, _ in texts])
    masks = [batch.attention_mask for batch, _ in texts]
    attended = stack(
        [
            torch.ones_like(batch.tokens, dtype=torch.bool) if mask is None else mask
            for (batch, _), mask in zip(texts, masks, strict=True)
        ]
    )
    gates = torch.ones(len(texts), layers, heads, requires_grad=True)
    owner = torch.repeat_interleave(torch.tensor([rows for rows, _ in inputs]))  # [B]

    def gate(layer: int, attention: Attention, gathered: Tensor) -> Tensor:
        columns = gates[owner, layer].repeat_interleave(attention.head_size, -1)  # [B, D]
        return gathered * columns[:, None].to(gathered)

    with torch.enable_grad():
        encoder = network.encoder
        with change_head_outputs(network, gate):
            x = encoder.embeddings(tokens, segments)
            layout = encoder.padded_layout(x, None if attended.all() else attended)
            hidden = [x]
            for layer in encoder.iter_layers():
                x, _ = layer(x, layout)
                hidden.append(x)
        losses = list[Tensor]()
        first = 0
        for (batch, loss), (rows, count) in zip(texts, inputs, strict=True):
            text_hidden = [states[first : first + rows, :count] for states in hidden]
            losses.append(_loss_from(network, text_hidden, batch, loss))
            first += rows
        (gradient,) = torch.autograd.grad(torch.stack(losses).sum(), gates)
    return [
        {"importance": slopes.abs().double().numpy(), "loss": np.array(float(value.detach()))}
        for slopes, value in zip(gradient, losses, strict=True)
    ]


def _ablated_losses(
    network: Network, batch: Batch, loss: Loss, replacement: Tensor | None = None
) -> np.ndarray:
    """The loss without each head, float64 [L, H].

    The layers below are computed once, those above for several heads of the layer in one batch.
    """
    layers, heads = network.spec.layers, network.spec.heads
    off = np.zeros((layers, heads))
    encoder, (rows, tokens) = network.encoder, batch.tokens.shape
    is_shared = len(set(encoder.iter_layers())) < layers  # as in ALBERT: the calls are counted
    x = encoder.embeddings(batch.tokens, batch.segments)
    layout = encoder.padded_layout(x, batch.attention_mask)
    layer_inputs = list[Tensor]()  # inputs of each layer
    for layer in encoder.iter_layers():
        layer_inputs.append(x)
        x, _ = layer(x, layout)
    step = max(1, BATCH_TOKENS // (rows * tokens))
    for layer_index in range(layers):
        first = 0 if is_shared else layer_index
        for group in (range(n, min(n + step, heads)) for n in range(0, heads, step)):
            with change_head_outputs(network, _removal(layer_index, group, replacement)):
                if is_shared:
                    encoder.embeddings(batch.tokens, batch.segments)  # resets the counter
                hidden = [states.repeat(len(group), 1, 1) for states in layer_inputs[: first + 1]]
                mask = batch.attention_mask
                mask = None if mask is None else mask.repeat(len(group), 1)
                repeated = encoder.padded_layout(x, mask)
                for layer in islice(encoder.iter_layers(), first, None):
                    x, _ = layer(hidden[-1], repeated)
                    hidden.append(x)
            if isinstance(loss, MaskedLoss):
                with _replace_layers(network, hidden[-1], batch):
                    off[layer_index, list(group)] = loss.losses(network, batch).tolist()
                continue
            for index, head in enumerate(group):
                part = [states[index * rows : (index + 1) * rows] for states in hidden]
                off[layer_index, head] = float(_loss_from(network, part, batch, loss))
    return off


def _loss_from(network: Network, hidden: Sequence[Tensor], batch: Batch, loss: Loss) -> Tensor:
    """The loss with these hidden states instead of the encoder's, float [B, T, D] each.

    A probe reads the hidden states of its layers; it would compute them without a gradient.
    """
    if network.probe is not None:
        states = (*hidden[:-1], network.encoder.norm(hidden[-1]))
        vectors = select_layers(states, network.probe.layers)
        return loss(network, batch._replace(tokens=vectors))
    with _replace_layers(network, hidden[-1], batch):
        return loss(network, batch)


def _removal(layer: int, heads: Sequence[int], replacement: Tensor | None) -> Change:
    """Return a change that removes one head of a layer from each of the stacked batches."""

    def switch(index: int, attention: Attention, gathered: Tensor) -> Tensor:
        if index != layer:
            return gathered
        gathered = gathered.clone()
        for head, part in zip(heads, gathered.chunk(len(heads)), strict=True):
            columns = slice(head * attention.head_size, (head + 1) * attention.head_size)
            part[..., columns] = 0 if replacement is None else replacement[layer, columns].to(part)
        return gathered

    return switch


@contextmanager
def _replace_layers(network: Network, outcome: Tensor, batch: Batch) -> Iterator[None]:
    """Make the layers return this for the batch, float [B, T, D]."""
    encoder = network.encoder
    vars(encoder)["iter_layers"] = lambda: iter([_FixedOutput(outcome, batch.unpadded)])
    try:
        yield
    finally:
        del vars(encoder)["iter_layers"]


class _FixedOutput(nn.Module):
    """Replacement of the layers by a known output, with padding."""

    def __init__(self, outcome: Tensor, plan: Plan | None) -> None:
        super().__init__()
        self._outcome, self._plan = outcome, plan

    def forward(self, x: Tensor, layout: Layout) -> tuple[Tensor, None]:
        outcome = self._outcome
        if x.dim() == 2:  # the loss runs without padding
            assert isinstance(self._plan, UnpaddedBatch)
            outcome = outcome.flatten(0, 1)[self._plan.indices]
        return layout.take_queries(outcome), None


class MaskedLoss:
    """Mean −log P of the original tokens at the masked positions of a text."""

    def __call__(self, network: Network, batch: Batch) -> Tensor:
        return self.losses(network, batch)[0]

    def losses(self, network: Network, batch: Batch) -> Tensor:
        """The loss of each of V replaced encoder outputs, float32 [V], reading the vocabulary
        matrix once."""
        assert network.mlm is not None and batch.positions is not None
        last: Tensor = network.encoder(batch.tokens, batch.segments).last  # [V, T, D]
        if not len(batch.positions):  # an empty text
            return last.sum((1, 2)) * 0
        logits = network.mlm(last[:, batch.positions].flatten(0, 1)).float()
        targets = batch.targets.repeat(len(last))
        return F.cross_entropy(logits, targets, reduction="none").view(len(last), -1).mean(1)


def build_batch(checkpoint: Checkpoint, learner: Learner | None, row: Rows) -> tuple[Batch, Loss]:
    """Build a batch of one text, and its loss: the task's, or that of masked tokens."""
    if learner is None:
        return _masked_batch(checkpoint, row)
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as folder:
        max_length = max_tokens(checkpoint)
        examples = learner.tokenize(
            row,
            checkpoint.tokenizer,
            max_length,
            Path(folder) / "tokenized",
            lambda done, total: None,
        )
        indices = np.arange(len(examples))
        batch = learner.batch(examples, indices, checkpoint.tokenizer, rng_for(0, VALIDATION, 0))
    batch = batch.plan(checkpoint.network).to(next(checkpoint.network.parameters()).device)
    return batch, lambda network, inputs: total(learner.losses(network, inputs))


def _masked_batch(checkpoint: Checkpoint, row: Rows) -> tuple[Batch, Loss]:
    """Mask every seventh token, from the fourth on; the loss is their mean −log P."""
    inputs = encode_text(checkpoint, *typed_pairs(row)[0])
    ordinary = [n for n, token in enumerate(inputs.records) if not token.special]
    positions = torch.tensor(
        ordinary[MASK_EVERY // 2 :: MASK_EVERY] or ordinary[:1],
        dtype=torch.long,
        device=inputs.tokens.device,
    )
    tokens = inputs.tokens.clone()
    targets = tokens[0, positions]
    tokens[0, positions] = checkpoint.tokenizer.mask
    batch = Batch(tokens, inputs.segments, None, targets, positions)
    return batch, MaskedLoss()


# ── all texts ────────────────────────────────────────────────────────────────────────────────


def summary(arrays: Arrays) -> tuple[np.ndarray, tuple[str, ...]]:
    """Means over texts with 95 % intervals, float64 [3, L, H, C], and the names of the columns.

    “importance”: E|∂L/∂ξ|. “loss off”: increase of the loss without the head, with a paired
    bootstrap: both losses of a text are drawn together.
    """
    parts = {"importance": arrays["importance"]}
    if "off" in arrays:
        parts["loss off"] = arrays["off"] - arrays["loss"][:, None, None]
    count = len(arrays["loss"])
    rng = np.random.default_rng(SEED)
    draws = rng.multinomial(count, np.full(count, 1 / count), RESAMPLES) / count  # [B, N]
    estimates = []
    for values in parts.values():
        shape = values.shape[1:]
        samples = (draws @ values.reshape(count, -1)).reshape(RESAMPLES, *shape)
        low, high = np.percentile(samples, (2.5, 97.5), axis=0)
        estimates.append(np.stack([values.mean(0), low, high]))
    return np.stack(estimates, -1), tuple(parts)

"""Which heads a model needs on many texts (Michel et al. 2019).

Shapes: L layers, H heads, T tokens, D hidden size, K size of a head, N texts.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import rows_of, typed_pairs
from engine.errors import StudioError
from engine.explore.ablation import gathered_by, heads_off
from engine.explore.head_means import means
from engine.explore.over_texts import Arrays, Kept, over_texts
from engine.explore.text_scores import MAX_LENGTH, learner_of_rows
from engine.messages.explore.text_set import AverageHeads, HeadsWeighed, WeighHeads
from engine.messages.question import Answer, Working
from engine.models.attention import Attention, Layout, Padded
from engine.models.checkpoint import Checkpoint
from engine.models.encoder import Layer
from engine.models.fast.unpadded import UnpaddedBatch
from engine.models.network import Network
from engine.phrases import phrase
from engine.tasks.inputs import typed
from engine.tasks.learner import Batch, Learner, total
from engine.tasks.rng import VALIDATION, rng_for

RESAMPLES, SEED = 1_000, 7
TOKENS = 512  # of a text with several heads off, that go through the layers at once
MASKED = 7  # one token of so many is masked for a model with an MLM head alone


def weigh(
    checkpoint: Checkpoint, question: WeighHeads, scratch: Path, tell: Callable[[Answer], object]
) -> HeadsWeighed:
    """The last answer; `tell` hears of the means of the texts before. Takes the plain network.

    Raises StudioError as `weighed` does.
    """
    total = len(rows_of(question.texts))
    known: list[Arrays] = []

    def answer(arrays: Arrays, done: int) -> HeadsWeighed:
        values, columns = summary(arrays)
        with tempfile.NamedTemporaryFile(
            dir=scratch, prefix="weighed-", suffix=".npy", delete=False
        ) as file:
            np.save(file, values)
        return HeadsWeighed(
            to=question.number,
            done=done,
            total=total,
            file=Path(file.name),
            columns=columns,
            loss=float(arrays["loss"].mean()),
        )

    def on_part(arrays: Arrays, first: int, done: int) -> None:
        if not first:
            known.clear()
        known.append(arrays)
        if done < total:
            tell(answer({n: np.concatenate([k[n] for k in known]) for n in arrays}, done))

    def on_means(done: int) -> None:
        stage = phrase("Computing the means of the heads")
        tell(Working(to=question.number, stage=stage, done=done, total=total))

    return answer(weighed(checkpoint, question, on_part, on_means), total)


Hear = Callable[[Arrays, int, int], object]  # as `over_texts` tells


def weighed(
    checkpoint: Checkpoint,
    question: WeighHeads,
    hear: Hear,
    hear_means: Callable[[int], object] = lambda done: None,
) -> Arrays:
    """What each text says of each head, as `of_text` gives it, with a row for each text.

    Raises StudioError where the texts have no labels for the task, or there is no head to score.
    """
    rows = rows_of(question.texts)
    learner = learner_of_rows(checkpoint, rows)
    check_loss(checkpoint, learner, rows)
    instead: Tensor | None = None
    if question.each_head and question.replacement == "mean":
        asked = AverageHeads(
            checkpoint=question.checkpoint, texts=question.texts, kept=question.kept
        )
        instead = torch.from_numpy(means(checkpoint, asked, hear_means))

    def compute(start: int, stop: int) -> Arrays:
        found = []
        for number in range(start, stop):
            batch, loss = prepared(checkpoint, learner, rows.take([number]))
            found.append(of_text(checkpoint.network, batch, loss, question.each_head, instead))
        return {name: np.stack([one[name] for one in found]) for name in found[0]}

    return over_texts(Kept(question), len(rows), compute, hear)


def check_loss(checkpoint: Checkpoint, learner: Learner | None, rows: Rows) -> None:
    """Raise StudioError where these rows give this model no loss."""
    if learner is None and checkpoint.network.mlm is None:
        raise StudioError(
            phrase("This model has neither a task head nor an MLM head, so it has no loss."),
            phrase("Choose a fine-tuned model, or one that was pre-trained with MLM."),
        )
    if learner is not None and not learner.says_what_is_right(rows):
        raise StudioError(
            phrase("The texts have no labels, so the model has no loss."),
            phrase("Choose a data set with labels, or type the label of each text behind a tab."),
        )


# ── one text ─────────────────────────────────────────────────────────────────────────────────

Loss = Callable[[Network, Batch], Tensor]  # float32 [], the mean loss of a batch


def of_text(
    network: Network, batch: Batch, loss: Loss, each_head: bool, instead: Tensor | None = None
) -> Arrays:
    """What one text says of each head.

    importance: float64 [L, H], |∂L/∂ξ|, where ξ = 1 is what each head's slice is multiplied by
    before the output matrix (§4.1). loss: float64. off: float64 [L, H], the loss without each head
    (§3.2), where `each_head`; `instead` has what is in its place, float [L, D], else zero.
    """
    layers, heads = network.spec.layers, network.spec.heads
    gates = torch.ones(layers, heads, requires_grad=True)
    with torch.enable_grad(), gated(network, gates):
        value = loss(network, batch)
        (gradient,) = torch.autograd.grad(value, gates)
    found = {
        "importance": gradient.abs().double().numpy(),
        "loss": np.array(float(value.detach())),
    }
    if each_head:
        with torch.inference_mode():
            found["off"] = _each_off(network, batch, loss, instead)
    return found


def gated(network: Network, gates: Tensor) -> AbstractContextManager[None]:
    """Multiply what each head gathers by its gate, float [L, H], at every pass meanwhile."""

    def gate(height: int, attention: Attention, gathered: Tensor) -> Tensor:
        wide = gates[height].repeat_interleave(attention.head_size)  # [D]
        return gathered * wide.to(gathered)

    return gathered_by(network, gate)


class _Call(NamedTuple):
    """What a layer was given, and what it made of it."""

    layer: Layer
    x: Tensor  # float [B, T, D], or as the layout has it
    layout: Layout
    made: Tensor  # float [B, R, D]


def _each_off(
    network: Network, batch: Batch, loss: Loss, instead: Tensor | None = None
) -> np.ndarray:
    """The loss without each head, float64 [L, H].

    The layers below it are computed once, and those above for several heads of its layer at once.
    A layer that works at several heights, as in ALBERT, counts its calls, so none is left out.
    """
    layers, heads = network.spec.layers, network.spec.heads
    off = np.zeros((layers, heads))
    if len(set(network.encoder.passes())) < layers:
        for layer, head in np.ndindex(layers, heads):
            with heads_off(network, ((layer, head),), instead):
                off[layer, head] = float(loss(network, batch))
        return off
    asked, calls = list[_Call](), list[_Call]()  # by the loss; of all tokens, with padding
    with _noted(network, asked):
        loss(network, batch)
    with _noted(network, calls):
        network.encoder(batch.tokens, batch.segments, batch.attention_mask)
    plan = batch.unpadded if asked[0].x.dim() == 2 else None  # where the loss has no padding
    rows, tokens = batch.tokens.shape
    step = max(1, TOKENS // (rows * tokens))
    wants_some = asked[-1].made.shape != asked[-1].x.shape
    lower = calls[:-1] if wants_some else calls
    for layer in range(len(lower)):
        for first in range(0, heads, step):
            some = range(first, min(first + step, heads))
            made = _made_without(network, lower[layer:], layer, some, instead).split(rows)
            for head, one in zip(some, made, strict=True):
                if isinstance(plan, UnpaddedBatch):
                    one = one.flatten(0, 1)[plan.indices]
                with _made_below(network, [one] * len(lower)):
                    off[layer, head] = float(loss(network, batch))
    if wants_some:
        below = [call.made for call in asked[:-1]]
        for head in range(heads):
            with heads_off(network, ((layers - 1, head),), instead), _made_below(network, below):
                off[layers - 1, head] = float(loss(network, batch))
    return off


def _made_without(
    network: Network,
    calls: Sequence[_Call],
    layer: int,
    heads: Sequence[int],
    instead: Tensor | None,
) -> Tensor:
    """What the last of these layers makes without each of the heads of the first, which is
    `layer`: float [heads * B, T, D]."""
    count = len(heads)

    def switch(height: int, attention: Attention, gathered: Tensor) -> Tensor:
        if height != layer:
            return gathered
        gathered = gathered.clone()
        for head, part in zip(heads, gathered.chunk(count), strict=True):
            place = slice(head * attention.head_size, (head + 1) * attention.head_size)
            part[..., place] = 0 if instead is None else instead[layer, place].to(part)
        return gathered

    x = calls[0].x.repeat(count, 1, 1)
    with gathered_by(network, switch):
        for call in calls:
            layout = call.layout
            assert isinstance(layout, Padded)
            bias = layout.attention_bias
            if bias is not None and bias.size(0) > 1:
                layout = replace(layout, attention_bias=bias.repeat(count, 1, 1, 1))
            x, _ = call.layer(x, layout)
    return x


@contextmanager
def _noted(network: Network, calls: list[_Call]) -> Iterator[None]:
    """Append what each layer is given and makes meanwhile, the lowest first."""

    def note(layer: Layer, given: tuple[Tensor, Layout], made: tuple[Tensor, Any]) -> None:
        calls.append(_Call(layer, *given, made[0]))

    hooks = [layer.register_forward_hook(note) for layer in network.encoder.passes()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _made_below(network: Network, made: Sequence[Tensor]) -> Iterator[None]:
    """The lowest layers make this meanwhile, in place of what they would make."""
    encoder = network.encoder
    above = list(encoder.passes())[len(made) :]
    vars(encoder)["passes"] = lambda: iter([*(_Made(one) for one in made), *above])
    try:
        yield
    finally:
        del vars(encoder)["passes"]


class _Made(nn.Module):
    """Stands for a layer whose outcome is known."""

    def __init__(self, outcome: Tensor) -> None:
        super().__init__()
        self._outcome = outcome

    def forward(self, x: Tensor, layout: Layout) -> tuple[Tensor, None]:
        return self._outcome, None


def prepared(checkpoint: Checkpoint, learner: Learner | None, row: Rows) -> tuple[Batch, Loss]:
    """One text as a batch, and its loss: that of the task, or of masked tokens."""
    if learner is None:
        return _masked(checkpoint, row)
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as folder:
        longest = min(MAX_LENGTH, checkpoint.spec.max_positions)
        examples = learner.pack(
            row, checkpoint.tokenizer, longest, Path(folder) / "packed", lambda done, total: None
        )
        numbers = np.arange(len(examples))
        batch = learner.batch(examples, numbers, checkpoint.tokenizer, rng_for(0, VALIDATION, 0))
    batch = batch.planned(checkpoint.network).to(next(checkpoint.network.parameters()).device)
    return batch, lambda network, given: total(learner.losses(network, given))


def _masked(checkpoint: Checkpoint, row: Rows) -> tuple[Batch, Loss]:
    """Every seventh token is masked, from the fourth on; −log P of what stood there, the mean."""
    given = typed(checkpoint, *typed_pairs(row)[0])
    ordinary = [n for n, token in enumerate(given.described) if not token.special]
    places = torch.tensor(
        ordinary[MASKED // 2 :: MASKED] or ordinary[:1],
        dtype=torch.long,
        device=given.tokens.device,
    )
    tokens = given.tokens.clone()
    targets = tokens[0, places]
    tokens[0, places] = checkpoint.tokenizer.mask
    batch = Batch(tokens, given.segments, None, targets, places)

    def loss(network: Network, one: Batch) -> Tensor:
        assert network.mlm is not None
        last: Tensor = network.encoder(one.tokens, one.segments).last
        if not len(places):  # a text without any token
            return last.sum() * 0
        return F.cross_entropy(network.mlm(last[0, places]).float(), one.targets)

    return batch, loss


# ── all texts ────────────────────────────────────────────────────────────────────────────────


def summary(arrays: Arrays) -> tuple[np.ndarray, tuple[str, ...]]:
    """Means over texts with 95 % intervals, float64 [3, L, H, C], and the names of the columns.

    “importance”: E|∂L/∂ξ|. “loss off”: by how much the loss grows without the head, with a paired
    bootstrap: both losses of a text are drawn together.
    """
    parts = {"importance": arrays["importance"]}
    if "off" in arrays:
        parts["loss off"] = arrays["off"] - arrays["loss"][:, None, None]
    count = len(arrays["loss"])
    rng = np.random.default_rng(SEED)
    draws = rng.multinomial(count, np.full(count, 1 / count), RESAMPLES) / count  # [B, N]
    found = []
    for values in parts.values():
        shape = values.shape[1:]
        every = (draws @ values.reshape(count, -1)).reshape(RESAMPLES, *shape)
        low, high = np.percentile(every, (2.5, 97.5), axis=0)
        found.append(np.stack([values.mean(0), low, high]))
    return np.stack(found, -1), tuple(parts)

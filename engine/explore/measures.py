"""Measures of attention other than the weights, layer by layer.

Shapes: T tokens, D hidden size, H heads, K head size, L layers.
"""

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor

from engine.errors import StudioError
from engine.explore.layers import LayerPass, iter_layers
from engine.messages.explore.attention import Measure, QueryKeyShown, ScorePart, ShowQueryKey
from engine.models.checkpoint import Checkpoint
from engine.models.network import Network
from engine.tasks.finite import not_finite_error
from engine.tasks.inputs import Inputs, encode_question


def iter_measure(network: Network, inputs: Inputs, measure: Measure) -> Iterator[Tensor]:
    """Yield float [H, T, T] for every layer; H is 1 for `head_average` and `rollout`."""
    rolled: Tensor | None = None
    for layer in iter_layers(network, inputs.tokens, inputs.segments):
        weights = layer.weights[0]
        match measure:
            case "weights":
                yield weights
            case "norms":
                yield weights * value_norms(layer)[:, None, :]
            case "head_average":
                yield weights.mean(0, keepdim=True)
            case "rollout":
                rolled = rollout_step(weights.mean(0), rolled)
                yield rolled[None]


def value_norms(layer: LayerPass) -> Tensor:
    """‖f(x)‖ of every token of one text in every head, float [H, T] (Kobayashi et al. 2020, §3.2).

    f is the value of a token times the head's slice of the output matrix, without the bias, which
    belongs to no token. Since weights are not negative, ‖α f(x)‖ = α ‖f(x)‖.
    """
    attention = layer.attention
    values = attention.value(attention.projection_input(layer.x)[0]).unflatten(
        -1, (attention.heads, attention.head_size)
    )
    slices = attention.output.weight.unflatten(1, (attention.heads, attention.head_size))
    transformed = torch.einsum("thk,dhk->htd", values, slices)  # [H, T, D]
    norms: Tensor = transformed.norm(dim=-1)
    return norms


def rollout_step(mean: Tensor, before: Tensor | None) -> Tensor:
    """Attention rollout through one more layer, float [T, T] (Abnar and Zuidema 2020, §3).

    Half of each vector comes from the residual connection: A = (W + I) / 2, with rows normalised to
    sum to 1, times the rollout of the layers below.
    """
    identity = torch.eye(mean.size(0), dtype=mean.dtype, device=mean.device)
    mixed = (mean + identity) / 2
    mixed = mixed / mixed.sum(-1, keepdim=True)
    return mixed if before is None else mixed @ before


@torch.inference_mode()
def query_key(checkpoint: Checkpoint, question: ShowQueryKey) -> QueryKeyShown:
    """The query of one token, the key of another in one head, and the resulting weight.

    Raises StudioError if there is no such layer, head or token.
    """
    inputs = encode_question(checkpoint, question)
    spec, count = checkpoint.network.spec, len(inputs.records)
    layer, head, row, column = (
        question.layer,
        question.head,
        question.query_token,
        question.key_token,
    )
    if layer >= spec.layers or head >= spec.heads or max(row, column) >= count:
        raise StudioError(
            "There is no layer {layer}, head {head}, token {row}.",
            "The model has {layers} layers of {heads} heads; the text, {count} tokens.",
            layer=layer + 1,
            head=head + 1,
            row=max(row, column) + 1,
            layers=spec.layers,
            heads=spec.heads,
            count=count,
        )
    passes = iter_layers(checkpoint.network, inputs.tokens, inputs.segments)
    step = next(islice(passes, layer, None))
    attention = step.attention
    Q, K = attention.queries_and_keys(step.x, step.layout)  # [1, H, T, K]
    query, keys = Q[0, head, row], K[0, head]  # [K], [T, K]
    products = keys * query * attention.scale  # [T, K]
    scores, parts = products.sum(-1), list[ScorePart]()  # [T]
    if step.layout.relative is not None:
        parts.append(ScorePart(term="content", value=float(scores[column])))
        for term, added in step.layout.relative.terms(attention, Q, K):  # [1, H, T, T]
            parts.append(ScorePart(term=term, value=float(added[0, head, row, column])))
            scores = scores + added[0, head, row]
    if not torch.isfinite(scores).all():
        raise not_finite_error()
    reach = attention.window if attention.window is not None else count
    attends = [
        (not spec.is_causal or index <= row) and abs(index - row) <= reach for index in range(count)
    ]
    return QueryKeyShown(
        to=question.number,
        layer=layer,
        head=head,
        query_token=row,
        key_token=column,
        query=tuple(query.tolist()),
        key=tuple(keys[column].tolist()),
        products=tuple(products[column].tolist()),
        score=float(scores[column]),
        scores=tuple(
            score if visible else None
            for score, visible in zip(scores.tolist(), attends, strict=True)
        ),
        weight=float(step.weights[0, head, row, column]),
        parts=tuple(parts),
    )

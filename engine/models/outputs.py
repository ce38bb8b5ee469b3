"""Outputs of a network under their names in transformers.

Shapes: B inputs, T tokens, D hidden size, V vocabulary, C outputs of the task head, E choices.
"""

from torch import Tensor

from engine.config.export import Output
from engine.models.heads import Heads
from engine.models.network import Network


def head_outputs(heads: Heads) -> tuple[Output, ...]:
    """Describe the outputs of these heads; the task head comes first.

    Without heads, these are the last hidden state and the pooled vector.
    """
    if heads.scores_windows and heads.task is not None:
        score = Output(name="window_scores", of="input", meaning="numbers")
        return (*heads.task.tensors, score)
    if heads.task is not None:
        return heads.task.tensors
    has_both = heads.mlm and heads.nsp
    outputs = []
    if heads.mlm:
        name = "prediction_logits" if has_both else "logits"
        outputs.append(Output(name=name, of="token", meaning="one"))
    if heads.nsp:
        name = "seq_relationship_logits" if has_both else "logits"
        outputs.append(Output(name=name, of="input", meaning="one"))
    if not outputs:
        outputs.append(Output(name="last_hidden_state", of="token", meaning="numbers"))
        if heads.pooler:
            outputs.append(Output(name="pooler_output", of="input", meaning="numbers"))
    return tuple(outputs)


def named_outputs(
    network: Network, tokens: Tensor, segments: Tensor, attention_mask: Tensor
) -> dict[str, Tensor]:
    """Outputs of a batch, float32, in the order of `head_outputs`.

    Args:
        tokens: int64 [B, T]; [B, E, T] if the head compares E choices.
        segments: int64, and attention_mask: bool, of the same shape; see `Encoder.forward`.

    Returns:
        [B, C] or [B, E] for an input, [B, T, C] for tokens; start and end of answers are [B, T].
    """
    heads = network.heads
    names = [output.name for output in head_outputs(heads)]
    if heads.scores_choices:
        flat = [tensor.flatten(0, 1) for tensor in (tokens, segments, attention_mask)]  # [B * E, T]
        tensors = [network.logits(flat[0], flat[1], flat[2]).view(tokens.shape[:2])]
    elif heads.task is not None:
        logits = network.logits(tokens, segments, attention_mask, with_score=heads.scores_windows)
        if heads.scores_windows:  # [B, C], [B, 1]
            logits, scores = logits[:, :-1], logits[:, -1:]
            return dict(zip(names, (logits.float(), scores.float()), strict=True))
        tensors = list(logits.unbind(-1)) if heads.task.finds_spans else [logits]
    else:
        encoded = network.encode(tokens, segments, attention_mask)
        tensors = []
        if network.mlm is not None:
            tensors.append(network.mlm(encoded.last))  # [B, T, V]
        if network.nsp is not None:
            tensors.append(network.nsp(encoded.pooled))  # [B, 2]
        if not tensors:
            tensors = [encoded.last, *([] if encoded.pooled is None else [encoded.pooled])]
    return {name: value.float() for name, value in zip(names, tensors, strict=True)}

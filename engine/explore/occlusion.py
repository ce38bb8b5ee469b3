"""Occlusion: effect of each word on the prediction of a fine-tuned model, masking one at a time.

`Attribute` offers this for every logit, with other methods; this is for the predicted class only.
Shapes: N words.
"""

import torch

from engine.errors import StudioError
from engine.explore.attribution import FORWARD_SLICE, scores_without, word_effect
from engine.explore.targets import find_target, word_token_indices
from engine.messages.explore.occlusion import Occlude, Occluded
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase


@torch.inference_mode()
def occlude(checkpoint: Checkpoint, question: Occlude) -> Occluded:
    """The next words from `start` on; special tokens and typed [MASK] tokens are not masked.

    Raises StudioError if the model predicts nothing, or has no single score.
    """
    if checkpoint.network.heads.reads_tokens:
        raise StudioError(
            phrase(
                "No words are shown: this model scores every token, so there is no single score "
                "that a word could change."
            )
        )
    target = find_target(checkpoint, question)
    words = word_token_indices(target.given)
    now = words[question.start :][: max(1, FORWARD_SLICE // len(target.given.described))]
    falls = target.explained.score - scores_without(checkpoint, target, now)  # [N]
    upto = question.start + len(now)
    return Occluded(
        to=question.number,
        tokens=target.given.described,
        truncated=target.given.truncated,
        words=tuple(
            word_effect(target, word, fall) for word, fall in zip(now, falls.tolist(), strict=True)
        ),
        label=target.explained.label,
        score=target.explained.score,
        next=upto if upto < len(words) else None,
        total=len(words),
    )

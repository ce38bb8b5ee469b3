"""Which words decided what a fine-tuned model predicts, by masking one at a time.

`Attribute` has this among other methods, for every logit; here it is of the prediction alone, as
where a text is tried. Shapes: N words.
"""

import torch

from engine.errors import StudioError
from engine.explore.attribution import FORWARD_SLICE, effect_of, without
from engine.explore.targets import target_of, words_of
from engine.messages.explore.occlusion import Occlude, Occluded
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase


@torch.inference_mode()
def occlude(checkpoint: Checkpoint, question: Occlude) -> Occluded:
    """The next words from `start` on; special tokens, and [MASK] that was typed, stay.

    Raises StudioError where the model predicts nothing, or says no single score.
    """
    if checkpoint.network.heads.reads_tokens:
        raise StudioError(
            phrase(
                "No words are shown: this model scores every token, so there is no single score "
                "that a word could change."
            )
        )
    target = target_of(checkpoint, question)
    words = words_of(target.given)
    now = words[question.start :][: max(1, FORWARD_SLICE // len(target.given.described))]
    falls = target.explained.score - without(checkpoint, target, now)  # [N]
    upto = question.start + len(now)
    return Occluded(
        to=question.number,
        tokens=target.given.described,
        truncated=target.given.truncated,
        words=tuple(
            effect_of(target, word, fall) for word, fall in zip(now, falls.tolist(), strict=True)
        ),
        label=target.explained.label,
        score=target.explained.score,
        next=upto if upto < len(words) else None,
        total=len(words),
    )

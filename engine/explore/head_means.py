"""Mean output of each head over many texts, used to replace it in ablations.

Shapes: L layers, T tokens, D hidden size, N texts.
"""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.data.datasets.text_sets import rows_of, typed_pairs
from engine.explore.ablation import change_head_outputs
from engine.explore.over_texts import Arrays, ArrayStore, over_texts, question_key
from engine.files.atomic_write import write_file
from engine.messages.explore.text_set import AverageHeads, HeadsAveraged
from engine.messages.question import Answer
from engine.models.attention import Attention
from engine.models.checkpoint import Checkpoint
from engine.tasks.finite import not_finite
from engine.tasks.inputs import typed


def average(
    checkpoint: Checkpoint, question: AverageHeads, scratch: Path, emit: Callable[[Answer], object]
) -> HeadsAveraged:
    """The final answer; `emit` gets the progress. The file is in the folder of the cached arrays.

    Raises StudioError if the texts cannot be read.
    """
    total = len(rows_of(question.texts))

    def progress(done: int) -> None:
        if done < total:
            emit(HeadsAveraged(to=question.number, done=done, total=total))

    found = means(checkpoint, question, progress)
    content = io.BytesIO()
    np.save(content, found)
    file = (question.kept or scratch) / f"head-means-{question_key(question)}.npy"
    write_file(file, content.getvalue())
    return HeadsAveraged(to=question.number, done=total, total=total, file=file)


def means(
    checkpoint: Checkpoint,
    question: AverageHeads,
    progress: Callable[[int], object] = lambda done: None,
) -> np.ndarray:
    """Mean head outputs over all tokens of all texts, float32 [L, D]; `progress` gets the number of
    finished texts."""
    pairs = typed_pairs(rows_of(question.texts))

    def compute(start: int, stop: int) -> Arrays:
        each = [of_text(checkpoint, *pairs[number]) for number in range(start, stop)]
        return {
            "sums": np.stack([sums for sums, _ in each]),
            "tokens": np.array([tokens for _, tokens in each]),
        }

    arrays = over_texts(
        ArrayStore(question), len(pairs), compute, lambda _, __, done: progress(done)
    )
    mean = arrays["sums"].sum(0) / arrays["tokens"].sum()
    return np.asarray(mean, np.float32)


@torch.inference_mode()
def of_text(checkpoint: Checkpoint, text: str, pair: str | None) -> tuple[np.ndarray, int]:
    """Sums over the tokens of a text, special ones included, float64 [L, D], and their number."""
    given, network = typed(checkpoint, text, pair), checkpoint.network
    sums = np.zeros((network.spec.layers, network.spec.hidden_size))

    def note(layer: int, _: Attention, gathered: Tensor) -> Tensor:
        sums[layer] = gathered.flatten(0, -2).cpu().double().sum(0).numpy()
        return gathered

    with change_head_outputs(network, note):
        network.encoder(given.tokens, given.segments)
    if not np.isfinite(sums).all():
        raise not_finite()
    return sums, given.tokens.size(1)

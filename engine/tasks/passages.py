"""Passages of a typed long text, which are its windows, and the effect of each on its prediction.

Shapes: W windows, C outputs.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config.task import Aggregation
from engine.data.tokenized.dataset import TokenizedDataset
from engine.data.tokenized.windows import pair_room, window_spans
from engine.models.checkpoint import Checkpoint
from engine.tasks.evaluating import evaluate
from engine.tasks.learner import Examples, Learner, LogitsCollector, pool_rows
from engine.tokenizers.tokenizer import Tokenizer

BATCH = 16  # windows


class Cut(NamedTuple):
    """The windows over the longer text of an input."""

    text: int  # 0 or 1
    spans: list[tuple[int, int]]  # first token and number of tokens of each
    begin: int  # position of the first token of a window in its input
    characters: list[tuple[int, int]]  # first character, and the one after the last


def cut_texts(tokenizer: Tokenizer, texts: Sequence[str], max_length: int, stride: int) -> Cut:
    """The windows of one or two texts, as `tokenize_windows` cuts them."""
    offsets = [tokenizer.encode_offsets(text)[1] for text in texts]
    sizes = [len(one) for one in offsets]
    room = max(max_length - tokenizer.count_special(len(texts)), 1)
    cut, size, begin = 0, room, 1
    if len(texts) > 1:
        cut = int(sizes[1] >= sizes[0])
        size = pair_room(sizes[1 - cut], sizes[cut], room)
        if cut:
            begin += min(sizes[0], room - size) + tokenizer.vocabulary.separators
    spans = window_spans(sizes[cut], size, stride)
    places = offsets[cut]
    characters = [(places[first][0], places[first + count - 1][1]) for first, count in spans]
    return Cut(cut, spans, begin, characters)


def passage_effects(
    checkpoint: Checkpoint,
    learner: Learner,
    collector: LogitsCollector,
    inputs: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    cut: Cut,
    aggregate: Aggregation,
    are_classes: bool,
) -> NDArray[np.float32]:
    """Fall of the predicted output if the tokens of a window are masked in all windows.

    For classes the output is the logit of the predicted class minus that of the next one, for
    labels the highest logit, and else the number.

    Args:
        collector: the outputs of all windows of one text.
        inputs: ids and segments of each window.

    Returns:
        float32 [W].
    """
    tokenizer = checkpoint.tokenizer
    mask = tokenizer.unknown if tokenizer.mask_id is None else tokenizer.mask_id
    pooled = collector.logits[0]  # [C]
    best, *others = np.argsort(-pooled, kind="stable").tolist()

    def predicted(outputs: NDArray[np.float32]) -> float:
        return float(outputs[best] - (outputs[others].max() if are_classes and others else 0))

    changed = list[tuple[int, int]]()  # passage and window
    masked = list[tuple[NDArray[np.int64], int]]()  # ids, and the start of the second text
    for passage, (first, count) in enumerate(cut.spans):
        for window, (start, length) in enumerate(cut.spans):
            a, b = max(first, start) - start, min(first + count, start + length) - start
            if a < b:
                ids, segments = inputs[window]
                ids = ids.copy()
                ids[cut.begin + a : cut.begin + b] = mask
                changed.append((passage, window))
                masked.append((ids, int((segments == 0).sum())))
    tokenized = TokenizedDataset(
        np.concatenate([ids for ids, _ in masked]).astype(np.uint32),
        np.array([0, *accumulate(len(ids) for ids, _ in masked)]),
        np.array([split for _, split in masked], np.int32),
    )
    examples = Examples(tokenized, owners=np.zeros(len(masked), np.int64))
    computed = evaluate(
        *(checkpoint.network, learner, tokenizer, examples, BATCH),
        device=next(checkpoint.network.parameters()).device,
    )
    assert isinstance(computed, LogitsCollector)
    effects = np.zeros(len(cut.spans), np.float32)
    owners, passages = np.zeros(len(cut.spans), np.int64), np.array(changed)[:, 0]
    for passage in range(len(cut.spans)):
        outputs, scores = collector.outputs.copy(), collector.scores.copy()
        rows = np.flatnonzero(passages == passage)
        windows = np.array(changed)[rows, 1]
        outputs[windows], scores[windows] = computed.outputs[rows], computed.scores[rows]
        [without] = pool_rows(outputs, owners, scores, aggregate)
        effects[passage] = predicted(pooled) - predicted(np.asarray(without))
    return effects

"""Predictions for the same masked sentences at every evaluation of pre-training.

The sentences are drawn from the validation texts, so that they suit every language and vocabulary.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from engine.errors import StudioError
from engine.models.network import Network
from engine.results.sentences import Filled, Guess, Sentence, append_filled
from engine.system.errors import explain_error
from engine.tasks.learner import Examples, special_ids
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.training_run import TrainingRun

COUNT = 3
CONTEXT = 12  # tokens on either side
MIN_LETTERS = 4  # of a masked word, if some word is as long
MAX_TRIED = 200  # inputs searched for such words
GUESSES = 3
SEED = 17


class Gap(NamedTuple):
    """A masked token in a part of an input."""

    ids: NDArray[np.int64]  # without special tokens
    position: int


def record_sentences(run: TrainingRun) -> None:
    """Predict the sentences with the current weights, and add them to the results of the run."""
    data = run.setup.data
    assert data.validation is not None
    is_causal = bool(data.learner.task.causal)
    gaps = choose_gaps(data.validation, data.tokenizer)
    with torch.inference_mode(), run.machine.precision():
        sentences = tuple(
            run.network(fill, data.tokenizer, gap, run.machine.device, is_causal) for gap in gaps
        )
    if not run.ranks.is_writer:
        return
    try:
        append_filled(
            run.context.folder.results, Filled(step=run.progress.step, sentences=sentences)
        )
    except (OSError, StudioError) as error:
        explained = explain_error(error)
        run.context.note(
            "The predictions for the masked sentences at step {step} could not be saved: {error}",
            step=run.progress.step,
            error=explained.problem if explained else str(error),
        )


def choose_gaps(examples: Examples, tokenizer: Tokenizer) -> list[Gap]:
    """Draw masked words of one token, always the same ones, from different inputs."""
    rng = np.random.default_rng(SEED)
    gaps: list[Gap] = []
    spare: list[Gap] = []
    for index in rng.permutation(len(examples))[:MAX_TRIED]:
        ids = examples.tokenized.ids(int(index)).astype(np.int64)
        ids = ids[~np.isin(ids, special_ids(tokenizer))]
        continues = np.append(tokenizer.vocabulary.continuation_mask(ids), False)
        words = np.flatnonzero(~continues[:-1] & ~continues[1:])
        words = words[words > 0]  # a left-to-right model needs a token before it
        if not len(words):
            continue
        order = rng.permutation(words)
        long = [n for n in order if _letters(tokenizer.token(int(ids[n]))) >= MIN_LETTERS]
        (gaps if long else spare).append(_gap(ids, int(long[0] if long else order[0])))
        if len(gaps) == COUNT:
            break
    return [*gaps, *spare][:COUNT]


def _letters(token: str) -> int:
    return sum(map(str.isalpha, token))


def _gap(ids: NDArray[np.int64], position: int) -> Gap:
    first = max(0, position - CONTEXT)
    return Gap(ids[first : position + CONTEXT + 1], position - first)


def fill(
    network: Network, tokenizer: Tokenizer, gap: Gap, device: torch.device, is_causal: bool
) -> Sentence:
    """Predict the masked token of a sentence; a left-to-right model reads what is before it."""
    assert network.mlm is not None
    shown = gap.ids.copy()
    if is_causal:
        shown, place = shown[: gap.position], gap.position  # the [CLS] token moves all by one
    else:
        shown[gap.position], place = tokenizer.mask, gap.position + 1
    ids = [tokenizer.cls, *shown.tolist(), *([] if is_causal else [tokenizer.sep])]
    tokens = torch.tensor([ids], device=device)
    positions = torch.tensor([place], device=device)
    encoded = network.encode(tokens, torch.zeros_like(tokens), None, positions)
    probabilities = network.mlm(encoded.last)[0].float().softmax(0).cpu()
    probabilities = probabilities[: tokenizer.size]  # a network may have more
    truth = int(gap.ids[gap.position])
    best = probabilities.topk(min(GUESSES, len(probabilities)))
    before, after = gap.ids[: gap.position].tolist(), gap.ids[gap.position + 1 :].tolist()
    texts = tokenizer.decode_many([before, after])
    return Sentence(
        before=texts[0],
        after="" if is_causal else texts[1],
        truth=tokenizer.token(truth),
        rank=1 + int((probabilities > probabilities[truth]).sum()),
        guesses=tuple(
            Guess(token=tokenizer.token(token), probability=p)
            for p, token in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ),
    )

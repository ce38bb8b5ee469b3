"""Score or find whole words, of one or more tokens, at a masked position.

`Candidate` in `messages/explore/candidates.py` defines the joint log-probability. Shapes: C rows
predicted at once, P tokens of a word, T tokens, V vocabulary.
"""

from collections import defaultdict
from typing import NamedTuple

import torch
from torch import Tensor

from engine.errors import StudioError
from engine.explore.fill_mask import log_probabilities, mlm_head, shown_tokens
from engine.messages.explore.candidates import (
    Candidate,
    CandidatesFound,
    CandidatesScored,
    FindCandidates,
    ScoreCandidates,
)
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.inputs import Inputs, encode_question, max_tokens

BATCH_TOKENS = 2048  # per batch of rows
MAX_CANDIDATES = 200


class MaskedSpan(NamedTuple):
    """A text whose tokens from `first` to `last` are replaced by candidates."""

    inputs: Inputs  # the text as typed, with the other masked words
    first: int
    last: int

    @property
    def width(self) -> int:
        return self.last - self.first + 1


@torch.inference_mode()
def score(checkpoint: Checkpoint, question: ScoreCandidates) -> CandidatesScored:
    """The joint log-probability of every candidate.

    Raises StudioError if the model has no MLM head, or the position does not exist.
    """
    mlm_head(checkpoint)
    if len(question.candidates) > MAX_CANDIDATES:
        raise StudioError(
            "There are {count} candidates.",
            "Score at most {limit} at a time.",
            count=len(question.candidates),
            limit=MAX_CANDIDATES,
        )
    span = _find_span(checkpoint, question)
    limit = max_tokens(checkpoint) - len(span.inputs.records) + span.width
    scored: dict[int, Candidate] = {}
    by_length: dict[int, list[int]] = defaultdict(list)
    ids: dict[int, list[int]] = {}
    for number, text in enumerate(question.candidates):
        ids[number] = tokenize_candidate(checkpoint, question, span, text)
        problem = _problem(checkpoint, ids[number], limit)
        names = tuple(checkpoint.tokenizer.token(token) for token in ids[number])
        scored[number] = Candidate(text=text, tokens=names, problem=problem)
        if not problem:
            by_length[len(ids[number])].append(number)
    for indices in by_length.values():
        tokens = torch.tensor([ids[index] for index in indices])  # [C, P]
        logs = joint_logs(checkpoint, span, tokens)
        for number, row in zip(indices, logs.tolist(), strict=True):
            scored[number] = scored[number].model_copy(update={"log_probabilities": tuple(row)})
    return CandidatesScored(
        to=question.number,
        candidates=tuple(scored[index] for index in range(len(question.candidates))),
    )


@torch.inference_mode()
def find(checkpoint: Checkpoint, question: FindCandidates) -> CandidatesFound:
    """The token sequences with the best joint log-probability, by beam search.

    If a word was typed, only tokens that begin a word are tried at its start, and only continuation
    tokens elsewhere. Raises StudioError as `score` does.
    """
    mlm_head(checkpoint)
    span = _find_span(checkpoint, question)
    typed = [span.inputs.records[position] for position in range(span.first, span.last + 1)]
    tokenizer = checkpoint.tokenizer
    is_word = span.width > 1 and all(token.id != tokenizer.mask for token in typed)
    rows = torch.empty((1, 0), dtype=torch.long)  # [C, P so far]
    sums = torch.zeros((1, 0))  # log-probabilities of their tokens
    for index in range(span.width):
        logs = next_token_logs(checkpoint, span, rows, span.width).cpu()  # [C, V]
        logs = logs[:, : tokenizer.size]
        if is_word:
            continues = torch.from_numpy(tokenizer.continues)
            continuation = bool(tokenizer.continues[typed[index].id])
            logs = logs.masked_fill(continues != continuation, float("-inf"))
        total = sums.sum(1, keepdim=True) + logs  # [C, V]
        beams = min(question.beams, int(torch.isfinite(total).sum()))
        best = total.flatten().topk(beams).indices
        parents, token = best // logs.size(1), best % logs.size(1)
        rows = torch.cat((rows[parents], token[:, None]), 1)
        sums = torch.cat((sums[parents], logs[parents, token][:, None]), 1)
    typed_ids = torch.tensor([[token.id for token in typed]])
    is_complete = all(token.id != tokenizer.mask for token in typed)
    return CandidatesFound(
        to=question.number,
        candidates=tuple(
            _candidate(checkpoint, ids, logs)
            for ids, logs in zip(rows[: question.top], sums[: question.top], strict=True)
        ),
        actual=_candidate(checkpoint, typed_ids[0], joint_logs(checkpoint, span, typed_ids)[0])
        if is_complete
        else None,
    )


def joint_logs(checkpoint: Checkpoint, span: MaskedSpan, tokens: Tensor) -> Tensor:
    """Log-probability of each token of int64 [C, P] in the span, given those before it: [C, P]."""
    parts = []
    for index in range(tokens.size(1)):
        prefix, inverse = _unique_rows(tokens[:, :index])
        logs = next_token_logs(checkpoint, span, prefix, tokens.size(1)).cpu()  # [unique, V]
        parts.append(logs[inverse, tokens[:, index]])
    return torch.stack(parts, 1)


def _unique_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The unique rows of int64 [C, P], and the index of each row among them, int64 [C]."""
    if not rows.size(1):
        return rows[:1], torch.zeros(len(rows), dtype=torch.long)
    unique, inverse = rows.unique(dim=0, return_inverse=True)
    return unique, inverse


def next_token_logs(checkpoint: Checkpoint, span: MaskedSpan, prefix: Tensor, width: int) -> Tensor:
    """Log-probabilities of the token after `prefix` in a span of `width`, float [C, V].

    The rest of the span is masked.

    Args:
        prefix: int64 [C, P so far]; fewer tokens than `width`.
    """
    rows = max(1, BATCH_TOKENS // (len(span.inputs.records) - span.width + width))
    return torch.cat([_predict_next(checkpoint, span, part, width) for part in prefix.split(rows)])


def _predict_next(checkpoint: Checkpoint, span: MaskedSpan, prefix: Tensor, width: int) -> Tensor:
    network, mask = checkpoint.network, checkpoint.tokenizer.mask
    count, prefix_length = prefix.shape
    device = span.inputs.tokens.device
    middle = torch.full((count, width), mask, device=device)
    middle[:, :prefix_length] = prefix.to(device)
    tokens = _fill_span(span.inputs.tokens, span, middle)  # [C, T]
    segment = int(span.inputs.segments[0, span.first])
    segments = _fill_span(span.inputs.segments, span, torch.full_like(middle, segment))
    position = span.first + prefix_length
    if network.spec.is_causal:  # it was not trained with masks, and does not see later tokens
        last = network.encoder(tokens[:, :position], segments[:, :position]).last[:, -1]  # [C, D]
    else:
        positions = torch.full((count, 1), position, device=device)
        last = network.encode_at(tokens, segments, positions)[:, 0]
    return log_probabilities(mlm_head(checkpoint)(last))


def _fill_span(row: Tensor, span: MaskedSpan, middle: Tensor) -> Tensor:
    """Replace the span in int64 [1, T] by [C, P]; returns [C, T]."""
    before, after = row[:, : span.first], row[:, span.last + 1 :]
    count = middle.size(0)
    return torch.cat((before.expand(count, -1), middle, after.expand(count, -1)), 1)


def tokenize_candidate(
    checkpoint: Checkpoint, question: ScoreCandidates, span: MaskedSpan, text: str
) -> list[int]:
    """The token ids of a word in the span.

    The word is tokenised within its text, since spaces and neighbours matter to some tokenizers; if
    it merges with a neighbour, it is tokenised on its own.
    """
    word = text.strip()
    if not word:
        return []
    tokens = span.inputs.records
    segment = tokens[span.first].segment
    start, end = tokens[span.first].start, tokens[span.last].end
    parts = [question.text, question.pair or ""]
    # a typed mask includes the space before it
    while start < end and parts[segment][start].isspace():
        start += 1
    parts[segment] = parts[segment][:start] + word + parts[segment][end:]
    tokenizer, stop = checkpoint.tokenizer, start + len(word)
    ids, offsets = tokenizer.encode_offsets(parts[segment])
    spans = [
        (token, a, b)
        for token, (a, b) in zip(ids, offsets, strict=True)
        if is_in_word(a, b, start, stop)
    ]
    word_ids = [token for token, _, _ in spans]
    is_exact = all(a >= start and b <= stop for _, a, b in spans)
    return word_ids if is_exact and word_ids else list(tokenizer.encode_offsets(word)[0])


def is_in_word(start: int, end: int, first: int, last: int) -> bool:
    """True if a token of these characters belongs to the word from `first` to `last`; also for a
    separate “▁” before it, which has no characters."""
    return (start < last and end > first) or start == end == first


def _find_span(checkpoint: Checkpoint, question: ScoreCandidates | FindCandidates) -> MaskedSpan:
    """The span of a question. Raises StudioError if its tokens cannot be replaced."""
    inputs = encode_question(checkpoint, question)
    tokens, first, last = inputs.records, question.first, question.last
    is_valid = 0 <= first <= last < len(tokens) and all(
        not token.special and token.segment == tokens[first].segment
        for token in tokens[first : last + 1]
    )
    if not is_valid:
        raise StudioError(
            "The tokens {first} to {last} are not a word of the text.",
            "Mask a word first.",
            first=first + 1,
            last=last + 1,
        )
    return MaskedSpan(inputs._replace(tokens=shown_tokens(checkpoint, inputs)), first, last)


def _problem(checkpoint: Checkpoint, ids: list[int], limit: int) -> str:
    """Why a candidate has no score; empty if it has one."""
    if not ids:
        return phrase("The candidate is empty.")
    if checkpoint.tokenizer.unknown in ids:
        return phrase("Not in the vocabulary.")
    if len(ids) > limit:
        return phrase(
            "Its {count} tokens do not fit: the text would exceed the maximum length.",
            count=len(ids),
        )
    return ""


def _candidate(checkpoint: Checkpoint, ids: Tensor, logs: Tensor) -> Candidate:
    tokens = tuple(checkpoint.tokenizer.token(token) for token in ids.tolist())
    return Candidate(text=" ".join(tokens), tokens=tokens, log_probabilities=tuple(logs.tolist()))

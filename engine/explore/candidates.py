"""Whole words of several pieces in a hidden place: given ones weighed, and good ones searched.

`Weighed` in `messages/answers.py` says what a joint score is. Shapes: C rows that are guessed at
once, P pieces of a word, T tokens, V vocabulary.
"""

import time
from collections import defaultdict
from typing import NamedTuple

import torch
from torch import Tensor

from engine.errors import StudioError
from engine.explore.inputs import Inputs, inputs, longest
from engine.explore.predictions import logarithms, seen, word_head
from engine.messages.answers import CandidatesWeighed, Searched, Weighed
from engine.messages.questions import Search, Weigh
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase

BATCH = 2048  # tokens of rows that are guessed at once
MOST = 200  # candidates


class Gap(NamedTuple):
    """A text around the tokens from `first` to `last`, in whose place others are put."""

    given: Inputs  # the text as typed, other words hidden
    first: int
    last: int

    @property
    def width(self) -> int:
        return self.last - self.first + 1


@torch.inference_mode()
def weigh(checkpoint: Checkpoint, question: Weigh) -> CandidatesWeighed:
    """The joint score of every candidate.

    Raises StudioError where the model has no head for masked words, or there is no such place.
    """
    began = time.perf_counter()
    word_head(checkpoint)
    if len(question.candidates) > MOST:
        raise StudioError(
            phrase("There are {count} candidates.", count=len(question.candidates)),
            phrase("Ask for {most} at a time at the most.", most=MOST),
        )
    gap = _gap(checkpoint, question)
    room = longest(checkpoint) - len(gap.given.described) + gap.width
    made: dict[int, Weighed] = {}
    by_length: dict[int, list[int]] = defaultdict(list)
    ids: dict[int, list[int]] = {}
    for number, text in enumerate(question.candidates):
        ids[number] = pieces_of(checkpoint, question, gap, text)
        problem = _problem(checkpoint, ids[number], room)
        names = tuple(checkpoint.tokenizer.piece(one) for one in ids[number])
        made[number] = Weighed(text=text, pieces=names, problem=problem)
        if not problem:
            by_length[len(ids[number])].append(number)
    for numbers in by_length.values():
        pieces = torch.tensor([ids[number] for number in numbers])  # [C, P]
        logs = joint(checkpoint, gap, pieces)
        for number, row in zip(numbers, logs.tolist(), strict=True):
            made[number] = made[number].model_copy(update={"logarithms": tuple(row)})
    return CandidatesWeighed(
        to=question.number,
        candidates=tuple(made[number] for number in range(len(question.candidates))),
        milliseconds=(time.perf_counter() - began) * 1000,
    )


@torch.inference_mode()
def search(checkpoint: Checkpoint, question: Search) -> Searched:
    """The rows of pieces with the best joint score that a beam search finds.

    Where a typed word stood, pieces that begin a word are looked for where one began, and pieces
    that continue one where it went on. Raises StudioError as `weigh` does.
    """
    began = time.perf_counter()
    word_head(checkpoint)
    gap = _gap(checkpoint, question)
    typed = [gap.given.described[place] for place in range(gap.first, gap.last + 1)]
    tokenizer = checkpoint.tokenizer
    is_word = gap.width > 1 and all(token.id != tokenizer.mask for token in typed)
    rows = torch.empty((1, 0), dtype=torch.long)  # [C, P so far]
    sums = torch.zeros((1, 0))  # logarithms of their pieces
    for number in range(gap.width):
        logs = next_piece(checkpoint, gap, rows, gap.width).cpu()  # [C, V]
        logs = logs[:, : tokenizer.size]
        if is_word:
            goes_on = torch.from_numpy(tokenizer.continues)
            wanted = bool(tokenizer.continues[typed[number].id])
            logs = logs.masked_fill(goes_on != wanted, float("-inf"))
        total = sums.sum(1, keepdim=True) + logs  # [C, V]
        kept = min(question.beams, int(torch.isfinite(total).sum()))
        best = total.flatten().topk(kept).indices
        before, piece = best // logs.size(1), best % logs.size(1)
        rows = torch.cat((rows[before], piece[:, None]), 1)
        sums = torch.cat((sums[before], logs[before, piece][:, None]), 1)
    own = torch.tensor([[token.id for token in typed]])
    has_own = all(token.id != tokenizer.mask for token in typed)
    return Searched(
        to=question.number,
        first=gap.first,
        last=gap.last,
        found=tuple(
            _weighed(checkpoint, ids, logs)
            for ids, logs in zip(rows[: question.top], sums[: question.top], strict=True)
        ),
        actual=_weighed(checkpoint, own[0], joint(checkpoint, gap, own)[0]) if has_own else None,
        milliseconds=(time.perf_counter() - began) * 1000,
    )


def joint(checkpoint: Checkpoint, gap: Gap, pieces: Tensor) -> Tensor:
    """The logarithm of each piece of int64 [C, P] in the gap, those before it shown, [C, P]."""
    found = []
    for number in range(pieces.size(1)):
        begun, which = _different(pieces[:, :number])
        logs = next_piece(checkpoint, gap, begun, pieces.size(1)).cpu()  # [unique, V]
        found.append(logs[which, pieces[:, number]])
    return torch.stack(found, 1)


def _different(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of int64 [C, P] that differ, and which of them each row is, int64 [C]."""
    if not rows.size(1):
        return rows[:1], torch.zeros(len(rows), dtype=torch.long)
    different, which = rows.unique(dim=0, return_inverse=True)
    return different, which


def next_piece(checkpoint: Checkpoint, gap: Gap, begun: Tensor, width: int) -> Tensor:
    """Logarithms of what comes after `begun` in a gap of `width`, the rest hidden, float [C, V].

    Args:
        begun: int64 [C, P so far]; fewer pieces than `width`.
    """
    rows = max(1, BATCH // (len(gap.given.described) - gap.width + width))
    return torch.cat([_guessed(checkpoint, gap, part, width) for part in begun.split(rows)])


def _guessed(checkpoint: Checkpoint, gap: Gap, begun: Tensor, width: int) -> Tensor:
    network, mask = checkpoint.network, checkpoint.tokenizer.mask
    count, known = begun.shape
    device = gap.given.tokens.device
    middle = torch.full((count, width), mask, device=device)
    middle[:, :known] = begun.to(device)
    tokens = _around(gap.given.tokens, gap, middle)  # [C, T]
    segment = int(gap.given.segments[0, gap.first])
    segments = _around(gap.given.segments, gap, torch.full_like(middle, segment))
    place = gap.first + known
    if network.spec.causal:  # it never saw a mask, and what comes later tells it nothing
        last = network.encoder(tokens[:, :place], segments[:, :place]).last[:, -1]  # [C, D]
    else:
        places = torch.full((count, 1), place, device=device)
        last = network.encoder.at(tokens, segments, places)[:, 0]
    return logarithms(word_head(checkpoint)(last))


def _around(row: Tensor, gap: Gap, middle: Tensor) -> Tensor:
    """int64 [1, T] with [C, P] in place of the gap, [C, T]."""
    before, after = row[:, : gap.first], row[:, gap.last + 1 :]
    count = middle.size(0)
    return torch.cat((before.expand(count, -1), middle, after.expand(count, -1)), 1)


def pieces_of(checkpoint: Checkpoint, question: Weigh, gap: Gap, text: str) -> list[int]:
    """The pieces that a word has in the place of the gap.

    It is typed there and tokenised with its text, since spaces and neighbours matter to some
    tokenizers; where it melts into a neighbour, its own pieces are taken.
    """
    word = text.strip()
    if not word:
        return []
    tokens = gap.given.described
    segment = tokens[gap.first].segment
    start, end = tokens[gap.first].start, tokens[gap.last].end
    parts = [question.text, question.pair or ""]
    parts[segment] = parts[segment][:start] + word + parts[segment][end:]
    tokenizer, stop = checkpoint.tokenizer, start + len(word)
    ids, offsets = tokenizer.placed(parts[segment])
    inside = [one for one, (a, b) in zip(ids, offsets, strict=True) if a < stop and b > start]
    whole = all(a >= start and b <= stop for a, b in offsets if a < stop and b > start)
    return inside if whole and inside else list(tokenizer.placed(word)[0])


def _gap(checkpoint: Checkpoint, question: Weigh | Search) -> Gap:
    """Raises StudioError where these tokens make no place."""
    given = inputs(checkpoint, question)
    tokens, first, last = given.described, question.first, question.last
    is_place = 0 <= first <= last < len(tokens) and all(
        not token.special and token.segment == tokens[first].segment
        for token in tokens[first : last + 1]
    )
    if not is_place:
        raise StudioError(
            phrase(
                "The tokens {first} to {last} are no word of the text.",
                first=first + 1,
                last=last + 1,
            ),
            phrase("Hide a word, and ask for that one."),
        )
    return Gap(given._replace(tokens=seen(checkpoint, given)), first, last)


def _problem(checkpoint: Checkpoint, ids: list[int], room: int) -> str:
    """Why a candidate cannot be weighed; empty where it can."""
    if not ids:
        return phrase("There is nothing to weigh.")
    if checkpoint.tokenizer.unknown in ids:
        return phrase("The vocabulary has no pieces for this word.")
    if len(ids) > room:
        return phrase(
            "Its {count} pieces do not fit: the text would be too long for the model.",
            count=len(ids),
        )
    return ""


def _weighed(checkpoint: Checkpoint, ids: Tensor, logs: Tensor) -> Weighed:
    pieces = tuple(checkpoint.tokenizer.piece(one) for one in ids.tolist())
    return Weighed(text=" ".join(pieces), pieces=pieces, logarithms=tuple(logs.tolist()))

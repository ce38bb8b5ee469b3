"""Association of fillers and targets in templates (Kurita et al. 2019)."""

import re
from typing import NamedTuple

import torch

from engine.errors import StudioError
from engine.explore.candidates import is_in_word
from engine.explore.candidates import score as score_candidates
from engine.explore.fill_mask import mlm_head
from engine.messages.explore.candidates import Candidate, ScoreCandidates
from engine.messages.explore.templates import (
    FILLER,
    TARGET,
    ScoreTemplates,
    TargetScore,
    TemplateRow,
    TemplatesScored,
)
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.inputs import encode_text

MAX_ROWS = 4  # per answer, so that the next question does not wait long


class FilledTemplate(NamedTuple):
    """A template with a filler and a masked target."""

    text: str
    filler: tuple[int, int]  # its start and end character
    target: int  # first character of the target's mask


@torch.inference_mode()
def score(checkpoint: Checkpoint, question: ScoreTemplates) -> TemplatesScored:
    """Score the next rows from `start` on.

    A target of several tokens has as many masks, filled from left to right; the tokens of a masked
    filler stay masked.

    Raises StudioError if the model has no MLM head or is left-to-right, or a template does not have
    exactly one slot of each kind.
    """
    mlm_head(checkpoint)
    if checkpoint.network.spec.is_causal:
        raise StudioError(
            "A left-to-right model cannot fill a mask from both sides.",
            "Choose a model that was pre-trained with MLM.",
        )
    for number, template in enumerate(question.templates, start=1):
        check(template, number)
    count = len(question.fillers)
    total = len(question.templates) * count
    stop = min(question.start + MAX_ROWS, total)
    rows = [
        _row(checkpoint, question, *divmod(number, count)) for number in range(question.start, stop)
    ]
    return TemplatesScored(
        to=question.number, rows=tuple(rows), next=stop if stop < total else None, total=total
    )


def check(template: str, number: int) -> None:
    """Raise StudioError if a template (numbered from 1) does not have exactly one slot of each
    kind."""
    for slot in (FILLER, TARGET):
        if len(_find_slots(template, slot)) != 1:
            raise StudioError(
                "Template {number} must contain {slot} exactly once.",
                "Write, for example, “{target} works as a {filler}”.",
                number=number,
                slot=slot,
                target=TARGET,
                filler=FILLER,
            )


def _find_slots(template: str, slot: str) -> list[int]:
    return [match.start() for match in re.finditer(re.escape(slot), template, re.IGNORECASE)]


def fill_template(template: str, filler: str, mask: str) -> FilledTemplate:
    """A template with the filler inserted and the target masked."""
    at_filler, at_target = _find_slots(template, FILLER)[0], _find_slots(template, TARGET)[0]
    words = {at_filler: (FILLER, filler), at_target: (TARGET, mask)}
    text, end, starts = "", 0, dict[int, int]()
    for start in sorted(words):
        slot, word = words[start]
        text += template[end:start]
        starts[start] = len(text)
        text += word
        end = start + len(slot)
    begin = starts[at_filler]
    return FilledTemplate(text + template[end:], (begin, begin + len(filler)), starts[at_target])


def _row(
    checkpoint: Checkpoint, question: ScoreTemplates, template: int, filler: int
) -> TemplateRow:
    tokenizer = checkpoint.tokenizer
    word = question.fillers[filler].strip()
    filled = fill_template(question.templates[template], word, tokenizer.token(tokenizer.mask))
    inputs = encode_text(checkpoint, filled.text, None)
    ordinary = [(n, token) for n, token in enumerate(inputs.records) if not token.special]
    begin, end = filled.filler
    filler_indices = [n for n, token in ordinary if is_in_word(token.start, token.end, begin, end)]
    position = next((n for n, token in ordinary if token.start <= filled.target < token.end), None)
    names = tuple(inputs.records[n].text for n in filler_indices)
    problem = ""
    if not filler_indices:
        problem = phrase("The filler is empty.")
    elif any(inputs.records[n].id == tokenizer.unknown for n in filler_indices):
        problem = phrase("The filler is not in the vocabulary.")
    if position is None or inputs.truncated:
        problem = phrase("The template exceeds the maximum length.")
    if problem or position is None:
        targets = tuple(TargetScore(problem=problem) for _ in question.targets)
        return TemplateRow(template=template, filler=filler, tokens=names, targets=targets)
    plain = ScoreCandidates(
        checkpoint=question.checkpoint,
        text=filled.text,
        first=position,
        last=position,
        candidates=question.targets,
    )
    masked = plain.model_copy(update={"masked": tuple(filler_indices)})
    shown, prior = (
        score_candidates(checkpoint, candidates).candidates for candidates in (plain, masked)
    )
    return TemplateRow(
        template=template,
        filler=filler,
        tokens=names,
        targets=tuple(_target(a, b) for a, b in zip(shown, prior, strict=True)),
    )


def _target(shown: Candidate, prior: Candidate) -> TargetScore:
    if shown.problem:
        return TargetScore(tokens=shown.tokens, problem=shown.problem)
    return TargetScore(
        tokens=shown.tokens, given=shown.log_probability, prior=prior.log_probability
    )

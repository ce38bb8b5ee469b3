"""The table from question types to the functions that answer them.

The functions know nothing of processes: most take a checkpoint and a question. Rare ones with slow
imports are imported on demand.
"""

import time
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from engine.data.datasets.store import open_dataset
from engine.explore import (
    attention,
    attribution,
    candidates,
    edits,
    embeddings,
    fill_mask,
    head_importance,
    head_pruning,
    head_statistics,
    measures,
    model_difference,
    nearest,
    prediction,
    templates,
    text_map,
    text_scores,
    token_scores,
    word_occurrences,
    word_relations,
    word_vectors,
)
from engine.explore.ablation import ablate, average_heads
from engine.explore.importing import import_model
from engine.explore.limits import limited_memory
from engine.messages.applying import AgreementMeasured, Apply, MeasureAgreement, PredictFirst
from engine.messages.batch import ShowBatch
from engine.messages.estimating import Estimate
from engine.messages.evaluating import Evaluate, FitBaselines
from engine.messages.explore.attention import Attend, ShowQueryKey
from engine.messages.explore.attribution import (
    Attribute,
    CheckFaithfulness,
    ScoreEdits,
    SuggestWords,
)
from engine.messages.explore.candidates import FindCandidates, ScoreCandidates
from engine.messages.explore.embeddings import Embed
from engine.messages.explore.fill_mask import FillMask, MaskFilled
from engine.messages.explore.nearest import EncodeRows, FindNearest
from engine.messages.explore.prediction import (
    Predict,
    PredictByDescriptions,
    PredictNextSentence,
)
from engine.messages.explore.templates import ScoreTemplates
from engine.messages.explore.text import PreciseAnswer, PreciseQuestion
from engine.messages.explore.text_set import (
    AverageHeads,
    CompareModels,
    CountHeads,
    PlaceTexts,
    PruneHeads,
    RemoveHeads,
    ScoreTexts,
    WeighHeads,
)
from engine.messages.explore.token_scores import ApplyLens, ScoreTokens
from engine.messages.explore.word_relations import RelateWords
from engine.messages.explore.word_vectors import (
    CompareWord,
    FindTokens,
    FindWords,
    SaveWordVectors,
)
from engine.messages.exporting import Export
from engine.messages.importing import Examine, Examined, Import, Imported
from engine.messages.labelling import EstimateGain, FindLabelErrors, SuggestLabels
from engine.messages.question import Answer, Question, Working
from engine.messages.shrinking import Shrink
from engine.messages.word_vectors import ImportVectors, VectorsImported
from engine.models.checkpoint import Checkpoint, examine
from engine.phrases import phrase
from engine.worker.context import WorkerContext, lower_priority
from engine.worker.questions import Line, emit_answer, parse_among

if TYPE_CHECKING:
    from engine.training.data.batch_preview import BatchPreview

Answerer = Callable[[Any, WorkerContext], Answer]
QuestionT = TypeVar("QuestionT", bound=Question)
PreciseT = TypeVar("PreciseT", bound=PreciseQuestion)

MAX_ANSWERS = 200  # cached answers of a model


def exact_answerer(answer: Callable[[Checkpoint, QuestionT], Answer]) -> Answerer:
    """Answer from the checkpoint of the question, in float32."""

    def answerer(question: Any, context: WorkerContext) -> Answer:
        checkpoint = context.models.take(question.checkpoint)
        with ablate(checkpoint.network, question):
            return answer(checkpoint, question)

    return answerer


def precise_answerer(answer: Callable[[Checkpoint, PreciseT], PreciseAnswer]) -> Answerer:
    """Answer in float32 or in reduced precision, and report which.

    Answers are cached, so that undoing an edit of the text computes nothing.
    """

    def answerer(question: Any, context: WorkerContext) -> Answer:
        start = time.perf_counter()
        serving = context.models.serving(question.checkpoint)
        checkpoint, kind, reason = serving.take(question.exact)
        header: dict[str, object] = {"to": question.number, "computed": kind, "why_exact": reason}
        key = f"{kind} {question.model_dump_json(exclude={'number', 'side', 'exact'})}"
        result = serving.answers.get(key)
        if result is None:
            with ablate(checkpoint.network, question):
                result = answer(checkpoint, question)
            while len(serving.answers) >= MAX_ANSWERS:
                del serving.answers[next(iter(serving.answers))]
            serving.answers[key] = result
        elif isinstance(result, MaskFilled):
            header["milliseconds"] = (time.perf_counter() - start) * 1000
        return result.model_copy(update=header)

    return answerer


def _attend(question: Attend, context: WorkerContext) -> Answer:
    """Compute attention: not cached, since its file is temporary; analyses are always exact."""
    serving = context.models.serving(question.checkpoint)
    is_analysis = question.measure != "weights"
    checkpoint, kind, reason = serving.take(question.exact or is_analysis, maps=True)
    with ablate(checkpoint.network, question):
        answer = attention.attend(checkpoint, question, context.scratch, context.emit)
    return answer.model_copy(update={"computed": kind, "why_exact": reason})


def _attribute(question: Attribute, context: WorkerContext) -> Answer:
    serving = context.models.serving(question.checkpoint)
    takes_gradients = question.method in attribution.GRADIENTS
    checkpoint = serving.plain if takes_gradients else serving.exact
    with ablate(checkpoint.network, question):
        return attribution.attribute(checkpoint, question)


def slow_answerer(
    answer: Callable[..., Answer],
    model: Literal["serving", "exact", "plain"] = "exact",
    has_file: bool = True,
) -> Answerer:
    """Answer over many texts, at low priority, with partial answers.

    Args:
        model: attribute of the `Serving` that `answer` gets, or the `Serving` itself.
        has_file: `answer` also gets the folder for its tensors.
    """

    def answerer(question: Any, context: WorkerContext) -> Answer:
        lower_priority()
        serving = context.models.serving(question.checkpoint)
        checkpoint = serving.plain if model == "plain" else serving.exact
        folder = (context.scratch,) if has_file else ()
        with ablate(checkpoint.network, question):
            subject = serving if model == "serving" else checkpoint
            return answer(subject, question, *folder, context.emit)

    return answerer


def _compare_models(question: CompareModels, context: WorkerContext) -> Answer:
    lower_priority()
    models = [context.models.serving(folder) for folder in (question.checkpoint, question.other)]
    return model_difference.compare(models[0], models[1], question, context.scratch, context.emit)


def _prune_heads(question: PruneHeads, context: WorkerContext) -> Answer:
    lower_priority()
    return head_pruning.prune(
        context.models.serving(question.checkpoint).plain, question, context.emit
    )


def _encode_rows(question: EncodeRows, context: WorkerContext) -> Answer:
    lower_priority()
    return nearest.encode_rows(context.models.take(question.checkpoint), question, context.emit)


def _find_nearest(question: FindNearest, context: WorkerContext) -> Answer:
    return nearest.find_nearest(context.models.take(question.checkpoint), question)


def _examine(question: Examine, _: WorkerContext) -> Answer:
    with limited_memory(question.folder):
        info, report = examine(question.folder)
    return Examined(to=question.number, info=info, report=report)


def _import(question: Import, context: WorkerContext) -> Answer:
    def stage(text: str) -> None:
        context.emit(Working(to=question.number, stage=text))

    info, report = import_model(question.folder, question.into, stage)
    return Imported(to=question.number, folder=question.into, info=info, report=report)


def _import_vectors(question: ImportVectors, context: WorkerContext) -> Answer:
    from engine.data.word_vectors.store import convert

    progress = partial(_emit, context, question, phrase("Converting the word vectors"))
    facts = convert(question.file, question.into, progress)
    return VectorsImported(to=question.number, folder=question.into, facts=facts)


def _export(question: Export, context: WorkerContext) -> Answer:
    from engine.export.exporting import export

    return export(question, context.scratch, context.emit)


def _shrink(question: Shrink, context: WorkerContext) -> Answer:
    from engine.shrinking.bench import shrink

    lower_priority()
    return shrink(question, context.emit)


def _predict_first(question: PredictFirst, context: WorkerContext) -> Answer:
    from engine.applying.apply import predict_first
    from engine.tasks.describing import make_predictor

    serving = context.models.serving(question.apply.checkpoint)
    first = question.apply.model_copy(update={"exact": True})
    return predict_first(question, make_predictor(first, serving))


def _apply(question: Apply, context: WorkerContext) -> Answer:
    from engine.applying.apply import apply
    from engine.tasks.describing import make_predictor

    lower_priority()
    context.emit(Working(to=question.number, stage=phrase("Loading the model")))
    return apply(question, make_predictor(question, question.checkpoint), context.emit)


def _measure_agreement(question: MeasureAgreement, _: WorkerContext) -> Answer:
    from engine.tasks.predicting import Predictor

    lower_priority()
    predictor = Predictor(question.checkpoint, question.max_length, question.batch_size, False)
    return AgreementMeasured(to=question.number, agreement=predictor.agreement)


def _evaluate(question: Evaluate, context: WorkerContext) -> Answer:
    from engine.tasks.scoring import evaluate

    return evaluate(question, context.scratch, context.emit)


def _fit_baselines(question: FitBaselines, context: WorkerContext) -> Answer:
    from engine.tasks.scoring import fit_baselines

    return fit_baselines(question, context.scratch, context.emit)


def _estimate(question: Estimate, context: WorkerContext) -> Answer:
    from engine.training.estimate import estimate

    measured = estimate(question.job, partial(_emit, context, question))
    return measured.model_copy(update={"to": question.number})


def _show_batch(question: ShowBatch, context: WorkerContext) -> Answer:
    from engine.runs.folder import RunFolder

    shown = _batch_preview().show(
        RunFolder(question.run), question.step, partial(_emit, context, question)
    )
    return shown.model_copy(update={"to": question.number})


@cache
def _batch_preview() -> "BatchPreview":
    """The preview of this process, which caches the data of the last run."""
    from engine.training.data.batch_preview import BatchPreview

    return BatchPreview()


def _find_label_errors(question: FindLabelErrors, context: WorkerContext) -> Answer:
    from engine.tasks.suggesting import find_label_errors

    data, emit = (
        open_dataset(question.data).with_target(question.target),
        partial(_emit, context, question),
    )
    base, folds = question.checkpoint, question.fine_tune_in
    if base is None or folds is None:
        loaded = None if base is None else context.models.take(base)
        errors = find_label_errors(data, loaded, emit)
    else:
        from engine.training.fold_runs import fold_scorer

        errors = find_label_errors(data, None, emit, fold_scorer(data, base, folds, emit))
    return errors.model_copy(update={"to": question.number})


def _suggest_labels(question: SuggestLabels, context: WorkerContext) -> Answer:
    from engine.tasks.next_rows import suggest_labels

    lower_priority()
    suggested = suggest_labels(
        open_dataset(question.data).with_target(question.target),
        context.models.take(question.checkpoint),
        question,
        partial(_emit, context, question),
    )
    return suggested.model_copy(update={"to": question.number})


def _estimate_gain(question: EstimateGain, context: WorkerContext) -> Answer:
    from engine.tasks.next_rows import estimate_label_gain

    lower_priority()
    estimated = estimate_label_gain(
        open_dataset(question.data).with_target(question.target),
        context.models.take(question.checkpoint),
        question,
        partial(_emit, context, question),
    )
    return estimated.model_copy(update={"to": question.number})


def _emit(
    context: WorkerContext, question: Question, stage: str, done: int = 0, total: int = 0
) -> None:
    context.emit(Working(to=question.number, stage=stage, done=done, total=total))


ANSWERERS: dict[type[Question], Answerer] = {
    FillMask: precise_answerer(fill_mask.fill_mask),
    Attend: _attend,
    ShowQueryKey: exact_answerer(measures.query_key),
    ScoreCandidates: exact_answerer(candidates.score),
    FindCandidates: exact_answerer(candidates.find),
    ScoreTokens: exact_answerer(token_scores.score),
    ApplyLens: exact_answerer(token_scores.apply_lens),
    PredictNextSentence: exact_answerer(prediction.predict_next_sentence),
    PredictByDescriptions: exact_answerer(prediction.predict_by_descriptions),
    Embed: exact_answerer(embeddings.embed),
    CompareWord: exact_answerer(word_vectors.compare),
    FindTokens: exact_answerer(word_vectors.find_tokens),
    FindWords: slow_answerer(word_vectors.find_words, has_file=False),
    SaveWordVectors: slow_answerer(word_occurrences.save_occurrences, has_file=False),
    RelateWords: exact_answerer(word_relations.relate),
    ScoreTemplates: exact_answerer(templates.score),
    EncodeRows: _encode_rows,
    FindNearest: _find_nearest,
    Predict: precise_answerer(prediction.predict),
    Attribute: _attribute,
    CheckFaithfulness: exact_answerer(attribution.check_faithfulness),
    ScoreEdits: exact_answerer(edits.score),
    SuggestWords: exact_answerer(edits.suggest),
    ScoreTexts: slow_answerer(text_scores.score, "serving", has_file=False),
    CountHeads: slow_answerer(head_statistics.head_statistics),
    WeighHeads: slow_answerer(head_importance.weigh, "plain"),
    AverageHeads: slow_answerer(average_heads),
    PruneHeads: _prune_heads,
    RemoveHeads: lambda question, _: head_pruning.remove(question),
    CompareModels: _compare_models,
    PlaceTexts: slow_answerer(text_map.map_texts, "serving"),
    Examine: _examine,
    Import: _import,
    ImportVectors: _import_vectors,
    Shrink: _shrink,
    Export: _export,
    PredictFirst: _predict_first,
    MeasureAgreement: _measure_agreement,
    Apply: _apply,
    Evaluate: _evaluate,
    FitBaselines: _fit_baselines,
    Estimate: _estimate,
    ShowBatch: _show_batch,
    FindLabelErrors: _find_label_errors,
    SuggestLabels: _suggest_labels,
    EstimateGain: _estimate_gain,
}


def respond(line: Line, context: WorkerContext) -> None:
    """Answer a question; an error is an answer too, and the worker continues."""
    emit_answer(line, context.emit, lambda: answer(parse_among(line.content, ANSWERERS), context))


def answer(question: Question, context: WorkerContext) -> Answer:
    """Return the last answer; earlier, partial ones are emitted through the context."""
    return ANSWERERS[type(question)](question, context)

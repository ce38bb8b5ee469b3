"""Rows to label next: suggested labels, and the order in which rows come up.

Shapes: N rows, M labelled rows, C labels, D size of a vector, F features.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config.codebook import Code, Codebook
from engine.config.zero_shot import nli_outputs
from engine.data.columns.label_sets import join_labels, parse_label_sets
from engine.data.columns.tags import are_spans, tag_type
from engine.data.columns.text_spans import format_spans, spans_of_tags
from engine.data.columns.words import join_words
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset
from engine.errors import StudioError
from engine.evaluation.sentence_similarity import normalise
from engine.messages.labelling import (
    MIN_CURVE_ROWS,
    EstimateGain,
    GainEstimated,
    LabelsSuggested,
    Suggestion,
    SuggestLabels,
)
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.results.gain import estimate_gain, learning_curve
from engine.results.light_model import LightModel
from engine.tasks import checkpoint_learner
from engine.tasks.coded_rows import CodedRows, joined_texts
from engine.tasks.evaluating import collect_predictions
from engine.tasks.inputs import max_tokens
from engine.tasks.row_orders import margins, mean_binary_entropy, most_diverse
from engine.tasks.span_classification import SpanCollector
from engine.tasks.token_classification import TagCollector
from engine.tasks.vector_cache import text_vectors
from engine.tasks.zero_shot import compare_with_codes

MAX_SUGGESTIONS = 1_000
BATCH = 32  # rows
COSINE_WEIGHT = 3.0  # of the cosine of a pair among its features

Report = Callable[[str, int, int], None]


class Scored(NamedTuple):
    """Predictions of a model for rows.

    Args:
        cells: N labels or sets of them, as in a cell.
        p: float64 [N], probabilities of the cells.
        uncertainty: float64 [N].
        by_label: float64 [N, C], probabilities of the `names`.
    """

    cells: Sequence[str]
    p: NDArray[np.float64]
    uncertainty: NDArray[np.float64]
    by_label: NDArray[np.float64]
    names: Sequence[str]


def suggest_labels(
    dataset: Dataset, loaded: Checkpoint, question: SuggestLabels, report: Report
) -> LabelsSuggested:
    """Predict the rows without a label, in the order to label them.

    Models fine-tuned for such labels predict directly; for others, a light model is fitted on the
    labelled rows. Before rows have two labels, they are compared with the names and definitions in
    the codebook (`engine.tasks.zero_shot`).

    Raises StudioError if no row lacks its label, or if the model does not predict such labels and
    neither the rows nor the codebook have two.
    """
    rows = CodedRows(dataset, question.labels, question.codebook)
    for row in question.rows:  # none is suggested its own label
        rows.known.pop(row, None)
    stage = phrase("Reading the rows with the model")
    without = rows.without
    indices = np.array(question.rows, dtype=np.int64) if question.rows else without
    if not len(indices):
        raise StudioError("Every row has a label.", "Import rows without labels to label them.")
    labelled, count = np.array([*rows.known], dtype=np.int64), len(indices)
    texts = rows.texts(np.concatenate([indices, labelled]))

    @cache
    def features() -> NDArray[np.float32]:  # [N + M, F]
        return row_features(loaded, question.checkpoint, texts, partial(report, stage))

    head, names, from_codebook = loaded.network.heads.task, rows.names, False
    fits = head is not None and (
        head.marks_text
        if rows.has_tags
        else head.is_multi_label
        if rows.has_sets
        else head.classifies
    )
    is_tuned = fits and not _reads_hypotheses(loaded, rows)
    if is_tuned:
        scored = _predict(loaded, texts.take(range(count)), rows, report)
    elif rows.has_tags:
        raise StudioError(
            "This model does not predict tags.",
            "Choose a model fine-tuned for token or span classification.",
        )
    elif len(names) > 1:
        targets, places = rows.targets([*rows.known], names), np.arange(count + len(labelled))
        targets = np.vstack([np.zeros((count, len(names)), dtype=bool), targets])
        light = LightModel(joined_texts(texts), features(), targets)
        by_label = light.predict(places[count:], places[:count], rows.has_sets)
        scored = _score(by_label, names, rows)
    else:
        codes, from_codebook = _codes(rows.codebook), True
        names = [code.label for code in codes]
        first = joined_texts(texts)[:count]
        by_label = compare_with_codes(
            *(loaded, question.checkpoint, first, codes, rows.has_sets),
            partial(report, phrase("Comparing the rows with the labels")),
        )
        scored = _score(by_label, names, rows)
    chosen = _order_rows(question, scored, features, count)
    chosen = chosen if question.rows else chosen[:MAX_SUGGESTIONS]
    return LabelsSuggested(
        suggestions=tuple(
            Suggestion(
                row=int(indices[n]),
                label=scored.cells[n],
                probability=float(np.clip(scored.p[n], 0, 1)),
            )
            for n in chosen.tolist()
        ),
        rows=len(without),
        from_codebook=from_codebook,
        learns=not is_tuned,
    )


def estimate_label_gain(
    dataset: Dataset, loaded: Checkpoint, question: EstimateGain, report: Report
) -> GainEstimated:
    """Estimate what more labels add to the accuracy of the light model; of sets, exact matches.

    Raises StudioError if there are too few rows with labels outside the test part.
    """
    rows = CodedRows(dataset, question.labels, question.codebook)
    names, known = rows.names, [*rows.known]
    if rows.has_tags or len(names) < 2 or len(known) < MIN_CURVE_ROWS:
        raise StudioError(
            "A learning curve needs {n} rows with labels outside the test set, and two labels.",
            "Label more rows first.",
            n=MIN_CURVE_ROWS,
        )
    texts, targets = rows.texts(np.array(known, dtype=np.int64)), rows.targets(known, names)
    stage, fitting = phrase("Reading the rows with the model"), phrase("Fitting light models")
    features = row_features(loaded, question.checkpoint, texts, partial(report, stage))
    model, places = LightModel(joined_texts(texts), features, targets), np.arange(len(known))
    curve = learning_curve(model, places, targets, rows.has_sets, partial(report, fitting))
    gain = estimate_gain(curve, question.more, targets, names)
    return GainEstimated(
        rows=gain.rows,
        more=gain.more,
        accuracy=gain.accuracy,
        gain=gain.gain.value,
        low=gain.gain.low,
        high=gain.gain.high,
        hardly_pays=gain.hardly_pays,
        label=gain.label,
    )


def _reads_hypotheses(loaded: Checkpoint, rows: CodedRows) -> bool:
    """True if the model is one for natural language inference, and the labels are others."""
    used = {*rows.names, *(code.label for code in (rows.codebook or Codebook()).active)}
    own = {label.casefold() for label in loaded.labels}
    is_own = bool(own & {label.casefold() for label in used}) or (not used and rows.are_pairs)
    return nli_outputs(loaded.labels) is not None and not is_own


def _predict(loaded: Checkpoint, texts: Rows, rows: CodedRows, report: Report) -> Scored:
    """Predictions of a fine-tuned model."""
    learner, stage = checkpoint_learner(loaded), phrase("Predicting the rows without a label")
    assert learner is not None  # the model has a task head
    predicted = collect_predictions(
        *(loaded, learner, texts, max_tokens(loaded), BATCH),
        lambda done, total: report(stage, done, total),
    )
    if isinstance(predicted, TagCollector):
        return _score_tags(predicted, texts.texts if rows.has_text_spans else None)
    if isinstance(predicted, SpanCollector):
        return _score_spans(predicted, loaded.labels, rows.has_text_spans)
    columns, records = predicted.row_predictions(), predicted.predictions()
    assert columns.scores is not None and columns.probability is not None
    cells = [str(next(iter(record.values()))) for record in records]
    if rows.has_sets:
        cells = [join_labels(labels, True) for labels in parse_label_sets(cells)]
    by_label, p = (np.asarray(x, dtype=np.float64) for x in (columns.scores, columns.probability))
    return Scored(cells, p, _uncertainty(by_label, rows), by_label, loaded.labels)


def _score(by_label: NDArray[np.float64], names: Sequence[str], rows: CodedRows) -> Scored:
    """The most probable label of each row, or those of its set that are likelier than not."""
    uncertainty = _uncertainty(by_label, rows)
    if rows.has_sets:
        chosen = by_label >= 0.5
        sets = [[names[n] for n in np.flatnonzero(row).tolist()] for row in chosen]
        p = np.where(chosen, by_label, 1 - by_label).prod(axis=1)
        cells = [join_labels(labels, True) for labels in sets]
        return Scored(cells, p, uncertainty, by_label, names)
    best, p = by_label.argmax(axis=1).tolist(), by_label.max(axis=1)
    return Scored([names[n] for n in best], p, uncertainty, by_label, names)


def _uncertainty(by_label: NDArray[np.float64], rows: CodedRows) -> NDArray[np.float64]:
    return mean_binary_entropy(by_label) if rows.has_sets else -margins(by_label)


def _score_tags(predicted: TagCollector, texts: Sequence[str] | None) -> Scored:
    """Probability of a row: that of its least confident word; of a type: that of its surest.

    The cells have spans of the characters of the `texts`, or tags without these.
    """
    tags, words = predicted.predicted_tags(), predicted.word_probabilities()
    least = np.array([np.min(p, initial=1.0) for p in words])
    used = {tag for row in tags for tag in row} - {"O"}
    types = {tag: tag_type(tag) if are_spans(used) else tag for tag in used}
    names = sorted({*types.values()})
    by_label = np.zeros((len(tags), len(names)))
    for row, (found, p) in enumerate(zip(tags, words, strict=True)):
        for tag, value in zip(found, p.tolist(), strict=True):
            if tag in types:
                place = names.index(types[tag])
                by_label[row, place] = max(by_label[row, place], value)
    cells = [join_words(row) for row in tags]
    if texts is not None:
        spans = map(spans_of_tags, texts, predicted.words, tags)
        cells = [format_spans(row) for row in spans]
    return Scored(cells, least, 1 - least, by_label, names)


def _score_spans(predicted: SpanCollector, names: Sequence[str], has_text_spans: bool) -> Scored:
    """Probability of a row: that of its least certain span, predicted or not; of a label: that of
    its surest span."""
    if not has_text_spans:
        raise StudioError(
            "This model predicts spans, but the rows have a tag for each word.",
            "Choose a model fine-tuned for token classification.",
        )
    p, found = np.nan_to_num(predicted.certainties(), nan=1.0), predicted.text_spans()
    by_label = np.zeros((len(found), len(names)))
    for row, spans in enumerate(found):
        for span, value in spans:
            place = names.index(span.label)
            by_label[row, place] = max(by_label[row, place], value)
    cells = [format_spans(span for span, _ in spans) for spans in found]
    return Scored(cells, p, 1 - p, by_label, names)


def _order_rows(
    question: SuggestLabels,
    scored: Scored,
    features: Callable[[], NDArray[np.float32]],
    count: int,
) -> NDArray[np.int64]:
    """Indices of the first `count` rows in the order of the question; the most diverse ones may be
    fewer."""
    match question.order:
        case "uncertain":
            return np.argsort(-scored.uncertainty, kind="stable")
        case "diverse":
            return most_diverse(features()[:count], MAX_SUGGESTIONS, features()[count:])
        case "likely":
            if question.label not in scored.names:
                raise StudioError(
                    "The model does not know the label “{label}” yet.",
                    "Label some rows with it first, or choose another label.",
                    label=question.label[:60],
                )
            column = scored.by_label[:, [*scored.names].index(question.label)]
            return np.argsort(-column, kind="stable")
        case _:
            return np.arange(count)


# ── the light model and the codebook ─────────────────────────────────────────────────────────


def row_features(
    loaded: Checkpoint, checkpoint: Path, rows: Rows, report: ProgressCallback
) -> NDArray[np.float32]:
    """Unit vectors of the texts, float32 [N, F]; of pairs u and v: |u − v| and u · v."""
    texts = [*rows.texts, *(rows.pairs or ())]
    vectors = normalise(text_vectors(loaded, checkpoint, texts, report))
    if rows.pairs is None:
        return vectors
    u, v = vectors[: len(rows)], vectors[len(rows) :]
    return np.hstack([np.abs(u - v), COSINE_WEIGHT * (u * v).sum(axis=1, keepdims=True)])


def _codes(codebook: Codebook | None) -> tuple[Code, ...]:
    """The labels of the codebook that rows can get.

    Raises StudioError if there are fewer than two.
    """
    codes = () if codebook is None else codebook.active
    if len(codes) < 2:
        raise StudioError(
            "This model does not predict such labels, and there are fewer than two labels yet.",
            "Name at least two labels in the codebook, or choose a fine-tuned model.",
        )
    return codes

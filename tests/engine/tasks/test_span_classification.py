"""Spans are scored as the paper says, learned even if nested, and equal in all ways in."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import BertForTokenClassification

from engine.cli import main
from engine.config.dataset import Mapping, Split
from engine.config.tasks.span_classification import SPAN_SIZE, SpanClassification
from engine.data.columns.fit import likely_task
from engine.data.columns.tags import Span, spans_from_tags
from engine.data.columns.text_spans import read_spans, spanned_words, tagged_words
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import recognise
from engine.documents.card import model_card
from engine.errors import StudioError
from engine.evaluation.span_classification import report
from engine.explore.attribution import attribute
from engine.explore.prediction import predict
from engine.messages.explore.attribution import Attribute
from engine.messages.explore.prediction import Predict
from engine.messages.labelling import SuggestLabels
from engine.models import checkpoint
from engine.models.heads import Heads
from engine.results.measures import interval, measures
from engine.results.predictions import read_predictions
from engine.results.spans import list_spans, span_table, spans_in_row
from engine.results.store import predictions_file
from engine.runs.folder import RunFolder
from engine.tasks.next_rows import suggest_labels
from engine.tasks.predicting import Predictor
from engine.tasks.span_classification import SpanClassificationLearner, span_logits
from engine.training.loop import train
from tests.engine.models import small as models
from tests.engine.training import small
from tests.engine.training.test_loop import final, metrics

TEXTS = ["ada bcx d \u00ad e", "m n", "f abcq qa o p q g h"]
SPANS = [
    '[[0, 9, "x"], [4, 9, "y"], [8, 9, "x"]]',
    "[]",
    '[[2, 9, "y"], [5, 11, "x"], [0, 19, "z"]]',
]
ROWS = Rows(texts=TEXTS, tags=SPANS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("spans")
    return small.trained(
        folder / "run",
        small.finding_spans(folder, steps=70, evaluate_every=70, save_every=0, learning_rate=1e-2),
    )


@pytest.fixture(scope="module")
def model(run: RunFolder) -> Path:
    return run.checkpoint_folders()[-1]


def no_progress(done: int, total: int) -> None: ...


def fitted(**settings: object) -> SpanClassificationLearner:
    learner = SpanClassificationLearner(SpanClassification(**settings))
    learner.fit_labels(ROWS)
    return learner


def naive_logits(outputs: np.ndarray, labels: int, first: int, last: int) -> np.ndarray:
    """s_first + e_last - 5 + q_first · R(last - first) k_last / √K, with rotations as matrices."""
    s, e, q, k = np.split(outputs, [labels, 2 * labels, 2 * labels + SPAN_SIZE], axis=1)
    score = 0.0
    for n in range(0, SPAN_SIZE, 2):
        angle = (last - first) * 10_000 ** (-n / SPAN_SIZE)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        score += q[first, n : n + 2] @ turn @ k[last, n : n + 2]
    return s[first] + e[last] - 5 + score / SPAN_SIZE**0.5


def test_logits_and_loss_follow_the_formula_on_outputs_of_transformers(tmp_path):
    tokenizer, learner = models.tokenizer(tmp_path), fitted()
    assert learner.labels == ("x", "y", "z")
    assert learner.task.max_words == max(len(row.places) for row in ROWS.spanned)
    network = models.network(learner.heads)
    checkpoint.save(tmp_path / "saved", network, tokenizer, learner.labels)
    theirs = BertForTokenClassification.from_pretrained(tmp_path / "saved").eval()
    names = [theirs.config.id2label[n] for n in range(4)]
    assert names == ["x", "y", "z", "end of x"]
    examples = learner.tokenize(ROWS, tokenizer, 64, tmp_path / "t", no_progress)
    batch = learner.batch(examples, np.arange(3), tokenizer, np.random.default_rng(0))
    with torch.inference_mode():
        mask = batch.attention_mask
        outputs = theirs(batch.tokens, None if mask is None else mask.long()).logits
        ours = learner.losses(network, batch)["spans"]
        flat = outputs.flatten(0, 1)[batch.positions]
        logits, is_span = span_logits(
            flat, batch.positions, batch.tokens.size(1), learner.task.max_words
        )
    losses, row_of = [], (batch.positions // batch.tokens.size(1)).tolist()
    for first in range(len(flat)):
        for length in range(learner.task.max_words):
            last = first + length
            inside = last < len(flat) and row_of[first] == row_of[last]
            assert bool(is_span[first, length]) == inside
            if inside:
                expected = naive_logits(flat.double().numpy(), 3, first, last)
                assert logits[first, length].numpy() == pytest.approx(expected, abs=1e-5)
                target = batch.targets[first, length].double()
                losses.append(
                    F.binary_cross_entropy_with_logits(
                        torch.from_numpy(expected), target, reduction="sum"
                    )
                )
    assert float(ours) == pytest.approx(float(sum(losses)) / len(flat), rel=1e-5)
    assert int(batch.targets.sum()) == sum(len(read_spans(cell) or ()) for cell in SPANS)
    described = learner.describe_targets(batch, tokenizer)
    assert described[1] == "no span" and described[0].count(";") == 2
    parts = [part for n in (1, 2) for part in batch.parts(n)]
    assert [int(part.targets.sum()) for part in batch.parts(1)] == [3, 0, 3]
    assert all(len(part.targets) == len(part.positions) for part in parts)


def test_the_head_is_read_again_with_its_labels(tmp_path):
    learner = fitted()
    folder, tokenizer = tmp_path / "model", models.tokenizer(tmp_path)
    checkpoint.save(folder, models.network(learner.heads), tokenizer, learner.labels)
    loaded = checkpoint.load(folder)
    assert loaded.labels == learner.labels and loaded.info.labels == learner.labels
    assert loaded.network.heads == Heads(outputs=2 * (3 + SPAN_SIZE), kind="span_classification")
    again = checkpoint.load(folder, learner.heads, learner.labels)
    assert not again.report.missing and not again.report.notes
    assert checkpoint.load(folder, learner.heads, ("p", "q", "r")).report.missing


def test_nested_spans_are_learned_which_flat_tags_do_not_hold(run, model):
    rows = open_dataset(run.dataset).rows("validation")
    result = Predictor(model).evaluate(rows).metrics()
    assert result["f1"] > 0.9 and result["f1_nested"] > 0.9
    true = [row.spans for row in rows.spanned]
    cells = zip(rows.texts, rows.tags or (), strict=True)
    flat = [spans_from_tags(tagged_words(*row).tags) for row in cells]
    assert report(true, flat).f1 < 0.85  # of a tagger without any error
    predictions = read_predictions(predictions_file(run.results, "validation"))
    stored = {measure.name: interval(measure).value for measure in measures(predictions)}
    assert {name: result[name] for name in stored} == pytest.approx(stored)
    assert set(span_table(predictions).types) == {"org", "place"}


def test_a_text_has_the_same_spans_typed_in_a_file_and_by_command(model, tmp_path, capsys):
    text = "saw it university of rome  of oslo"
    loaded, predictor = checkpoint.load(model), Predictor(model)
    typed = predict(loaded, Predict(checkpoint=model, text=text))
    (row,) = predictor.predict(Rows([text, "", "of"]))[:1]
    expected = [("org", 7, 25), ("place", 21, 25), ("place", 30, 34)]
    assert [(span.label, span.start, span.end) for span in typed.spans] == expected
    assert [(span["label"], span["start"], span["end"]) for span in row["spans"]] == expected
    assert typed.certainty == pytest.approx(row["probability"], abs=1e-5)
    words = json.dumps(text.split())  # a list of words
    assert len(predictor.predict(Rows([words]))[0]["spans"]) == 3
    file, out = tmp_path / "texts.csv", tmp_path / "out.csv"
    file.write_text(f"text\n{text}\nof\n", encoding="utf-8")
    assert main(["predict", str(file), "--model", str(model), "--out", str(out)]) == 0
    capsys.readouterr()
    reading, _, mapping, *_ = recognise(out)
    assert mapping == Mapping(text="text", tags="spans")
    import_dataset("again", {"all": out}, reading, mapping, Split(validation=0), tmp_path / "d")
    tags = open_dataset(tmp_path / "d").rows("train").tags or ()
    assert [read_spans(cell) for cell in tags] == [[(a, b, c) for c, a, b in expected], None]
    assert main(["evaluate", str(out), "--model", str(model)]) == 0
    assert "F1 of nested spans 100.00" in capsys.readouterr().out
    card = model_card(model, "hf")
    assert "do not find spans that overlap" in card and "Always predicts one" not in card
    with pytest.raises(StudioError, match="depends on two words"):
        attribute(loaded, Attribute(checkpoint=model, text=text))


def test_a_stopped_run_resumes_to_the_last_bit(tmp_path):
    settings = {"steps": 8, "save_every": 2, "dropout": 0.1, "micro_batch_size": 3}
    job = small.finding_spans(tmp_path, **settings)
    reference, stopped = small.trained(tmp_path / "one", job), small.new_run(tmp_path / "two", job)
    shutil.copytree(reference.cache, stopped.cache)
    assert train(job, stopped, stopped.append, lambda: small.has_seen(stopped, 5))[0] == "stopped"
    assert train(job, stopped, stopped.append)[0] == "finished"
    assert (final(stopped), metrics(stopped)) == (final(reference), metrics(reference))


def test_rows_without_spans_get_suggestions(run, model, tmp_path):
    dataset, loaded = open_dataset(run.dataset), checkpoint.load(model)
    rows = tuple(range(4))
    question = SuggestLabels(data=Path(), checkpoint=model, order="uncertain", rows=rows)
    result = suggest_labels(dataset, loaded, question, lambda *_: None)
    texts, cells = (dataset.column(name).to_pylist() for name in ("text", "spans"))
    given = {item.row: item.label for item in result.suggestions}
    assert {row: sorted(read_spans(cell) or ()) for row, cell in given.items()} == {
        row: sorted(read_spans(cells[row]) or ()) for row in rows
    }
    least = [item.probability for item in result.suggestions]
    assert least == sorted(least) and least[0] > 0.5 and len(texts) == len(dataset)
    mapping = dataset.spec.mapping
    assert dataset.spec.overlaps and likely_task(mapping).kind == "token_classification"
    assert likely_task(mapping, None, dataset.spec.overlaps).kind == "span_classification"


def test_tags_of_words_are_spans_and_bad_ones_are_refused(model):
    rows = Rows(["university of rome", "the bread"], tags=["B-org I-org I-org", "O O"])
    result = Predictor(model).evaluate(rows)
    assert result.metrics()["recall"] == 1 and result.metrics()["precision"] == 0.5
    assert spanned_words(rows.texts[0], "B-org I-org I-org").cell([Span("org", 2, 3)]) == (
        '[[14, 18, "org"]]'
    )
    with pytest.raises(StudioError, match="knows none of them"):
        Predictor(model).evaluate(Rows(["of rome"], tags=['[[0, 2, "new"]]']))
    for tags, problem in (
        (["[]"], "No training row has a span"),
        (["B I O"], "name no labels"),
        (["N V N"], "not a valid span tag"),
    ):
        with pytest.raises(StudioError, match=problem):
            SpanClassificationLearner(SpanClassification()).fit_labels(Rows(["a b c"], tags=tags))


def test_what_cannot_be_found_is_said(tmp_path):
    tokenizer, learner = models.tokenizer(tmp_path), fitted(max_words=2)
    examples = learner.tokenize(ROWS, tokenizer, 6, tmp_path / "t", no_progress)
    first, second, third = examples.notes
    assert first == "Word cut between two letters, where a span begins or ends: 1 time."
    assert "beyond the maximum length of 6 tokens; no span is found there" in second
    assert third == "1 span is longer than 2 words and cannot be found."
    assert examples.targets is not None and len(examples.targets) == 2
    learner = fitted()
    notes = [learner.tokenize(ROWS, tokenizer, 64, tmp_path / "u", no_progress).notes for _ in "ab"]
    assert notes[0][1:] == (
        "The longest span of the training rows has 9 words; no longer one is predicted.",
    )
    assert notes[1] == notes[0][:1]
    weighted = fitted(class_weights={"x": 3.0})
    assert weighted.weights_on(torch.device("cpu")).tolist() == [3, 1, 1]


def test_spans_of_a_row_are_listed_and_found_in_its_words(run):
    predictions = read_predictions(predictions_file(run.results, "validation"))
    cells = predictions.table["gold"].to_pylist()
    index = next(n for n, cell in enumerate(cells) if "org" in cell)
    assert "(org)" in list_spans(predictions, index)[0]
    shown = spans_in_row(predictions, index, cells[index])
    assert len(shown) == len(read_spans(cells[index]) or ())

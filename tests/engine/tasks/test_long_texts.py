"""Long texts in windows: the windows of transformers, pooling, and training end to end."""

import ast
import os
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertTokenizerFast

from engine.checkpoints.heads import TASK
from engine.checkpoints.prediction_settings import save_settings
from engine.config.prediction import PredictionSettings
from engine.config.task import AggregatingTask
from engine.config.tasks.multi_label import MultiLabel
from engine.config.tasks.ordinal_classification import OrdinalClassification
from engine.config.tasks.pair_classification import PairClassification
from engine.config.tasks.regression import Regression
from engine.config.tasks.sentence_similarity import SentenceSimilarity
from engine.config.tasks.text_classification import TextClassification
from engine.config.tasks.token_classification import TokenClassification
from engine.data.datasets.rows import Rows
from engine.data.tokenized.windows import tokenize_windows
from engine.documents.card import model_card
from engine.documents.code import Example, onnx_code, transformers_code
from engine.errors import StudioError
from engine.export.exporting import export
from engine.export.onnx_graph import write_graph
from engine.messages.explore.prediction import Predict
from engine.messages.exporting import Export
from engine.models import checkpoint
from engine.models.network import Network
from engine.tasks import checkpoint_learner, learner_for
from engine.tasks.evaluating import evaluate
from engine.tasks.inputs import encode_question
from engine.tasks.learner import Batch, LogitsCollector, WindowGroups, total
from engine.tasks.predicting import Predictor
from engine.tasks.similarity import sentence_vectors
from engine.tokenizers.tokenizer import Tokenizer
from tests.conftest import LONG
from tests.engine.documents.test_code import run_script
from tests.engine.models.small import sized

SENTENCE = "a warm film and a cold story with good acting or a dull happy sad end for all"
TEXTS = [" ".join(np.resize(np.roll(SENTENCE.split(), n), 3 + 7 * n)) for n in range(12)]
CLASSES = ["good", "bad", "so-so"] * 4
SHORT = [" ".join(text.split()[:4]) for text in TEXTS]
LENGTH = 16  # tokens of a window
WINDOWS = {"long_texts": "windows", "windows_per_text": 3}
AGGREGATES = ["mean", "max", "attention"]
LABELS = {Regression: ["1", "2.5", "-3"] * 4, OrdinalClassification: ["1", "2", "3"] * 4}
KINDS = [
    TextClassification,
    PairClassification,
    OrdinalClassification,
    MultiLabel,
    Regression,
]


def no_progress(done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([*TEXTS, "it is was so on"] * 3, 200, lowercase=True)


def prepared(task: AggregatingTask, rows: Rows, tokenizer: Tokenizer, folder: Path) -> Any:
    """A learner, a network with its heads, and the examples of the rows."""
    learner = learner_for(task)
    learner.fit_labels(rows)
    learner.fit_length(LENGTH)
    torch.manual_seed(0)
    network = Network(sized(tokenizer, initializer_range=0.3), learner.heads).eval()
    examples = learner.tokenize(rows, tokenizer, 40, folder, no_progress)
    return learner, network, examples


@pytest.mark.parametrize("stride", [0, 1, 5, 99])
@pytest.mark.parametrize("pairs", [False, True])
def test_windows_are_those_of_transformers(tokenizer, tmp_path, pairs, stride):
    checkpoint.save(tmp_path / "model", Network(sized(tokenizer), learner_heads()), tokenizer)
    theirs = BertTokenizerFast.from_pretrained(tmp_path / "model")
    second = SHORT[:3] * 4 if pairs else None
    tokenized, owners = tokenize_windows(
        TEXTS, second, tokenizer, 24, stride, tmp_path / "tokenized"
    )
    assert np.unique(owners).tolist() == [*range(12)] and np.bincount(owners).max() > 3
    for row, text in enumerate(TEXTS):
        texts = [text] if second is None else [text, second[row]]
        content = [len(ids) for ids in tokenizer.contents(texts)]
        room = 24 - 1 - len(texts) - sum(content[1:])
        step = min(stride or max(3 * room // 4, 1), room)
        cut = {"max_length": 24, "stride": room - step, "return_overflowing_tokens": True}
        if sum(content) + 1 + len(texts) > 24:
            encoded = theirs(*texts, truncation="only_first", **cut)
        else:
            encoded = theirs([texts] if pairs else texts)
        inputs = [int(index) for index in np.flatnonzero(owners == row)]
        assert [tokenized.ids(index).tolist() for index in inputs] == encoded["input_ids"]
        segments = [tokenized.segments(index).tolist() for index in inputs]
        assert segments == encoded["token_type_ids"]


def learner_heads():
    learner = learner_for(TextClassification(labels=("bad", "good")))
    return learner.heads


@pytest.mark.parametrize("aggregate", [*AGGREGATES, "first"])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_one_window_are_predicted_as_without_windows(tokenizer, tmp_path, kind, aggregate):
    labels = LABELS.get(kind, CLASSES)
    rows = Rows(SHORT, SHORT[::-1] if kind is PairClassification else None, labels)
    number = 0 if aggregate == "first" else 2
    task = kind(long_texts="windows", aggregate=aggregate, windows_per_text=number)
    learner, network, examples = prepared(task, rows, tokenizer, tmp_path / "windows")
    assert len(examples) == len(rows)
    plain = learner_for(kind())
    plain.fit_labels(rows)
    truncated = plain.tokenize(rows, tokenizer, LENGTH, tmp_path / "plain", no_progress)
    ours, theirs = (
        evaluate(network, one, tokenizer, some, batch_size=5)
        for one, some in ((learner, examples), (plain, truncated))
    )
    assert ours.logits == pytest.approx(theirs.logits, abs=1e-6)
    assert ours.compute() == pytest.approx(theirs.compute(), abs=1e-6)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_training_end_to_end_and_prediction_pool_alike(tokenizer, tmp_path, aggregate):
    """The pooled logits, their loss and its gradient are those of one plain expression for each
    text; halves of a batch add up to it."""
    task = TextClassification(aggregate=aggregate, long_texts="windows", windows_per_text=99)
    rows = Rows(TEXTS, None, CLASSES)
    learner, network, examples = prepared(task, rows, tokenizer, tmp_path / "tokens")
    groups = learner.training_examples(examples)
    assert isinstance(groups, WindowGroups) and len(groups) == 12 < len(examples)
    random = np.random.default_rng(0)
    batch = learner.batch(groups, np.arange(12), tokenizer, random)
    assert batch.size == 12 and batch.token_count == examples.tokenized.tokens
    assert batch.lengths.tolist() == groups.lengths.tolist()

    logits = []
    for row in range(12):
        ids = [examples.tokenized.ids(int(n)) for n in np.flatnonzero(examples.owners == row)]
        inputs = [torch.from_numpy(one)[None] for one in ids]
        vectors = torch.cat([network.encode_pooled(one, torch.zeros_like(one)) for one in inputs])
        outputs = network.task.dense(vectors)
        if aggregate == "attention":
            weights = torch.softmax(vectors @ network.task.score.weight[0], 0)
            logits.append(weights @ outputs)
        else:
            logits.append(outputs.mean(0) if aggregate == "mean" else outputs.amax(0))
    expected = torch.stack(logits)
    loss = torch.nn.functional.cross_entropy(expected, torch.from_numpy(groups.targets))
    loss.backward()
    wanted = {name: p.grad for name, p in network.named_parameters() if p.grad is not None}
    assert len(wanted) > 20
    network.zero_grad()
    counts = learner.counts(batch)
    for part in batch.parts(5):
        total(learner.losses(network, part, counts)).backward()
    for name, parameter in network.named_parameters():
        if name in wanted:
            torch.testing.assert_close(parameter.grad, wanted[name], atol=1e-5, rtol=1e-4)
    metrics = evaluate(network, learner, tokenizer, examples, batch_size=7)
    assert isinstance(metrics, LogitsCollector)
    assert metrics.logits == pytest.approx(expected.detach().numpy(), abs=1e-5)
    assert metrics.compute()["loss"] == pytest.approx(float(loss.detach()), abs=1e-5)
    best, owners = metrics.logits.argmax(1), examples.owners
    weighted = metrics.weights * metrics.outputs[np.arange(len(owners)), best[owners]]
    assert np.bincount(owners, weighted) == pytest.approx(metrics.logits.max(1), abs=1e-5)
    assert np.bincount(owners, metrics.weights) == pytest.approx(np.ones(12))

    learner.task = task.model_copy(update={"labels": learner.labels, "window_length": LENGTH})
    extra = {TASK: learner.task.model_dump(mode="json")}
    checkpoint.save(tmp_path / "model", network, tokenizer, learner.labels, extra=extra)
    predictor = Predictor(tmp_path / "model", batch=3)
    collector = predictor.collect(rows)
    assert isinstance(collector, LogitsCollector)
    assert collector.logits == pytest.approx(metrics.logits, abs=1e-5)
    stated = f"more than {LENGTH} tokens are read in overlapping windows"
    assert stated in model_card(tmp_path / "model", "hf")
    records = predictor.predict(rows)
    question = Export(checkpoint=tmp_path / "model", into=tmp_path / "tf1", form="tf1")
    if aggregate == "attention":
        with pytest.raises(StudioError, match="cannot store the attention over windows"):
            export(question)
    several = 2 * int((np.bincount(examples.owners) > 1).sum())  # predicted twice
    assert len(records) == 12 and predictor.notes() == (f"{several} long texts read in windows.",)
    settings = PredictionSettings(temperature=2.5)
    save_settings(tmp_path / "model", settings)
    for library in ("transformers", *(["onnxruntime"] if os.environ.get(LONG) else [])):
        folder, make_code = tmp_path / "model", transformers_code
        if library == "onnxruntime":
            folder, make_code = tmp_path / "onnx", onnx_code
            folder.mkdir()
            checkpoint.write_config(folder, network, tokenizer, learner.labels, extra=extra)
            write_graph(folder, network)
        for at in (0, 9):
            code = make_code(learner.task, str(folder), Example(TEXTS[at]), settings)
            printed = ast.literal_eval(run_script(code, tmp_path))
            record = Predictor(tmp_path / "model").predict(Rows([TEXTS[at]]))[0]
            for name, probability in printed.items():
                assert record[f"p({name})"] == pytest.approx(probability, abs=1e-4)
    assert predictor.loading.missing == predictor.loading.unexpected == ()


def test_a_step_draws_windows_of_each_text_by_its_seed(tokenizer, tmp_path):
    task = TextClassification(**WINDOWS)
    rows = Rows(TEXTS, None, CLASSES)
    learner, _, examples = prepared(task, rows, tokenizer, tmp_path)
    groups, indices = learner.training_examples(examples), np.array([3, 9, 11])
    assert isinstance(groups, WindowGroups)
    counted = learner.target_counts(examples)
    assert counted == learner.target_counts(groups) == dict.fromkeys(("bad", "good", "so-so"), 4)
    values = np.arange(12)  # of rows
    assert examples.spread(values).tolist() == examples.owners.tolist()
    assert groups.spread(values).tolist() == values.tolist()
    draws = [groups.draw(indices, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert draws[0][0].tolist() == draws[1][0].tolist() != draws[2][0].tolist()
    drawn, windows = draws[0]
    counts = (windows >= 0).sum(1).tolist()
    assert counts == np.minimum(np.bincount(examples.owners)[indices], 3).tolist()
    ends = np.cumsum([0, *counts])
    for index, (first, last) in zip(indices, pairwise(ends), strict=True):
        assert set(examples.owners[drawn[first:last]]) == {index}
        assert sorted(set(drawn[first:last])) == drawn[first:last].tolist()
    batch = learner.batch(groups, indices, tokenizer, np.random.default_rng(1))
    part = batch.take(np.array([1, 2]))
    assert part.windows is not None and part.windows[0, 0] == 0
    rest = batch.tokens[counts[0] :, : part.tokens.size(1)]
    assert torch.equal(part.tokens, rest) and part.targets.tolist() == batch.targets[1:].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_typed_text_is_predicted_with_its_passages(tokenizer, tmp_path, kind):
    """As the row of a file; without a passage the output falls by its effect."""
    labels = LABELS.get(kind, CLASSES)
    pairs = SHORT[::-1] if kind is PairClassification else None
    rows = Rows(TEXTS, pairs, labels)
    task = kind(long_texts="windows")
    learner, network, _ = prepared(task, rows, tokenizer, tmp_path / "tokens")
    extra = {TASK: learner.task.model_dump(mode="json")}
    checkpoint.save(tmp_path / "model", network, tokenizer, learner.labels, extra=extra)
    loaded = checkpoint.load(tmp_path / "model")
    text, pair = TEXTS[9], None if pairs is None else pairs[9]
    question = Predict(checkpoint=tmp_path, text=text, pair=pair)
    answer = checkpoint_learner(loaded).predict(loaded, encode_question(loaded, question), question)
    record = Predictor(tmp_path / "model").predict(rows)[9]
    assert not answer.truncated and len(answer.passages) > 3
    if kind is Regression:
        assert answer.value == pytest.approx(record["number"], abs=1e-5)
    else:
        probabilities = {one.label: one.probability for one in answer.predictions[0].ranked}
        for name, probability in probabilities.items():
            assert probability == pytest.approx(record[f"p({name})"], abs=1e-5)
    assert answer.passages[0].start == 0 and answer.passages[-1].end == len(text)
    for one in answer.passages:
        part = Rows([text[one.start : one.end]], None if pair is None else [pair])
        alone = Predictor(tmp_path / "model").predict(part)[0]
        value = alone["number"] if kind is Regression else alone[f"p({one.label})"]
        assert value == pytest.approx(one.value, abs=1e-5)
    assert max(one.effect for one in answer.passages) > 0
    if kind is Regression:  # masked in the whole text, which is cut again
        [ids] = tokenizer.contents([text])
        for number, one in enumerate(answer.passages):
            first = number * (3 * (LENGTH - 2) // 4)
            masked = [*ids[:first], *[tokenizer.mask] * (LENGTH - 2), *ids[first + LENGTH - 2 :]]
            outputs = []
            for start in range(0, len(answer.passages) * 10, 10):
                part = [tokenizer.cls, *masked[: len(ids)][start : start + 14], tokenizer.sep]
                inputs = torch.tensor([part])
                outputs.append(network.logits(inputs, torch.zeros_like(inputs)).item())
            fall = answer.value - sum(outputs) / len(outputs)
            assert one.effect == pytest.approx(fall, abs=1e-5)
    short = Predict(checkpoint=tmp_path, text=SHORT[3], pair=pair)
    answer = checkpoint_learner(loaded).predict(loaded, encode_question(loaded, short), short)
    assert not answer.passages


@pytest.mark.parametrize("stride", [0, 5, 14])
def test_each_word_has_the_tag_of_the_window_in_which_it_is_furthest_inside(
    tokenizer, tmp_path, stride
):
    tags = [" ".join("OX"[len(word) % 2] for word in text.split()) for text in TEXTS]
    rows = Rows(TEXTS, tags=tags)
    task = TokenClassification(long_texts="windows", doc_stride=stride)
    learner, network, examples = prepared(task, rows, tokenizer, tmp_path / "tokens")
    assert len(examples) > 20 and not examples.notes
    collector = evaluate(network, learner, tokenizer, examples, batch_size=7)
    ids, probabilities = collector.word_predictions()
    word = 0
    for text in TEXTS:
        tokens, owners = tokenizer.encode_words([text.split()])[0]
        size, best = LENGTH - 2, {}
        starts = [0]
        while starts[-1] + size < len(tokens):
            starts.append(starts[-1] + (stride or 3 * size // 4))
        for start in starts:
            part = tokens[start : start + size]
            inputs = torch.tensor([[tokenizer.cls, *part, tokenizer.sep]])
            logits = network.logits(inputs, torch.zeros_like(inputs))[0, 1:-1].softmax(-1).detach()
            for place, row in enumerate(logits):
                index = start + place
                if index and owners[index] == owners[index - 1]:
                    continue  # not the first token of its word
                inside = min(place, len(part) - 1 - place)
                if inside > best.get(owners[index], (-1,))[0]:
                    best[owners[index]] = inside, int(row.argmax()), float(row.max())
        for index in range(len(text.split())):
            assert (ids[word], probabilities[word]) == (
                best[index][1],
                pytest.approx(best[index][2], abs=1e-5),
            )
            word += 1
    assert word == len(ids)
    report = collector.report()
    assert (report.cut, report.empty) == (0, 0)

    extra = {TASK: learner.task.model_dump(mode="json")}
    checkpoint.save(tmp_path / "model", network, tokenizer, learner.labels, extra=extra)
    loaded = checkpoint.load(tmp_path / "model")
    question = Predict(checkpoint=tmp_path, text=TEXTS[9])
    answer = checkpoint_learner(loaded).predict(loaded, encode_question(loaded, question), question)
    record = Predictor(tmp_path / "model").predict(Rows(TEXTS))[9]
    assert [span.label for span in answer.spans] == record["tags"] and not answer.truncated
    code = transformers_code(learner.task, str(tmp_path / "model"), Example(passage=TEXTS[9]))
    pairs = ast.literal_eval(run_script(code, tmp_path))
    firsts = [tag for token, tag in pairs if not token.startswith("##")]
    assert firsts == record["tags"]


def test_tagged_texts_of_one_window_are_read_as_without_windows(tokenizer, tmp_path):
    rows = Rows(SHORT, tags=[" ".join("OX"[len(w) % 2] for w in text.split()) for text in SHORT])
    arrays = []
    for way in ("truncate", "windows"):
        task = TokenClassification(long_texts=way)
        learner, network, examples = prepared(task, rows, tokenizer, tmp_path / way)
        collector = evaluate(network, learner, tokenizer, examples, batch_size=5)
        arrays.append([*collector.word_predictions()[1], *collector.compute().values()])
    assert arrays[0] == pytest.approx(arrays[1], abs=1e-6)


COLUMNS = {
    "cosine": {"labels": ["1", "0.5", "0"] * 4},
    "in_batch_negatives": {},
    "triplets": {"negatives": TEXTS[::-1]},
}


@pytest.mark.parametrize("objective", COLUMNS)
def test_vectors_of_long_texts_are_pooled_from_their_windows(tokenizer, tmp_path, objective):
    """In training, evaluation and prediction; texts of one window are as without windows."""
    rows = Rows(TEXTS, np.roll(TEXTS, 5).tolist(), **COLUMNS[objective])
    task = SentenceSimilarity(long_texts="windows", windows_per_text=99, aggregate="max")
    learner, network, examples = prepared(task, rows, tokenizer, tmp_path / "tokens")
    count = 3 if objective == "triplets" else 2
    groups = learner.training_examples(examples)
    batch = learner.batch(groups, np.arange(12), tokenizer, np.random.default_rng(0))
    assert (batch.size, batch.token_count) == (12, examples.tokenized.tokens)
    assert learner.row(examples, len(examples) - 1) == 11 == learner.row(groups, 11)
    vectors = []
    for text in range(12 * count):
        ids = [examples.tokenized.ids(int(n)) for n in np.flatnonzero(examples.owners == text)]
        inputs = [torch.from_numpy(one)[None] for one in ids]
        parts = torch.cat([network.logits(one, torch.zeros_like(one)) for one in inputs])
        vectors.append(parts.amax(0))
    plain = learner_for(SentenceSimilarity())
    plain.fit_labels(rows)
    flat = Batch(
        tokens=torch.zeros(12 * count, 1),
        segments=torch.zeros(12 * count, 1),
        attention_mask=None,
        targets=batch.targets,
        positions=None,
        inputs_per_example=count,
    )
    known = SimpleNamespace(logits=lambda *_: torch.stack(vectors))
    expected = total(plain.losses(known, flat))
    loss = total(learner.losses(network, batch))
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-5)
    parts = [learner.losses(network, batch.take(np.arange(a, a + 6))) for a in (0, 6)]
    if objective != "in_batch_negatives":
        mean = sum(float(total(part).detach()) for part in parts) / 2
        assert mean == pytest.approx(float(loss.detach()), abs=1e-5)
    cosines = evaluate(network, learner, tokenizer, examples, batch_size=7).row_predictions().scores
    first, second = torch.stack(vectors).view(12, count, -1).unbind(1)[:2]
    wanted = torch.cosine_similarity(first, second).detach()
    assert cosines[:, 0] == pytest.approx(wanted.numpy(), abs=1e-5)

    extra = {TASK: learner.task.model_dump(mode="json")}
    checkpoint.save(tmp_path / "model", network, tokenizer, (), extra=extra)
    loaded = checkpoint.load(tmp_path / "model")
    found = sentence_vectors(loaded, TEXTS)
    records = Predictor(tmp_path / "model").predict(Rows(TEXTS))
    assert np.stack([record["vector"] for record in records]) == pytest.approx(found, abs=1e-5)
    pair = Predict(checkpoint=tmp_path, text=TEXTS[9], pair=TEXTS[4])
    answer = checkpoint_learner(loaded).predict(loaded, encode_question(loaded, pair), pair)
    code = transformers_code(learner.task, str(tmp_path / "model"), Example(TEXTS[9], TEXTS[4]))
    assert answer.value == pytest.approx(float(run_script(code, tmp_path)), abs=1e-5)
    similar = torch.cosine_similarity(torch.tensor(found[9]), torch.tensor(found[4]), dim=0)
    assert answer.value == pytest.approx(float(similar), abs=1e-5)

    short = Rows(SHORT, SHORT[::-1], labels=["1", "0.5", "0"] * 4)
    metrics = []
    for way in ("truncate", "windows"):
        one, _, some = prepared(
            SentenceSimilarity(long_texts=way), short, tokenizer, tmp_path / way
        )
        collector = evaluate(network, one, tokenizer, some, batch_size=5)
        metrics.append([*collector.compute().values(), *collector.row_predictions().scores[:, 0]])
    assert metrics[0] == pytest.approx(metrics[1], abs=1e-6)

"""Predictions of masked tokens saved by pre-training, compared with transformers."""

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM

from engine.data.datasets.store import open_dataset
from engine.results.masked_tokens import occurrences, unigram
from engine.results.measures import interval, measures
from engine.results.predictions import Predictions, read_predictions
from engine.results.row_figures import details
from engine.results.sentences import FILE, Filled, Guess, Sentence, append_filled, read_filled
from engine.results.store import best_checkpoint, evaluation_question, predictions_file
from engine.runs.folder import RunFolder
from engine.tasks import token_rows
from engine.tasks.pretraining import PretrainingLearner
from engine.tasks.rng import VALIDATION, rng_for
from engine.tasks.scoring import score
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.training import small


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run with next-sentence prediction and several validation batches."""
    folder = tmp_path_factory.mktemp("tokens")
    job = small.pretraining(folder, steps=8, evaluate_every=4, batch_size=4)
    job = job.model_copy(update={"task": job.task.model_copy(update={"nsp": True})})
    return small.trained(folder / "run", job)


def stored_rows(run: RunFolder) -> Predictions:
    return read_predictions(predictions_file(run.results, "validation"))


def test_stored_rows_match_transformers(run, tmp_path):
    stored, job = stored_rows(run), run.job()
    network = BertForMaskedLM.from_pretrained(best_checkpoint(run)).eval()
    tokenizer = Tokenizer.from_folder(best_checkpoint(run))
    learner, dataset = PretrainingLearner(job.task), open_dataset(run.dataset)
    examples, training = (
        learner.tokenize(
            dataset.stream(part), tokenizer, 32, tmp_path / part / "tokens", lambda *_: None
        )
        for part in ("validation", "train")
    )
    counts = training.tokenized.counts(tokenizer.size)
    expected = []
    order = np.argsort(examples.lengths, kind="stable")
    for number, first in enumerate(range(0, len(order), job.training.batch_size)):
        numbers = order[first : first + job.training.batch_size]
        rng = rng_for(job.training.seed, VALIDATION, number)
        batch = learner.batch(examples, numbers, tokenizer, rng)
        with torch.inference_mode():
            logits = network(batch.tokens, batch.attention_mask, batch.segments).logits
        probabilities = logits.flatten(0, 1)[batch.positions].softmax(1)
        for index, gold, row in zip(batch.positions, batch.targets, probabilities, strict=True):
            line, position = divmod(int(index), batch.tokens.size(1))
            best = row.topk(5).indices.tolist()
            values = (float(row[best[0]]), -float(row[gold].log()), int(gold) in best)
            expected.append((int(numbers[line]), position, int(gold), best[0], *values))
    expected.sort()
    table = stored.table
    assert table["gold"].to_pylist() == [tokenizer.token(item[2]) for item in expected]
    assert table["predicted"].to_pylist() == [tokenizer.token(item[3]) for item in expected]
    assert stored.cells("position").to_pylist() == [str(item[1]) for item in expected]
    for column, index in (("probability", 4), ("loss", 5)):
        np.testing.assert_allclose(
            stored.numbers(column), [item[index] for item in expected], rtol=1e-4, atol=1e-5
        )
    assert [row["top5"] for row in details(stored)] == [item[6] for item in expected]
    assert occurrences(stored).tolist() == [counts[item[2]] for item in expected]


def test_measures_of_rows_match_the_metrics_of_the_run(run):
    stored = stored_rows(run)
    intervals = {measure.name: interval(measure) for measure in measures(stored)}
    assert list(intervals) == ["loss_mlm", "accuracy", "top5"]
    for name, over_rows in intervals.items():
        assert over_rows.value == pytest.approx(stored.info.metrics[name], abs=1e-5)
        assert over_rows.low <= over_rows.value <= over_rows.high
    assert "nsp_accuracy" in stored.info.metrics


def test_stored_texts_have_one_mask(run):
    loaded, tokenizer = stored_rows(run), Tokenizer.from_folder(best_checkpoint(run))
    ids = [tokenizer.encode(text).ids for text in loaded.cells("text").to_pylist()]
    assert all(item.count(tokenizer.mask) == 1 for item in ids)
    assert loaded.info.mapping.text == "text"


def test_stored_predictions_are_reproduced(run):
    rescored = score(evaluation_question(run, "validation")).predictions
    before = stored_rows(run)
    for name in before.table.column_names:
        if name not in ("probability", "loss"):
            assert rescored.table[name].equals(before.table[name]), name
    np.testing.assert_allclose(rescored.numbers("loss"), before.numbers("loss"), rtol=1e-4)
    assert rescored.info.metrics == pytest.approx(before.info.metrics, abs=1e-5)


def test_the_baseline_predicts_by_frequency(run):
    stored = stored_rows(run)
    baseline, counts = unigram(stored), occurrences(stored)
    total = stored.info.settings["training_tokens"] + 0.5 * stored.info.settings["vocabulary"]
    np.testing.assert_allclose(baseline.numbers("loss"), -np.log((counts + 0.5) / total), rtol=1e-5)
    most_frequent = stored.table["gold"][int(np.argmax(counts))].as_py()
    assert set(baseline.table["predicted"].to_pylist()) == {most_frequent}
    right = [gold == most_frequent for gold in stored.table["gold"].to_pylist()]
    assert baseline.numbers("score").tolist() == right


def test_the_number_of_stored_tokens_is_limited(run, monkeypatch):
    full = stored_rows(run)
    monkeypatch.setattr(token_rows, "MAX_TOKENS", len(full) // 3)
    limited = score(evaluation_question(run, "validation")).predictions
    assert 0 < len(limited) < len(full) * 0.6
    texts = set(full.cells("text").to_pylist())
    assert set(limited.cells("text").to_pylist()) <= texts
    assert limited.info.metrics == pytest.approx(full.info.metrics, abs=1e-5), "of all tokens"


def test_a_causal_model_stores_no_masked_tokens(tmp_path):
    job = small.pretraining(tmp_path, steps=2, evaluate_every=2)
    job = job.model_copy(update={"task": job.task.model_copy(update={"objective": "clm"})})
    run = small.trained(tmp_path / "run", job)
    assert not predictions_file(run.results, "validation").exists()


def test_the_same_sentences_are_filled_at_every_evaluation_as_by_transformers(run):
    filled = read_filled(run.results)
    assert [item.step for item in filled] == [4, 8]
    first, last = ([(s.before, s.truth, s.after) for s in item.sentences] for item in filled)
    assert first == last and len(set(first)) == 3, "three fixed sentences"
    at_best = next(i for i in filled if run.checkpoint(i.step) == best_checkpoint(run))
    network = BertForMaskedLM.from_pretrained(best_checkpoint(run)).eval()
    tokenizer = Tokenizer.from_folder(best_checkpoint(run))
    dataset = open_dataset(run.dataset)
    for sentence in at_best.sentences:
        texts = f"{sentence.before} {sentence.truth} {sentence.after}".split()
        assert " ".join(texts[1:-1]) in " ".join(
            " ".join(dataset.cells("validation")["text"]).split()
        )
        ids = [tokenizer.encode(part).ids[1:-1] for part in (sentence.before, sentence.after)]
        tokens = [tokenizer.cls, *ids[0], tokenizer.mask, *ids[1], tokenizer.sep]
        with torch.inference_mode():
            logits = network(torch.tensor([tokens])).logits[0, 1 + len(ids[0])]
        probabilities = logits.softmax(0)
        best = probabilities.topk(3)
        assert [g.token for g in sentence.guesses] == [
            tokenizer.token(int(t)) for t in best.indices
        ]
        assert [g.probability for g in sentence.guesses] == pytest.approx(
            best.values.tolist(), abs=1e-5
        )
        order = probabilities.argsort(descending=True).tolist()
        assert order[sentence.rank - 1] == tokenizer.id(sentence.truth)


def test_a_run_ends_though_its_sentences_cannot_be_saved(tmp_path, monkeypatch):
    def fail(results, filled):
        raise OSError(5, "Input/output error", str(results / FILE))

    monkeypatch.setattr("engine.training.sentences.append_filled", fail)
    job = small.pretraining(tmp_path, steps=2, evaluate_every=2)
    run = small.trained(tmp_path / "run", job)
    assert any("at step 2 could not be saved" in note for note in small.notes(run))


def test_damaged_and_repeated_lines_of_sentences_are_read(tmp_path):
    assert read_filled(tmp_path) == []
    for step, token in ((5, "a"), (15, "b"), (5, "c"), (10, "d")):
        guesses = (Guess(token=token, probability=0.5),)
        sentence = Sentence(before="x", after="y", truth="z", rank=1, guesses=guesses)
        append_filled(tmp_path, Filled(step=step, sentences=(sentence,)))
    with open(tmp_path / FILE, "ab") as file:
        file.write(b'{"step": 15, "sent')
    tokens = [(item.step, item.sentences[0].guesses[0].token) for item in read_filled(tmp_path)]
    assert tokens == [(5, "c"), (10, "d")], "step 15 was before a resume"

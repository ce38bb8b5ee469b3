"""Tagging matches transformers and seqeval, and gives each word a tag."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from seqeval.metrics import f1_score

from engine.cli import main
from engine.config.tasks.token_classification import TokenClassification
from engine.data.columns.roles import MissingRole
from engine.data.columns.words import split_words
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.messages.events import Measured, Noted
from engine.models import checkpoint
from engine.models.network import Network
from engine.runs.folder import RunFolder
from engine.tasks.evaluating import evaluate
from engine.tasks.learner import Batch
from engine.tasks.predicting import Predictor
from engine.tasks.token_classification import UNKNOWN, TokenClassificationLearner
from engine.tokenizers.tokenizer import Tokenizer
from engine.worker.train import main as run_worker
from tests.engine.models import small as models
from tests.engine.training import small

TEXTS = ["Ada bcx d \u00ad e", "m", "f abcq Qa o p q g h", "naïve! (a)"]
TAGS = ["B-x I-x O O B-y", "O", "O B-y O O B-x I-x O O", "O O"]
ROWS = Rows(texts=TEXTS, tags=TAGS)
LENGTH = 12


def no_progress(done: int, total: int) -> None: ...


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    return models.tokenizer(tmp_path)


@pytest.fixture
def learner() -> TokenClassificationLearner:
    result = TokenClassificationLearner(TokenClassification())
    result.fit_labels(ROWS)
    return result


@pytest.fixture
def network(learner: TokenClassificationLearner) -> Network:
    return models.network(learner.heads)


def tokenize_rows(
    learner: TokenClassificationLearner, tokenizer: Tokenizer, folder: Path, rows: Rows = ROWS
):
    return learner.tokenize(rows, tokenizer, LENGTH, folder / f"tokenized-{len(rows)}", no_progress)


def make_batch(
    learner: TokenClassificationLearner, examples, tokenizer: Tokenizer, count: int
) -> Batch:
    return learner.batch(examples, np.arange(count), tokenizer, np.random.default_rng(0))


def test_tags_are_sorted_with_o_first(learner):
    assert learner.labels == ("O", "B-x", "B-y", "I-x")
    assert (learner.heads.outputs, learner.heads.kind) == (4, "token_classification")
    assert learner.best_metric == "f1"
    classes = TokenClassificationLearner(TokenClassification(labels=("DET", "NOUN")))
    assert classes.best_metric == "accuracy"


def test_loss_and_logits_match_transformers(learner, tokenizer, network, tmp_path):
    from transformers import AutoTokenizer, BertForTokenClassification

    folder = tmp_path / "saved"
    folder.mkdir()
    checkpoint.write(folder, network, tokenizer, learner.labels)
    model = BertForTokenClassification.from_pretrained(str(folder), local_files_only=True).eval()
    assert list(model.config.id2label.values()) == list(learner.labels)
    their_tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    words, tags = [list(map(split_words, cells)) for cells in (TEXTS, TAGS)]
    inputs = their_tokenizer(
        words,
        is_split_into_words=True,
        truncation=True,
        max_length=LENGTH,
        padding="max_length",
        return_tensors="pt",
    )
    labels = torch.full_like(inputs["input_ids"], -100)
    for row, names in enumerate(tags):
        previous = None
        for index, word in enumerate(inputs.word_ids(row)):
            if word is not None and word != previous:
                labels[row, index] = learner.labels.index(names[word])
            previous = word
    examples = tokenize_rows(learner, tokenizer, tmp_path)
    batch = make_batch(learner, examples, tokenizer, len(TEXTS))
    width = batch.tokens.size(1)
    assert (batch.tokens[:, :LENGTH] == inputs["input_ids"][:, :width]).all()
    with torch.no_grad():
        output = model(**inputs, labels=labels)
        ours = learner.losses(network, batch)["tags"]
        logits = network.logits(batch.tokens, batch.segments, batch.attention_mask)
    assert (labels != -100).sum() == len(batch.positions)
    assert abs(float(ours - output.loss)) < 1e-5
    real = inputs["attention_mask"].bool()
    assert (logits[:, :LENGTH][real] - output.logits[real]).abs().max() < 1e-5


def test_parts_of_a_batch_sum_to_the_whole(learner, tokenizer, network, tmp_path):
    examples = tokenize_rows(learner, tokenizer, tmp_path)
    batch = make_batch(learner, examples, tokenizer, len(TEXTS))
    full = learner.losses(network, batch)["tags"]
    counts = learner.counts(batch)
    for size in (1, 3):
        parts = [learner.losses(network, part, counts)["tags"] for part in batch.parts(size)]
        assert torch.allclose(torch.stack(parts).sum(), full, atol=1e-6)


@pytest.mark.parametrize(
    "class_weights, expected",
    [({"x": 3.0}, [1, 3, 1, 3]), ({"y": 2.0, "B-x": 3.0, "x": 0.5, "O": 0.1}, [0.1, 3, 2, 0.5])],
)
def test_weights_and_smoothing_match_torch(class_weights, expected, tokenizer, network, tmp_path):
    learner = TokenClassificationLearner(
        TokenClassification(class_weights=class_weights, label_smoothing=0.1)
    )
    learner.fit_labels(ROWS)
    assert learner.labels == ("O", "B-x", "B-y", "I-x")
    batch = make_batch(learner, tokenize_rows(learner, tokenizer, tmp_path), tokenizer, len(TEXTS))
    loss = learner.losses(network, batch)["tags"]
    logits = network.logits(batch.tokens, batch.segments, batch.attention_mask).flatten(0, 1)[
        batch.positions
    ]
    weights = torch.tensor(expected, dtype=torch.float32)
    theirs = F.cross_entropy(logits, batch.targets, weights, label_smoothing=0.1)
    assert torch.allclose(loss, theirs, atol=1e-6)
    counts = learner.counts(batch)
    parts = [learner.losses(network, part, counts)["tags"] for part in batch.parts(2)]
    assert torch.allclose(torch.stack(parts).sum(), loss, atol=1e-6)


def test_a_weight_of_an_unknown_tag_is_refused():
    with pytest.raises(StudioError, match="“place”, but no tag or entity type"):
        TokenClassificationLearner(TokenClassification(class_weights={"place": 2.0})).fit_labels(
            ROWS
        )
    with pytest.raises(StudioError, match="“N”"):
        TokenClassificationLearner(TokenClassification(class_weights={"N": 2.0})).fit_labels(
            Rows(texts=["a b"], tags=["DET NOUN"])
        )


def test_a_word_without_tokens_is_o_and_reported(learner, tokenizer, network, tmp_path):
    examples = tokenize_rows(learner, tokenizer, tmp_path)
    (note,) = examples.notes
    metrics = evaluate(network, learner, tokenizer, examples, batch_size=2)
    predicted = metrics.predicted_tags()
    assert [len(tags) for tags in predicted] == [len(split_words(cell)) for cell in TAGS]
    assert predicted[0][3] == "O"  # the soft hyphen
    result = metrics.report()
    assert result.tokens == sum(map(len, predicted)) and (result.cut, result.empty) == (0, 1)
    assert f"1 of {result.tokens} words have no token" in note
    assert result.lines()[-1] == "1 words have no token; they count as O."
    true = list(map(split_words, TAGS))
    assert result.f1 == pytest.approx(f1_score(true, predicted, zero_division=0))
    assert metrics.compute()["examples"] == len(TEXTS)
    batch = make_batch(learner, examples, tokenizer, len(TEXTS))
    loss = learner.losses(network, batch)["tags"].item()
    assert result.loss == pytest.approx(loss, abs=1e-5)


def test_words_beyond_the_maximum_length_are_reported(learner, tokenizer, network, tmp_path):
    examples = learner.tokenize(ROWS, tokenizer, 7, tmp_path / "short", no_progress)
    result = evaluate(network, learner, tokenizer, examples, batch_size=2).report()
    assert (result.cut, result.empty) == (4, 1)
    assert [note.split(" tokens")[0] for note in examples.notes] == [
        "4 of 16 words are beyond the maximum length of 7",
        "1 of 16 words have no token, such as a lone soft hyphen; they count as O.",
    ]


def test_spans_of_characters_are_learned_as_tags_of_words(tokenizer, network, tmp_path):
    cells = ['[[0, 7, "x"], [4, 7, "y"], [12, 13, "y"]]', "[]", '[[2, 5, "x"]]', ""]
    texts = ["Ada bcx d \u00ad e", "m", "f abcq Qa o", "naïve! (a)"]
    rows = Rows(texts=texts, tags=cells)
    learner = TokenClassificationLearner(TokenClassification())
    learner.fit_labels(rows)
    assert learner.labels == ("O", "B-x", "B-y", "I-x")
    examples = tokenize_rows(learner, tokenizer, tmp_path, rows)
    collector = evaluate(network, learner, tokenizer, examples, 2)
    first, _, third, _ = collector.row_predictions().gold
    assert (first, third) == ("B-x I-x O O B-y", "O B-x O O O")
    assert any("overlaps another one left out" in note for note in examples.notes)
    assert any("Word cut between two letters" in note for note in examples.notes)
    assert [*rows.plain_texts] == texts and rows.without_targets().words is None


def test_predictions_do_not_depend_on_batch_or_order(learner, tokenizer, network, tmp_path):
    alone = evaluate(
        network, learner, tokenizer, tokenize_rows(learner, tokenizer, tmp_path), 1
    ).predictions()
    unlabelled = ROWS.without_targets()
    examples = learner.tokenize(unlabelled, tokenizer, LENGTH, tmp_path / "new", no_progress)
    together = evaluate(network, learner, tokenizer, examples, 4)
    for a, other in zip(alone, together.predictions(), strict=True):
        assert (a["words"], a["tags"]) == (other["words"], other["tags"])
        assert a["probabilities"] == pytest.approx(other["probabilities"], abs=2e-6)
    with pytest.raises(MissingRole):
        together.report()


def test_a_tag_unseen_in_training_is_wrong_and_has_no_loss(learner, tokenizer, tmp_path):
    rows = Rows(texts=["a b", "c"], tags=["B-x I-z", "O"])
    examples = tokenize_rows(learner, tokenizer, tmp_path, rows)
    assert examples.targets.tolist() == [1, UNKNOWN, 0]
    assert "1 words have a tag that the model does not know" in examples.notes[0]
    batch = make_batch(learner, examples, tokenizer, 2)
    loss = learner.losses(models.network(learner.heads), batch)["tags"]
    assert torch.isfinite(loss)
    with pytest.raises(StudioError, match="knows none of them"):
        tokenize_rows(learner, tokenizer, tmp_path, Rows(texts=["a"], tags=["B-z"]))


@pytest.mark.parametrize(
    "tags, message",
    [
        (["O O"], "at least two different tags, but all have “O”"),
        (["O"], "line 1 has 2 words and 1 tags"),
        (["O B-x O"], "line 1 has 2 words and 3 tags"),
    ],
)
def test_untrainable_rows_are_refused(tags, message):
    with pytest.raises(StudioError, match=message):
        TokenClassificationLearner(TokenClassification()).fit_labels(Rows(texts=["a b"], tags=tags))
    with pytest.raises(MissingRole):
        TokenClassificationLearner(TokenClassification()).fit_labels(Rows(texts=["a b"]))


@pytest.fixture(scope="module")
def trained_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("token_classification")
    run = small.new_run(folder / "run", small.tagging(folder, epochs=8))
    assert run_worker(run.path) == 0
    return run


def test_a_run_learns_to_tag(trained_run):
    events, _ = trained_run.events_after(0)
    curve = [e.value for e in events if isinstance(e, Measured) and e.name == "validation_f1"]
    assert curve[-1] == 1.0
    assert not [e.text for e in events if isinstance(e, Noted) and "no token" in e.text]


def test_commands_predict_and_evaluate_tags(trained_run, tmp_path, capsys):
    model = str(trained_run.checkpoint_folders()[-1])
    data = small.tagged(tmp_path / "new.conll", sentences=12)
    capsys.readouterr()
    assert main(["evaluate", str(data), "--model", model, "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)
    assert metrics["f1"] == 1.0 and metrics["sentences"] == 12
    assert {metric["type"] for metric in metrics["types"]} == {"person", "place"}
    assert main(["evaluate", str(data), "--model", model]) == 0
    output = capsys.readouterr().out
    assert "F1 100.00" in output and "person: precision 100.00%" in output

    out = tmp_path / "out.conll"
    assert main(["predict", str(data), "--model", model, "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == data.read_text(encoding="utf-8")

    out = tmp_path / "out.jsonl"
    plain = tmp_path / "plain.csv"
    plain.write_text("text\nanna of rome\nthe bread\n")
    assert main(["predict", str(plain), "--model", model, "--out", str(out)]) == 0
    first, second = [json.loads(line) for line in out.read_text().splitlines()]
    assert first["text"] == "anna of rome" and first["words"] == ["anna", "of", "rome"]
    assert first["tags"] == ["B-person", "O", "B-place"]
    assert len(first["probabilities"]) == 3
    assert [(s["type"], s["text"], s["start"], s["end"]) for s in first["spans"]] == [
        ("person", "anna", 0, 1),
        ("place", "rome", 2, 3),
    ]
    assert second["spans"] == []
    out = tmp_path / "out.csv"
    assert main(["predict", str(plain), "--model", model, "--out", str(out)]) == 0
    assert '""B-person""' in out.read_text()


def test_only_tags_can_be_written_as_conll(tuned, tmp_path, capsys):
    model, out = tuned("text_classification"), tmp_path / "out.conll"
    options = ["--model", str(model.checkpoint), "--out", str(out)]
    assert main(["predict", str(model.file), *options]) == 1
    assert "does not predict tags" in capsys.readouterr().err
    assert not out.exists()


def test_texts_without_tags_are_predicted(trained_run):
    predictor = Predictor(trained_run.checkpoint_folders()[-1])
    assert predictor.learner.labels == ("O", "B-person", "B-place", "I-person")
    (answer,) = predictor.predict(Rows(["paul jones"]))
    assert answer["tags"] == ["B-person", "I-person"]

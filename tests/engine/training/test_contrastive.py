"""Contrastive fine-tuning: pairs, their loss, the linear layer, and the checkpoint."""

import ast
import io
from contextlib import redirect_stdout

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from sklearn.linear_model import LogisticRegression

from engine.checkpoints.info import fine_tuned_task, probe_pooling
from engine.config.features import Features
from engine.config.job import JobSpec
from engine.data.datasets.rows import Rows
from engine.documents.card import model_card
from engine.documents.code import Example, transformers_code
from engine.models import checkpoint
from engine.tasks.contrastive import MEAN_AND_LINEAR, ContrastiveLearner, text_vectors
from engine.tasks.predicting import Predictor
from engine.training.context import RunContext
from engine.training.data.batch_order import PairOrder
from engine.training.data.batch_preview import BatchPreview
from engine.training.estimate import estimate
from engine.training.loop import train
from engine.training.setup import set_up
from tests.engine.training.small import adapted, new_run, trained, with_training

CLASSES = np.array([0, 0, 0, 1, 1, 2, 0, 1])


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> JobSpec:
    base = adapted(tmp_path_factory.mktemp("base"), lora_rank=0)
    return base.model_copy(update={"features": Features(vectors="contrastive")})


def test_every_row_meets_one_of_its_class_and_one_of_another_in_an_epoch():
    lengths = np.arange(8)[::-1] + 3
    order = PairOrder(lengths, CLASSES, 3, seed=1)
    assert order.steps_per_epoch == 6, "16 pairs"
    for epoch in range(2):
        batches = [order.indices(epoch * 6 + step) for step in range(6)]
        assert [len(batch) // 2 for batch in batches] == [3, 3, 3, 3, 3, 1]
        for batch in batches:
            longest = lengths[batch.reshape(-1, 2)].max(axis=1)
            assert (np.diff(longest) >= 0).all()
        pairs = np.concatenate(batches).reshape(-1, 2)
        same = CLASSES[pairs[:, 0]] == CLASSES[pairs[:, 1]]
        assert sorted(pairs[same, 0]) == sorted(pairs[~same, 0]) == list(range(8))
        alone = pairs[same, 0] == pairs[same, 1]
        assert CLASSES[pairs[same, 0][alone]].tolist() == [2], "only the single row of its class"
    again, other = PairOrder(lengths, CLASSES, 3, 1), PairOrder(lengths, CLASSES, 3, 2)
    assert (again.indices(7) == order.indices(7)).all()
    assert (other.indices(7) != order.indices(7)).any()


def test_the_loss_is_that_of_sentence_transformers_and_splits_into_micro_batches(job, tmp_path):
    setup = set_up(RunContext(job, new_run(tmp_path / "run", job)))
    learner, data, network = setup.data.learner, setup.data, setup.network.eval()
    batch = data.batch(0)
    assert batch.inputs_per_example == 2 and set(batch.targets.tolist()) == {0.0, 1.0}
    with torch.no_grad():
        vectors = text_vectors(network, batch).view(batch.size, 2, -1)
        (loss,) = learner.losses(network, batch).values()

        class Encoder(torch.nn.Module):
            def forward(self, features):
                return {"sentence_embedding": features["vectors"]}

        theirs = CosineSimilarityLoss(Encoder())
        expected = theirs([{"vectors": vectors[:, n]} for n in (0, 1)], batch.targets)
        assert float(loss) == pytest.approx(float(expected), abs=1e-6)
        counts = learner.counts(batch)
        parts = [learner.losses(network, part, counts) for part in batch.parts(3)]
        assert float(sum(part["pairs"] for part in parts)) == pytest.approx(float(loss), abs=1e-6)
    assert all(weight.requires_grad for weight in network.encoder.parameters())
    assert not any(weight.requires_grad for weight in network.probe.parameters())


def test_the_linear_layer_is_the_logistic_regression_of_scikit_learn(job, tmp_path):
    setup = set_up(RunContext(job, new_run(tmp_path / "run", job)))
    network, examples = setup.network, setup.data.phases[0].examples
    learner, tokenizer = setup.data.learner, setup.data.tokenizer
    assert isinstance(learner, ContrastiveLearner)
    for targets in (examples.targets, np.arange(len(examples)) % 3):
        examples.targets, count = targets, len(set(targets.tolist()))
        network.probe.dense = torch.nn.Linear(network.spec.hidden_size, count)
        learner.fit_classifier(network, examples, np.arange(len(examples)), tokenizer)
        batches = [setup.data.learner.batch(examples, np.array([n, n]), tokenizer, None)
                   for n in range(len(examples))]  # fmt: skip
        network.eval()
        with torch.no_grad():
            vectors = np.stack([text_vectors(network, b)[0].numpy() for b in batches])
            logits = torch.stack([network.logits(*b.inputs)[0] for b in batches])
        scaled = vectors / np.linalg.norm(vectors, axis=1).mean()
        theirs = LogisticRegression(max_iter=1000).fit(scaled, targets).predict_proba(scaled)
        assert np.abs(logits.softmax(1).numpy() - theirs).max() < 1e-3


def test_a_run_ends_as_a_classifier_that_other_programs_read(job, tmp_path):
    job = with_training(job, save_every=0, evaluate_every=0, epochs=6, learning_rate=1e-3)
    run = trained(tmp_path / "run", job)
    last = run.checkpoint_folders()[-1]
    loaded = checkpoint.load(last)
    assert not loaded.report.missing and not loaded.report.unexpected
    assert loaded.network.heads.features == MEAN_AND_LINEAR and loaded.labels == ("bad", "good")
    rows = Rows(["i loved this fine story", "a dull cold film"])
    predicted = Predictor(last).predict(rows)
    assert [answer["label"] for answer in predicted] == ["good", "bad"]
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoModel.from_pretrained(last, add_pooling_layer=False).eval()
    ids = torch.tensor([loaded.tokenizer.encode(rows.texts[0], None, 64).ids])
    with torch.inference_mode():
        mean = theirs(ids).last_hidden_state.mean(1)
        logits = loaded.network.probe.dense(mean)[0]
    chance = float(logits.softmax(0)[1])
    assert chance == pytest.approx(predicted[0]["p(good)"], abs=1e-5), "encoder, mean, linear layer"
    task, printed = fine_tuned_task(last), io.StringIO()
    example = Example(rows.texts[0], probe=probe_pooling(last))
    with redirect_stdout(printed):
        exec(transformers_code(task, str(last), example), {})
    assert ast.literal_eval(printed.getvalue())["good"] == pytest.approx(chance, abs=1e-5)
    assert "AutoModelForSequence" not in model_card(last, "hf")
    other = transformers_code(task, "here", example._replace(probe=""))
    assert "but not its classifier" in other and "AutoModel" not in other
    expected = [row.expected for row in BatchPreview().show(run, 1).rows]
    assert set(expected[::2]) == {""} and set(expected[1::2]) <= {"same label", "other label"}


def test_a_stopped_run_resumes_to_the_same_weights(job, tmp_path):
    job = with_training(job, epochs=2)
    whole, halved = new_run(tmp_path / "whole", job), new_run(tmp_path / "halved", job)
    train(job, whole)
    steps = iter(range(100))
    assert train(job, halved, stop_requested=lambda: next(steps) > 12)[0] == "stopped"
    assert train(job, halved)[0] == "finished"
    first, second = (
        checkpoint.load(run.checkpoint_folders()[-1]).network.state_dict()
        for run in (whole, halved)
    )
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_jobs_that_have_no_such_pairs_are_refused(job):
    def refuse(message: str, **fields: object) -> None:
        with pytest.raises(ValidationError, match=message):
            JobSpec.model_validate(job.model_dump() | fields)

    refuse("one label per text", task={"kind": "multi_label"})
    refuse("one label per text", task={"kind": "pair_classification"})
    refuse("turn off training.lora_rank", training={"lora_rank": 4})
    refuse("turn off training.ema_decay", training={"ema_decay": 0.9})
    refuse("turn off teacher", teacher="large")
    refuse("turn off task.long_texts", task={"kind": job.task.kind, "long_texts": "windows"})


def test_its_time_is_estimated(job):
    result = estimate(job, lambda stage: None)
    assert result.steps > 0 and result.seconds > 0

"""Left-to-right pre-training (§5.1 of the paper) learns and attends to no later token."""

from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from transformers import BertLMHeadModel

from engine.checkpoints.info import checkpoint_info
from engine.cli import main as command
from engine.config.job import FromCheckpoint, FromScratch, JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from engine.data.tokenized.dataset import tokenize_stream
from engine.errors import StudioError
from engine.explore.fill_mask import fill_mask
from engine.messages.explore.fill_mask import FillMask
from engine.models import checkpoint
from engine.models.network import Network
from engine.models.tf1 import write_tf1
from engine.tasks.learner import Examples, total
from engine.tasks.pretraining import PretrainingLearner
from engine.training.loop import train
from tests.engine.models import small
from tests.engine.models.small import ALL, SPEC
from tests.engine.training.small import NETWORK, classifying, left_to_right, new_run, pretraining

CAUSAL = SPEC.model_copy(update={"causal": True})
TASK = Pretraining(objective="clm")
WORDS_HEAD = PretrainingLearner(TASK).heads
IGNORED = -100


def load_reference(folder: Path) -> BertLMHeadModel:
    model, info = BertLMHeadModel.from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True, local_files_only=True
    )
    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert model.config.is_decoder and model.config.architectures == ["BertLMHeadModel"]
    return model.eval()


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a short left-to-right pre-training."""
    folder = tmp_path_factory.mktemp("causal")
    run = new_run(folder / "run", left_to_right(folder, steps=60))
    assert train(run.job(), run)[0] == "finished"
    return run.checkpoint_folders()[-1]


@torch.no_grad()
def test_logits_and_loss_match_transformers(tmp_path):
    tokenizer = small.tokenizer(tmp_path)
    network = small.network(WORDS_HEAD, CAUSAL)
    checkpoint.save(tmp_path / "model", network, tokenizer)
    assert checkpoint.load(tmp_path / "model").spec == CAUSAL
    reference = load_reference(tmp_path / "model")
    tokenized = tokenize_stream(
        ["a b c ab ac bb", "d e f", "g h a b"], tokenizer, 12, tmp_path / "tokenized"
    )
    learner = PretrainingLearner(TASK)
    examples = Examples(tokenized)
    numbers = np.arange(len(tokenized))
    batch = learner.batch(examples, numbers, tokenizer, np.random.default_rng(0))
    assert batch.attention_mask is not None, "some rows are padded"
    labels = batch.tokens.masked_fill(~batch.attention_mask, IGNORED)
    inputs = {"input_ids": batch.tokens, "attention_mask": batch.attention_mask.long()}
    output = reference(**inputs, labels=labels, output_attentions=True)
    explicit = network.encoder(
        batch.tokens, batch.segments, batch.attention_mask, keep_weights=True
    )
    fused = network.encoder(batch.tokens, batch.segments, batch.attention_mask)
    for encoded in (explicit, fused):
        ours = network.mlm(encoded.last)[batch.attention_mask]
        torch.testing.assert_close(ours, output.logits[batch.attention_mask], atol=1e-5, rtol=1e-5)
    rows = batch.attention_mask[:, None, :, None]
    for a, c in zip(explicit.weights, output.attentions, strict=True):
        torch.testing.assert_close(a * rows, c * rows, atol=1e-5, rtol=0)
    losses = learner.losses(network, batch)
    assert set(losses) == {"clm"}
    assert float(total(losses)) == pytest.approx(float(output.loss), abs=1e-5)
    counts = learner.counts(batch)
    parts = [float(total(learner.losses(network, part, counts))) for part in batch.parts(2)]
    assert sum(parts) == pytest.approx(float(output.loss), abs=1e-5)


@torch.no_grad()
def test_the_pooler_reads_the_last_real_token():
    network = small.network(ALL, CAUSAL)
    tokens, segments, real = small.batch(CAUSAL)
    padded = network.encoder(tokens, segments, real)
    for row, length in enumerate(real.sum(1).tolist()):
        alone = network.encoder(tokens[row : row + 1, :length], segments[row : row + 1, :length])
        torch.testing.assert_close(padded.pooled[row], alone.pooled[0], atol=1e-6, rtol=0)
        expected = network.encoder.pooler(alone.last[:, -1:])
        torch.testing.assert_close(alone.pooled, expected)


def test_a_checkpoint_opens_in_transformers_and_can_be_trained_further(model_folder, tmp_path):
    loaded = checkpoint.load(model_folder)
    assert loaded.spec.is_causal and loaded.info.causal and checkpoint_info(model_folder).causal
    load_reference(model_folder)
    messages: list[object] = []
    start = {"base_model": FromCheckpoint(path=model_folder)}
    job = left_to_right(tmp_path, steps=8).model_copy(update=start)
    train(job, new_run(tmp_path / "more", job), messages.append)
    losses = [e.value for e in messages if getattr(e, "name", "") == "loss"]
    assert losses[0] < 3.5, "training continues far below ln V"


def test_fine_tuning_keeps_the_direction_and_learns(model_folder, tmp_path):
    job = classifying(tmp_path).model_copy(update={"base_model": FromCheckpoint(path=model_folder)})
    run = new_run(tmp_path / "run", job)
    messages: list[object] = []
    train(job, run, messages.append)
    final = checkpoint.load(run.checkpoint_folders()[-1])
    assert final.spec.is_causal and final.labels == ("bad", "good")
    accuracies = [e.value for e in messages if getattr(e, "name", "") == "validation_accuracy"]
    assert accuracies[-1] == 1.0


@pytest.mark.parametrize(
    "task, causal, message",
    [(Pretraining(), True, "left-to-right"), (TASK, False, "is bidirectional")],
)
def test_a_mismatched_objective_is_refused(tmp_path, task, causal, message):
    spec = NETWORK.model_copy(update={"causal": causal, "vocab_size": 40})
    tokenizer = small.tokenizer(tmp_path)
    checkpoint.save(tmp_path / "model", Network(spec, WORDS_HEAD), tokenizer)
    start = FromCheckpoint(path=tmp_path / "model")
    job = pretraining(tmp_path).model_copy(update={"task": task, "base_model": start})
    with pytest.raises(StudioError, match=message):
        train(job, new_run(tmp_path / "run", job))


def test_inconsistent_jobs_are_refused(tmp_path):
    good = left_to_right(tmp_path)
    for change, message in (
        ({"task": TASK.model_copy(update={"nsp": True})}, "CLS"),
        ({"task": Pretraining()}, "base_model.model.causal"),
        ({"base_model": FromScratch(model=NETWORK)}, "base_model.model.causal"),
        ({"base_model": good.base_model.model_copy(update={"warm_init": True})}, "Warm init"),
    ):
        with pytest.raises(ValidationError, match=message):
            JobSpec.model_validate(good.model_copy(update=change).model_dump())
    classes = good.model_copy(update={"task": TextClassification()})
    assert JobSpec.model_validate(classes.model_dump()) == classes


def test_fill_mask_uses_only_the_left_context(model_folder):
    loaded = checkpoint.load(model_folder)

    def guesses(text: str) -> list[tuple[str, float]]:
        answer = fill_mask(loaded, FillMask(checkpoint=model_folder, text=text, top=3))
        assert answer.causal
        return [(x.label, x.probability) for guess in answer.predictions for x in guess.ranked]

    alone, within = guesses("a lovely [MASK]"), guesses("a lovely [MASK] and a sad end")
    assert [x[0] for x in alone] == [x[0] for x in within]
    assert [x[1] for x in alone] == pytest.approx([x[1] for x in within], abs=1e-6)
    assert "warm" in [x[0] for x in alone], "a word of the training texts"
    two_masks = guesses("a [MASK] [MASK] film")
    after_first = guesses(f"a {two_masks[0][0]} [MASK]")
    assert [x[0] for x in two_masks[3:]] == [x[0] for x in after_first]
    assert guesses("[MASK] lovely")[0][1] > 0


def test_export_to_tensorflow_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(StudioError, match="left-to-right"):
        write_tf1(tmp_path / "out", small.network(ALL, CAUSAL), small.tokenizer(tmp_path))


def test_the_command_line_creates_a_causal_job(tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("a b c\n\nd e f\n", encoding="utf-8")
    options = ["--data", str(text), "--task", "pretraining", "--size", "tiny"]
    assert command(["job", *options, "--set", "task.objective=clm"]) == 0
    job = JobSpec.model_validate_json(capsys.readouterr().out)
    assert isinstance(job.base_model, FromScratch) and job.base_model.model.causal

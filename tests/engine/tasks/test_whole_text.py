"""Losses of classes, labels and numbers of whole texts match torch and transformers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import BertForMultipleChoice, BertForSequenceClassification

from engine.checkpoints.heads import TASK
from engine.config.task import TaskSpec
from engine.config.tasks.multi_label import MultiLabel
from engine.config.tasks.multiple_choice import MultipleChoice
from engine.config.tasks.regression import Regression
from engine.config.tasks.text_classification import TextClassification
from engine.data.columns.roles import MissingRole
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.models import checkpoint
from engine.models.heads import Heads
from engine.models.network import Network
from engine.serving.serving import Serving
from engine.tasks import checkpoint_learner, learner_for
from engine.tasks.evaluating import evaluate
from engine.tasks.learner import Batch, Examples, Learner, PredictionCollector, padded_width, total
from engine.tasks.predicting import Predictor
from engine.tasks.regression import RegressionLearner
from engine.tasks.text_classification import TextClassificationLearner
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.models.small import folder, sized

SENTENCE = "a warm film and a cold story with good acting or a dull happy sad end for all"
TEXTS = [" ".join(SENTENCE.split()[n % 7 : n % 7 + 3 + n % 9]) for n in range(12)]
CLASSES = ["good", "bad", "bad", "so-so", "bad", "good"] * 2
SETS = ["warm|good", "", "cold", "cold|dull|good", "warm", "good"] * 2
NUMBERS = ["3,5", "-1", "0", "2,25", "1e1", "0,5"] * 2
ENDINGS = [(text, "is warm", "was it", "and so on and on") for text in reversed(TEXTS)]
RIGHT = ["0", "3", "1", "2", "2", "0"] * 2

CASES: dict[str, tuple[TaskSpec, Rows]] = {
    "classes": (TextClassification(), Rows(TEXTS, TEXTS[::-1], CLASSES)),
    "weighted": (
        TextClassification(balanced=True, class_weights={"so-so": 0.3}, label_smoothing=0.1),
        Rows(TEXTS, None, CLASSES),
    ),
    "labels": (MultiLabel(), Rows(TEXTS, TEXTS[::-1], SETS)),
    "weighted labels": (
        MultiLabel(balanced=True, class_weights={"dull": 3.5}),
        Rows(TEXTS, None, SETS),
    ),
    "number": (Regression(), Rows(TEXTS, TEXTS[::-1], NUMBERS)),
    "choices": (
        MultipleChoice(),
        Rows(TEXTS, labels=RIGHT, beginnings=["it"] * 12, endings=ENDINGS),
    ),
}
case = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([*TEXTS, "it is was so on"] * 3, 60, lowercase=True)


class Prepared:
    """A learner fitted to a case, its network and all its rows in one batch."""

    def __init__(self, name: str, tokenizer: Tokenizer, folder: Path) -> None:
        task, self.rows = CASES[name]
        self.learner = learner_for(task)
        self.learner.fit_labels(self.rows)
        self.tokenizer = tokenizer
        spec = sized(tokenizer, initializer_range=0.3)
        torch.manual_seed(0)
        self.network = Network(spec, self.learner.heads).eval()
        self.examples = self.learner.tokenize(
            self.rows, tokenizer, 40, folder / "tokenized", lambda done, total: None
        )
        self.batch = make_batch(self.learner, self.examples, tokenizer)


def make_batch(learner: Learner, examples: Examples, tokenizer: Tokenizer) -> Batch:
    numbers = np.arange(len(examples))
    return learner.batch(examples, numbers, tokenizer, np.random.default_rng(0))


@pytest.fixture
def prepare(tokenizer: Tokenizer, tmp_path: Path) -> Callable[[str], Prepared]:
    return lambda name: Prepared(name, tokenizer, tmp_path)


@pytest.mark.parametrize("name", ["classes", "labels", "number", "choices"])
def test_loss_and_logits_match_transformers(name, prepare, tmp_path):
    setup = prepare(name)
    learner, batch = setup.learner, setup.batch
    checkpoint.save(tmp_path / "model", setup.network, setup.tokenizer, learner.labels)
    kind: Any = BertForMultipleChoice if name == "choices" else BertForSequenceClassification
    theirs = kind.from_pretrained(tmp_path / "model").eval()
    assert batch.attention_mask is not None
    inputs = {
        "input_ids": batch.tokens,
        "token_type_ids": batch.segments,
        "attention_mask": batch.attention_mask.long(),
    }
    if name == "choices":
        inputs = {key: rows.unflatten(0, (batch.size, -1)) for key, rows in inputs.items()}
    with torch.inference_mode():
        output = theirs(**inputs, labels=batch.targets)
        ours = learner.losses(setup.network, batch)
        metrics = evaluate(setup.network, learner, setup.tokenizer, setup.examples, batch_size=5)
    assert isinstance(metrics, PredictionCollector)
    assert float(total(ours)) == pytest.approx(float(output.loss), abs=1e-5)
    assert metrics.logits == pytest.approx(output.logits.numpy(), abs=1e-5)  # type: ignore[attr-defined]
    assert metrics.compute()["loss"] == pytest.approx(float(output.loss), abs=1e-5)


@case
@pytest.mark.parametrize("size", [1, 5, 11])
def test_parts_of_a_batch_add_up_to_its_loss_and_gradient(name, size, prepare):
    setup = prepare(name)

    def gradients(parts: list[Batch]) -> tuple[float, list[Tensor]]:
        setup.network.zero_grad()
        value = 0.0
        for part in parts:
            counts = setup.learner.counts(setup.batch)
            loss = total(setup.learner.losses(setup.network, part, counts))
            loss.backward()
            value += float(loss.detach())
        return value, [p.grad.clone() for p in setup.network.parameters() if p.grad is not None]

    full_loss, full_gradients = gradients([setup.batch])
    parts_loss, parts_gradients = gradients(setup.batch.parts(size))
    assert sum(part.size for part in setup.batch.parts(size)) == 12
    assert parts_loss == pytest.approx(full_loss, rel=1e-5)
    for a, other in zip(full_gradients, parts_gradients, strict=True):
        assert torch.allclose(a, other, atol=1e-6)


@pytest.mark.parametrize("name, labels, weights", [
    ("weighted", ("bad", "good", "so-so"), [12 / (3 * 6), 12 / (3 * 4), 0.3]),
    ("weighted labels", ("cold", "dull", "good", "warm"), [8 / 4, 3.5, 6 / 6, 8 / 4]),
])  # fmt: skip
def test_weights_and_smoothing_match_torch(name, labels, weights, prepare):
    setup = prepare(name)
    batch, tensor = setup.batch, torch.tensor(weights)
    assert setup.learner.labels == labels
    logits = setup.network.logits(batch.tokens, batch.segments, batch.attention_mask)
    if name == "weighted":
        expected = F.cross_entropy(logits, batch.targets, tensor, label_smoothing=0.1)
    else:
        expected = F.binary_cross_entropy_with_logits(logits, batch.targets, pos_weight=tensor)
    ours = total(setup.learner.losses(setup.network, batch))
    assert float(ours.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)


def test_balancing_matches_scikit_learn():
    from sklearn.utils.class_weight import compute_class_weight

    learner = learner_for(TextClassification(balanced=True))
    learner.fit_labels(Rows(TEXTS, None, CLASSES))
    expected = compute_class_weight("balanced", classes=np.unique(CLASSES), y=CLASSES)
    assert learner._weights.numpy() == pytest.approx(expected)  # type: ignore[attr-defined]


@pytest.mark.parametrize("task", [TextClassification, MultiLabel])
def test_a_weight_of_an_unknown_label_is_refused(task):
    rows = Rows(TEXTS, None, CLASSES)
    with pytest.raises(StudioError, match="“great”, but no label"):
        learner_for(task(class_weights={"great": 2.0})).fit_labels(rows)


def test_unused_flags_are_labels(tokenizer, tmp_path):
    flags = {"toxic": ["1", "no", "TRUE", "0"], "rude": ["0", "0", "false", "no"]}
    learner = learner_for(MultiLabel())
    learner.fit_labels(rows := Rows(TEXTS[:4], flags=flags))
    assert learner.labels == ("rude", "toxic")
    examples = learner.tokenize(
        rows, tokenizer, 40, tmp_path / "tokenized", lambda done, total: None
    )
    assert examples.targets is not None
    assert examples.targets.tolist() == [[0, 1], [0, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    "task, rows, message",
    [
        (Regression(), Rows(["a", "b"], None, ["1", "NaN"], lines=[2, 3]), "line 3 is “NaN”"),
        (Regression(), Rows(["a", "b"], None, ["1", ""], lines=[2, 3]), "line 3 is empty"),
        (Regression(), Rows(["a", "b"], None, ["2", "2.0"]), "in all 2 training rows"),
        (Regression(), Rows(["a", "b"], None, ["1,5", "2.5"]), "comma in numbers is ambiguous"),
        (Regression(), Rows(["a"]), "No column is chosen for “Label”"),
        (MultiLabel(), Rows(["a"]), "No column is chosen for “Label”"),
        (MultiLabel(), Rows(["a", "b"], None, ["", " "]), "No training row has a label"),
        (MultiLabel(), Rows(["a"], flags={"x": ["maybe"]}, lines=[7]), "line 7: it contains"),
        (MultipleChoice(), Rows(["a"], None, ["0"]), "hold the choices"),
        (MultipleChoice(), Rows(["a"], endings=[("b", "c")]), "No column is chosen for “Label”"),
        (
            MultipleChoice(),
            Rows(["a"], labels=["5"], endings=[("b", "c")], lines=[4]),
            "“5” in line 4",
        ),
    ],
)
def test_untrainable_rows_are_refused(task, rows, message):
    with pytest.raises(StudioError, match=message):
        learner_for(task).fit_labels(rows)


@pytest.mark.parametrize("name", ["classes", "labels", "number", "choices"])
def test_a_saved_model_has_the_same_predictions_and_metrics(name, prepare, tmp_path):
    setup = prepare(name)
    folder = tmp_path / "model"
    checkpoint.save(folder, setup.network, setup.tokenizer, setup.learner.labels)
    loaded = checkpoint.load(folder)
    learner = checkpoint_learner(loaded)
    assert learner is not None and learner.labels == setup.learner.labels
    assert type(learner) is type(setup.learner)
    predictor = Predictor(folder, max_length=40)
    before = evaluate(setup.network, setup.learner, setup.tokenizer, setup.examples, batch_size=3)
    assert predictor.evaluate(setup.rows).metrics() == pytest.approx(before.compute(), abs=1e-5)
    answers = predictor.predict(setup.rows)
    assert len(answers) == 12 and len({tuple(answer) for answer in answers}) == 1
    with pytest.raises(MissingRole):
        predictor.evaluate(setup.rows.without_targets())


def test_a_regression_head_starts_at_the_mean(prepare):
    setup = prepare("number")
    setup.learner.init_output_bias(setup.network, setup.examples, setup.tokenizer)
    assert setup.network.task is not None
    assert float(setup.network.task.dense.bias.detach()) == pytest.approx(2.5416667)


def test_dummy_batches_have_a_loss(prepare):
    for name in CASES:
        setup = prepare(name)
        batch = setup.learner.dummy_batch(6, 16, setup.tokenizer, np.random.default_rng(1))
        assert batch.size == 6
        assert np.isfinite(float(total(setup.learner.losses(setup.network, batch)).detach()))


def test_a_regression_model_stores_its_range(prepare, tmp_path):
    setup = prepare("number")
    task = setup.learner.task
    assert task is not None
    config = {TASK: task.model_dump(mode="json")}
    checkpoint.save(tmp_path / "model", setup.network, setup.tokenizer, extra=config)
    checkpoint.import_checkpoint(tmp_path / "model", tmp_path / "copy")
    learner = checkpoint_learner(checkpoint.load(tmp_path / "copy"))
    assert learner is not None and learner.task == Regression(range=(-1, 10))


def test_an_unknown_label_is_refused_by_name():
    learner = TextClassificationLearner(TextClassification(labels=("bad", "good")))
    assert learner.targets(Rows(["a", "b"], None, ["good", "bad"])).tolist() == [1, 0]
    assert learner.targets(Rows(["a", "b"], None, ["0", "1"])).tolist() == [0, 1]
    for unknown in ("new", "2", "-1"):
        message = f"the label “{unknown}”, but the model knows only “bad”, “good”"
        with pytest.raises(StudioError, match=message):
            learner.targets(Rows(["a", "b"], None, ["good", unknown]))
    assert learner.targets(Rows(["a", "b"], None, ["1.0", "0"])).tolist() == [1, 0]
    numbered = TextClassificationLearner(TextClassification(labels=("1", "2", "3")))
    for item, unknown in ((learner, "2"), (numbered, "0")):  # not mistaken for class 1
        with pytest.raises(StudioError, match=f"the label “{unknown}”"):
            item.targets(Rows(["a", "b", "c"], None, ["0", "1", "2"]))


def test_the_regression_range_comes_from_the_data():
    learner = RegressionLearner(Regression())
    learner.fit_labels(Rows(["a", "b"], None, ["0.1", "16777217"]))
    assert learner.task.range == (0.1, 16777217.0)


@pytest.mark.parametrize("endings", [1, 3])
@pytest.mark.parametrize("size", [0, 2])
def test_parts_keep_tokens_targets_and_positions(endings, size):
    lengths = torch.tensor([5, 7, 60, 61]).repeat_interleave(endings)
    width = padded_width(61)
    real = torch.arange(width) < lengths[:, None]
    tokens = torch.arange(real.numel()).reshape(real.shape) * real
    positions = torch.tensor([n * width + k for n in range(len(lengths)) for k in (1, 4)])
    batch = Batch(
        tokens,
        torch.zeros_like(tokens),
        real,
        targets=tokens.flatten()[positions],
        positions=positions,
        inputs_per_example=endings,
    )
    numbered = Batch(**(batch._asdict() | {"targets": torch.arange(len(positions))}))
    parts, others = batch.parts(size), numbered.parts(size)
    assert [part.tokens.size(1) for part in parts] == ([8, 64] if size else [64])
    for part in parts:
        assert torch.equal(part.tokens.flatten()[part.positions], part.targets)
    assert torch.equal(torch.cat([part.targets for part in others]), torch.arange(len(positions)))
    assert sum(part.size for part in parts) == 4
    assert sum(part.token_count for part in parts) == batch.token_count


@pytest.mark.parametrize("count", [100, 101])
def test_few_classes_have_a_column_of_probabilities_each(tmp_path, count):
    heads = Heads(outputs=count, kind="text_classification")
    loaded = checkpoint.load(folder(tmp_path / "model", heads))
    labels = tuple(f"class {n}" for n in range(count))
    (record,) = Predictor(Serving(replace(loaded, labels=labels))).predict(Rows(["a b"]))
    assert record["label"] in labels and 0 < record["probability"] < 1
    assert sum(name.startswith("p(") for name in record) == (count if count <= 100 else 0)

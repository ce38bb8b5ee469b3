"""Importance of heads, compared with transformers with hooks."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from engine.config.features import Features
from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import load_rows
from engine.errors import StudioError
from engine.explore import over_texts as work
from engine.explore.ablation import ablate_heads, head_means
from engine.explore.head_importance import (
    _ablated_losses,
    build_batch,
    measure_texts,
    score_heads,
    weigh,
)
from engine.explore.head_pruning import prune
from engine.explore.text_scores import learner_for_rows
from engine.messages.explore.text_set import (
    AverageHeads,
    PruneHeads,
    TextSet,
    TypedText,
    WeighHeads,
)
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.serving.serving import Serving
from engine.tasks import checkpoint_learner
from engine.tasks.learner import Batch
from tests.engine.models.small import LABELS, folder

TEXTS = (("a b c", "bad"), ("d e f g", "good"), ("h i", "so-so"), ("a a a k l", "bad"))
CLOSE = 1e-5


def query(path: Path, **options) -> WeighHeads:
    typed = TextSet(typed=tuple(TypedText(text=t, label=g) for t, g in TEXTS))
    return WeighHeads(checkpoint=path, texts=typed, **options)


def test_importance_and_ablated_loss_match_transformers(classifier, tmp_path):
    checkpoint = load(classifier)
    answer = weigh(checkpoint, query(classifier, each_head=True), tmp_path, lambda _: None)
    values = np.load(answer.file)
    assert answer.columns == ("importance", "loss off") and values.shape == (3, 2, 2, 2)
    theirs = AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    size = theirs.config.hidden_size // theirs.config.num_attention_heads
    gates = torch.ones(2, 2, requires_grad=True)
    for number, layer in enumerate(theirs.bert.encoder.layer):

        def hook(_, inputs, number=number):
            return (inputs[0] * gates[number].repeat_interleave(size),)

        layer.attention.output.dense.register_forward_pre_hook(hook)

    def loss(text: str, label: str) -> torch.Tensor:
        ids = torch.tensor([checkpoint.tokenizer.encode(text).ids])
        return theirs(ids, labels=torch.tensor([LABELS.index(label)])).loss

    sums, full, off = np.zeros((2, 2)), 0.0, np.zeros((2, 2))
    for text, label in TEXTS:
        value = loss(text, label)
        sums += torch.autograd.grad(value, gates)[0].abs().double().numpy()
        full += float(value.detach())
        for head in np.ndindex(2, 2):
            with torch.no_grad():
                gates[head] = 0
                off[head] += float(loss(text, label))
                gates[head] = 1
    assert values[0, ..., 0] == pytest.approx(sums / len(TEXTS), abs=CLOSE)
    assert answer.loss == pytest.approx(full / len(TEXTS), abs=CLOSE)
    assert values[0, ..., 1] == pytest.approx((off - full) / len(TEXTS), abs=CLOSE)
    low, high = values[1:]
    assert (low <= values[0]).all() and (values[0] <= high).all() and (low < high).all()


def test_texts_without_a_label_are_left_out(classifier, tmp_path):
    checkpoint, labelled = load(classifier), query(classifier)
    more = (*labelled.texts.typed, TypedText(text="a text without a label"))
    question = WeighHeads(checkpoint=classifier, texts=TextSet(typed=more))
    answers = [weigh(checkpoint, item, tmp_path, lambda _: None) for item in (labelled, question)]
    assert [answer.total for answer in answers] == [4, 4]
    assert answers[0].loss == answers[1].loss
    assert prune(checkpoint, PruneHeads(checkpoint=classifier, texts=question.texts), print)


def test_reusing_lower_layers_changes_no_loss(known, tmp_path):
    """The loss equals that of a full pass, with zero and with the mean as replacement."""
    checkpoint = known.checkpoint
    texts = TextSet(typed=tuple(TypedText(text=t) for t in ("A quiet film.", "Nobody laughs.")))
    rows = load_rows(texts)
    network, spec = checkpoint.network, checkpoint.network.spec
    means = head_means(checkpoint, AverageHeads(checkpoint=known.folder, texts=texts))
    for replacement, values in (("zero", None), ("mean", torch.from_numpy(means))):
        question = WeighHeads(
            checkpoint=known.folder, texts=texts, each_head=True, replacement=replacement
        )
        result = score_heads(checkpoint, question, lambda *_: None)
        for number in range(2):
            batch, loss = build_batch(checkpoint, None, rows.take([number]))
            for head in np.ndindex(spec.layers, spec.heads):
                with torch.inference_mode(), ablate_heads(network, (head,), values):
                    expected = float(loss(network, batch))
                assert result["off"][(number, *head)] == pytest.approx(expected, abs=1e-6)
        assert list(network.encoder.iter_layers()) == list(
            type(network.encoder).iter_layers(network.encoder)
        )


@pytest.mark.parametrize(
    "features",
    [
        Features(vectors="one layer", layer=1, probe="linear"),
        Features(vectors="learned mix", probe="bilstm", probe_size=8),
    ],
    ids=["one layer", "learned mix"],
)
def test_a_probe_depends_only_on_heads_below_its_layers(features, tmp_path):
    """Importance matches finite differences, and the ablated loss a full pass."""
    checkpoint = load(folder(tmp_path / "probe", Heads(outputs=3, features=features)))
    question = query(tmp_path / "probe", each_head=True)
    result = score_heads(checkpoint, question, lambda *_: None)
    network, rows = checkpoint.network, load_rows(question.texts)
    learner, step = learner_for_rows(checkpoint, rows), 0.02
    size = network.spec.hidden_size // network.spec.heads
    for number in range(len(TEXTS)):
        batch, loss = build_batch(checkpoint, learner, rows.take([number]))
        for layer, head in np.ndindex(2, 2):
            scaled = []
            for factor in (1 + step, 1 - step, 0):
                wide = torch.ones(network.spec.hidden_size)
                wide[head * size : (head + 1) * size] = factor

                def scale(_, inputs, wide=wide):
                    return (inputs[0] * wide,)

                output = network.encoder.layers[layer].attention.output
                hook = output.register_forward_pre_hook(scale)
                with torch.inference_mode():
                    scaled.append(float(loss(network, batch)))
                hook.remove()
            slope = abs(scaled[0] - scaled[1]) / (2 * step)
            assert result["importance"][number, layer, head] == pytest.approx(slope, 0.05, 1e-4)
            assert result["off"][number, layer, head] == pytest.approx(scaled[2], abs=1e-6)
    if features.vectors == "one layer":
        assert not result["importance"][:, 1].any(), "the probe reads a lower layer"
    assert result["importance"].any()


def test_inputs_of_one_example_share_an_ablation(classifier):
    """Two choices of one example, the second padded."""
    network = load(classifier).network
    tokens = torch.tensor([[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]])
    batch = Batch(tokens, torch.zeros_like(tokens), tokens != 0, torch.zeros(1), None)
    batch = batch.plan(network)
    encoders = (
        lambda network, arguments: network.encoder(*arguments.inputs[:3]).last[
            arguments.attention_mask
        ],
        lambda network, arguments: network.encode_pooled(*arguments.inputs),
    )
    for encode in encoders:

        def loss(network, inputs, encode=encode):
            return (encode(network, inputs) ** 3).sum()

        with torch.inference_mode():
            result = _ablated_losses(network, batch, loss)
            for head in np.ndindex(result.shape):
                with ablate_heads(network, (head,)):
                    assert result[head] == pytest.approx(float(loss(network, batch)), rel=CLOSE)


def test_each_layer_is_computed_for_several_heads_together(classifier):
    """Two layers of two heads: a pass for the gradient and one that caches, then both layers for
    the heads of the lower one together, and the upper layer for its own."""
    checkpoint = load(classifier)
    calls = []
    for number, layer in enumerate(checkpoint.network.encoder.layers):
        layer.register_forward_hook(lambda *_, number=number: calls.append(number))
    texts = TextSet(typed=(TypedText(text="a b", label="bad"),))
    score_heads(
        checkpoint, WeighHeads(checkpoint=classifier, texts=texts, each_head=True), lambda *_: None
    )
    assert (calls.count(0), calls.count(1)) == (2 + 1, 2 + 2)


def test_batching_changes_no_importance(known, monkeypatch):
    """Texts of several lengths in a padded batch, and each alone."""
    checkpoint = known.checkpoint
    lines = ("A quiet film, and nobody laughs at it.", "Nobody.", "A film, a quiet film.")
    texts = [build_batch(checkpoint, None, Rows(texts=[text])) for text in lines]
    together = measure_texts(checkpoint.network, texts, False)
    monkeypatch.setattr(work, "BATCH_TOKENS", 0)
    alone = measure_texts(checkpoint.network, texts, False)
    for a, other in zip(together, alone, strict=True):
        assert a["loss"] == pytest.approx(other["loss"], abs=CLOSE)
        assert a["importance"] == pytest.approx(other["importance"], rel=1e-3, abs=CLOSE)


def test_every_head_of_every_family_has_a_gradient(known, tmp_path):
    """The loss is that of masked tokens; ALBERT's shared layer has one gradient per index."""
    checkpoint = known.checkpoint
    texts = TextSet(typed=(TypedText(text="A quiet film, and nobody laughs at it."),))
    question = WeighHeads(checkpoint=known.folder, texts=texts, each_head=True)
    answer = weigh(checkpoint, question, tmp_path, lambda _: None)
    values = np.load(answer.file)
    spec = checkpoint.network.spec
    assert values.shape == (3, spec.layers, spec.heads, 2)
    assert (values[0, ..., 0] > 0).all() and values[0, ..., 1].any()


def test_the_packed_network_refuses_a_gradient(classifier):
    """Its gradient would be silently wrong; callers use the plain network."""
    serving = Serving(load(classifier))
    if serving.exact is serving.plain:
        pytest.skip("nothing is packed on this machine")
    rows = Rows(texts=["a b"], labels=["bad"])
    batch, loss = build_batch(serving.exact, checkpoint_learner(serving.exact), rows)
    with pytest.raises(RuntimeError, match="no gradient"):
        measure_texts(serving.exact.network, [(batch, loss)], False)


def test_texts_without_labels_and_models_without_heads_are_refused(classifier, tmp_path):
    texts = TextSet(typed=(TypedText(text="a b"),))
    question = WeighHeads(checkpoint=classifier, texts=texts)
    with pytest.raises(StudioError, match="no labels"):
        weigh(load(classifier), question, tmp_path, lambda _: None)
    bare = folder(tmp_path / "bare", Heads())
    with pytest.raises(StudioError, match="no loss"):
        weigh(load(bare), question, tmp_path, lambda _: None)

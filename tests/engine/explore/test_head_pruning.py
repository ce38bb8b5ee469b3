"""Heads are pruned in rounds; the saved copy matches transformers without these heads."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification

from engine.errors import StudioError
from engine.explore import over_texts as work
from engine.explore.ablation import ablate_heads
from engine.explore.head_importance import weigh
from engine.explore.head_pruning import MAX_SAMPLE, _sample, cut, prune, remove, units
from engine.messages.explore.text_set import (
    HeadsPruned,
    PruneHeads,
    RemoveHeads,
    TextSet,
    TypedText,
    WeighHeads,
)
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import LABELS, SPEC, folder

WORDS = "abcdefghijklmno"
TEXTS = tuple(
    (" ".join(WORDS[(number * step) % 15] for step in range(1, 4 + number % 4)), LABELS[number % 3])
    for number in range(1, 25)
)
TYPED = TextSet(typed=tuple(TypedText(text=t, label=g) for t, g in TEXTS))
FOUR = SPEC.model_copy(update={"heads": 4, "layers": 3})
CLOSE = 1e-5


@pytest.fixture(scope="module")
def classifier(tmp_path_factory) -> Path:
    """Twelve heads of size four, of which the third of the second layer outputs zero."""
    path = folder(tmp_path_factory.mktemp("prune") / "model", Heads(outputs=3), FOUR)
    question = RemoveHeads(checkpoint=path, heads=((1, 2),), into=path.parent / "planted")
    return remove(question).folder


def query(path: Path, **options) -> PruneHeads:
    return PruneHeads(checkpoint=path, texts=TYPED, **{"fraction": 0.25} | options)


def accuracy(path: Path, off: tuple[tuple[int, int], ...]) -> float:
    """Accuracy of transformers with hooks."""
    theirs = AutoModelForSequenceClassification.from_pretrained(path).eval()
    for number, layer in enumerate(theirs.bert.encoder.layer):

        def hook(_, inputs, number=number):
            values = inputs[0].clone()
            for index, head in off:
                if index == number:
                    values[..., 4 * head : 4 * head + 4] = 0
            return (values,)

        layer.attention.output.dense.register_forward_pre_hook(hook)
    tokenizer, right = load(path).tokenizer, 0
    with torch.inference_mode():
        for text, label in TEXTS:
            logits = theirs(torch.tensor([tokenizer.encode(text).ids])).logits[0]
            right += int(logits.argmax()) == LABELS.index(label)
    return right / len(TEXTS)


@pytest.fixture(scope="module")
def full_pruning(classifier) -> HeadsPruned:
    """All rounds of a quarter of the heads."""
    return prune(load(classifier), query(classifier, max_fall=1), print)


def test_the_accuracy_of_each_round_matches_transformers(classifier, full_pruning):
    answer = full_pruning
    assert answer.is_final and answer.metric == "accuracy"
    assert [len(entry.heads) for entry in answer.rounds] == [0, 3, 3, 3, 2], "one head stays"
    assert (1, 2) in answer.rounds[1].heads, "the head that adds nothing goes first"
    off: tuple[tuple[int, int], ...] = ()
    for item in answer.rounds:
        off += item.heads
        assert item.figure == pytest.approx(accuracy(classifier, off))
    assert answer.pruned == tuple(sorted(off)) and len(set(off)) == 11


def test_each_round_prunes_the_least_important_heads(classifier, full_pruning, tmp_path):
    """Importance is recomputed after each round and divided by the norm of the layer."""
    checkpoint = load(classifier)
    off: tuple[tuple[int, int], ...] = ()
    for item in full_pruning.rounds[1:3]:
        with ablate_heads(checkpoint.network, off):
            question = WeighHeads(checkpoint=classifier, texts=TYPED)
            values = np.load(weigh(checkpoint, question, tmp_path, print).file)[0, ..., 0]
        scaled = values / np.linalg.norm(values, axis=1, keepdims=True)
        left = [head for head in np.ndindex(3, 4) if head not in off]
        assert set(item.heads) == set(sorted(left, key=lambda head: scaled[head])[:3])
        off += item.heads


def test_pruning_ends_before_accuracy_falls_too_far(classifier, full_pruning):
    checkpoint, rounds = load(classifier), full_pruning.rounds
    for fall in (0.0, 0.1):
        answer = prune(checkpoint, query(classifier, max_fall=fall), print)
        *allowed, last = answer.rounds
        begin = answer.rounds[0].figure
        assert all(item.figure >= begin - fall - 1e-6 for item in allowed)
        is_whole = len(answer.rounds) == len(rounds)
        assert is_whole or last.figure < begin - fall
        assert answer.rounds == rounds[: len(answer.rounds)]
        counted = [h for item in (answer.rounds if is_whole else allowed) for h in item.heads]
        assert answer.pruned == tuple(sorted(counted))


def test_the_saved_copy_is_loaded_by_transformers(known, tmp_path):
    """Its outputs are those of the model with these heads ablated."""
    network = known.checkpoint.network
    all_units = units(network)
    if known.family == "albert":
        with pytest.raises(StudioError, match="share their weights"):
            cut(network, ((0, 1),))
    heads = tuple(head for unit in (all_units[1], all_units[-1]) for head in unit)
    answer = remove(RemoveHeads(checkpoint=known.folder, heads=heads, into=tmp_path / "cut"))
    inputs = known.encode_text("A quiet film.", "Nobody laughs.", 2)
    with torch.inference_mode(), ablate_heads(network, heads):
        off = network.mlm(network.encode(inputs.tokens, inputs.segments).last)[0]
    theirs = AutoModelForMaskedLM.from_pretrained(
        answer.folder, local_files_only=True, attn_implementation="eager"
    ).eval()
    assert (known._replace(model=theirs).run(inputs).logits[0] - off).abs().max() < CLOSE
    reloaded = load(answer.folder)
    with torch.inference_mode():
        ours = reloaded.network.mlm(reloaded.network.encode(inputs.tokens, inputs.segments).last)[0]
    assert (ours - off).abs().max() < CLOSE
    assert (answer.folder / "manifest.json").is_file()


def test_a_model_with_only_an_mlm_head_is_pruned_by_masked_accuracy(tmp_path):
    path = folder(tmp_path / "mlm", Heads(mlm=True))
    answer = prune(load(path), query(path, max_fall=1, fraction=0.5), print)
    assert answer.metric == "accuracy" and len(answer.pruned) == 3
    assert all(0 <= item.figure <= 1 for item in answer.rounds)


def test_a_cancelled_pruning_is_resumed(classifier, full_pruning, tmp_path, monkeypatch):
    """Stored rounds are not recomputed, even with another allowed fall."""
    checkpoint = load(classifier)
    question = query(classifier, max_fall=0.02, cache=tmp_path / "kept")
    monkeypatch.setattr(work, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr("engine.explore.head_pruning.REPORT_SECONDS", 0.0)
    answers = []

    def cancel(answer) -> None:
        answers.append(answer)
        if len(answer.rounds) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prune(checkpoint, question.model_copy(update={"max_fall": 1.0}), cancel)
    assert answers and not any(answer.is_final for answer in answers)
    assert [answer.done for answer in answers] == sorted(answer.done for answer in answers)
    assert work.ArrayStore(question).rows == 2
    resumed = prune(checkpoint, question.model_copy(update={"max_fall": 1.0}), answers.append)
    assert (resumed.rounds, resumed.pruned) == (full_pruning.rounds, full_pruning.pruned)
    monkeypatch.setattr("engine.explore.head_pruning.pruned_score", None)
    shorter = prune(checkpoint, question, answers.append)
    assert shorter.rounds == full_pruning.rounds[: len(shorter.rounds)]


def test_unprunable_models_are_refused(classifier, tmp_path):
    question = query(classifier, head_means=tmp_path / "means.npy")
    with pytest.raises(StudioError, match="Choose the ablation by zero"):
        prune(load(classifier), question, print)
    unlabelled = PruneHeads(checkpoint=classifier, texts=TextSet(typed=(TypedText(text="a"),)))
    with pytest.raises(StudioError, match="no labels"):
        prune(load(classifier), unlabelled, print)
    missing = RemoveHeads(checkpoint=classifier, heads=((0, 9),), into=tmp_path / "cut")
    with pytest.raises(StudioError, match="no layer 1, head 10"):
        remove(missing)
    assert not (tmp_path / "cut").exists()


def test_importance_uses_evenly_spaced_texts():
    many = TextSet(typed=tuple(TypedText(text=f"a {n}") for n in range(400)))
    rows = _sample(many, 400).rows
    assert (
        len(rows) == MAX_SAMPLE
        and rows[0] == 0
        and rows[-1] == 399
        and len(set(rows)) == MAX_SAMPLE
    )
    half = many.model_copy(update={"rows": tuple(range(0, 400, 2))})
    assert set(_sample(half, 200).rows) < set(half.rows)
    assert _sample(half, 100) is half

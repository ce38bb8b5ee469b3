"""Compared with transformers on the same weights: equal to 1e-5 in float32."""

from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from engine.config.families.bert import PRESETS
from engine.models.checkpoint import load, save
from engine.models.heads import Heads
from engine.models.network import Network, meta_network
from engine.models.published import published_name
from tests.engine.models.small import ALL, LABELS, SPEC, batch, network, tokenizer

ASSETS = {
    "bert-tiny-splade-en": BertForMaskedLM,
    "ref-bert-tiny-sst2": BertForSequenceClassification,
    "rxnfp-bert-pretrained": BertForPreTraining,
    "minilm-l6-v2-en": BertModel,
}


@pytest.fixture(autouse=True)
def quiet():
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    yield
    transformers.logging.set_verbosity(before)


INPUTS = ("input_ids", "token_type_ids", "attention_mask")


def theirs(kind: type, folder: Path, complete: bool = True) -> torch.nn.Module:
    """The checkpoint as transformers loads it; nothing missing and nothing over."""
    model, info = kind.from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True, local_files_only=True
    )
    if complete:
        assert not info["missing_keys"]
        assert not info["unexpected_keys"]
    assert not info["mismatched_keys"]
    return model.float().eval()


def assert_close(ours: Tensor, other: Tensor) -> None:
    """Equal to 1e-5, relative to the largest number if that exceeds 1."""
    largest = max(1.0, other.abs().max().item())
    assert (ours - other).abs().max().item() <= 1e-5 * largest


@torch.no_grad()
def assert_equal(ours: Network, model: torch.nn.Module, given: tuple[Tensor, Tensor, Tensor]):
    """Hidden states of every layer, attention of every head, and what each head says."""
    ids, segments, real = given
    other = model(
        input_ids=ids,
        token_type_ids=segments,
        attention_mask=real.long(),
        output_hidden_states=True,
        output_attentions=True,
    )
    explicit = ours.encoder(ids, segments, real, keep_weights=True, keep_hidden=True)
    fused = ours.encoder(ids, segments, real, keep_hidden=True)
    for a, c in zip(explicit.weights, other.attentions, strict=True):
        rows = real[:, None, :, None]
        assert torch.allclose(a * rows, c * rows, atol=1e-5, rtol=0)
    for way in (explicit, fused):
        for a, c in zip(way.hidden, other.hidden_states, strict=True):
            assert_close(a[real], c[real])
        if isinstance(model, BertModel):
            assert_close(way.pooled, other.pooler_output)
        if isinstance(model, BertForSequenceClassification):
            assert_close(ours.task(way.pooled), other.logits)
        if isinstance(model, BertForTokenClassification):
            assert_close(ours.task(way.last), other.logits)
        if isinstance(model, BertForQuestionAnswering):
            scores = torch.stack([other.start_logits, other.end_logits], dim=-1)
            assert_close(ours.task(way.last), scores)
        if isinstance(model, BertForMaskedLM):
            assert_close(ours.mlm(way.last)[real], other.logits[real])
        if isinstance(model, BertForPreTraining):
            assert_close(ours.mlm(way.last)[real], other.prediction_logits[real])
            assert_close(ours.nsp(way.pooled), other.seq_relationship_logits)
        if isinstance(model, BertForNextSentencePrediction):
            assert_close(ours.nsp(way.pooled), other.logits)


@pytest.mark.parametrize("name", ASSETS)
def test_published_checkpoints_give_the_same_numbers(assets, name, tmp_path):
    """So do they when they are saved here and loaded by transformers."""
    folder = assets / "models" / name
    if not (folder / "config.json").exists():
        pytest.skip(f"{name} is not here")
    loaded = load(folder)
    assert not loaded.report.missing
    assert not loaded.report.unexpected
    assert_equal(loaded.network, theirs(ASSETS[name], folder), batch(loaded.spec, 3, 70))
    save(tmp_path / "saved", loaded.network, loaded.tokenizer, loaded.labels)
    assert_equal(
        loaded.network, theirs(ASSETS[name], tmp_path / "saved"), batch(loaded.spec, 2, 20)
    )


def test_rxnfp_guesses_as_its_readme_says(assets):
    loaded = load(assets / "models" / "rxnfp-bert-pretrained")
    letters = "C C O . C C ( = O ) O >> C C ( = O ) O [MASK] C"
    encoded = loaded.tokenizer.encode(letters)
    place = encoded.ids.index(loaded.tokenizer.mask)
    with torch.no_grad():
        last = loaded.network.encoder(
            torch.tensor([encoded.ids]), torch.tensor([encoded.segments])
        ).last
        guess = loaded.network.mlm(last[0, place]).softmax(-1)
    assert loaded.tokenizer.token(int(guess.argmax())) == "C"
    assert guess.max().item() == pytest.approx(0.994, abs=0.0005)


def test_a_network_of_base_width_gives_the_same_numbers():
    torch.manual_seed(2)
    spec = PRESETS["base"].model_copy(update={"vocab_size": 1_000, "layers": 4})  # the first of 12
    config = BertConfig(
        attn_implementation="eager", vocab_size=spec.vocab_size, num_hidden_layers=spec.layers
    )
    model = BertForPreTraining(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.02)
    ours = meta_network(spec, ALL)
    stored = model.state_dict()
    for name in dict(ours.named_parameters()):
        module, _, leaf = name.rpartition(".")
        value = torch.nn.Parameter(stored[published_name(name)])
        setattr(ours.get_submodule(module), leaf, value)
    ours.tie()
    assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in ours.parameters())
    assert_equal(ours.eval(), model, batch(spec, 2, 48))


@pytest.mark.parametrize(
    "heads,kind,dtype",
    [
        (Heads(pooler=True), BertModel, torch.float32),
        (Heads(mlm=True), BertForMaskedLM, torch.float32),
        (Heads(nsp=True), BertForNextSentencePrediction, torch.float32),
        (ALL, BertForPreTraining, torch.float32),
        (ALL, BertForPreTraining, torch.float16),
        (ALL, BertForPreTraining, torch.bfloat16),
        (Heads(outputs=3), BertForSequenceClassification, torch.float32),
        (Heads(outputs=3, kind="multi_label"), BertForSequenceClassification, torch.float32),
        (Heads(outputs=1, kind="regression"), BertForSequenceClassification, torch.float32),
        (Heads(outputs=3, kind="token_classification"), BertForTokenClassification, torch.float32),
        (Heads(outputs=2, kind="question_answering"), BertForQuestionAnswering, torch.float32),
        (Heads(outputs=1, kind="multiple_choice"), BertForMultipleChoice, torch.float32),
    ],
)
def test_transformers_finds_the_right_class_and_all_tensors(tmp_path, heads, kind, dtype):
    labels = LABELS if heads.outputs == 3 else ()
    save(tmp_path / "saved", network(heads), tokenizer(tmp_path), labels, dtype)
    model = theirs(kind, tmp_path / "saved")
    assert model.config.architectures == [kind.__name__]
    if labels:
        assert model.config.id2label == dict(enumerate(LABELS))
        assert model.config.num_labels == 3
    if heads.kind == "regression":
        assert model.config.num_labels == 1
    loaded = load(tmp_path / "saved")
    assert loaded.network.heads == heads
    if kind is BertForMultipleChoice:
        assert_choices_equal(loaded.network, model)
    else:
        assert_equal(loaded.network, model, batch())


@torch.no_grad()
def assert_choices_equal(ours: Network, model: torch.nn.Module):
    """The score of each ending; transformers takes the endings of an example as one more axis."""
    ids, segments, real = batch(sequences=4)
    by_example = [tensor.unflatten(0, (2, 2)) for tensor in (ids, segments, real.long())]
    other = model(**dict(zip(INPUTS, by_example, strict=True)))
    assert_close(ours.logits(ids, segments, real).unflatten(0, (2, 2))[..., 0], other.logits)


def test_a_network_of_any_setting_gives_the_same_numbers(tmp_path):
    spec = SPEC.model_copy(
        update={
            "activation": "gelu_new",
            "layer_norm_eps": 1e-5,
            "segments": 3,
            "hidden_size": 15,
            "heads": 5,
        }
    )
    save(tmp_path / "saved", network(ALL, spec), tokenizer(tmp_path))
    model = theirs(BertForPreTraining, tmp_path / "saved")
    assert_equal(load(tmp_path / "saved").network, model, batch(spec))


def test_the_tokenizer_of_a_saved_folder_is_loaded_by_transformers(tmp_path):
    save(tmp_path / "saved", network(), tokenizer(tmp_path))
    other = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved", local_files_only=True)
    text = "a bc [MASK] d, e"
    assert other(text)["input_ids"] == load(tmp_path / "saved").tokenizer.encode(text).ids

"""Sentence encoders compared with sentence-transformers: vectors, losses, metrics."""

import json
import shutil
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import evaluation, losses, modules
from torch import nn

from engine.applying.apply import apply
from engine.checkpoints.info import checkpoint_info
from engine.config.dataset import Mapping, Reading
from engine.config.sentence import DenseSpec, NormSpec, SentenceSpec
from engine.config.tasks.sentence_similarity import SentenceSimilarity
from engine.data.datasets.rows import Rows
from engine.documents.code import Example, onnx_code, transformers_code
from engine.errors import BadCheckpoint, StudioError
from engine.export.exporting import export
from engine.files.shipped import minilm
from engine.files.untrusted import MANIFEST
from engine.messages.applying import Apply, FileInput
from engine.messages.exporting import Export
from engine.models import checkpoint
from engine.models.checkpoint import Checkpoint
from engine.models.heads import Heads
from engine.models.network import Network
from engine.tasks import checkpoint_learner
from engine.tasks.learner import total
from engine.tasks.predicting import Predictor
from engine.tasks.sentence_similarity import SentenceSimilarityLearner, text_vectors
from engine.tasks.similarity import sentence_vectors
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.loop import train
from tests.engine.export.conftest import in_process
from tests.engine.models.small import sized
from tests.engine.models.small import tokenizer as few_words
from tests.engine.training import small

__all__ = ["in_process"]

TEXTS = ["A man is eating food.", "The girl is carrying a baby.", "Zażółć gęślą jaźń!", ""]
FIRST = [f"The {a} {b} the {c}." for a in ("dog", "girl", "man", "bird")
         for b in ("sees", "likes", "hears") for c in ("ball", "house", "car", "boy")]  # fmt: skip
SECOND = [text.replace("The", "A big").replace("the", "an old") for text in FIRST]
OTHERS = SECOND[7:] + SECOND[:7]
NEGATIVES = [f"No {text}" for text in OTHERS]
NUMBERS = [str(number % 6) for number in range(len(FIRST))]
KIND = "sentence_similarity"
ROWS = {
    "cosine": Rows(FIRST, pairs=OTHERS, labels=NUMBERS),
    "in_batch_negatives": Rows(FIRST, pairs=SECOND),
    "hard negatives": Rows(FIRST, pairs=SECOND, negatives=NEGATIVES),
    "triplets": Rows(FIRST, pairs=SECOND, negatives=NEGATIVES),
}
POOLINGS = {
    "mean, normalised": SentenceSpec(normalize=True),
    "cls": SentenceSpec(pooling=("cls",)),
    "max and mean": SentenceSpec(pooling=("max", "mean"), max_length=8),
    "dense as in LaBSE": SentenceSpec(
        pooling=("cls",), dense=(DenseSpec(inputs=32, outputs=32),), normalize=True
    ),
    "two layers": SentenceSpec(
        dense=(
            DenseSpec(inputs=32, outputs=24, activation="gelu"),
            DenseSpec(inputs=24, outputs=7, bias=False, activation="identity"),
        )
    ),
    "root of the length, prompt": SentenceSpec(
        pooling=("mean_sqrt_len_tokens",), prompt="query: ", prompts={"query": "query: "}
    ),
    "prompt that is not pooled": SentenceSpec(
        pooling=("cls", "max", "mean"),
        prompt="query: ",
        prompts={"query": "query: ", "document": "passage: "},
        pools_prompt=False,
    ),
    "layer norm, truncated": SentenceSpec(
        dense=(NormSpec(outputs=32), DenseSpec(inputs=32, outputs=24), NormSpec(outputs=24)),
        normalize=True,
        truncate=10,
        similarity="dot",
    ),
    "another similarity": SentenceSpec(similarity="euclidean"),
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_folder(minilm())


def new_encoder(
    folder: Path, tokenizer: Tokenizer, sentence: SentenceSpec | None = None, layers: int = 2
) -> Path:
    """A small new encoder; without `sentence` it has no pooling."""
    torch.manual_seed(3)
    options = {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.2}
    spec = sized(tokenizer, hidden_size=32, heads=4, max_positions=64, layers=layers, **options)
    heads = Heads(outputs=1, kind=KIND, sentence=sentence) if sentence else Heads(pooler=True)
    checkpoint.save(folder, Network(spec, heads), tokenizer)
    return folder


def reference(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


@pytest.mark.parametrize("name", POOLINGS)
def test_sentence_transformers_reads_our_folder(name, tmp_path, tokenizer):
    folder = new_encoder(tmp_path / "ours", tokenizer, POOLINGS[name])
    loaded = checkpoint.load(folder)
    sentence = loaded.network.heads.sentence.model_copy(update={"prompt_tokens": 0})
    length = POOLINGS[name].max_length or loaded.spec.max_positions
    stated = POOLINGS[name].model_copy(update={"max_length": length})
    assert sentence == stated == checkpoint_info(folder).sentence
    assert not loaded.report.missing and not loaded.report.unexpected
    texts = [*TEXTS, TEXTS[0] * 100]
    ours = text_vectors(loaded, texts).numpy()
    np.testing.assert_allclose(ours, reference(folder).encode(texts), atol=1e-5)


@pytest.mark.parametrize("name", POOLINGS)
def test_we_read_folders_of_sentence_transformers(name, tmp_path, tokenizer):
    """In the current layout, and in the older one with the encoder in a subfolder."""
    sentence = POOLINGS[name]
    new_encoder(tmp_path / "encoder", tokenizer)
    encoder = modules.Transformer(str(tmp_path / "encoder"), max_seq_length=sentence.max_length)
    pooling = modules.Pooling(32, sentence.pooling, include_prompt=sentence.pools_prompt)
    parts: list[nn.Module] = [encoder, pooling, modules.Dropout()]
    torch.manual_seed(4)
    for dense in sentence.dense:
        if isinstance(dense, NormSpec):
            parts.append(modules.LayerNorm(dense.outputs))
            nn.init.normal_(parts[-1].norm.weight)
            continue
        activation = {"tanh": nn.Tanh(), "gelu": nn.GELU(), "identity": nn.Identity()}
        parts.append(
            modules.Dense(dense.inputs, dense.outputs, dense.bias, activation[dense.activation])
        )
    if sentence.normalize:
        parts.append(modules.Normalize())
    model = SentenceTransformer(
        modules=parts,
        device="cpu",
        prompts=sentence.prompts or None,
        default_prompt_name="query" if sentence.prompt else None,
        similarity_fn_name=sentence.similarity,
        truncate_dim=sentence.truncate,
    )
    model.save(str(tmp_path / "theirs"))
    expected = model.encode(TEXTS)
    for folder in (tmp_path / "theirs", with_encoder_subfolder(tmp_path / "theirs")):
        result = text_vectors(checkpoint.load(folder), TEXTS).numpy()
        np.testing.assert_allclose(result, expected, atol=1e-5)
        assert checkpoint_info(folder).task == KIND
        checkpoint.import_checkpoint(folder, tmp_path / folder.name / "imported")
        imported = checkpoint.load(tmp_path / folder.name / "imported")
        np.testing.assert_allclose(text_vectors(imported, TEXTS).numpy(), expected, atol=1e-5)
        np.testing.assert_allclose(sentence_vectors(imported, TEXTS), expected, atol=1e-5)
        assert kept(reference(tmp_path / folder.name / "imported")) == kept(model)
        shutil.rmtree(tmp_path / folder.name / "imported")


def kept(model: SentenceTransformer) -> dict[str, Any]:
    """Settings that a copy must keep, besides its vectors."""
    texts = {name: text for name, text in model.prompts.items() if text}
    return {
        "prompts": texts,
        "default": model.default_prompt_name,
        "similarity": model.similarity_fn_name,
        "size": model.get_embedding_dimension(),
    }


@pytest.mark.parametrize("prompts, name, expected", [
    ({"query": None, "document": "passage: "}, "query", ""),
    ({"query": "query: "}, None, ""),
    (None, None, ""),
    ({"query": "query: "}, "other", None),
    ([1], "query", None),
])  # fmt: skip
def test_prompts_are_read_or_refused_by_name(prompts, name, expected, tmp_path, tokenizer):
    folder = new_encoder(tmp_path / "ours", tokenizer, SentenceSpec())
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": prompts, "default_prompt_name": name})
    )
    if expected is None:
        with pytest.raises(BadCheckpoint, match=f"has no prompt “{name}”"):
            checkpoint.load(folder)
    else:
        assert checkpoint.load(folder).network.heads.sentence.prompt == expected


@pytest.mark.parametrize("name", ["two layers", "layer norm, truncated"])
def test_the_summary_counts_the_layers_behind_the_pooling(name, tmp_path, tokenizer):
    folder = new_encoder(tmp_path / "ours", tokenizer, POOLINGS[name])
    assert checkpoint_info(folder).parameters == checkpoint.load(folder).info.parameters


def test_more_tokens_than_positions_are_never_read(tmp_path, tokenizer):
    """sentence-transformers states two positions too many for a RoBERTa."""
    folder = new_encoder(tmp_path / "ours", tokenizer, SentenceSpec())
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 66}')
    (folder / MANIFEST).unlink()
    loaded = checkpoint.load(folder)
    assert loaded.network.heads.sentence.max_length == loaded.max_length == 64
    assert checkpoint_info(folder).sentence == loaded.network.heads.sentence


def test_unread_settings_of_the_encoder_are_refused_by_name(tmp_path, tokenizer):
    folder = new_encoder(tmp_path / "ours", tokenizer, SentenceSpec())
    settings = {"processing_kwargs": {"text": {"max_length": 8}}, "query_length": None}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))
    for read in (checkpoint_info, checkpoint.load):
        with pytest.raises(BadCheckpoint, match="sets processing_kwargs"):
            read(folder)


def test_a_prompt_before_cls_is_named(tmp_path, tokenizer):
    spec = POOLINGS["prompt that is not pooled"]
    (note,) = checkpoint.load(new_encoder(tmp_path / "ours", tokenizer, spec)).report.notes
    assert "before 6 it was the vector of [CLS]" in note


def test_the_classifier_of_setfit_is_named(tmp_path, tokenizer):
    folder = new_encoder(tmp_path / "ours", tokenizer, SentenceSpec())
    (folder / "model_head.pkl").write_bytes(b"never read")
    (note,) = checkpoint.load(folder).report.notes
    assert "SetFit" in note


def test_do_lower_case_of_sentence_transformers(tmp_path, tokenizer):
    """It lowers the case of a cased vocabulary, and accents stay."""
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdé", *(f"##{c}" for c in "abcdé"))
    folder = new_encoder(tmp_path / "ours", tokenizer, SentenceSpec())
    for name in ("tokenizer.json", "vocab.txt", "special_tokens_map.json", MANIFEST):
        (folder / name).unlink()
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": False})
    )
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    texts = ["Éa BaD", "éa bad", "Bad cAb"]
    expected = reference(folder).encode(texts)
    assert checkpoint_info(folder).lowercase
    checkpoint.import_checkpoint(folder, tmp_path / "imported")
    for path in (folder, tmp_path / "imported"):
        np.testing.assert_allclose(
            text_vectors(checkpoint.load(path), texts).numpy(), expected, atol=1e-5
        )
    np.testing.assert_allclose(reference(tmp_path / "imported").encode(texts), expected, atol=1e-5)


def with_encoder_subfolder(folder: Path) -> Path:
    target = folder.with_name("0-transformer")
    shutil.copytree(folder, target)
    (target / "0_Transformer").mkdir()
    entries = json.loads((target / "modules.json").read_text())
    for file in target.iterdir():
        top_level = ("modules.json", "config_sentence_transformers.json", "README.md")
        if file.is_file() and file.name not in top_level:
            file.rename(target / "0_Transformer" / file.name)
    entries[0]["path"] = "0_Transformer"
    (target / "modules.json").write_text(json.dumps(entries))
    return target


def reference_loss(name: str, model: SentenceTransformer) -> nn.Module:
    match name:
        case "cosine":
            return losses.CosineSimilarityLoss(model)
        case "triplets":
            return losses.TripletLoss(model)
    return losses.MultipleNegativesRankingLoss(model)


@pytest.mark.parametrize("name", ROWS)
def test_losses_match_sentence_transformers(name, tmp_path, tokenizer):
    folder = new_encoder(
        tmp_path / "base", tokenizer, SentenceSpec(normalize=name == "hard negatives")
    )
    loaded, rows = checkpoint.load(folder), ROWS[name]
    target = "in_batch_negatives" if name == "hard negatives" else "auto"
    learner = SentenceSimilarityLearner(SentenceSimilarity(objective=target))
    learner.fit_labels(rows)
    examples = learner.tokenize(rows, tokenizer, 32, tmp_path / "tokenized", lambda *_: None)
    model = reference(folder)
    their_loss = reference_loss(name, model)
    columns = [column for column in (rows.texts, rows.pairs, rows.negatives) if column is not None]
    our_optimiser, their_optimiser = (
        torch.optim.AdamW(item.parameters(), lr=1e-3, eps=1e-6) for item in (loaded.network, model)
    )
    loaded.network.train()
    model.train()
    result, expected = [], []
    for numbers in batches(20):
        batch = learner.batch(examples, numbers, tokenizer, np.random.default_rng(0))
        loss = total(learner.losses(loaded.network, batch))
        result.append(step(loss, our_optimiser))
        features = [model.preprocess([column[n] for n in numbers]) for column in columns]
        labels = torch.tensor([float(NUMBERS[n]) / 5 for n in numbers])
        expected.append(step(their_loss(features, labels), their_optimiser))
    np.testing.assert_allclose(result, expected, atol=1e-4)
    assert result[-1] < result[0]


def batches(steps: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(5)
    for _ in range(steps):
        yield rng.choice(len(FIRST), 8, replace=False)


def step(loss: torch.Tensor, optimiser: torch.optim.Optimizer) -> float:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return float(loss.detach())


def compute_metrics(folder: Path, rows: Rows) -> dict[str, float]:
    return Predictor(folder, batch=8).evaluate(rows).metrics()


def test_metrics_match_sentence_transformers(tmp_path, tokenizer):
    folder = new_encoder(tmp_path / "model", tokenizer, SentenceSpec())
    model, ours = reference(folder), compute_metrics(folder, ROWS["cosine"])
    numbers = [float(number) / 5 for number in NUMBERS]
    expected = evaluation.EmbeddingSimilarityEvaluator(FIRST, OTHERS, numbers, name="")(model)
    assert ours["spearman"] == pytest.approx(expected["spearman_cosine"], abs=1e-4)
    assert ours["pearson"] == pytest.approx(expected["pearson_cosine"], abs=1e-4)

    ours = compute_metrics(folder, ROWS["triplets"])
    expected = evaluation.TripletEvaluator(FIRST, SECOND, NEGATIVES, name="")(model)
    assert ours["accuracy"] == pytest.approx(expected["cosine_accuracy"])

    firsts, seconds = [*FIRST, FIRST[0], FIRST[5]], [*SECOND, OTHERS[0], SECOND[5]]  # some repeat
    ours = compute_metrics(folder, Rows(firsts, pairs=seconds))
    keys = {text: f"q{number}" for number, text in enumerate(dict.fromkeys(firsts))}
    corpus = {text: f"c{number}" for number, text in enumerate(dict.fromkeys(seconds))}
    relevant: dict[str, set[str]] = {}
    for first, second in zip(firsts, seconds, strict=True):
        relevant.setdefault(keys[first], set()).add(corpus[second])
    expected = evaluation.InformationRetrievalEvaluator(
        {key: text for text, key in keys.items()},
        {key: text for text, key in corpus.items()},
        relevant,
    )(model)
    assert ours["accuracy"] == pytest.approx(expected["cosine_accuracy@1"])
    assert ours["mrr"] == pytest.approx(expected["cosine_mrr@10"])
    assert ours["recall_at_10"] == pytest.approx(expected["cosine_recall@10"])


@pytest.mark.parametrize("data", ["alike", "together", "triplets"])
def test_sentence_transformers_reads_saved_runs_with_equal_vectors(data, tmp_path):
    job = small.learning(data, tmp_path, steps=4, save_every=0)
    run = small.trained(tmp_path / "run", job)
    folder = run.checkpoint_folders()[-1]
    loaded = checkpoint.load(folder)
    assert loaded.network.heads.sentence == SentenceSpec(max_length=loaded.spec.max_positions)
    assert isinstance(checkpoint_learner(loaded), SentenceSimilarityLearner)
    ours = text_vectors(loaded, TEXTS).numpy()
    np.testing.assert_allclose(ours, reference(folder).encode(TEXTS), atol=1e-5)


def test_equal_texts_are_not_negatives(tmp_path, tokenizer):
    """If every row has the same second text, there are no negatives."""
    loaded = checkpoint.load(new_encoder(tmp_path / "base", tokenizer, SentenceSpec()))
    learner = SentenceSimilarityLearner(SentenceSimilarity())
    rows = Rows(FIRST[:6], pairs=[SECOND[0]] * 6)
    learner.fit_labels(rows)
    examples = learner.tokenize(rows, tokenizer, 32, tmp_path / "tokenized", lambda *_: None)
    batch = learner.batch(examples, np.arange(6), tokenizer, np.random.default_rng(0))
    assert total(learner.losses(loaded.network, batch)).item() == 0


@pytest.mark.parametrize(
    "changes", [{"micro_batch_size": 2}, {"processes": 2}], ids=["micro-batches", "processes"]
)
def test_a_batch_with_in_batch_negatives_is_not_split(changes, tmp_path):
    job = small.learning("together", tmp_path, steps=2)
    settings = job.training.model_copy(update={k: v for k, v in changes.items() if k[0] == "m"})
    machine = job.hardware.model_copy(update={k: v for k, v in changes.items() if k[0] == "p"})
    job = job.model_copy(update={"training": settings, "hardware": machine})
    run = small.new_run(tmp_path / "run", job)
    with pytest.raises(StudioError, match="a batch cannot be split"):
        train(job, run, run.append)


BROKEN: dict[str, tuple[str, Any, str]] = {
    "path outside": (
        "modules.json",
        [{"path": "../x", "type": "a.Transformer"}, {"path": "1_Pooling", "type": "a.Pooling"}],
        "outside",
    ),
    "not a list": ("modules.json", {"path": ""}, "is not a JSON list"),
    "no pooling": ("modules.json", [{"path": "", "type": "a.Transformer"}], "does not begin"),
    "another module": (
        "modules.json",
        [
            {"path": "", "type": "a.Transformer"},
            {"path": "1_Pooling", "type": "a.Pooling"},
            {"path": "2_CNN", "type": "a.CNN"},
        ],
        "not supported: CNN",
    ),
    "another pooling": ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, "lasttoken"),
    "impossible sizes": ("2_Dense/config.json", {"in_features": -1}, "sizes are not possible"),
    "other sizes": ("2_Dense/config.json", {"in_features": 9, "out_features": 32}, "shape"),
    "no weights": ("2_Dense/model.safetensors", None, "2_Dense has no weights"),
    "another activation": (
        "2_Dense/config.json",
        {"in_features": 32, "out_features": 32, "activation_function": "os.system"},
        "not supported",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_folders_are_refused(name, tmp_path):
    folder = new_encoder(tmp_path / "model", few_words(tmp_path), POOLINGS["dense as in LaBSE"])
    file, content, expected = BROKEN[name]
    (folder / "manifest.json").unlink()
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_text(json.dumps(content))
    with pytest.raises(BadCheckpoint, match=expected):
        checkpoint.load(folder)


ODD: tuple[Any, ...] = (None, 7, "x", [7], [[]], {"a": 1}, True, -1, 1.5, float("nan"), 10**30)


@pytest.mark.parametrize(
    "file",
    [
        *("modules.json", "1_Pooling/config.json", "2_Dense/config.json"),
        *("sentence_bert_config.json", "config_sentence_transformers.json"),
    ],
)
def test_odd_values_in_files_are_read_or_refused(file, tmp_path):
    folder = new_encoder(tmp_path / "model", few_words(tmp_path), POOLINGS["dense as in LaBSE"], 1)
    (folder / "manifest.json").unlink()
    good = json.loads((folder / file).read_text())
    for number, value in enumerate(ODD):
        variants = [value, {"path": "", "type": value}]
        if isinstance(good, list):
            variants += [[*good, value], [{**item, "path": value} for item in good]]
            variants += [[{**item, "type": value} for item in good]]
        else:
            variants += [good | {name: value} for name in [*good][number % 3 :: 3]]
        for content in variants:
            (folder / file).write_text(json.dumps(content))
            message = ("Loaded.", "Unchanged.")
            try:
                checkpoint.load(folder)
            except BadCheckpoint as error:
                message = (error.problem, error.advice)
            assert message[0].isprintable() and len(message[0]) <= 300
            assert all(part.endswith(".") for part in message), (content, message)
            with suppress(StudioError):  # it reads fewer files and may not fail
                checkpoint_info(folder)


def test_a_sentence_encoder_is_a_base_model_for_other_tasks(tmp_path, tokenizer):
    folder = new_encoder(tmp_path / "model", tokenizer, POOLINGS["dense as in LaBSE"])
    loaded: Checkpoint = checkpoint.load(folder, Heads(outputs=2), ("a", "b"))
    assert loaded.network.heads.sentence is None and loaded.labels == ("a", "b")
    checkpoint.save(tmp_path / "classes", loaded.network, loaded.tokenizer, loaded.labels)
    assert checkpoint_info(tmp_path / "classes").task == "text_classification"


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_single_texts_become_vectors(suffix, tmp_path, tokenizer):
    """The window applies models to files in the same way; NumPy and Arrow read the output."""
    folder, file = (
        new_encoder(tmp_path / "model", tokenizer, SentenceSpec()),
        tmp_path / "texts.csv",
    )
    file.write_text("\n".join(["text", *FIRST]) + "\n", encoding="utf-8")
    mapping, reading = Mapping(text="text"), Reading(format="csv")
    request = Apply(
        checkpoint=folder,
        given=FileInput(path=file, reading=reading, mapping=mapping),
        out=tmp_path / f"out{suffix}",
    )
    assert apply(request, Predictor(folder)).rows == len(FIRST)
    if suffix == ".npy":
        result = np.load(request.out)
    else:
        result = np.stack(pq.read_table(request.out)["vector"].to_pylist())
    np.testing.assert_allclose(result, reference(folder).encode(FIRST), atol=1e-5)


def test_npy_output_is_refused_for_text_pairs(tmp_path, tokenizer):
    folder, file = (
        new_encoder(tmp_path / "model", tokenizer, SentenceSpec()),
        tmp_path / "pairs.csv",
    )
    file.write_text("text,pair\na,b\n", encoding="utf-8")
    mapping = Mapping(text="text", pair="pair")
    inputs = FileInput(path=file, reading=Reading(format="csv"), mapping=mapping)
    request = Apply(checkpoint=folder, given=inputs, out=tmp_path / "out.npy")
    with pytest.raises(StudioError, match="No vectors are predicted"):
        apply(request, Predictor(folder))


@pytest.mark.parametrize(
    "name",
    [
        "prompt that is not pooled",
        pytest.param("layer norm, truncated", marks=pytest.mark.long),
        pytest.param("another similarity", marks=pytest.mark.long),
    ],
)
def test_example_code_gives_the_same_cosine(name, tmp_path, tokenizer, in_process):
    folder = new_encoder(tmp_path / "model", tokenizer, POOLINGS[name])
    onnx = export(Export(checkpoint=folder, into=tmp_path / "out", form="onnx")).folder
    first, second = text_vectors(checkpoint.load(folder), TEXTS[:2])
    expected = float(torch.cosine_similarity(first, second, dim=0))
    example, task = Example(*TEXTS[:2]), SentenceSimilarity()
    for make_code, path in ((transformers_code, folder), (onnx_code, onnx)):
        with redirect_stdout(StringIO()) as printed, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an example closes no file
            exec(make_code(task, str(path), example), {})
        assert float(printed.getvalue()) == pytest.approx(expected, abs=1e-5)


def test_export_to_tensorflow_is_refused(tmp_path, tokenizer):
    folder = new_encoder(tmp_path / "model", tokenizer, SentenceSpec())
    with pytest.raises(StudioError, match="cannot store how a sentence encoder pools"):
        export(Export(checkpoint=folder, into=tmp_path / "out", form="tf1"))

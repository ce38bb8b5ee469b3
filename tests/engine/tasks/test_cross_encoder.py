"""Cross-encoders of sentence-transformers: the number that CrossEncoder.predict computes."""

import json
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import CrossEncoder
from torch import nn
from transformers import pipeline

from engine.checkpoints.prediction_settings import prediction_settings
from engine.data.datasets.rows import Rows
from engine.documents.code import Example, onnx_code, transformers_code
from engine.errors import BadCheckpoint
from engine.explore.prediction import predict
from engine.export.exporting import export
from engine.messages.explore.prediction import Predict
from engine.messages.exporting import Export
from engine.models.checkpoint import import_checkpoint, load
from engine.models.heads import Heads
from engine.tasks.predicting import Predictor
from tests.engine.export.conftest import in_process
from tests.engine.models.small import folder as small_folder

__all__ = ["in_process"]

FIRST, SECOND = ["a b", "c d e"], ["f g", "h"]
PAIRS = list(zip(FIRST, SECOND, strict=True))
SIGMOID, IDENTITY = "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.linear.Identity"
STATED = {
    "since 4": {"sentence_transformers": {"activation_fn": SIGMOID, "version": "4.1.0"}},
    "since 4, identity": {"sentence_transformers": {"activation_fn": IDENTITY}},
    "before 4": {"sbert_ce_default_activation_function": SIGMOID},
    "before 4, identity": {"sbert_ce_default_activation_function": IDENTITY},
    "both": {
        "sentence_transformers": {"activation_fn": IDENTITY},
        "sbert_ce_default_activation_function": SIGMOID,
    },
    "regression": {
        "sentence_transformers": {"activation_fn": SIGMOID},
        "problem_type": "regression",
    },
}


def cross_encoder(folder: Path, entries: dict[str, object], outputs: int = 1) -> Path:
    """A folder as another program writes it, without our entries."""
    kind = "regression" if outputs == 1 else "text_classification"
    small_folder(folder, Heads(outputs=outputs, kind=kind))
    config = json.loads((folder / "config.json").read_text())
    for name in ("bert_studio_task", "problem_type", "sentence_transformers"):
        config.pop(name, None)
    (folder / "config.json").write_text(json.dumps(config | entries))
    return folder


def reference(folder: Path, **options: object) -> CrossEncoder:
    return CrossEncoder(str(folder), device="cpu", local_files_only=True, **options)


def our_numbers(folder: Path) -> list[float]:
    return [row["number"] for row in Predictor(folder).predict(Rows(FIRST, pairs=SECOND))]


@pytest.mark.parametrize("name", STATED)
def test_numbers_match_cross_encoder_for_every_statement(name, tmp_path):
    folder = cross_encoder(tmp_path / "theirs", STATED[name])
    model = reference(folder)
    expected = model.predict(PAIRS)
    import_checkpoint(folder, tmp_path / "imported")
    model.save_pretrained(str(tmp_path / "saved by 6"))
    for path in (folder, tmp_path / "imported", tmp_path / "saved by 6"):
        np.testing.assert_allclose(our_numbers(path), expected, atol=1e-5)
        question = Predict(checkpoint=path, text=FIRST[0], pair=SECOND[0])
        assert predict(load(path), question).value == pytest.approx(expected[0], abs=1e-5)
    imported = str(tmp_path / "imported")
    np.testing.assert_allclose(reference(imported).predict(PAIRS), expected, atol=1e-5)
    classify = pipeline("text-classification", model=imported, device="cpu")
    scores = [classify({"text": a, "text_pair": b})["score"] for a, b in PAIRS]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_evaluation_compares_the_activated_number(tmp_path):
    folder = cross_encoder(tmp_path / "model", STATED["since 4"])
    expected = reference(folder).predict(PAIRS)
    rows = Rows(FIRST, pairs=SECOND, labels=["0.5", "0.25"])
    metrics = Predictor(folder).evaluate(rows).metrics()
    assert metrics["loss"] == pytest.approx(np.mean((expected - [0.5, 0.25]) ** 2), abs=1e-5)


@pytest.mark.long
def test_example_code_applies_the_activation(tmp_path, in_process):
    folder = cross_encoder(tmp_path / "model", STATED["since 4"])
    onnx = export(Export(checkpoint=folder, into=tmp_path / "onnx", form="onnx")).folder
    learner = Predictor(folder).learner
    (expected,) = Predictor(folder).predict(Rows(FIRST[:1]))
    for make_code, path in ((transformers_code, folder), (onnx_code, onnx)):
        code = make_code(learner.task, str(path), Example(FIRST[0]), learner.prediction)
        with redirect_stdout(StringIO()) as printed, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an example closes no file
            exec(code, {})
        assert float(printed.getvalue()) == pytest.approx(expected["number"], abs=1e-5)


def test_an_activation_saved_beside_config_json_counts(tmp_path):
    """CrossEncoder keeps the old one in config.json when it is saved with another."""
    folder = cross_encoder(tmp_path / "old", STATED["since 4"])
    model = reference(folder, activation_fn=nn.Identity())
    model.save_pretrained(str(tmp_path / "new"))
    assert SIGMOID in (tmp_path / "new" / "config.json").read_text()
    np.testing.assert_allclose(our_numbers(tmp_path / "new"), model.predict(PAIRS), atol=1e-5)


@pytest.mark.parametrize("stated", ["torch.nn.modules.activation.Softmax", "my.Activation"])
def test_other_activations_are_refused_by_name(stated, tmp_path):
    folder = cross_encoder(tmp_path / "m", {"sentence_transformers": {"activation_fn": stated}})
    for action in (lambda: Predictor(folder), lambda: import_checkpoint(folder, tmp_path / "to")):
        with pytest.raises(BadCheckpoint, match=stated):
            action()


@pytest.mark.parametrize("outputs, stated, note", [
    (1, {}, "states no activation"),
    (3, STATED["since 4"], "softmax"),
])  # fmt: skip
def test_notes_say_what_config_json_leaves_open(outputs, stated, note, tmp_path):
    (written,) = load(cross_encoder(tmp_path / "model", stated, outputs)).report.notes
    assert note in written


@pytest.mark.parametrize("outputs", [1, 3])
def test_prompts_are_kept_by_copies(outputs, tmp_path, in_process):
    folder = cross_encoder(tmp_path / "model", STATED["since 4"] if outputs == 1 else {}, outputs)
    prompts = {"query": "a b ", "passage": ""}
    model = reference(folder, prompts=prompts)
    model.save_pretrained(str(tmp_path / "theirs"))
    import_checkpoint(tmp_path / "theirs", tmp_path / "imported")
    import_checkpoint(tmp_path / "imported", tmp_path / "again")
    exported = export(Export(checkpoint=tmp_path / "again", into=tmp_path / "to", form="hf"))
    again = reference(exported.folder)
    assert again.prompts == prompts and again.default_prompt_name is None
    for name in (None, "query"):
        np.testing.assert_allclose(
            *(one.predict(PAIRS, prompt_name=name) for one in (model, again)), atol=1e-5
        )


def test_prompts_alone_leave_the_activation_of_config_json(tmp_path):
    folder = cross_encoder(tmp_path / "model", STATED["since 4"])
    entries = {"model_type": "CrossEncoder", "prompts": {"query": "a "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(entries))
    import_checkpoint(folder, tmp_path / "imported")
    assert our_numbers(tmp_path / "imported") == our_numbers(folder)
    assert max(our_numbers(folder)) < 1 and prediction_settings(folder).activation == "sigmoid"


def test_a_default_prompt_is_refused(tmp_path):
    folder = cross_encoder(tmp_path / "model", STATED["since 4"])
    model = reference(folder, prompts={"q": "query: "}, default_prompt_name="q")
    model.save_pretrained(str(tmp_path / "prompt"))
    with pytest.raises(BadCheckpoint, match="query: "):
        load(tmp_path / "prompt")

"""Everything that a folder states is kept when it is saved again."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.prediction_settings import prediction_settings
from engine.checkpoints.source import read_licence
from engine.data.datasets.rows import Rows
from engine.documents.card import model_card
from engine.export.exporting import export
from engine.messages.exporting import Export
from engine.models.checkpoint import import_checkpoint, load
from engine.models.heads import Heads
from engine.tasks.predicting import Predictor
from tests.engine.export.conftest import in_process
from tests.engine.fine_tuned import copy_model
from tests.engine.models.small import SPEC
from tests.engine.models.small import folder as small_folder

__all__ = ["in_process"]
CONFIG, TOKENIZER = "config.json", "tokenizer_config.json"
SENTENCES, MODULES = "config_sentence_transformers.json", "modules.json"
SIGMOID = "torch.nn.modules.activation.Sigmoid"
PROMPTS = {"query": "the query: ", "passage": "text: "}
CLASSES, NUMBER = Heads(outputs=3), Heads(outputs=1, kind="regression")
SENTENCE = Heads(outputs=1, kind="sentence_similarity")
TWO = {"0": "bad", "1": "good"}
STATED: list[tuple[Heads, str, dict[str, Any]]] = [  # heads, file, entries
    (CLASSES, CONFIG, {"id2label": {**TWO, "2": "so-so"}}),
    (CLASSES, CONFIG, {"problem_type": "multi_label_classification"}),
    (CLASSES, CONFIG, {"problem_type": "single_label_classification"}),
    (NUMBER, CONFIG, {"problem_type": "regression"}),
    (CLASSES, CONFIG, {"classifier_dropout": 0.3}),
    (CLASSES, CONFIG, {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.3}),
    (CLASSES, CONFIG, {"layer_norm_eps": 1e-5, "initializer_range": 0.5}),
    (CLASSES, CONFIG, {"hidden_act": "relu"}),
    (CLASSES, CONFIG, {"task_specific_params": {"length": 3}, "finetuning_task": "sst-2"}),
    (Heads(mlm=True), CONFIG, {"is_decoder": True}),
    (NUMBER, CONFIG, {"sentence_transformers": {"activation_fn": SIGMOID}, "problem_type": None}),
    *(
        (CLASSES, TOKENIZER, entries)
        for entries in (
            {"model_max_length": 7},
            {"truncation_side": "left"},
            {"do_lower_case": False},
            {"strip_accents": False},
            {"tokenize_chinese_chars": False},
            {"model_input_names": ["input_ids", "attention_mask"]},
        )
    ),
    *(
        (SENTENCE, name, entries)
        for name, entries in (
            (SENTENCES, {"prompts": PROMPTS, "default_prompt_name": None}),
            (SENTENCES, {"prompts": PROMPTS, "default_prompt_name": "query"}),
            (SENTENCES, {"similarity_fn_name": "dot"}),
            (SENTENCES, {"truncate_dim": 3}),
            ("1_Pooling/config.json", {"include_prompt": False}),
            ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
            ("sentence_bert_config.json", {"max_seq_length": 9}),
        )
    ),
    (NUMBER, SENTENCES, {"model_type": "CrossEncoder", "activation_fn": SIGMOID}),
    (NUMBER, SENTENCES, {"model_type": "CrossEncoder", "prompts": PROMPTS}),
]


def stating(folder: Path, heads: Heads, name: str, entries: dict[str, Any]) -> Path:
    """A folder as another program writes it, with these entries in a file."""
    small_folder(folder, heads)
    config = json.loads((folder / CONFIG).read_text())
    for entry in ("bert_studio_task", "problem_type", "sentence_transformers"):
        config.pop(entry, None)
    (folder / CONFIG).write_text(json.dumps(config))
    if entries.get("model_type") == "CrossEncoder":
        listed = [
            {"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}
        ]
        (folder / MODULES).write_text(json.dumps(listed))
    path = folder / name
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(content | entries))
    return folder


@pytest.mark.parametrize("heads, name, entries", STATED, ids=lambda value: str(value)[:60])
def test_an_import_states_what_the_folder_states(heads, name, entries, tmp_path):
    folder = stating(tmp_path / "theirs", heads, name, entries)
    first = load(folder)
    import_checkpoint(folder, tmp_path / "imported")
    assert prediction_settings(tmp_path / "imported") == prediction_settings(folder)
    if "activation_fn" not in entries:  # of a cross-encoder: always in config.json
        again = json.loads((tmp_path / "imported" / name).read_text())
        stated = {key: value for key, value in entries.items() if value is not None}
        assert {key: again.get(key) for key in stated} == stated
    second = load(tmp_path / "imported")
    left_out = {"bytes"}
    assert second.info.model_dump(exclude=left_out) == first.info.model_dump(exclude=left_out)
    assert second.spec == first.spec and second.network.heads == first.network.heads
    assert second.tokenizer.fingerprint == first.tokenizer.fingerprint


def test_the_stated_length_is_the_usual_maximum(tmp_path):
    folder = stating(tmp_path / "model", CLASSES, TOKENIZER, {"model_max_length": 7})
    rows, cut = Rows(["a b c d e f g h i j"]), Rows(["a b c d e"])
    assert checkpoint_info(folder).max_length == load(folder).max_length == 7
    predictor = Predictor(folder)
    assert (
        predictor.predict(rows)
        == Predictor(folder).predict(cut)
        != Predictor(folder, 12).predict(rows)
    )
    assert "7 tokens or more" in predictor.notes()[0]
    assert "At most 7 tokens" in model_card(folder, "hf")
    longer = load(folder)
    longer.tokenizer.allow(7)
    assert longer.max_length == 7
    longer.tokenizer.allow(12)  # a run with longer inputs
    assert longer.max_length == SPEC.max_positions
    for length in (10**30, 512, 0, None, "many"):
        other = stating(tmp_path / str(length), CLASSES, TOKENIZER, {"model_max_length": length})
        assert load(other).max_length == checkpoint_info(other).max_length == SPEC.max_positions


def test_a_trained_model_names_the_licence_of_its_base(tmp_path, tuned, in_process):
    base = small_folder(tmp_path / "base")
    (base / "README.md").write_text(FRONT.format("license: mit"))
    (base / "LICENSE").write_text("MIT License")
    model = copy_model(tuned("text_classification"), tmp_path)
    job = json.loads(model.run.spec_file.read_text())
    job["base_model"] = {"kind": "checkpoint", "path": str(base)}
    model.run.spec_file.write_text(json.dumps(job))
    exported = export(Export(checkpoint=model.checkpoint, into=tmp_path / "to", form="hf")).folder
    assert "| licence of the base model | mit |" in (exported / "README.md").read_text()
    assert (exported / "LICENSE").read_text() == "MIT License"


FRONT = "---\nlanguage: en\n{}\ntags:\n- x\n---\n# Model\n"
LICENCES = [
    ("README.md", FRONT.format("license: apache-2.0"), "apache-2.0"),
    ("README.md", FRONT.format("license:\n- mit\n- bsd"), "mit, bsd"),
    ("README.md", FRONT.format('license: "cc-by-4.0"'), "cc-by-4.0"),
    ("README.md", FRONT.format("license: other\nlicense_name: 'My own licence'"), "My own licence"),
    ("README.md", FRONT.format("license: [mit, bsd]"), "mit, bsd"),
    ("README.md", "# Model\nlicense: mit\n", ""),
    ("LICENSE", "\n      Apache License\n  Version 2.0\n", "Apache License"),
]


@pytest.mark.parametrize("name, text, licence", LICENCES, ids=lambda value: value[:30])
def test_the_licence_is_kept(name, text, licence, tmp_path, in_process):
    folder = small_folder(tmp_path / "theirs", CLASSES)
    (folder / name).write_text(text)
    import_checkpoint(folder, tmp_path / "imported")
    exported = export(Export(checkpoint=tmp_path / "imported", into=tmp_path / "to", form="hf"))
    for path in (folder, tmp_path / "imported", exported.folder):
        assert read_licence(path) == licence and (path / name).read_text() == text
    named = f'license: "{licence}"' if name == "README.md" and licence else "license"
    assert (named in model_card(folder, "hf")) == (name == "README.md" and bool(licence))

"""An export equals the model, or does not exist at all."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from engine.errors import DiskFull, StudioError
from engine.export import exporting
from engine.export.examples import BUILT_IN, ENDINGS, MAX_EXAMPLES, examples
from engine.export.reloading import BrokenExport, Request
from engine.files.atomic_write import MANIFEST, verify
from engine.messages.exporting import Export
from engine.messages.question import Working
from engine.messages.reports import ExportReport
from engine.models import checkpoint
from engine.models.outputs import head_outputs, named_outputs
from engine.runs import launch
from engine.runs.folder import RunFolder
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.export.conftest import KINDS, LABELS, LONG, model, run_export
from tests.engine.models.family_folders import published_folder
from tests.engine.models.small import batch
from tests.engine.models.test_families import UNLIKE
from tests.engine.training import small as training

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs limits on the size of files")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ── in a clean process ───────────────────────────────────────────────────────────────────────


def test_a_tensorflow_export_is_loaded_again(tmp_path):
    result = run_export(tmp_path, "pre-training", form="tf1")
    assert result.report.weights_equal
    assert [comparison.output for comparison in result.report.comparisons] == [
        "prediction_logits",
        "seq_relationship_logits",
    ]
    assert (result.folder / "bert_model.ckpt.index").is_file()


def test_the_clean_process_exits_when_its_input_closes(tmp_path):
    """It never outlives a killed window."""
    request = Request(
        form="hf", folder=tmp_path, outputs=(), examples=BUILT_IN, max_length=10, max_tokens=1
    )
    (tmp_path / "request.json").write_text(request.model_dump_json())
    result = subprocess.run(
        launch.worker("reload", str(tmp_path)),
        stdin=subprocess.DEVNULL,
        env=launch.environment(),
        check=False,
    )
    assert result.returncode == 1
    assert names_in(tmp_path) == ["request.json"]


def test_an_export_is_refused_if_the_clean_process_dies(tmp_path, monkeypatch):
    program = [sys.executable, "-c", "raise MemoryError('too large')"]
    monkeypatch.setattr(launch, "worker", lambda *_: program)
    with pytest.raises(BrokenExport, match="MemoryError: too large"):
        run_export(tmp_path)
    assert names_in(tmp_path) == ["model"]


@pytest.mark.parametrize("form,kind", [("tf1", "linear probe"), ("tf1", "lstm"), ("onnx", "lstm")])
def test_formats_without_probes_are_refused(tmp_path, form, kind):
    with pytest.raises(StudioError, match=r"probe") as caught:
        run_export(tmp_path, kind, form=form)
    assert "Hugging Face" in caught.value.advice
    assert names_in(tmp_path) == ["model"]


def test_an_lstm_probe_is_exported(tmp_path, in_process):
    assert run_export(tmp_path, "lstm", precision="float16").report.weights_equal


# ── all heads, and the report ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16"])
def test_transformers_loads_an_export_and_agrees(tmp_path, in_process, precision):
    result = run_export(tmp_path, "text_classification", precision=precision)
    assert result.report.weights_equal
    assert result.bytes == sum(file.stat().st_size for file in result.folder.iterdir())
    stored = load_file(result.folder / "model.safetensors")
    assert {str(tensor.dtype) for tensor in stored.values()} == {f"torch.{precision}"}
    theirs, info = transformers.BertForSequenceClassification.from_pretrained(
        result.folder, output_loading_info=True, local_files_only=True, dtype=torch.float32
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert theirs.config.id2label == dict(enumerate(LABELS))
    ids, segments, real = batch(LONG, 3, 60)
    ours = checkpoint.load(result.folder).network
    with torch.no_grad():
        logits = named_outputs(ours, ids, segments, real)["logits"]
        other = theirs.eval()(ids, real.long(), segments).logits
    assert torch.allclose(logits, other, atol=1e-5)


@pytest.mark.parametrize("family", UNLIKE)
def test_the_tensorflow_format_is_for_bert_only(tmp_path, in_process, family):
    published_folder(family, "ForMaskedLM", tmp_path / "model")
    with pytest.raises(StudioError, match="for BERT only") as caught:
        run_export(tmp_path, form="tf1")
    assert "ONNX" in caught.value.advice
    assert names_in(tmp_path) == ["model"]
    assert run_export(tmp_path).report.weights_equal


@pytest.mark.long
def test_a_graph_of_spans_names_all_outputs(tmp_path, in_process):
    result = run_export(tmp_path, "span_classification", form="onnx")
    assert result.report.labels == LABELS
    names = json.loads((result.folder / "config.json").read_bytes())["id2label"]
    assert len(names) == 70 and [names[str(n)] for n in range(3)] == [*LABELS]


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_is_exported(tmp_path, in_process, kind):
    heads, labels = KINDS[kind]
    for form in ("hf", "tf1") if "probe" not in kind else ("hf",):
        result = run_export(tmp_path, kind, form=form, into=tmp_path / form)
        compared = result.report.comparisons
        assert result.report.labels == labels
        assert [item.output for item in compared] == [output.name for output in head_outputs(heads)]
        assert all(item.difference == 0 and item.agreement in (1, None) for item in compared)
        assert checkpoint.load(result.folder).network.heads == heads


def test_a_report_is_written_with_the_export(tmp_path, in_process):
    (model(tmp_path / "model", "text_classification") / "README.md").write_text("A card.")
    events: list[Working] = []
    result = exporting.export(
        Export(checkpoint=tmp_path / "model", into=tmp_path / "out", number=7), emit=events.append
    )
    assert [working.stage for working in events] == list(exporting.STAGES)
    assert {working.to for working in events} == {result.to} == {7}
    written = ExportReport.model_validate_json((result.folder / exporting.REPORT_DATA).read_bytes())
    assert written == result.report
    loaded = checkpoint.load(tmp_path / "model")
    assert written.tensors == len(loaded.report.loaded)
    assert written.parameters == loaded.info.parameters
    text = (result.folder / exporting.REPORT_TEXT).read_text()
    parts = ("text_classification", "bit for bit", "bad, good, so-so", "no difference")
    for part in (*parts, f"{written.tensors} tensors", "The president of the United States"):
        assert part in text
    assert (result.folder / "README.md").read_text() == "A card."
    verify(result.folder)
    listed = json.loads((result.folder / MANIFEST).read_text())["files"]
    assert {exporting.REPORT_TEXT, exporting.REPORT_DATA, "model.safetensors"} <= set(listed)


# ── example texts ────────────────────────────────────────────────────────────────────────────


def test_rows_of_a_file_are_examples(tmp_path, in_process):
    file = tmp_path / "rows.csv"
    rows = "".join(f"first {n},second {n},yes\n" for n in range(MAX_EXAMPLES + 5))
    file.write_text(f"text,text_pair,label\n{rows}")
    result = run_export(tmp_path, texts=file)
    assert result.report.texts[len(BUILT_IN)] == "row 1 of rows.csv"
    for name in (exporting.REPORT_TEXT, exporting.REPORT_DATA):
        content = (result.folder / name).read_text()
        assert "first 0" not in content, "an export may be shared; the user's rows may not"
        assert str(tmp_path) not in content
    assert len(result.report.texts) == len(BUILT_IN) + MAX_EXAMPLES
    assert result.report.sources == (
        f"{len(BUILT_IN)} built-in texts",
        f"the first {MAX_EXAMPLES} rows of rows.csv",
    )


def test_validation_rows_of_the_run_are_examples(tmp_path):
    job = training.classifying(tmp_path)
    run = RunFolder.create(tmp_path / "run", job)
    from engine.data.datasets.store import resolve

    dev = resolve(job.data, run.dataset).rows("validation").texts
    saved = run.checkpoints / "step-00000001"
    result = examples(saved, None, chooses=False)
    assert [example[0][0] for example in result.examples[len(BUILT_IN) :]] == dev[:MAX_EXAMPLES]
    assert result.sources[1] == f"{min(len(dev), MAX_EXAMPLES)} validation rows of the run run"
    assert examples(tmp_path / "elsewhere", None, chooses=False).examples == BUILT_IN


def test_example_rows_are_read_for_their_task(tmp_path):
    pair, tagged, choices = (tmp_path / name for name in ("pair.csv", "tagged.conll", "swag.csv"))
    pair.write_text("question,passage,label\nWho?,Ann came.,yes\nWho?,Bob came.,no\n")
    tagged.write_text("Ann B-PER\ncame O\n\nBob B-PER\nwent O\n")
    choices.write_text("startphrase,sent2,ending0,ending1,label\nA man sits.,He,sings.,eats.,1\n")
    rows = examples(tmp_path, pair, chooses=False).examples[len(BUILT_IN) :]
    assert rows == ((("Who?", "Ann came."),), (("Who?", "Bob came."),))
    rows = examples(tmp_path, tagged, chooses=False).examples[len(BUILT_IN) :]
    assert rows == ((("Ann came", None),), (("Bob went", None),))
    rows = examples(tmp_path, choices, chooses=True).examples[len(ENDINGS) :]
    assert [[pair for _, pair in row] for row in rows] == [["He sings.", "He eats."]]
    with pytest.raises(StudioError, match="no choices"):
        examples(tmp_path, pair, chooses=True)


def test_damaged_run_data_is_reported_and_ignored(tmp_path):
    run = RunFolder.create(tmp_path / "run", training.classifying(tmp_path))
    run.dataset.mkdir()
    result = examples(run.checkpoints / "step-00000001", None, chooses=False)
    assert result.examples == BUILT_IN
    assert "could not be read" in result.sources[1]


# ── refusals ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "form,precision", [("tf1", "float16"), ("onnx", "bfloat16"), ("hf", "int8")]
)
def test_an_unsupported_precision_is_refused_with_alternatives(tmp_path, form, precision):
    with pytest.raises(StudioError, match="does not support") as caught:
        run_export(tmp_path, form=form, precision=precision)
    assert "float32" in caught.value.advice
    assert names_in(tmp_path) == ["model"]


def test_an_existing_target_is_kept(tmp_path, in_process):
    (tmp_path / "folder").mkdir()
    for name in ("file", "folder/mine"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "folder", "link", "dangling"):
        with pytest.raises(StudioError, match="already exists"):
            run_export(tmp_path, into=tmp_path / name)
    assert (tmp_path / "file").read_text() == (tmp_path / "folder" / "mine").read_text() == "mine"
    assert names_in(tmp_path) == ["dangling", "file", "folder", "link", "model"]


def test_a_target_created_meanwhile_is_kept(tmp_path, in_process, monkeypatch):
    write = exporting._write

    def slow(*arguments: object) -> None:
        write(*arguments)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").write_text("mine")

    monkeypatch.setattr(exporting, "_write", slow)
    with pytest.raises(StudioError, match="already exists"):
        run_export(tmp_path)
    assert names_in(tmp_path / "out") == ["mine"]
    assert names_in(tmp_path) == ["model", "out"]


def test_an_empty_target_folder_is_allowed(tmp_path, in_process):
    (tmp_path / "out").mkdir()
    (tmp_path / "other").mkdir()
    result = run_export(tmp_path)
    assert (result.folder / exporting.REPORT_TEXT).is_file()
    assert result.folder.stat().st_mode == (tmp_path / "other").stat().st_mode, "not private"
    assert names_in(tmp_path) == ["model", "other", "out"]


def test_an_unwritable_target_is_reported(tmp_path, in_process):
    (tmp_path / "file").write_text("")
    with pytest.raises(StudioError, match="could not be written to") as caught:
        run_export(tmp_path, into=tmp_path / "file" / "out")
    assert "that you can write to" in caught.value.advice


@POSIX
@pytest.mark.parametrize("form", ["hf", "tf1"])
def test_a_full_disk_leaves_nothing(tmp_path, in_process, form):
    import resource

    model(tmp_path / "model", "text_classification")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(DiskFull):
            run_export(tmp_path, form=form)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names_in(tmp_path) == ["model"]


WEIGHTS, CONFIG = "model.safetensors", "config.json"


def change_tensors(change: Any) -> Any:
    def corrupt(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS, {"format": "pt"})

    return corrupt


def change_config(**fields: object) -> Any:
    def corrupt(folder: Path) -> None:
        content = json.loads((folder / CONFIG).read_text())
        (folder / CONFIG).write_text(json.dumps(content | fields))

    return corrupt


def reverse_vocabulary(folder: Path) -> None:
    tokenizer = Tokenizer.from_folder(folder)
    file = folder / "turned.txt"
    file.write_text("\n".join([*tokenizer.tokens[:5], *reversed(tokenizer.tokens[5:])]))
    Tokenizer.from_vocabulary(file, True).save(folder)


def truncate(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-100])


BROKEN = (
    ("weights differ", change_tensors(lambda result: result["classifier.weight"][0, 0].add_(1e-6))),
    ("missing or unexpected", change_tensors(lambda result: result.pop("bert.pooler.dense.bias"))),
    ("missing or unexpected", change_tensors(lambda result: result.update(stray=torch.ones(3)))),
    ("labels differ", change_config(id2label=dict(enumerate(reversed(LABELS))))),
    ("differs by|matches the model", change_config(hidden_act="relu")),
    ("different tokens", reverse_vocabulary),
    ("is damaged", truncate),
)


def test_a_broken_export_is_refused_and_leaves_nothing(tmp_path, monkeypatch, in_process):
    """Each part of a checkpoint, corrupted after writing."""
    write = exporting._write
    for message, corrupt in BROKEN:

        def write_corrupted(folder: Path, *arguments: object, corrupt: Any = corrupt) -> None:
            write(folder, *arguments)
            corrupt(folder)

        monkeypatch.setattr(exporting, "_write", write_corrupted)
        with pytest.raises(StudioError, match=message):
            run_export(tmp_path)
        assert names_in(tmp_path) == ["model"]

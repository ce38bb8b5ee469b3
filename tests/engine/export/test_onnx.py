"""ONNX graphs have the outputs of the network, for any batch and length, without torch."""

import ast
import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import transformers
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidProtobuf
from torch.onnx._internal.exporter._registration import ONNXRegistry

from engine.checkpoints.prediction_settings import save_settings
from engine.data.datasets.rows import Rows
from engine.documents.code import DEFAULTS, Example, onnx_code
from engine.explore.head_pruning import cut
from engine.export import exporting, onnx_graph
from engine.export.onnx_graph import write_graph
from engine.export.reloading import GRAPH, BrokenExport
from engine.export.running import INPUTS
from engine.messages.exporting import Exported
from engine.models import checkpoint
from engine.models.outputs import head_outputs, named_outputs
from engine.tasks import task_in
from engine.tasks.predicting import Predictor
from tests.engine.documents.test_code import SETTINGS, run_script
from tests.engine.export.conftest import KINDS, LABELS, LONG, run_export
from tests.engine.models.family_folders import EXAMPLES, OTHERS, published_folder
from tests.engine.models.small import network, tokenizer

SIZES = [(1, 5), (3, 17), (2, 128), (3, 1)]
SHALLOW = LONG.model_copy(update={"layers": 1})  # tracing layers is slow
TWO_LAYERS = ("albert", "modernbert")  # their second layer is shared or differs
# outputs covered by other tests
TESTED_ELSEWHERE = (
    "multiple_choice",
    "pooler",
    "pre-training",
    "question_answering",
    "span_classification",
    "text_classification",
    "token_classification",
)
SUFFIXES = {"deberta-v2": "ForMaskedLM", "modernbert": "ForMultipleChoice"}  # others classify


def random_inputs(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Random ids in two segments; the second half of every sequence but the first is padding."""
    random = np.random.default_rng(4)
    real = np.ones(shape, dtype=np.int64)
    real[1:, ..., (shape[-1] + 1) // 2 :] = 0
    segments = random.integers(0, 2, shape)
    return dict(zip(INPUTS, (random.integers(0, 40, shape), real, segments), strict=True))


def assert_same(folder: Path, ours: torch.nn.Module, shapes: list[tuple[int, ...]]) -> None:
    session = onnxruntime.InferenceSession(folder / GRAPH)
    outputs = head_outputs(ours.heads)
    assert tuple(item.name for item in session.get_inputs()) == INPUTS
    assert [item.name for item in session.get_outputs()] == [item.name for item in outputs]
    for shape in shapes:
        inputs = random_inputs(shape)
        ids, real, segments = (torch.from_numpy(inputs[name]) for name in INPUTS)
        with torch.no_grad():
            target = named_outputs(ours, ids, segments, real > 0)
        for output, value in zip(outputs, session.run(None, inputs), strict=True):
            expected = target[output.name].numpy()
            assert value.dtype == np.float32
            assert value.shape == expected.shape
            if output.of == "token":  # outputs at padding are meaningless
                value, expected = value[inputs[INPUTS[1]] > 0], expected[inputs[INPUTS[1]] > 0]
            assert np.abs(value - expected).max() <= 1e-4


@pytest.fixture(scope="module", autouse=True)
def operators_listed_once() -> Iterator[None]:
    """List the operators of torch only once: it takes a second for each graph."""
    with pytest.MonkeyPatch.context() as patch:
        once = staticmethod(cache(ONNXRegistry.from_torchlib))
        patch.setattr(ONNXRegistry, "from_torchlib", once)
        yield


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The export of a causal classifier without one head, verified in a clean process.

    Its outputs cannot come from our network: that process ends if it imports torch. TF32, which a
    training in this process turned off, stays off.
    """
    folder = tmp_path_factory.mktemp("done")
    (folder / "torch.py").write_text("raise SystemExit('torch was imported')")
    pruned = network(KINDS["linear probe"][0], SHALLOW.model_copy(update={"causal": True}))
    cut(pruned, ((0, 1),))
    (folder / "model").mkdir()
    checkpoint.write(folder / "model", pruned, tokenizer(folder), LABELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.setattr(torch.backends, "fp32_precision", "ieee")
        export = run_export(folder, form="onnx")
        assert torch.backends.fp32_precision == "ieee"
    return export


@pytest.fixture
def same_model(export: Exported, tmp_path: Path) -> Path:
    return shutil.copytree(export.folder.parent / "model", tmp_path / "model")


@pytest.fixture
def reuse_graph(export: Exported, same_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Export the same model with the same graph."""
    monkeypatch.setattr(
        exporting, "write_graph", lambda folder, ours: shutil.copy(export.folder / GRAPH, folder)
    )


@pytest.mark.long
@pytest.mark.parametrize("kind", TESTED_ELSEWHERE)
def test_a_graph_has_the_outputs_of_the_network(tmp_path, kind):
    ours = network(KINDS[kind][0], SHALLOW)
    write_graph(tmp_path, ours)
    shapes = [(b, 2 + b % 2, t) for b, t in SIZES] if kind == "multiple_choice" else SIZES
    assert_same(tmp_path, ours, shapes)


def test_the_graph_of_a_checkpoint_has_the_outputs_of_its_network(export):
    ours = checkpoint.load(export.folder.parent / "model").network
    assert_same(export.folder, ours, SIZES)
    program = str(Path(onnx_graph.__file__).parent).encode()
    assert program not in (export.folder / GRAPH).read_bytes()  # no folders of this machine
    session = onnxruntime.InferenceSession(export.folder / GRAPH)
    assert session.get_inputs()[0].shape == ["batch", "length"]
    assert session.get_outputs()[0].shape == ["batch", 3]


def test_pruned_heads_are_left_out_of_the_graph(export):
    """Its matrices are narrower, and its outputs are those of the checkpoint with zeroed heads."""
    assert export.report.pruned_heads == 1
    assert "Pruned heads  1, left out" in (export.folder / "export-report.txt").read_text()
    graph = onnx.load(export.folder / GRAPH).graph
    narrow, full = SHALLOW.head_size, SHALLOW.hidden_size
    shapes = [tuple(item.dims) for item in graph.initializer]
    assert shapes.count((full, narrow)) + shapes.count((narrow, full)) == 4, "all four projections"


def test_an_exported_graph_is_verified_in_a_clean_process(export):
    (compared,) = export.report.comparisons
    assert compared.bound == 1e-4
    assert compared.difference < 1e-5
    assert compared.agreement == 1
    assert export.report.weights_equal is None
    config = json.loads((export.folder / "config.json").read_text())
    assert config["id2label"] == {str(n): label for n, label in enumerate(LABELS)}


@pytest.mark.parametrize(
    "settings, text",
    [
        (DEFAULTS, "a bad cab"),
        (DEFAULTS, "a bad cab " * LONG.max_positions),
        (SETTINGS["text_classification"], "a bad cab"),
    ],
)
def test_the_code_of_an_export_predicts_as_the_engine_does(
    export, same_model, tmp_path, settings, text
):
    task = task_in(checkpoint.load(same_model))
    printed = run_script(
        onnx_code(task, str(export.folder), Example(text=text), settings), tmp_path
    )
    save_settings(same_model, settings)
    (prediction,) = Predictor(same_model).predict(Rows([text]))
    probabilities, *chosen = printed.splitlines()
    values = [value for part, value in prediction.items() if part.startswith("p(")]
    assert list(ast.literal_eval(probabilities).values()) == pytest.approx(values, abs=1e-4)
    index = int(values[-1] >= settings.threshold)  # a threshold is for two labels only
    certainty = "unsure" if values[index] < settings.unsure_below else "sure"
    if settings == DEFAULTS:
        assert chosen == []
        return
    assert [chosen[0], chosen[-1]] == [LABELS[index], certainty]
    assert "|".join(sorted(ast.literal_eval(chosen[1]))) == prediction["prediction_set"]


def test_int8_is_smaller_and_reports_its_error(export, tmp_path, in_process, reuse_graph):
    small = run_export(tmp_path, form="onnx", precision="int8")
    size = [(item.folder / GRAPH).stat().st_size for item in (export, small)]
    assert size[1] < 0.8 * size[0]
    (compared,) = small.report.comparisons
    assert compared.bound is None
    assert compared.agreement >= compared.least_agreement == 0.9
    assert 0 < compared.chance < 0.5
    assert compared.difference > 1e-4


def test_int8_with_other_labels_is_refused(tmp_path, in_process, reuse_graph, monkeypatch):
    predict = exporting.predict

    def change_labels(*arguments: object) -> object:
        answer = predict(*arguments)
        for value in answer.values["logits"][:2]:  # two of ten
            value[:] = 10 * np.roll(np.eye(3, dtype=np.float32)[value.argmax()], 1)
        return answer

    monkeypatch.setattr(exporting, "predict", change_labels)
    with pytest.raises(BrokenExport, match=r"80\.0 % of 10 cases; at least 90 % are required"):
        run_export(tmp_path, form="onnx", precision="int8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_nothing_is_left_of_a_truncated_graph(export, same_model, in_process, monkeypatch):
    def truncate(folder: Path, ours: torch.nn.Module) -> None:
        graph = (export.folder / GRAPH).read_bytes()
        (folder / GRAPH).write_bytes(graph[: len(graph) // 2])

    monkeypatch.setattr(exporting, "write_graph", truncate)
    with pytest.raises(InvalidProtobuf):
        run_export(same_model.parent, form="onnx")
    assert sorted(path.name for path in same_model.parent.iterdir()) == ["model"]


@pytest.mark.parametrize(
    "family", [pytest.param(family, marks=pytest.mark.long) for family in OTHERS]
)
def test_a_graph_of_another_family_agrees_with_transformers(
    tmp_path, in_process, family, monkeypatch
):
    """It has the inputs that the tokenizer of this family in transformers returns.

    Weights of DeBERTa are stored externally, as if they were too large for one file.
    """
    is_large = family == "deberta-v2"
    monkeypatch.setattr(onnx_graph, "MAX_BYTES", 1000 if is_large else onnx_graph.MAX_BYTES)
    suffix = SUFFIXES.get(family, "ForSequenceClassification")
    layers = 2 if family in TWO_LAYERS else 1
    sizes = {"n_layers" if family == "distilbert" else "num_hidden_layers": layers, "num_labels": 3}
    _, theirs = published_folder(family, suffix, tmp_path / "model", **sizes)
    export = run_export(tmp_path, form="onnx")
    assert (export.folder / f"{GRAPH}.data").exists() == is_large
    (compared,) = export.report.comparisons
    assert compared.difference < 1e-5
    operations = {node.op_type for node in onnx.load(export.folder / GRAPH).graph.node}
    assert "Log" not in operations, "of a distance: it could round to another bucket elsewhere"
    session = onnxruntime.InferenceSession(export.folder / GRAPH)
    names = [item.name for item in session.get_inputs()]
    assert names == list(INPUTS[: 3 if EXAMPLES[family].has_segments else 2])
    tokenizer = transformers.AutoTokenizer.from_pretrained(export.folder, local_files_only=True)
    inputs = tokenizer(
        ["a quiet film", "quiet", "A quiet wonder of a film, isn't it?", "film"],
        padding=True,
        return_token_type_ids=EXAMPLES[family].has_segments,
        return_tensors="pt",
    )
    if suffix == "ForMultipleChoice":
        inputs = {name: inputs[name][None] for name in names}  # one row of four endings
    feed = {name: inputs[name].numpy() for name in names}
    (logits,) = session.run(None, feed)
    with torch.no_grad():
        difference = np.abs(logits - theirs(**inputs).logits.numpy())
    if suffix == "ForMaskedLM":
        difference = difference[feed[INPUTS[1]] > 0]  # outputs at padding are meaningless
    assert difference.max() <= 1e-4
    if is_large:
        (tmp_path / "small").mkdir()
        onnx_graph.quantise(export.folder, tmp_path / "small")
        small = onnxruntime.InferenceSession(tmp_path / "small" / GRAPH)
        assert small.run(None, feed)[0].shape == logits.shape

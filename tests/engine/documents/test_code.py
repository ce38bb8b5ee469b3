"""Example code runs unchanged and predicts what the engine predicts."""

import ast
import io
import json
import os
import re
import runpy
import warnings
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from engine.applying.apply import certainty
from engine.checkpoints.info import fine_tuned_task
from engine.checkpoints.prediction_settings import save_settings
from engine.config.prediction import PredictionSets, PredictionSettings
from engine.config.tasks.question_answering import QuestionAnswering
from engine.data.datasets.rows import Rows
from engine.documents.code import Example, onnx_code, transformers_code
from engine.export.onnx_graph import write_graph
from engine.files.untrusted import MANIFEST
from engine.models.checkpoint import load, write_config
from engine.tasks import checkpoint_learner, task_in
from engine.tasks.predicting import Predictor
from tests.conftest import LONG
from tests.engine.fine_tuned import KINDS, FineTuned, copy_model

EXAMPLE = Example(
    text="a lovely warm film",
    pair="a dull cold film",
    question="where does ann live ?",
    passage="ann lives in rome and bob in oslo .",
    choices=("a happy end", "a sad end"),
)

TIMES = 100  # more tokens than the models have positions
OVERLONG = Example(
    *(f"{text} " * TIMES for text in EXAMPLE[:2]),
    EXAMPLE.question,
    EXAMPLE.passage + " and bob" * TIMES,
    tuple(f"{text} " * TIMES for text in EXAMPLE.choices),
)

SETS = PredictionSets(coverage=0.9, by_class=True, rows=20, least={"bad": 0.1, "good": 0.2})

SETTINGS = {  # temperatures at which probabilities of two classes are near 0.5
    "text_classification": PredictionSettings(
        temperature=20, threshold=0.01, unsure_below=0.9, sets=SETS
    ),
    "multi_label": PredictionSettings(
        temperature=20, thresholds={"acting": 0.99}, unsure_below=0.9
    ),
    "multiple_choice": PredictionSettings(temperature=20, unsure_below=0.9),
    "question_answering": PredictionSettings(no_answer_threshold=1000),  # always answered
}


@pytest.fixture(scope="module")
def models(tuned):
    return {kind: tuned(kind) for kind in KINDS}


@pytest.fixture(scope="module")
def outputs(
    models: dict[str, FineTuned], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], str]:
    """The output of the code of each task, which uses none of our packages."""
    folder, printed = tmp_path_factory.mktemp("elsewhere"), {}
    for kind, model in models.items():
        loaded = load(model.checkpoint)
        task = task_in(loaded)
        assert fine_tuned_task(model.checkpoint) == task
        libraries = {"transformers": (transformers_code, model.checkpoint)}
        if os.environ.get(LONG):  # by default, `test_onnx` runs the code of a graph
            libraries["onnxruntime"] = onnx_code, folder / kind
            (folder / kind).mkdir()
            write_config(folder / kind, loaded.network, loaded.tokenizer, loaded.labels)
            write_graph(folder / kind, loaded.network)
        for library, (make_code, example) in libraries.items():
            printed[kind, library] = run_script(make_code(task, str(example), EXAMPLE), folder)
            code = make_code(task, str(example), OVERLONG)
            printed[kind, f"{library}, overlong"] = run_script(code, folder)
            if kind in SETTINGS:
                code = make_code(task, str(example), EXAMPLE, SETTINGS[kind])
                printed[kind, f"{library}, with settings"] = run_script(code, folder)
    return printed


def run_script(code: str, folder: Path) -> str:
    assert not re.search(r"(import|from) (app|engine)\b", code)
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    with redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script))
    return printed.getvalue().strip()


def expected(model: FineTuned, example: Example = EXAMPLE) -> dict[str, object]:
    pairs = ("pair_classification", "sentence_similarity")
    pair = example.pair if model.kind in pairs else None
    rows = Rows([example.text], [pair] if pair else None)
    if model.kind == "multiple_choice":
        rows = Rows([example.text], endings=[example.choices])
    if model.kind == "question_answering":
        rows = Rows([example.question], [example.passage])
    if model.kind in ("token_classification", "span_classification"):
        rows = Rows([example.passage])
    return Predictor(model.checkpoint).predict(rows)[0]


def assert_equal(output: str, model: FineTuned, example: Example = EXAMPLE) -> None:
    prediction = expected(model, example)
    if model.kind == "regression":
        assert float(output) == pytest.approx(prediction["number"], abs=1e-4)
    elif model.kind == "sentence_similarity":
        assert float(output) == pytest.approx(prediction["cosine"], abs=1e-4)
    elif model.kind == "token_classification":
        pairs = ast.literal_eval(output)
        loaded = load(model.checkpoint)
        assert {tag for _, tag in pairs} <= set(checkpoint_learner(loaded).labels)
        assert len(pairs) >= min(len(prediction["tags"]), loaded.spec.max_positions)
    elif model.kind == "span_classification":
        spans = [(span["text"], span["label"]) for span in prediction["spans"]]
        found = ast.literal_eval(output)
        assert spans == sorted([span[:2] for span in found], key=spans.index) and spans
        given = {(span["text"], span["label"]): span["probability"] for span in prediction["spans"]}
        assert {s[:2]: s[2] for s in found} == pytest.approx(given, abs=1e-4)
    elif model.kind == "question_answering":
        assert output == prediction["answer"]
    else:
        probabilities = ast.literal_eval(output.splitlines()[0])
        values = [value for part, value in prediction.items() if part.startswith("p(")]
        assert list(probabilities.values()) == pytest.approx(values, abs=1e-4)


def cases(kinds: Iterable[str]) -> list[Any]:
    """Each kind with each library; graphs are exported only with --long."""
    return [
        *((kind, "transformers") for kind in kinds),
        *(pytest.param(kind, "onnxruntime", marks=pytest.mark.long) for kind in kinds),
    ]


@pytest.mark.parametrize("kind, library", cases(KINDS))
def test_the_code_predicts_as_the_engine_does(models, outputs, kind, library):
    assert_equal(outputs[kind, library], models[kind])


@pytest.mark.parametrize("kind, library", cases(KINDS))
def test_the_code_cuts_a_text_that_is_longer_than_the_positions(models, outputs, kind, library):
    assert load(models[kind].checkpoint).spec.max_positions < TIMES
    assert_equal(outputs[kind, f"{library}, overlong"], models[kind], OVERLONG)


LONG_QUESTION = EXAMPLE._replace(question=f"{EXAMPLE.question} " * TIMES)


@pytest.mark.parametrize(
    "library", ["transformers", pytest.param("onnxruntime", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("length", [8, 1000])
def test_the_code_cuts_a_long_question_as_the_engine_does(models, library, length, tmp_path):
    """The engine refuses a question that leaves no room for its passage; the code cuts it."""
    model = copy_model(models["question_answering"], tmp_path)
    config = json.loads((model.checkpoint / "config.json").read_text())
    config["bert_studio_task"]["max_question_length"] = length
    (model.checkpoint / "config.json").write_text(json.dumps(config))
    (model.checkpoint / MANIFEST).unlink()
    loaded = load(model.checkpoint)
    folder, make_code = model.checkpoint, transformers_code
    if library == "onnxruntime":
        folder, make_code = tmp_path / "onnx", onnx_code
        folder.mkdir()
        write_config(folder, loaded.network, loaded.tokenizer, loaded.labels)
        write_graph(folder, loaded.network)
    output = run_script(make_code(task_in(loaded), str(folder), LONG_QUESTION), tmp_path)
    if length == 8:
        assert output == expected(model, LONG_QUESTION)["answer"]


@pytest.mark.parametrize("kind, library", cases(SETTINGS))
def test_the_code_uses_thresholds_and_temperature(models, outputs, kind, library, tmp_path):
    model = copy_model(models[kind], tmp_path)
    save_settings(model.checkpoint, SETTINGS[kind])
    prediction = expected(model)
    printed = outputs[kind, f"{library}, with settings"]
    if kind == "question_answering":
        assert printed == prediction["answer"] != ""
        return
    probabilities, *chosen, unsure = printed.splitlines()
    values = [value for part, value in prediction.items() if part.startswith("p(")]
    assert list(ast.literal_eval(probabilities).values()) == pytest.approx(values, abs=1e-4)
    assert unsure == "unsure"
    task = task_in(load(model.checkpoint))
    known = {"probs": ast.literal_eval(probabilities), "label": chosen[0] if chosen else ""}
    if kind == "multiple_choice":
        known["probs"] = list(known["probs"].values())
    for change, word in ((-1e-3, "sure"), (1e-3, "unsure")):
        settings = SETTINGS[kind].model_copy(
            update={"unsure_below": certainty(prediction) + change}
        )
        code = {"transformers": transformers_code, "onnxruntime": onnx_code}[library]
        *_, last = code(task, "here", EXAMPLE, settings).splitlines()
        with redirect_stdout(io.StringIO()) as stated:
            exec(last, known)
        assert stated.getvalue().strip() == word
    if kind == "text_classification":
        assert chosen[0] == prediction["label"]
        assert sorted(ast.literal_eval(chosen[1])) == sorted(
            prediction["prediction_set"].split("|")
        )
    elif kind == "multi_label":
        assert "|".join(ast.literal_eval(chosen[0])) == prediction["labels"]


def test_an_answer_is_withheld_by_the_threshold_of_the_job_or_the_model():
    task = QuestionAnswering(unanswerable=True, no_answer_threshold=2.5)
    for code in (transformers_code, onnx_code):
        assert "if no_answer > 2.5 else" in code(task, "here")
        settings = PredictionSettings(no_answer_threshold=-1.5)
        assert "if no_answer > -1.5 else" in code(task, "here", settings=settings)
        always = QuestionAnswering(unanswerable=False)
        assert "no_answer" not in code(always, "here", settings=settings)

"""All rows of a file are predicted in chunks, which survive interruptions."""

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.applying import apply as applying
from engine.applying.apply import apply, build_chunk, certainty, predict_first
from engine.applying.chunks import chunk_folder, stored_rows
from engine.config.dataset import Mapping
from engine.config.tasks import get_head
from engine.data.datasets.rows import Rows
from engine.data.formats.reading import read
from engine.errors import StudioError
from engine.messages.applying import Apply, FileInput, PredictFirst
from engine.models.network import Network
from engine.tasks import predicting
from engine.tasks.predicting import Predictor
from tests.engine.fine_tuned import KINDS, FineTuned


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "CHUNK_ROWS", 10)


def make_request(model: FineTuned, out: Path, **settings: object) -> Apply:
    source = FileInput(path=model.file, reading=model.reading, mapping=model.mapping)
    return Apply.model_validate(
        {"checkpoint": model.checkpoint, "given": source, "out": out} | settings
    )


def predict_all(model: FineTuned) -> tuple[Rows, list[dict[str, object]]]:
    """The rows of the file and their predictions, made in one pass."""
    table = read(model.file, model.reading)
    lines = list(table)
    cells = {name: [row.cells[n] for row in lines] for n, name in enumerate(table.columns)}
    rows = Rows.from_columns(model.mapping, cells)
    return rows, Predictor(model.checkpoint).predict(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_chunked_predictions_equal_those_of_one_pass(tuned, tmp_path, small_chunks, kind):
    model, progress = tuned(kind), []
    answer = apply(
        make_request(model, tmp_path / "out.jsonl"), Predictor(model.checkpoint), progress.append
    )
    rows, expected = predict_all(model)
    content = [json.loads(line) for line in answer.out.read_text().splitlines()]
    assert answer.rows == len(rows) == len(content) > 20
    names = list(read(model.file, model.reading).columns)
    assert list(content[0])[: len(names)] == names and answer.prediction in content[0]
    key = answer.prediction if answer.prediction in expected[0] else answer.prediction[10:]
    for spans in (row["spans"] for row in expected if kind == "span_classification"):
        for span in spans:
            span["probability"] = round(span["probability"], 6)  # as it is written
    equal = [row[answer.prediction] == e[key] for row, e in zip(content, expected, strict=True)]
    number = {"regression": "number", "sentence_similarity": "cosine"}.get(kind)
    if number is not None:
        assert [row[number] for row in content] == pytest.approx(
            [e[number] for e in expected], abs=1e-4
        )
    else:
        assert all(equal)
    assert (
        progress[-2].stage == f"{len(rows)} rows predicted"
        and progress[-2].done == progress[-2].total
    )
    assert not chunk_folder(answer.out).exists()
    assert answer.notes == (), "nothing was truncated"


@pytest.mark.parametrize("kind", KINDS)
def test_each_distinct_input_is_computed_once(tuned, tmp_path, monkeypatch, kind):
    model, computed = tuned(kind), []
    rows, _ = predict_all(model)
    few = rows.take(range(min(len(rows), 7))).without_targets()
    logits = Network.logits

    def count(network, *inputs):
        output = logits(network, *inputs)
        computed.append(len(inputs[0]))
        return output

    monkeypatch.setattr(Network, "logits", count)
    once = Predictor(model.checkpoint).predict(few)
    needed = sum(computed)
    computed.clear()
    predictor = Predictor(model.checkpoint)
    thrice = predictor.predict(few.take([*range(len(few))] * 3))
    assert json.dumps(thrice, default=list) == json.dumps(once * 3, default=list)
    assert sum(computed) == needed
    again = predictor.predict(few.take([0, 0, *range(len(few))]))
    assert json.dumps(again[2:], default=list) == json.dumps(once, default=list)
    assert sum(computed) == needed, "as in an earlier chunk"
    monkeypatch.setattr(predicting, "KNOWN_BYTES", 0)
    small = Predictor(model.checkpoint)
    assert small.predict(few.take([0, 0])) and small.predict(few.take([0, 0]))
    assert small._known._free == 0, "memory is bounded"


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_text_have_no_prediction(tuned, kind):
    rows, expected = predict_all(tuned(kind))
    count = min(len(rows), 5)
    some = rows.take(range(count)).without_targets()
    blank = ["", " \t", "\u00ad\u200b"]
    seconds = {
        name: [*column, *blank]
        for name in ("pairs", "beginnings", "words")
        if (column := getattr(some, name)) is not None
    }
    if some.endings is not None:
        seconds["endings"] = [*some.endings, *some.endings[:3]]
    longer = replace(some, texts=[*some.texts, *blank], lines=None, **seconds)
    predictor = Predictor(tuned(kind).checkpoint)
    records = predictor.predict(longer)
    assert predictor.notes() == ("3 rows without text have no prediction.",)
    for record in records[count:]:
        assert {*record} == {*expected[0]}
        assert {*record.get("tags", ())} <= {"O"}
        assert "tags" in record or not any(map(record.get, {*record} - {"vector"}))
    alone = build_chunk({"text": blank}, records[count:])
    applying.check_threshold(alone, 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_truncation_is_counted_over_all_chunks(tuned, tmp_path, small_chunks, kind):
    model = tuned(kind)
    in_windows = kind == "question_answering"  # which cover the whole passage
    max_length = 16 if in_windows else 8
    predictor = Predictor(model.checkpoint, max_length)
    long = apply(make_request(model, tmp_path / "long.jsonl"), predictor)
    if in_windows:
        assert long.notes == ()
        return
    note = long.notes[0]
    count = int(note.split()[0])
    assert note.endswith("with 8 tokens or more, truncated to 8 tokens.")
    assert count >= long.rows if kind == "multiple_choice" else 0 < count <= 2 * long.rows


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".xlsx"])
def test_the_result_has_every_column_and_marks_uncertain_rows(tuned, tmp_path, suffix):
    model = tuned("text_classification")
    out = tmp_path / f"out{suffix}"
    probabilities = [item["probability"] for item in predict_all(model)[1]]
    threshold = sorted(probabilities)[len(probabilities) // 2]
    answer = apply(make_request(model, out, threshold=threshold), Predictor(model.checkpoint))
    names = ["text", "label", "predicted_label", "probability", "p(bad)", "p(good)", "unsure"]
    assert answer.unsure is not None and 0 < answer.unsure < answer.rows
    if suffix == ".parquet":
        result = pq.read_table(out)
        assert result.column_names == names
        assert result["unsure"].to_pylist().count(True) == answer.unsure
    elif suffix != ".xlsx":
        with open(out, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="," if suffix == ".csv" else "\t"))
        assert list(rows[0]) == names
        assert [row["unsure"] for row in rows].count("true") == answer.unsure


def test_an_interrupted_file_resumes_after_the_last_chunk(tuned, tmp_path, small_chunks):
    model = tuned("text_classification")
    predictor = Predictor(model.checkpoint)
    uninterrupted = apply(make_request(model, tmp_path / "whole.csv"), predictor)
    request, counts = make_request(model, tmp_path / "out.csv", resume=True), list[int]()

    class Killed(BaseException):
        pass

    def interrupt(_: object) -> None:
        if len(list(chunk_folder(request.out).glob("chunk-*"))) == 3:
            raise Killed

    with pytest.raises(Killed):
        apply(request, predictor, interrupt)
    assert not request.out.exists() and stored_rows(request) == 30
    predict = predictor.predict
    predictor.predict = lambda rows, progress: counts.append(len(rows)) or predict(rows, progress)
    resumed = apply(request, predictor)
    assert sum(counts) == uninterrupted.rows - 30
    assert resumed.out.read_bytes() == uninterrupted.out.read_bytes()
    assert resumed.rows == uninterrupted.rows and stored_rows(request) == 0


def test_foreign_chunks_are_not_resumed_and_are_deleted(tuned, tmp_path, small_chunks):
    model = tuned("text_classification")
    predictor = Predictor(model.checkpoint)
    request = make_request(model, tmp_path / "out.csv")

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(request, predictor, stop)
    other = request.model_copy(update={"max_length": 8, "resume": True})
    assert stored_rows(other) == 0
    with pytest.raises(StudioError, match="another file, model or setting"):
        apply(other, predictor)
    assert apply(request, predictor).rows == 96


def test_another_threshold_reuses_the_chunks(tuned, tmp_path, small_chunks, monkeypatch):
    model = tuned("text_classification")
    predictor = Predictor(model.checkpoint)
    request = make_request(model, tmp_path / "out.csv", threshold=0.9, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(applying, "write", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            apply(request, predictor)
    assert stored_rows(request) == 96
    monkeypatch.setattr(predictor, "predict", None)
    changed = request.model_copy(update={"threshold": None})
    assert apply(changed, predictor).unsure is None


def test_predict_first_matches_the_first_rows_of_the_file(tuned, tmp_path):
    model = tuned("token_classification")
    request = make_request(model, tmp_path / "out.csv", threshold=0.5)
    preview = predict_first(PredictFirst(apply=request, rows=4), Predictor(model.checkpoint))
    apply(request, Predictor(model.checkpoint))
    with open(request.out, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert preview.columns == tuple(header) and len(preview.rows) == 4
    assert header[-preview.predicted :] == header[len(read(model.file, model.reading).columns) :]
    assert [row[0] for row in preview.rows] == [row[0] for row in rows[:4]]


def test_a_threshold_is_refused_for_regression(tuned, tmp_path):
    model = tuned("regression")
    request = make_request(model, tmp_path / "out.csv", threshold=0.5)
    with pytest.raises(StudioError, match="without probabilities"):
        apply(request, Predictor(model.checkpoint))


def test_the_input_file_is_never_overwritten(tuned, tmp_path):
    model = tuned("text_classification")
    before = model.file.read_bytes()
    with pytest.raises(StudioError, match="is the file that is read"):
        apply(make_request(model, model.file), Predictor(model.checkpoint))
    assert model.file.read_bytes() == before


def test_a_broken_line_is_named_and_the_rows_before_it_are_kept(tuned, tmp_path, small_chunks):
    model = tuned("text_classification")
    rows = [json.dumps({"text": f"a film {n}"}) for n in range(25)]
    broken = tmp_path / "rows.jsonl"
    broken.write_text("\n".join([*rows, "{no"]), encoding="utf-8")
    source = FineTuned(
        model.kind,
        model.run,
        model.checkpoint,
        broken,
        model.reading.model_copy(update={"format": "jsonl"}),
        Mapping(text="text"),
    )
    request = make_request(source, tmp_path / "out.csv")
    with pytest.raises(StudioError, match="26"):
        apply(request, Predictor(model.checkpoint))
    assert stored_rows(request) in (0, 10, 20) and not request.out.exists()


def test_certainty_is_that_of_the_least_certain_part():
    assert certainty({"label": "a", "probability": 0.7, "p(a)": 0.7}) == 0.7
    assert certainty({"tags": ["O", "B"], "probabilities": [0.9, 0.4]}) == 0.4
    assert certainty({"labels": "a", "p(a)": 0.9, "p(b)": 0.3}) == 0.7
    assert certainty({"number": 3.0}) is None
    assert certainty({"tags": [], "probabilities": []}) is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_result_counts_the_predictions_and_lists_the_least_certain_rows(
    tuned, tmp_path, small_chunks, kind
):
    model = tuned(kind)
    answer = apply(make_request(model, tmp_path / "out.jsonl"), Predictor(model.checkpoint))
    content = [json.loads(line) for line in answer.out.read_text().splitlines()]
    predicted, head = [row[answer.prediction] for row in content], get_head(kind)
    match kind:
        case "text_classification" | "pair_classification":
            assert answer.counts == Counter(predicted)
        case "multi_label":
            assert sum(answer.counts.values()) == sum(len(p.split("|")) for p in predicted if p)
        case "regression":
            assert answer.is_binned and sum(answer.counts.values()) == len(content)
        case "question_answering":
            assert set(answer.counts) <= {"answer", "no answer"}
        case "sentence_similarity":
            assert not answer.counts
    assert list(answer.columns) == list(content[0])
    if not (head.predicts_numbers or head.pools):
        assert len(answer.least) == len(content) and sorted(answer.positions) == [
            *range(len(content))
        ]
    if "probability" in answer.columns:
        column = answer.columns.index("probability")
        shown = [float(row[column]) for row in answer.least]
        assert shown == sorted(row["probability"] for row in content)
        below = make_request(model, tmp_path / "out.jsonl", threshold=shown[5])
        unsure = apply(below, Predictor(model.checkpoint))
        assert (
            len(unsure.least) == unsure.unsure
            and unsure.positions == answer.positions[: unsure.unsure]
        )

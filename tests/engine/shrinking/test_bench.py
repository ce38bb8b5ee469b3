"""Students of a run are runs of their own, measured against it."""

import json

import numpy as np
import pytest

from engine.checkpoints.info import checkpoint_info
from engine.cli import main
from engine.config.job import FromCheckpoint
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.export.exporting import export
from engine.messages.exporting import Export
from engine.messages.shrinking import Shape, Shrink, Shrunk
from engine.models import checkpoint
from engine.results.store import best_checkpoint
from engine.results.students import POINTS
from engine.runs.folder import RunFolder
from engine.shrinking.bench import shrink
from engine.shrinking.material import read_material
from engine.shrinking.measuring import load_model
from engine.shrinking.students import Students
from engine.training.data import teaching


@pytest.fixture
def question(tuned, tmp_path):
    model = tuned("text_classification")
    texts = tmp_path / "texts.txt"
    texts.write_text("a warm film and a happy end\nthe sad cold end\n", encoding="utf-8")
    return Shrink(run=model.run.path, into=tmp_path / "smaller", trials=2, texts=texts, epochs=1)


def test_a_search_measures_students_that_export_and_continues(question, tmp_path):
    emitted = list[object]()
    one = question.model_copy(update={"trials": 1})
    first = shrink(one, emitted.append)
    assert [answer.done for answer in emitted if isinstance(answer, Shrunk)] == [0, 1]
    again = shrink(question, emitted.append)
    assert again.points[: len(first.points)] == first.points  # nothing is repeated
    assert (again.done, again.ended, again.rows) == (2, True, first.rows)
    teacher, *rest = again.points
    assert teacher.is_teacher and teacher.times == 1
    students = [point for point in rest if not point.is_teacher and point.computed == "float32"]
    assert len(students) == 2
    for point in again.points:
        assert 0 <= point.low <= point.score <= point.high <= 1
        assert point.slowest <= point.times <= point.fastest
    for point in students:
        assert point.shape is not None and point.bytes < teacher.bytes
        info = checkpoint.load(point.checkpoint).info
        for size in ("layers", "heads", "intermediate_size"):
            assert getattr(info, size) == getattr(point.shape, size)
    run = RunFolder(question.into / "student-01")
    job = run.job()
    assert best_checkpoint(run) == students[0].checkpoint
    assert isinstance(job.base_model, FromCheckpoint) and job.teacher == teacher.checkpoint
    (texts,) = question.into.glob("texts-*")
    assert job.data.path == texts / "train.parquet"
    # another file of texts, and another model as a student, count from then on
    other = tmp_path / "other.txt"
    other.write_text("a warm story\n", encoding="utf-8")
    interrupted = RunFolder.create(question.into / "student-03", job)  # of another student
    update = {"trials": 3, "texts": other, "students": (best_checkpoint(run),)}
    third = shrink(question.model_copy(update=update))
    assert [point.shape for point in third.points[len(again.points) :]][:1] == [None]
    assert third.points[len(again.points)].name == "student-01" and not [*interrupted.milestones()]
    newest = RunFolder(question.into / "student-04").job()  # with its texts
    assert newest.data.path.parent != texts
    assert newest.base_model.path == best_checkpoint(run)
    exported = export(Export(checkpoint=students[0].checkpoint, into=tmp_path / "exported"))
    assert exported.report.weights_equal
    with pytest.raises(StudioError, match="same name, “student-01”"):
        shrink(question.model_copy(update={"students": (best_checkpoint(run),) * 2}))
    # another teacher does not get these students
    state = question.into / POINTS
    stored = json.loads(state.read_text())
    stored["points"][0]["checkpoint"] = "/another"
    state.write_text(json.dumps(stored))
    with pytest.raises(StudioError, match="students of another model"):
        shrink(question)


def test_a_student_is_resumed_with_the_same_settings_only(question, tmp_path):
    run, folder = RunFolder(question.run), best_checkpoint(RunFolder(question.run))
    loaded, job = checkpoint.load(folder), run.job()
    teacher = load_model(folder, job.training.max_length)

    def begin(epochs, seed, texts=None):
        material = read_material(run, loaded, texts, tmp_path, lambda *_: None)
        students = Students(job, teacher, material, tmp_path, epochs, seed)
        return students.run_of(0, students.cut(shape))

    sizes = {"heads": loaded.spec.heads, "intermediate_size": loaded.spec.intermediate_size}
    shape = Shape(layers=1, **sizes, max_length=16)
    first = begin(1.0, None)
    assert begin(1.0, None).path == first.path
    assert first.job().training.seed == job.training.seed
    for other in ((2.0, None), (1.0, 7), (1.0, None, question.texts)):
        begun = begin(*other)
        assert begun.path != first.path and begin(*other).path == begun.path
    assert begin(1.0, None).path == first.path
    shape = shape.model_copy(update={"heads": 1})
    half = begin(1.0, None)
    assert half.path != first.path and begin(1.0, None).path == half.path
    assert checkpoint_info(half.job().base_model.path).hidden_size == loaded.spec.head_size


def test_the_teacher_is_asked_once_about_each_part(question, monkeypatch):
    loaded = checkpoint.load(best_checkpoint(RunFolder(question.run)))
    rows = Rows(texts=[f"a film about {n} cold ends" for n in range(5)])
    expected = teaching.teacher_outputs(loaded, rows, 16, lambda *_: None)
    monkeypatch.setattr(teaching, "PART", 2)
    seen, asked, ask = [], [], teaching._ask

    def interrupted(teacher, part, *rest):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append([*part.texts])
        return ask(teacher, part, *rest)

    monkeypatch.setattr(teaching, "_ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        teaching.teacher_outputs(loaded, rows, 16, lambda *_: None)
    assert asked == [rows.texts[:2], rows.texts[2:4]]
    asked.clear()
    outputs = teaching.teacher_outputs(loaded, rows, 16, lambda *done: seen.append(done))
    assert asked == [rows.texts[4:]] and seen[-1] == (5, 5) and seen == sorted(seen)
    assert np.allclose(outputs, expected, atol=1e-5)


def test_the_command_lists_the_points_and_marks_the_frontier(question, tmp_path, capsys):
    command = ["shrink", str(question.run), "--into", str(tmp_path / "x"), "--trials", "1"]
    assert main([*command, "--epochs", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["frontier"] and answer["metric"] == "accuracy"
    assert main(command) == 0  # reads what is there
    out = capsys.readouterr().out
    assert "Teacher, fp32" in out and "\n*" in f"\n{out}" and "bert-studio export" in out


def test_runs_without_outputs_for_whole_texts_are_refused(tuned, tmp_path):
    run = tuned("token_classification").run.path
    with pytest.raises(StudioError, match="labels or numbers of whole texts"):
        shrink(Shrink(run=run, into=tmp_path / "smaller"))

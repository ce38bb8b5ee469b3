"""The benchmark of smaller models: its table and its bar."""

from types import SimpleNamespace

from benchmarks import shrinking


def point(**fields):
    usual = {"layers": 2, "hidden_size": 64, "intermediate_size": 99, "computed": "int8"}
    usual |= {"milliseconds": 1.0, "times": 5.0, "slowest": 4.0, "fastest": 6.0}
    usual |= {"score": 0.88, "low": 0.86, "high": 0.9, "bytes": 20, "is_teacher": False}
    return usual | fields


TEACHER = point(score=0.9, bytes=100, times=1.0, milliseconds=5.0, is_teacher=True)


def test_the_bar_needs_score_size_and_speed():
    assert shrinking.reaches(point(), TEACHER)
    for short in ({"score": 0.87}, {"bytes": 26}, {"times": 3.9}, {"is_teacher": True}):
        assert not shrinking.reaches(point(**short), TEACHER)


def test_the_table_has_all_points_the_fastest_first():
    shrunk = {"metric": "accuracy", "points": [TEACHER, point()], "frontier": [1, 0]}
    *_, student, teacher, verdict = shrinking.lines("sst2", shrunk)
    assert "97.8%" in student and "20.0%" in student and "| yes |" in student
    assert teacher.startswith("| teacher, ") and "is reached on sst2" in verdict


def test_texts_of_the_teacher_are_left_out(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rows = "".join(f"text {n}\tDESC\n" for n in range(9))
    (folder / "trec-qc-train.tsv").write_text(f"text\tlabel\n{rows}")
    options = SimpleNamespace(work=tmp_path, rows=4)
    others = shrinking.other_texts(options, "trec-qc").read_text().splitlines()
    used = (folder / "trec-qc-train-4.tsv").read_text()
    assert len(others) == 5 and not any(f"{text}\t" in used for text in others)

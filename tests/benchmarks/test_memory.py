"""The memory benchmark: its jobs, and its table of estimates and measurements."""

from types import SimpleNamespace

import pytest

from benchmarks import memory
from engine.data.datasets.store import StoredTexts, resolve
from engine.tasks import learner_for


def test_jobs_match_the_rows_of_the_table(monkeypatch, tmp_path):
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(
        memory, "checkpoint", lambda model, folder: folder / f"of-{model.hidden_size}"
    )
    arguments = SimpleNamespace(steps=3, threads=1, device="cpu", precision="fp32")
    data = memory.import_data(tmp_path)
    jobs = {
        name: memory.make_job(row, data[row.pretrains], tmp_path, arguments)
        for name, row in memory.ROWS.items()
    }
    assert jobs["small"].base_model.path == tmp_path / "of-256"
    assert jobs["base"].base_model.path == tmp_path / "of-768"
    assert [name for name, job in jobs.items() if job.training.gradient_checkpointing] == [
        "checkpointing",
        "large-checkpointing",
    ]
    assert jobs["words"].base_model.model.layers == 12 and jobs["words"].task.nsp
    for name, rows in (("base", 3136), ("words", 400)):
        dataset = resolve(jobs[name].data, tmp_path / "unused")
        stored_rows = learner_for(jobs[name].task).rows(dataset, "train")
        assert isinstance(stored_rows.texts, StoredTexts) is (name == "words")
        assert len(stored_rows) == pytest.approx(rows, rel=0.05)


def test_the_table_marks_large_deviations(monkeypatch, capsys):
    estimated, measured = {"small": 0.95e9, "base": 2e9}, {"small": 1e9, "base": 2.5e9}
    monkeypatch.setenv("BERT_STUDIO_HOME", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(memory, "import_data", lambda folder: {False: None})
    monkeypatch.setattr(
        memory, "make_job", lambda row, *rest: "base" if row.layers > 4 else "small"
    )
    monkeypatch.setattr(memory, "estimate", lambda job, _: SimpleNamespace(memory=estimated[job]))
    monkeypatch.setattr(memory, "run", lambda job, into: measured[job])
    memory.main(["--rows", "small,base", "--steps", "7"])
    stdout = capsys.readouterr().out.splitlines()
    assert "| classes, small 4/256, batches of 32 | 0.95 | 1.00 | -5% |" in stdout
    assert "| 2.00 | 2.50 | -20% **(too far off)** |" in stdout[3]


def test_an_unknown_row_is_refused(capsys):
    with pytest.raises(SystemExit):
        memory.main(["--rows", "small,huge"])
    assert "no “huge”; there are small, base, words, checkpointing" in capsys.readouterr().err

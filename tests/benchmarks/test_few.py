"""The advice for few labelled rows is that of the stored runs."""

from statistics import fmean

from benchmarks import harness
from benchmarks.few import compare, data
from engine.config.families.bert import bert
from engine.config.recommended import FEW_LABELS, Situation, recommend
from engine.config.tasks import TASKS

TEXT = TASKS["text_classification"].info


def test_the_figures_of_few_labels_are_those_of_the_stored_runs():
    lines = harness.read_lines(compare.STORED)
    for rows, *stated, sets in FEW_LABELS:
        for way, ends in zip((compare.FINE_TUNING, compare.LINEAR), stated, strict=True):
            gains = [fmean(by_seed) for by_seed in compare.gains(lines, rows, way).values()]
            assert (round(min(gains)), round(max(gains))) == ends, (rows, way)
            assert fmean(gains) > 0, "the best way on average"
            if way == compare.FINE_TUNING:
                assert len(gains) == sets and min(gains) > 0, "nowhere worse than fine-tuning"
    for line in lines:
        if line["way"] == compare.CONTRASTIVE:
            situation = Situation(TEXT, network=bert(6, 384), rows=line["rows"], contrastive=True)
            training = recommend(situation).training
            assert all(
                line[name] == getattr(training, name)
                for name in ("learning_rate", "epochs", "batch_size")
            ), line["key"]


def test_the_table_names_missing_cells(capsys):
    line = {
        "model": "M",
        "data": "sst2",
        "asked": 16,
        "seed": 1,
        "way": "contrastive",
        "score": 0.5,
    }
    other = {**line, "data": "subj", "way": "fine-tuning"}
    compare.main(["--table"])
    assert "| model | data set | rows |" in capsys.readouterr().out
    rows = [*compare.table([line, {**line, "seed": 2, "score": 0.7}, other])]
    assert rows[1].endswith("| 60.0 ± 14.1 (2) | missing |")
    assert rows[2].endswith("| missing | 50.0 (1) |")


def test_samples_have_as_many_rows_of_each_label_and_are_the_same_each_time():
    rows = [(f"text {n}", "abc"[n % 3]) for n in range(60)]
    drawn = data.draw(rows, 12, seed=1)
    assert sorted(label for _, label in drawn) == sorted("abc" * 4)
    assert drawn == data.draw(rows, 12, seed=1) != data.draw(rows, 12, seed=2)
    assert len(data.draw(rows, 2, seed=1)) == 6, "two of each label"

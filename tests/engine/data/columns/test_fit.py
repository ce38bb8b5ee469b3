"""The task of a data set is recognised, and each task gets the label column it needs."""

import json
from pathlib import Path

import pytest

from engine.config.dataset import FileData, Mapping, StoredData, moved
from engine.config.tasks import ORDINAL, TASKS
from engine.data.columns.fit import (
    dataset_problems,
    likely_task,
    mapping_for,
    matching_target,
    suitable_target,
)
from engine.data.datasets.text_sets import load_rows
from engine.data.formats.reading import read, recognise
from engine.files.shipped import sample_data
from engine.messages.explore.text_set import TextSet
from tests.engine.data.importing import import_files, write_lines

SICK = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
JUDGMENTS = ("NEUTRAL", "ENTAILMENT", "CONTRADICTION")


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    """Pairs with a score and a class, as in the SICK corpus (Marelli et al. 2014)."""
    rows = [
        (str(n), f"a dog is running {n}", f"some dog runs {n}", f"{1 + n % 41 / 10:g}",
         JUDGMENTS[n % 3])
        for n in range(200)
    ]  # fmt: skip
    return write_lines(tmp_path / "SICK_train.txt", *("\t".join(row) for row in [SICK, *rows]))


def test_each_task_takes_the_label_column_that_suits_it(sick, tmp_path):
    guess = recognise(sick)
    assert guess.mapping == Mapping(
        text="sentence_A", pair="sentence_B", label="entailment_judgment"
    )
    rows = [row.cells for row in read(sick, guess.reading)]
    for kind, label in (
        ("pair_classification", "entailment_judgment"),
        ("regression", "relatedness_score"),
    ):
        for current in ("entailment_judgment", "relatedness_score", None):
            chosen = guess.mapping.model_copy(update={"label": current})
            fitted = mapping_for(TASKS[kind](kind=kind), chosen, guess.columns, rows)
            assert fitted.label == label
    spec = import_files(sick, tmp_path / "d").spec
    assert likely_task(spec.mapping, spec.labels).kind == "pair_classification"
    for kind, task in TASKS.items():
        needs_numbers = kind in ("regression", "sentence_similarity", ORDINAL)
        suitable = "relatedness_score" if needs_numbers else None
        assert not dataset_problems(spec, task(kind=kind)) or (
            suitable_target(spec, task(kind=kind)) == suitable
        )


def test_the_mapping_is_unchanged_if_no_column_suits_the_task(sick):
    guess = recognise(sick)
    assert guess.mapping is not None
    for kind in ("text_classification", "token_classification", "pretraining"):
        assert (
            mapping_for(TASKS[kind](kind=kind), guess.mapping, guess.columns, []) == guess.mapping
        )


PUBLISHED = [
    ("sst2/dev.tsv", "text_classification"),
    ("trec-qc/test.txt", "text_classification"),
    ("subj/dev.tsv", "text_classification"),
    ("mrpc/dev.tsv", "pair_classification"),
    ("mrpc/test.tsv", "pair_classification"),
    ("stsb/sts-dev.csv", "regression"),
    ("wnut17/emerging.dev.conll", "token_classification"),
    ("codah/fold_0/dev.tsv", "multiple_choice"),
]


@pytest.mark.parametrize("name, kind", PUBLISHED)
def test_published_data_is_recognised_for_its_task(assets, tmp_path, name, kind):
    spec = import_files(assets / "datasets" / name, tmp_path / "d").spec
    task = likely_task(spec.mapping, spec.labels)
    assert task.kind == kind
    assert dataset_problems(spec, task) == []


def test_the_sample_is_recognised_for_its_task(tmp_path):
    spec = import_files(sample_data(), tmp_path / "d").spec
    task = likely_task(spec.mapping, spec.labels)
    assert task.kind == "text_classification" and dataset_problems(spec, task) == []


def test_a_thousand_different_tags_are_a_problem(tmp_path):
    rows = (f"a word,O B-type{n}" for n in range(1_100))
    file = write_lines(tmp_path / "many.csv", "text,tags", *rows)
    spec = import_files(file, tmp_path / "d").spec
    (problem,) = dataset_problems(spec, TASKS["token_classification"](kind="token_classification"))
    assert "at least 1,000 different tags" in problem.problem


def test_uneven_choices_are_a_problem_before_training(tmp_path):
    rows = [{"question": f"which {n}", "choices": ["a", "b", "c"][: 3 - n // 9], "label": "0"}
            for n in range(10)]  # fmt: skip
    dataset = import_files(
        write_lines(tmp_path / "q.jsonl", *map(json.dumps, rows)), tmp_path / "d"
    )
    assert dataset.spec.uneven_choices == 1
    (problem,) = dataset_problems(dataset.spec, TASKS["multiple_choice"](kind="multiple_choice"))
    assert problem.problem == "1 row has another number of choices than the first row."


def test_the_labels_of_a_model_name_their_column(tmp_path):
    rows = [f"film {n},{'ab'[n % 2]},{('low', 'high')[n % 2]},{n % 37 / 10}" for n in range(90)]
    file = write_lines(tmp_path / "films.csv", "text,label,urgency,score", *rows)
    dataset = import_files(file, tmp_path / "films" / "1")
    for labels, column in (
        (("high", "low", "none"), "urgency"),
        (("a", "b"), None),
        (("x",), None),
        ((), None),
    ):
        assert matching_target(dataset.spec, labels) == column
    texts = TextSet(data=StoredData(folder=dataset.folder, target="urgency"), part="validation")
    assert {*load_rows(texts).labels} == {"high", "low"}
    assert moved(texts.data, tmp_path) == StoredData(folder=tmp_path, target="urgency")
    assert moved(FileData(path=file), tmp_path) == StoredData(folder=tmp_path)

"""Labels that are paths: hierarchy, decisions, metrics; all other laws iterate over the tasks."""

from typing import Any, cast

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

from engine.applying.apply import build_chunk, format_chunk
from engine.config.dataset import Mapping
from engine.config.levels import Levels, ancestors, find_separator, path_note
from engine.config.prediction import PredictionSettings
from engine.config.tasks import HIERARCHICAL
from engine.config.tasks.hierarchical_classification import HierarchicalClassification
from engine.data.columns.fit import label_hint, likely_task, task_problems
from engine.documents.code import _print_lines
from engine.evaluation.hierarchical_classification import likely_paths, report
from engine.results.classes import level_confusions
from engine.results.conditions import mask, sentence
from engine.results.levels import levels_note
from engine.results.measures import measures
from engine.tasks.hierarchical_classification import (
    PathCollector,
    choose_paths,
)
from engine.tasks.learner import Examples
from tests.engine.results.rows import class_rows

# hierarchical precision, recall and F1 of the random rows below: hiclass 5.0.8
HICLASS = (0.545, 0.5431893687707641, 0.5440931780366056)
PATHS = ("a", "a > b", "a > c > d", "a > c > e", "f > g", "h")
NO_PATHS = (
    ("yes/no", "n/a", "other"),
    ("2020/01/02", "2020/03/04"),
    ("12:30", "12:45"),
    ("a", "b > c", "d"),
    (),
)


def test_labels_are_paths_if_they_share_nodes():
    for labels, separator in (
        (PATHS, ">"),
        (("DESC:manner", "DESC:def", "NUM:date"), ":"),
        (("a::b", "a::c"), "::"),
        (("a/b", "a/c", "d/e/f"), "/"),
        (("a>b: c", "a>b: d"), ">"),
    ):
        assert find_separator(labels) == separator
        hierarchy = Levels(labels)
        assert [hierarchy.name(path) for path in hierarchy.paths] == [*labels]
        rows = dict.fromkeys((*labels, ""), 9)
        assert label_hint(rows) == (HIERARCHICAL, path_note(labels))
        mapping = Mapping(text="text", label="label")
        assert likely_task(mapping, rows).kind != HIERARCHICAL, "never silently"
        assert not task_problems(("text", "label"), mapping, HierarchicalClassification(), rows)
    for labels in NO_PATHS:
        assert find_separator(labels) == "" and path_note(labels) is None
    assert "3 levels, such as “a > c > d”" in str(path_note(PATHS))
    plain = dict.fromkeys(("good", "bad"), 9)
    (problem,) = task_problems(("text", "label"), mapping, HierarchicalClassification(), plain)
    assert "The labels are no paths of a hierarchy: “good”" in str(problem)


def test_only_known_paths_are_predicted_by_the_most_likely_node_of_each_level():
    p = np.random.default_rng(1).dirichlet(np.ones(len(PATHS)) / 2, 400)
    paths = Levels(PATHS).paths
    chosen = likely_paths(p, paths)
    for row, index in zip(p, chosen, strict=True):
        nodes = Levels(PATHS).probabilities(zip(PATHS, row, strict=True))
        parent: tuple[str, ...] = ()
        while True:  # top down, a path that ends at a node against the nodes below it
            below = {n: v for n, v in nodes.items() if n[:-1] == parent and n != parent}
            if parent in paths and below:
                below[parent] = row[paths.index(parent)]
            best = max(below, key=below.__getitem__, default=parent)
            if best == parent:
                break
            parent = best
        assert paths[index] == parent
        assert nodes[paths[index][:1]] == max(v for n, v in nodes.items() if len(n) == 1)
    assert (chosen != p.argmax(1)).any(), "a likely node may have no likely path"
    torch.manual_seed(0)
    logits = torch.randn(50, len(PATHS)).numpy()
    expected = likely_paths(torch.from_numpy(logits).double().softmax(1).numpy(), paths)
    assert (choose_paths(logits, PATHS) == expected).all()


def test_scores_equal_those_of_scikit_learn_and_of_the_definition():
    rng = np.random.default_rng(2)
    names, known = (*PATHS, "a > c > x", "y"), len(PATHS)  # two that the model does not know
    gold, predicted = rng.integers(0, len(names), 300), rng.integers(0, known, 300)
    predicted = np.where((gold < known) & (rng.random(300) < 0.5), gold, predicted)
    got = report(np.zeros((300, known)), gold, names, predicted, known)
    paths = [tuple(name.split(" > ")) for name in names]
    for level in (1, 2, 3):
        true, claimed = ([str(paths[n][:level]) for n in side] for side in (gold, predicted))
        figures = got.levels[level - 1]
        assert figures.accuracy == pytest.approx(accuracy_score(true, claimed))
        assert figures.f1_macro == pytest.approx(f1_score(true, claimed, average="macro"))
        assert figures.nodes == len({*true, *claimed})
    assert got.levels[2].accuracy == got.accuracy and got.levels[2].f1_macro == got.f1_macro
    sets = [[{*ancestors(paths[n])} for n in side] for side in (gold, predicted)]
    shared = sum(len(a & b) for a, b in zip(*sets, strict=True))
    assert got.hierarchical_recall == pytest.approx(shared / sum(map(len, sets[0])))
    assert got.hierarchical_precision == pytest.approx(shared / sum(map(len, sets[1])))
    both = got.hierarchical_precision, got.hierarchical_recall
    assert (*both, got.hierarchical_f1) == pytest.approx(HICLASS, abs=1e-12)
    rows = class_rows(
        [names[n] for n in gold], [names[n] for n in predicted], PATHS, task=HIERARCHICAL
    )
    stored = {measure.name: measure.value() for measure in measures(rows)}
    for name, value in got.metrics().items():
        if name in stored:
            assert stored[name] == pytest.approx(value), name
    assert {"hierarchical_f1", "hierarchical_precision", "hierarchical_recall"} <= stored.keys()
    assert levels_note(rows).startswith(f"Level 1: accuracy {100 * got.levels[0].accuracy:.1f} %")
    first, *_, last = level_confusions(rows)
    place = first.labels.index("a")
    conditions = first.conditions(place, place)
    assert mask(rows, conditions).sum() == first.counts[place, place]
    assert str(sentence(conditions[:1])) == "true label is “a” at level 1"
    assert last.counts.trace() == got.correct and len(last.labels) == len(names)


def test_an_unsure_row_has_its_deepest_sure_node():
    p = [[0.02, 0.08, 0.5, 0.3, 0.06, 0.04], [0.1, 0.1, 0.1, 0.2, 0.25, 0.25]]
    collector = PathCollector(Examples(cast(Any, ["x", "y"])), PATHS, PredictionSettings())
    collector.outputs[:] = np.log(p)
    records = collector.predictions()
    assert [record["label"] for record in records] == ["a > c > d", "a > c > e"]
    first = records[0]
    assert [first[f"level_{n}"] for n in (1, 2, 3)] == ["a", "a > c", "a > c > d"]
    assert [first[f"probability_{n}"] for n in (1, 2, 3)] == pytest.approx([0.9, 0.8, 0.5])
    chunk = build_chunk({"text": ["x", "y"]}, records)
    assert "sure_label" not in format_chunk(chunk, None).column_names
    for threshold, expected in ((0.8, ["a > c", ""]), (0.45, ["a > c > d", "a"])):
        assert format_chunk(chunk, threshold)["sure_label"].to_pylist() == expected


def test_the_code_of_a_document_prints_the_nodes_and_the_same_label(capsys):
    task = HierarchicalClassification(labels=PATHS)
    lines = "\n".join(_print_lines(task, PredictionSettings(unsure_below=0.6)))
    for p in np.random.default_rng(3).dirichlet(np.ones(len(PATHS)) / 2, 20):
        exec(lines, {"probs": dict(zip(PATHS, p.tolist(), strict=True))})
        _, *nodes, label, sure = capsys.readouterr().out.splitlines()
        expected = PATHS[likely_paths(p[None], Levels(PATHS).paths)[0]]
        found = Levels(PATHS).probabilities(zip(PATHS, p.tolist(), strict=True))
        path = ancestors(Levels(PATHS).path(expected))
        assert label == expected and len(nodes) == len(path)
        for line, node in zip(nodes, path, strict=True):
            shown, probability, is_sure = line.rsplit(" ", 2)
            assert shown == str(node) and float(probability) == pytest.approx(found[node])
            assert is_sure == ("sure" if found[node] >= 0.6 else "unsure")
        assert sure == ("sure" if p[PATHS.index(expected)] >= 0.6 else "unsure")

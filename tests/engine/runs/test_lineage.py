"""The lineage graph: compared with networkx on random graphs, and read from a home."""

import json
import random
import shutil
from pathlib import Path

import networkx as nx
import pytest

from engine.cli import main
from engine.config.dataset import DatasetSpec, Mapping, Reading, Split, StoredData
from engine.config.job import FromCheckpoint
from engine.files.atomic_write import sha256
from engine.files.home import Home
from engine.files.shipped import minilm
from engine.messages import now
from engine.messages.events import Branched, Saved, Started
from engine.phrases import Phrase
from engine.runs import lineage
from engine.runs.exports import ExportNote, log_export, read_exports
from engine.runs.folder import RunFolder
from engine.runs.needed import format_requirements, list_requirements
from tests.engine.runs import fake_worker


def graph(edges: list[tuple[str, str]]) -> lineage.Lineage:
    result = lineage.Lineage()
    for key in dict.fromkeys(key for edge in edges for key in edge):
        result.add(lineage.Node(key, "run", key, "", Path(key)))
    for source, target in edges:
        result.connect(source, target)
    return result


@pytest.mark.parametrize("seed", range(20))
def test_ancestors_descendants_and_layers_equal_those_of_networkx(seed):
    rng = random.Random(seed)
    edges = [(str(a), str(b)) for a in range(30) for b in range(a + 1, 30) if rng.random() < 0.08]
    rng.shuffle(edges)
    ours, theirs = graph(edges), nx.DiGraph(edges)
    for key in theirs:
        assert set(ours.ancestors(key)) == nx.ancestors(theirs, key)
        assert set(ours.descendants(key)) == nx.descendants(theirs, key)
    expected = {key: n for n, keys in enumerate(nx.topological_generations(theirs)) for key in keys}
    assert ours.layers(theirs) == expected
    actual_edges = ours.edges_among(list(theirs)[:12])
    expected_edges = set(theirs.subgraph(list(theirs)[:12]).edges)
    assert {(edge.source, edge.target) for edge in actual_edges} == expected_edges


def test_a_cycle_in_the_lineage_terminates():
    cyclic = graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d")])
    assert cyclic.ancestors("a") == ["c", "b"] and cyclic.descendants("a") == ["b", "c", "d"]
    layers = cyclic.layers("abcd")
    assert set(layers) == set("abcd") and layers["d"] > layers["c"]


def version(home: Home, number: int, made_from: int | None = None) -> Path:
    folder = home.datasets / "reviews" / str(number)
    folder.mkdir(parents=True)
    spec = DatasetSpec(
        name="reviews",
        version=number,
        made_from=made_from,
        changes=("3 labels were corrected.",) if made_from else (),
        sources={"all": (Path("/somewhere/reviews.csv"),)},
        source_sha256={"/somewhere/reviews.csv": "5" * 64},
        reading=Reading(),
        mapping=Mapping(text="text", label="label"),
        split=Split(),
        columns=("text", "label"),
        rows={"train": 9},
        fingerprint=f"{number}" * 64,
    )
    (folder / "spec.json").write_text(spec.model_dump_json())
    return folder


def run(home: Home, name: str, data: Path, base: Path, fingerprint: str = "") -> RunFolder:
    job = fake_worker.job(name).model_copy(
        update={
            "data": StoredData(folder=data, fingerprint=fingerprint),
            "base_model": FromCheckpoint(path=base),
        }
    )
    return RunFolder.create(home.runs / name, job)


@pytest.fixture
def full(home: Home) -> Home:
    """Two versions, a run on the second one, a run from its checkpoint, a branch and an export."""
    version(home, 1)
    second = version(home, 2, made_from=1)
    first = run(home, "first", second, minilm(), "2" * 64)
    first.append(Started(pid=1))
    environment = {"torch": "2.13.0", "device": "cpu"}
    first.append(fake_worker.prepared(6, environment=environment))
    fake_worker.save(first, 4)
    first.append(Saved(step=4, folder="checkpoints/step-00000004", weights="a" * 64))
    run(home, "second", second, first.checkpoint(4), "3" * 64)
    branch = run(home, "branch", second, minilm())
    branch.append(Branched(run="first", folder=first.path, step=4))
    exported = home.root / "exported"
    exported.mkdir()
    note = ExportNote(
        at=now(),
        checkpoint=home.runs / "second" / "checkpoints" / "step-00000006",
        folder=exported,
        form="onnx",
        precision="int8",
    )
    log_export(home, note)
    log_export(home, note)  # exported again to the same folder
    return home


def test_a_home_has_the_lineage_of_its_items(full):
    stored = lineage.read_lineage(full, lineage.read_runs(full))
    data = full.datasets / "reviews"
    first = lineage.run_key("first")
    assert {edge.source for edge in stored.sources(first)} == {
        lineage.data_key(data / "2"),
        lineage.model_key(minilm()),
    }
    assert stored.ancestors(lineage.data_key(data / "2")) == [lineage.data_key(data / "1")]
    labels = {edge.target: str(edge.label) for edge in stored.targets(first)}
    assert labels == {
        lineage.run_key("second"): "checkpoint of step 4",
        lineage.run_key("branch"): "branch at step 4",
    }
    assert stored.descendants(lineage.data_key(data / "1"))[-1] == lineage.export_key(
        full.root / "exported"
    )
    assert stored.nodes[lineage.export_key(full.root / "exported")].detail == "onnx, int8"
    assert all(isinstance(node.detail, Phrase) for node in stored.nodes.values())
    assert stored.layers([first, *stored.ancestors(first)])[first] == 2


def test_requirements_have_checksums_versions_and_changes(full):
    stored = lineage.read_lineage(full, lineage.read_runs(full))
    exported = lineage.export_key(full.root / "exported")
    requirements = list_requirements(stored, exported)
    titles = [str(item.title) for item in requirements]
    assert titles[-1] == "Export “exported”, onnx, int8"
    assert titles.index("Data set “reviews”, version 1") < titles.index("Run “first”")
    assert titles.index("Run “first”") < titles.index("Run “second”")
    text = "\n".join(format_requirements(requirements))
    for line in (
        "fingerprint " + "2" * 64,
        "imported from /somewhere/reviews.csv, SHA-256 " + "5" * 64,
        "3 labels were corrected.",
        "model.safetensors, SHA-256 " + sha256(minilm() / "model.safetensors"),
        "spec.json, SHA-256 " + sha256(full.runs / "first" / "spec.json"),
        "environment: torch 2.13.0, device cpu",
        "weights at step 4: SHA-256 " + "a" * 64,
        "random seed 42",
    ):
        assert line in text, line
    problems = {str(item.title): str(item.problem) for item in requirements if item.problem}
    assert problems == {
        "Run “second”": "its data set no longer has the rows that it was trained on"
    }
    shutil.rmtree(full.datasets / "reviews" / "1")
    shutil.rmtree(full.runs / "first" / "checkpoints")
    stored = lineage.read_lineage(full, lineage.read_runs(full))
    problems = {str(r.title): str(r.problem) for r in list_requirements(stored, exported)}
    assert "no longer in" in problems["Data set “reviews”, version 1"]
    assert "base model is no longer in" in problems["Run “second”"]


def test_the_command_prints_the_lineage(full, capsys):
    assert main(["lineage", "first"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"first (run): {full.runs / 'first'}\n\nDerived items:\n")
    assert "  branch (run): " in printed and "  exported (onnx, int8): " in printed
    listed = printed.partition("\nRequirements to reproduce:\n")[2]
    assert (
        listed.startswith("  Model “MiniLM”\n") and "\n  Data set “reviews”, version 1\n" in listed
    )
    assert main(["lineage", "reviews", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["of"] == lineage.data_key(full.datasets / "reviews" / "2")
    assert {node["name"] for node in report["nodes"]} == {
        *("reviews", "first", "second", "branch", "exported")
    }
    assert main(["lineage", "nothing"]) == 1
    assert "There is no run, data set, model or export nothing" in capsys.readouterr().err


def test_damaged_items_and_other_versions_are_ignored(home):
    for name, job in (("broken", "{"), ("newer", '{"name": "n", "data": {"kind": "cloud"}}')):
        (home.runs / name).mkdir()
        (home.runs / name / "spec.json").write_text(job)
    (home.runs / "file").write_text("")
    home.exports.write_bytes(b'{"at": 3}\n' + b"half a li")
    graph = lineage.read_lineage(home, lineage.read_runs(home))
    assert lineage.run_key("newer") in graph.nodes and lineage.run_key("broken") not in graph.nodes
    assert graph.sources(lineage.run_key("newer")) == [] and read_exports(home) == []
    assert "n" in str(list_requirements(graph, lineage.run_key("newer"))[0].title)


def test_an_export_without_a_home_is_not_logged(tmp_path):
    home = Home(tmp_path / "none")
    log_export(
        home,
        ExportNote(at=now(), checkpoint=tmp_path, folder=tmp_path, form="hf", precision="float32"),
    )
    assert not home.root.exists() and read_exports(home) == []

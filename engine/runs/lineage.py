"""The graph of data versions, base models, runs, branches and exports.

All of it is derived from existing files: the job of each run, the first event of a branch,
`spec.json` of each version of a data set, and `exports.jsonl`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from engine.config.dataset import DatasetSpec, DataSource, FileData, StoredData
from engine.config.job import BaseModelSource, FromScratch
from engine.files.home import Home, subfolders
from engine.files.regular_file import read_regular
from engine.files.shipped import included_models
from engine.messages.events import Branched
from engine.phrases import join, phrase
from engine.runs.exports import ExportNote, read_exports
from engine.runs.folder import RunFolder, checkpoint_step

Kind = Literal["files", "data", "model", "run", "export"]
Parsed = TypeVar("Parsed")
DATA: TypeAdapter[DataSource] = TypeAdapter(DataSource)
BASE_MODEL: TypeAdapter[BaseModelSource] = TypeAdapter(BaseModelSource)
DATASET_SPEC = "spec.json"
MAX_CHANGES = 2  # of a version, on its edge


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run before its folder is read; `job` is JSON."""

    id: str
    name: str
    state: str  # empty: unknown
    folder: Path
    job: str | bytes


@dataclass(frozen=True)
class Node:
    """One item; `path` is its file or folder."""

    key: str
    kind: Kind
    title: str
    detail: str
    path: Path
    run: str = ""  # id of a run
    exists: bool = True


@dataclass(frozen=True)
class Edge:
    """`target` was made from `source`; `label` describes how, for example a step."""

    source: str
    target: str
    label: str = ""


class Lineage:
    """All items of a home and their origins; see `read_lineage`."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._incoming: dict[str, dict[str, Edge]] = {}  # by target, then by source
        self._outgoing: dict[str, dict[str, Edge]] = {}

    def add(self, node: Node) -> str:
        """Add an item unless it is known; returns its key."""
        self.nodes.setdefault(node.key, node)
        return node.key

    def connect(self, source: str, target: str, label: str = "") -> None:
        """Record that `target` was made from `source`; self-references are ignored."""
        if source != target:
            edge = Edge(source, target, label)
            self._incoming.setdefault(target, {})[source] = edge
            self._outgoing.setdefault(source, {})[target] = edge

    def sources(self, key: str) -> list[Edge]:
        return list(self._incoming.get(key, {}).values())

    def targets(self, key: str) -> list[Edge]:
        return list(self._outgoing.get(key, {}).values())

    def ancestors(self, key: str) -> list[str]:
        """All sources, the nearest first."""
        return list(self._walk(key, self._incoming))

    def descendants(self, key: str) -> list[str]:
        """All results, the nearest first."""
        return list(self._walk(key, self._outgoing))

    def _walk(self, key: str, edges: dict[str, dict[str, Edge]]) -> Iterator[str]:
        """Walk breadth first, visiting each item once, even in a cycle."""
        seen, level = {key}, [key]
        while level:
            level = [other for node in level for other in edges.get(node, {}) if other not in seen]
            level = list(dict.fromkeys(level))
            seen.update(level)
            yield from level

    def edges_among(self, keys: Iterable[str]) -> list[Edge]:
        targets = set(keys)
        return [
            edge
            for key in targets
            for edge in self._incoming.get(key, {}).values()
            if edge.source in targets
        ]

    def layers(self, keys: Iterable[str]) -> dict[str, int]:
        """For each of these items the length of the longest path to it, from 0."""
        ordered = list(keys)
        allowed = set(ordered)
        lengths: dict[str, int] = {}
        for start in ordered:
            self._layer(start, allowed, lengths)
        return lengths

    def _layer(self, start: str, allowed: set[str], lengths: dict[str, int]) -> None:
        """Walk depth first without recursion; edges that close a cycle do not count."""
        stack: list[str] = [start]
        visited: set[str] = set()
        while stack:
            key = stack[-1]
            sources = [s for s in self._incoming.get(key, {}) if s in allowed]
            pending = [s for s in sources if s not in lengths and s not in visited]
            if key not in visited and pending:
                visited.add(key)
                stack += pending
                continue
            visited.add(key)
            lengths.setdefault(
                key, max((lengths[s] + 1 for s in sources if s in lengths), default=0)
            )
            stack.pop()


def data_key(folder: Path) -> str:
    return f"data:{folder}"


def model_key(folder: Path) -> str:
    """The key of a model that is neither of a run nor an export."""
    return f"model:{folder}"


def run_key(run_id: str) -> str:
    return f"run:{run_id}"


def export_key(folder: Path) -> str:
    return f"export:{folder}"


def read_runs(home: Home) -> Iterator[RunFacts]:
    """The runs of a home from their folders, without the record."""
    for folder in subfolders(home.runs):
        try:
            job = read_regular(folder / RunFolder(folder).spec_file.name)
            name = str(from_json(job)["name"])
        except (OSError, ValueError, LookupError, TypeError):
            continue  # not a run, or unreadable: `rebuild` and the window list it
        yield RunFacts(folder.name, name, "", folder, job)


def read_lineage(home: Home, runs: Iterable[RunFacts]) -> Lineage:
    """Read the graph of a home, and the first event of each run. Not for the GUI thread."""
    lineage = Lineage()
    listed = list(runs)
    for folder in _versions(home):
        _add_data(lineage, folder)
    for name, folder in included_models().items():
        if folder.is_dir():
            lineage.add(_model_node(folder, name))
    for folder in subfolders(home.models):
        lineage.add(_model_node(folder, folder.name))
    for run in listed:
        lineage.add(_run_node(run))
    exports = {note.folder: note for note in read_exports(home)}  # the newest for each folder
    for note in exports.values():
        lineage.add(_export_node(note))
    for run in listed:
        _connect_run(lineage, run)
    for note in exports.values():
        source, label = _find_owner(lineage, note.checkpoint)
        lineage.connect(source, export_key(note.folder), label)
    return lineage


def _versions(home: Home) -> Iterator[Path]:
    for dataset in subfolders(home.datasets):
        yield from (f for f in subfolders(dataset) if (f / DATASET_SPEC).is_file())


def read_dataset(folder: Path) -> DatasetSpec | None:
    try:
        return DatasetSpec.model_validate_json(read_regular(folder / DATASET_SPEC))
    except (OSError, ValueError):
        return None


def _add_data(lineage: Lineage, folder: Path) -> str:
    next_folder: Path | None = folder
    while next_folder is not None and (key := data_key(next_folder)) not in lineage.nodes:
        spec = read_dataset(next_folder)
        name = spec.name if spec is not None else next_folder.parent.name
        version = str(spec.version) if spec is not None else next_folder.name
        detail = phrase("version {version}", version=version)
        lineage.add(Node(key, "data", name, detail, next_folder, exists=spec is not None))
        previous = spec.made_from if spec is not None else None
        next_folder = next_folder.parent / str(previous) if previous is not None else None
        if next_folder is not None and spec is not None:
            lineage.connect(data_key(next_folder), key, join(" ", spec.changes[:MAX_CHANGES]))
    return data_key(folder)


def _model_node(folder: Path, name: str) -> Node:
    detail = phrase("model")
    return Node(model_key(folder), "model", name, detail, folder, exists=folder.is_dir())


def _run_node(run: RunFacts) -> Node:
    detail = run.state or phrase("run")
    exists = run.folder.is_dir()
    return Node(run_key(run.id), "run", run.name, detail, run.folder, run.id, exists)


def _export_node(note: ExportNote) -> Node:
    detail = phrase("{form}, {precision}", form=note.form, precision=note.precision)
    exists = note.folder.is_dir()
    return Node(
        export_key(note.folder), "export", note.folder.name, detail, note.folder, "", exists
    )


def _connect_run(lineage: Lineage, run: RunFacts) -> None:
    key = run_key(run.id)
    job = _parse_job(run.job)
    if (data := _parse(DATA, to_json(job.get("data")))) is not None:
        lineage.connect(_data_source(lineage, data), key)
    base = _parse(BASE_MODEL, to_json(job.get("base_model")))
    path = base.tokenizer if isinstance(base, FromScratch) else base.path if base else None
    if path is not None:
        source, label = _find_owner(lineage, path)
        lineage.connect(source, key, label)
    first, _ = RunFolder(run.folder).events_after(0, chunk_size=1)
    if first and isinstance(first[0], Branched):
        branched = first[0]
        source = run_key(branched.folder.name)
        if source not in lineage.nodes:
            missing = RunFacts(branched.folder.name, branched.run, "", branched.folder, b"{}")
            lineage.add(_run_node(missing))
        label = phrase("branch at step {step}", step=branched.step)
        lineage.connect(source, key, label)


def _parse_job(job: str | bytes) -> dict[str, Any]:
    try:
        parsed = from_json(job)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


@lru_cache(8192)
def _parse(kind: TypeAdapter[Parsed], source: bytes) -> Parsed | None:
    try:
        return kind.validate_json(source)
    except ValidationError:  # of another version
        return None


def _data_source(lineage: Lineage, data: StoredData | FileData) -> str:
    if isinstance(data, StoredData):
        return _add_data(lineage, data.folder)
    detail = phrase("file")
    exists = data.path.exists()
    key = f"files:{data.path}"
    return lineage.add(Node(key, "files", data.path.name, detail, data.path, "", exists))


def _find_owner(lineage: Lineage, folder: Path) -> tuple[str, str]:
    """Find the item to which a checkpoint folder belongs; also returns a label of its step."""
    for path in (folder, *folder.parents):
        if path.name == "checkpoints" and run_key(path.parent.name) in lineage.nodes:
            label = phrase("checkpoint of step {step}", step=checkpoint_step(folder))
            return run_key(path.parent.name), label
        if (key := export_key(path)) in lineage.nodes:
            return key, ""
        if (key := model_key(path)) in lineage.nodes:
            return key, ""
    return lineage.add(_model_node(folder, folder.name)), ""

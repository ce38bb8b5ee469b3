"""Requirements to reproduce an item: files, checksums, versions; and whether they still exist."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.source import read_source
from engine.config.dataset import StoredData
from engine.config.job import FromCheckpoint, FromScratch
from engine.errors import StudioError
from engine.files.atomic_write import MANIFEST, sha256
from engine.files.regular_file import MAX_MANIFEST, read_json
from engine.messages.events import Saved
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.runs.lineage import Lineage, Node, read_dataset
from engine.runs.reproducibility import WEIGHTS, read_reproducibility


@dataclass(frozen=True)
class Requirement:
    """One requirement and its identifiers; `problem` says why it cannot be used, or is empty."""

    title: str
    lines: tuple[str, ...]
    problem: str = ""


def list_requirements(
    lineage: Lineage, key: str, cancelled: Callable[[], bool] = lambda: False
) -> list[Requirement]:
    """The requirements of an item in the order of creation, and the item itself.

    Reads the events of runs and the weights of models without a manifest: not for the GUI thread.
    """
    keys = [key, *lineage.ancestors(key)]
    layers = lineage.layers(keys)
    requirements = []
    for item in sorted(keys, key=lambda key: (layers[key], lineage.nodes[key].title)):
        if cancelled():
            break
        node = lineage.nodes[item]
        requirements.append(READERS[node.kind](node))
    return requirements


def format_requirements(requirements: list[Requirement]) -> list[str]:
    lines = list[str]()
    for item in requirements:
        lines.append(item.title)
        lines += [phrase("  {line}", line=line) for line in item.lines]
        if item.problem:
            lines.append(phrase("  Missing or changed: {problem}", problem=item.problem))
    return lines


def _location(node: Node) -> str:
    return phrase("in {place}", place=node.path)


def _missing_problem(node: Node) -> str:
    return "" if node.exists else phrase("it is no longer in {place}", place=node.path)


def _origin(host: str, name: str, revision: str, licence: str) -> str:
    return phrase(
        "from {host}: {name}, revision {revision}, licence {licence}",
        host=host,
        name=name,
        revision=revision,
        licence=licence or "–",
    )


def _data_requirement(node: Node) -> Requirement:
    title = phrase("Data set “{name}”, {version}", name=node.title, version=node.detail)
    spec = read_dataset(node.path)
    if spec is None:
        return Requirement(
            title, (_location(node),), phrase("it is no longer in {place}", place=node.path)
        )
    lines = [_location(node), phrase("fingerprint {digest}", digest=spec.fingerprint)]
    if spec.made_from is not None:
        lines.append(phrase("made from version {version}", version=spec.made_from))
        lines += spec.changes
    if spec.hub is not None:
        name = f"{spec.hub.name} {spec.hub.subset}".strip()
        host = spec.hub.host or phrase("the hub's cache")
        lines.append(_origin(host, name, spec.hub.revision, spec.hub.licence))
    for path in dict.fromkeys(path for paths in spec.sources.values() for path in paths):
        digest = spec.source_sha256.get(str(path))
        lines.append(
            phrase("imported from {path}, SHA-256 {digest}", path=path, digest=digest)
            if digest
            else phrase("imported from {path}", path=path)
        )
    return Requirement(title, tuple(lines))


def _model_requirement(node: Node) -> Requirement:
    title = phrase("Model “{name}”", name=node.title)
    lines = [_location(node)]
    if (digest := weights_checksum(node.path)) is not None:
        lines.append(phrase("{file}, SHA-256 {digest}", file=WEIGHTS, digest=digest))
    if (source := read_source(node.path)) is not None:
        lines.append(_origin(source.host, source.model, source.revision, source.licence))
    return Requirement(title, tuple(lines), _missing_problem(node))


def weights_checksum(folder: Path) -> str | None:
    """SHA-256 of the weights, from the manifest or else from the file; None without weights."""
    try:
        if (folder / MANIFEST).is_file():
            files = read_json(folder / MANIFEST, MAX_MANIFEST)["files"]
            return str(files[WEIGHTS]["sha256"])
        return sha256(folder / WEIGHTS)
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _run_requirement(node: Node) -> Requirement:
    title = phrase("Run “{name}”", name=node.title)
    run = RunFolder(node.path)
    try:
        job = run.job()
    except StudioError as error:
        return Requirement(title, (_location(node),), error.problem)
    lines = [
        _location(node),
        phrase("{file}, SHA-256 {digest}", file=run.spec_file.name, digest=sha256(run.spec_file)),
    ]
    lines.append(phrase("random seed {seed}", seed=job.training.seed))
    problem = ""
    if isinstance(job.data, StoredData) and job.data.fingerprint:
        spec = read_dataset(job.data.folder)
        if spec is not None and spec.fingerprint != job.data.fingerprint:
            problem = phrase("its data set no longer has the rows that it was trained on")
    base = job.base_model
    if isinstance(base, FromCheckpoint) and not base.path.is_dir():
        problem = phrase("its base model is no longer in {place}", place=base.path)
    elif isinstance(base, FromScratch) and base.tokenizer and not base.tokenizer.exists():
        problem = phrase("its tokenizer is no longer in {place}", place=base.tokenizer)
    lines += _origin_lines(run)
    return Requirement(title, tuple(lines), problem)


def _origin_lines(run: RunFolder) -> Iterator[str]:
    """The environment, and the expected checksums of the weights."""
    report = read_reproducibility(run)
    if report.environment:
        environment = ", ".join(f"{name} {value}" for name, value in report.environment.items())
        yield phrase("environment: {versions}", versions=environment)
    if report.branched is not None:
        yield report.branched.sentence()
    saved = [event for event in run.milestones() if isinstance(event, Saved) and event.weights]
    if saved:
        yield phrase(
            "weights at step {step}: SHA-256 {digest}",
            step=saved[-1].step,
            digest=saved[-1].weights,
        )


def _path_requirement(node: Node, title: str) -> Requirement:
    return Requirement(title, (_location(node),), _missing_problem(node))


READERS: dict[str, Callable[[Node], Requirement]] = {
    "files": lambda node: _path_requirement(node, phrase("File “{name}”", name=node.title)),
    "data": _data_requirement,
    "model": _model_requirement,
    "run": _run_requirement,
    "export": lambda node: _path_requirement(
        node, phrase("Export “{name}”, {form}", name=node.title, form=node.detail)
    ),
}

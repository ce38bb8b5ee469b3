"""Texts about a data set, for the list and its page."""

from pathlib import Path

from app.library import DataEntry
from app.pages.data.cells import column_roles, one_line
from app.translation import in_language, tr, translated
from app.widgets.entries import Entry
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_sizes, split_title, targets_text
from app.widgets.text.labels import TextStyle
from app.widgets.text.spec_texts import title_of
from engine.config.dataset import DatasetSpec, Mapping, SplitName
from engine.data.columns.fit import unlabelled_rows
from engine.data.datasets.collecting import list_files
from engine.data.formats import FORMATS
from engine.phrases import join

DELIMITERS = {",": ",", ";": ";", "|": "|", "\t": "Tab"}
MAX_CHANGES = 10
MAX_LINE_CHANGES = 2  # on the card
MAX_FILES = 4  # named on the card
RANDOM_SPLITS: tuple[SplitName, ...] = ("validation", "test")  # splits drawn at random

Fact = tuple[str, str] | tuple[str, str, TextStyle]


def dataset_entry(data: DataEntry, source: str) -> Entry:
    """Card on the list; `source` as returned by `source_state`, or “” if unknown."""
    spec = data.spec
    if spec is None:
        return Entry(
            data.folder, data.name, data.problem, "triangle-alert", mark=tr("Damaged"), warns=True
        )
    return Entry(
        data.folder,
        spec.name,
        summary_line(spec),
        "tags" if column_roles(spec.mapping).keys() - {spec.mapping.text} else "file-text",
        figure=numbers.count(sum(spec.rows.values())),
        unit=tr("rows"),
        mark=tr("Source changed") if source == "changed" else "",
        warns=source == "changed",
    )


def summary_line(spec: DatasetSpec, has_changes: bool = True) -> str:
    """Version and what changed in it, classes, splits and source on one line."""
    version = tr("version {0}").format(spec.version)
    if spec.changes and has_changes:
        changes = join(" ", spec.changes[:MAX_LINE_CHANGES])
        version = tr("{0}: {1}").format(version, translated(changes).rstrip("."))
    parts = [version, targets_text(spec)]
    if spec.mapping.pair is not None:
        parts.append(tr("text pairs"))
    files = list_files(spec.sources)
    names = ", ".join(one_line(path.name[:60]) for _, path in files[:MAX_FILES])
    if len(files) > MAX_FILES:
        names += ", …"
    if unlabelled := sum(unlabelled_rows(spec).values()):
        fraction = numbers.percent(unlabelled / sum(spec.rows.values()))
        parts.append(tr("{0} without a label").format(fraction))
    return " · ".join([*parts, split_sizes(spec.rows, " / "), names])


def dataset_facts(spec: DatasetSpec, folder: Path, source: str) -> list[Fact]:
    """Properties for the data set's page."""
    roles = [
        f"{title_of(role, Mapping.model_fields[role])}: {one_line(column[:100])}"
        for column, role in column_roles(spec.mapping).items()
    ]
    sizes = [f"{split_title(name)}: {numbers.count(rows)}" for name, rows in spec.rows.items()]
    rows, unlabelled = sum(spec.rows.values()), sum(unlabelled_rows(spec).values())
    facts: list[Fact] = [
        (tr("Rows"), numbers.count(rows)),
        *([(tr("Without a label"), _part(unlabelled, rows))] if unlabelled else []),
        (tr("Splits"), "\n".join(sizes)),
        *_lineage(spec),
        (tr("Split by"), _split(spec)),
        (tr("Columns"), "\n".join(roles)),
        (tr("File format"), _reading(spec)),
        (tr("Source"), _source(spec)),
    ]
    if source:
        facts.append((tr("Source status"), *_status(source)))
    facts.append((tr("Folder"), str(folder)))
    facts.append((tr("Fingerprint"), spec.fingerprint[:16]))
    return facts


def _part(count: int, total: int) -> str:
    return tr("{0} ({1})").format(numbers.count(count), numbers.percent(count / total))


def _source(spec: DatasetSpec) -> str:
    """Imported files, or the download from the hub."""
    if spec.hub is None:
        return "\n".join(str(path) for _, path in list_files(spec.sources))
    lines = [
        f"{spec.hub.name} {spec.hub.subset}".strip(),
        tr("Revision {0}").format(spec.hub.revision[:12]),
    ]
    if spec.hub.licence:
        lines.append(tr("Licence: {0}").format(spec.hub.licence))
    return "\n".join(map(one_line, lines))


def _lineage(spec: DatasetSpec) -> list[Fact]:
    """Parent of a version, and the differences."""
    facts: list[Fact] = []
    if spec.made_from is not None:
        facts.append((tr("Made from"), tr("version {0}").format(spec.made_from)))
    changes = join("\n", spec.changes[:MAX_CHANGES])
    return [*facts, (tr("Changes"), translated(changes))] if changes else facts


def _status(source: str) -> tuple[str, TextStyle]:
    """State of the source since the import."""
    texts: dict[str, tuple[str, TextStyle]] = {
        "changed": (tr("Changed since the import. Import it again as a new version."), "warn"),
        "missing": (tr("No longer available. The imported rows are kept."), "muted"),
        "same": (tr("Unchanged since the import."), "body"),
        "hub": (tr("Fetched from the Hugging Face Hub at this revision."), "body"),
    }
    return texts[source]


def _reading(spec: DatasetSpec) -> str:
    reading = spec.reading
    info = FORMATS[reading.format]
    parts = [in_language(info.title)]
    if "encoding" in info.options:
        parts.append(reading.encoding)
    if info.delimiter and (delimiter := DELIMITERS.get(reading.delimiter)):
        parts.append(tr("delimiter {0}").format(delimiter))
    if "header" in info.options:
        header = tr("with header row")
        parts.append(header if reading.header else tr("without header row"))
    return ", ".join(parts)


def _split(spec: DatasetSpec) -> str:
    split = spec.split
    if split.column is not None and split.by == "name":
        return tr("Column “{0}”").format(split.column[:100])
    parts = [
        f"{split_title(name)} {numbers.percent(fraction, 0)}"
        for name in RANDOM_SPLITS
        if name not in spec.sources and (fraction := getattr(split, name))
    ]
    templates = {
        "name": tr("Random split (seed {1}): {0}"),
        "time": tr("By the time in “{2}”, newest last: {0}"),
        "group": tr("By the groups in “{2}” (seed {1}): {0}"),
    }
    if parts:
        column = (split.column or "")[:100]
        return templates[split.by].format(", ".join(parts), split.seed, column)
    if len(spec.sources) > 1:
        return tr("One file for each split")
    return tr("Not split")

"""Codebooks of data sets: from labels, and from and to the tables that people write."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import ValidationError

from engine.config.codebook import MAX_COLOUR, Code, Codebook, CodingKind
from engine.config.dataset import DatasetSpec
from engine.config.validation import describe_validation
from engine.data.columns.label_sets import (
    count_label_sets,
    join_labels,
    parse_label_sets,
    parse_yes_no,
)
from engine.data.columns.lists import parse_texts
from engine.data.columns.numbers import is_scale, parse_number
from engine.data.columns.spellings import by_plain_form, plain_label
from engine.data.columns.text_spans import format_spans, read_spans
from engine.data.datasets.editing import PendingEdits
from engine.data.datasets.store import Dataset
from engine.data.formats.reading import TableReader, read, recognise_reading
from engine.data.formats.workbook import WORKBOOK, sheets_with_rows
from engine.errors import BadFile
from engine.files.table_files import write_table
from engine.phrases import phrase

COLUMNS = {
    "key": ("code", "key", "id", "no", "nr", "number", "value", "abbreviation", "kürzel", "nummer"),
    "label": (
        *("label", "name", "category", "class", "tag", "title", "theme", "code name", "topic"),
        *("kategorie", "bezeichnung", "catégorie", "étiquette", "categoría", "etiqueta"),
    ),
    "definition": (
        *("definition", "description", "meaning", "explanation", "comment", "memo", "code memo"),
        *("rule", "coding rule", "kodierregel", "beschreibung", "définition", "definición"),
    ),
    "examples": (
        *("example", "typical example", "inclusion", "include", "anchor example", "quote"),
        *("beispiel", "beispiele", "ankerbeispiel", "ankerbeispiele", "exemple", "ejemplo"),
    ),
    "counterexamples": (
        *("counter example", "counterexample", "non example", "negative example", "exclusion"),
        *("exclude", "not", "gegenbeispiel", "gegenbeispiele", "contre exemple", "contraejemplo"),
    ),
    "colour": ("colour", "color", "farbe"),
    "deprecated": ("deprecated",),
}
"""Names of the columns of a codebook: one without an underscore, a hyphen, a number or a plural."""
HEADINGS = 3  # lines with titles of several columns, at most
SHEETS = re.compile(r"code ?(book|plan|s\b|system)|kategorien|codierung|kodier", re.IGNORECASE)
Cells = dict[str, list[str]]  # of a line, by role
TITLES = ("code", "label", "definition", "example", "counter-example", "colour", "deprecated")


def codebook_of(spec: DatasetSpec, column: str | None = None) -> Codebook | None:
    """The codebook of the label column, with all labels that its rows have; None without one."""
    if spec.has_text_spans and column in (None, spec.mapping.tags):
        return add_labels(spec.codebooks[spec.mapping.tags or ""], spec.spans)
    column = column or spec.mapping.label
    if column is None or column != spec.mapping.label or spec.mapping.endings:
        return spec.codebooks.get(column or "")
    stored = spec.codebooks.get(column)
    sets = count_label_sets(spec.labels)
    if stored is None:
        if is_scale(spec.labels):
            return None
        stored = Codebook(kind="label" if sets is None else "labels")
    if stored.kind == "number":
        return stored
    return add_labels(stored, spec.labels if sets is None else sets)


def add_labels(codebook: Codebook, labels: Iterable[str]) -> Codebook:
    """The codebook with the labels that it does not have yet."""
    known = {code.label for code in codebook.codes}
    new = tuple(
        Code(label=label) for label in dict.fromkeys(labels) if label and label not in known
    )
    return codebook.model_copy(update={"codes": codebook.codes + new}) if new else codebook


def write_codebook(codebook: Codebook, file: Path) -> None:
    """Write a line for each label, as CSV, Excel or another table by the suffix of `file`.

    Several examples are lines of one cell. Raises StudioError for another suffix.
    """
    lines = [
        (
            *(code.key, code.label, code.definition),
            *("\n".join(code.examples), "\n".join(code.counterexamples)),
            *("" if code.colour is None else str(code.colour), "yes" if code.deprecated else ""),
        )
        for code in codebook.codes
    ]
    cells = [list(column) for column in zip(*lines, strict=True)] or [[]] * len(TITLES)
    arrays = [pa.array(column, pa.string()) for column in cells]
    table = pa.Table.from_arrays(arrays, names=list(TITLES))
    write_table(file, table.schema, [table])


def read_codebook(file: Path, codebook: Codebook | None = None) -> Codebook:
    """Read the labels of a table; kind and scale are those of `codebook`, widened to the numbers.

    Of a workbook, the sheet called like a codebook is read, else the first one with columns of one.
    The columns are found by their names (`COLUMNS`). A line without a label adds its cells to the
    label above. If only a column of codes is there, the codes are the labels.

    Raises BadFile, with the line, if no column has labels, or those of a scale are no whole
    numbers; StudioError if a label or key is there twice.
    """
    codebook = codebook or Codebook()
    table = _open(_find_sheet(file))
    rows = [*table]
    above, roles = _find_heading([table.columns, *(row.cells for row in rows[:HEADINGS])])
    if "label" not in roles:
        raise BadFile(
            file,
            phrase("no column has the labels of a codebook."),
            phrase(
                "Name a column “label”; its columns are {columns}.",
                columns=", ".join(name[:60] for name in table.columns[:20]),
            ),
        )
    lines = dict[int, Cells]()
    for row in rows[above:]:
        cells: Cells = {role: [] for role in COLUMNS}
        for role, cell in zip(roles, row.cells, strict=True):
            if role is not None and (text := cell.strip()):
                cells[role].append(text)
        if any(cells.values()):
            lines[row.line] = cells
    if _are_groups(
        [cells["label"] for cells in lines.values()], [c["key"] for c in lines.values()]
    ):
        for cells in lines.values():
            group, cells["label"], cells["key"] = cells["label"], cells["key"], []
            cells["definition"] = [*group, *cells["definition"]]
    codes = list[Code]()
    for line, cells in lines.items():
        if codebook.kind == "number" and cells["label"]:
            _read_number(cells, file, line)
        codes = _add(codes, cells, file, line)
    if not codes:
        raise BadFile(file, phrase("the codebook has no labels."), phrase("Write a line for each."))
    scale = [int(code.label) for code in codes] if codebook.kind == "number" else []
    ends = {
        "lowest": min([codebook.lowest, *scale]),
        "highest": max([codebook.highest, *scale]),
    }
    try:
        return Codebook.model_validate(
            {**dict(codebook), **ends, "codes": [dict(code) for code in codes]}
        )
    except ValidationError as error:
        raise describe_validation(error, phrase("The codebook {file}", file=file.name)) from error


def _read_number(cells: Cells, file: Path, line: int) -> None:
    """Let a number of a scale be the label; a label whose key is the number defines it."""
    if parse_number(cells["label"][0]) is None and cells["key"]:
        cells["definition"] = [*cells["label"], *cells["definition"]]
        cells["label"], cells["key"] = cells["key"], []
    number = parse_number(cells["label"][0])
    if number is None or number % 1:
        raise BadFile(
            file,
            phrase("“{label}” is no whole number of a scale.", label=cells["label"][0][:60]),
            phrase("Write the numbers as codes, or choose labels instead of a number."),
            line=line,
        )
    cells["label"] = [str(int(number))]


def _open(file: Path) -> TableReader:
    return read(file, recognise_reading(file)[0].model_copy(update={"header": True}))


def _find_sheet(file: Path) -> Path:
    """The sheet of a workbook that is a codebook; other files, and named sheets, as they are."""
    reading = recognise_reading(file)[0]
    if reading.format != WORKBOOK.name or not file.is_file():
        return file
    sheets = {name: file / name for name in sheets_with_rows(file)}
    named = [path for name, path in sheets.items() if SHEETS.search(name)]
    if named or len(sheets) < 2:
        return named[0] if named else file
    roles = ((path, {*_roles(_open(path).columns)}) for path in sheets.values())
    fitting = (path for path, found in roles if "label" in found and len(found - {None}) > 1)
    return next(fitting, file)


def _roles(columns: Sequence[str]) -> list[str | None]:
    """The field of a label that each column has; the last column of codes has the labels if no
    other has."""
    roles = [_role(name) for name in columns]
    if "label" not in roles and "key" in roles:
        roles[len(roles) - 1 - roles[::-1].index("key")] = "label"
    return roles


def _find_heading(lines: Sequence[Sequence[str]]) -> tuple[int, list[str | None]]:
    """The number of lines above the labels, without the first, and the roles of the columns.

    Above the names of the columns may be lines with titles of several columns.
    """
    found = [_roles(cells) for cells in lines]
    best = max(range(len(found)), key=lambda place: len({*found[place]} - {None}))
    return best, found[best]


def _are_groups(labels: list[list[str]], keys: list[list[str]]) -> bool:
    """True if labels repeat and no key does: a column has the groups of the codes in another."""
    named = [(*label,) for label, key in zip(labels, keys, strict=True) if key]
    codes = [(*key,) for key in keys if key]
    return len(codes) == len(keys) and len({*named}) < len(named) and len({*codes}) == len(codes)


def _add(codes: list[Code], cells: Cells, file: Path, line: int) -> list[Code]:
    """Add a line of the table to the labels."""
    examples, counterexamples = (
        tuple(text for cell in cells[name] for part in cell.splitlines() if (text := part.strip()))
        for name in ("examples", "counterexamples")
    )
    definition = "\n".join(cells["definition"])
    label = " – ".join(cells["label"])
    if not label or (codes and codes[-1].label == label):
        if not codes:
            raise BadFile(
                file, phrase("the line has no label."), phrase("Write one in it."), line=line
            )
        last = codes[-1]
        update = {
            "definition": "\n".join(filter(None, (last.definition, definition))),
            "examples": last.examples + examples,
            "counterexamples": last.counterexamples + counterexamples,
        }
        return [*codes[:-1], last.model_copy(update=update)]
    colour = next((cell for cell in cells["colour"] if cell in _COLOURS), None)
    code = {
        "label": label,
        "key": "".join(cells["key"][:1]),
        "definition": definition,
        "examples": examples,
        "counterexamples": counterexamples,
        "colour": None if colour is None else int(colour),
        "deprecated": any(parse_yes_no(cell) is not False for cell in cells["deprecated"]),
    }
    try:
        return [*codes, Code.model_validate(code)]
    except ValidationError as error:
        problem = describe_validation(error, phrase("the label"))
        raise BadFile(file, problem.problem, problem.advice, line=line) from error


_COLOURS = {str(number) for number in range(1, MAX_COLOUR + 1)}


def _role(name: str) -> str | None:
    """The field of a label that a column of this name has."""
    plain = re.sub(r"[\W\d_]+", " ", name.casefold()).strip()
    singular = re.sub(r"s\b", "", plain)
    for role, names in COLUMNS.items():
        if plain in names or singular in [re.sub(r"s\b", "", given) for given in names]:
            return role
    return None


def renamed_by_key(codebook: Codebook, labels: Iterable[str]) -> dict[str, str]:
    """New names of labels that rows have by their keys in the codebook, such as 1 for “price”.

    Labels may spell the keys otherwise, such as 1.0.
    """
    names = {code.key: code.label for code in codebook.codes if code.key}
    keys = by_plain_form(names) | {key: key for key in names}
    given = {label: keys.get(label, keys.get(plain_label(label), "")) for label in labels if label}
    is_coded = bool(given) and all(given.values()) and not given.keys() <= {*names.values()}
    return {label: names[given[label]] for label in sorted(given)} if is_coded else {}


def recode(
    dataset: Dataset,
    column: str,
    renamed: Mapping[str, str],
    edits: PendingEdits | None = None,
    kind: CodingKind = "label",
) -> dict[int, str]:
    """New cells of the rows whose labels are renamed, by row; “” removes a label.

    Args:
        edits: of the version; their cells replace those stored.
        kind: what the cells hold.
    """
    encoded: Any = dataset.column(column).combine_chunks().dictionary_encode()
    names = [(cell or "").strip() for cell in encoded.dictionary.to_pylist()]
    indices = encoded.indices.fill_null(-1).to_numpy()
    edited = (
        {}
        if edits is None
        else {row: edit.cells[column] for row, edit in edits.rows.items() if column in edit.cells}
    )
    new = dict(zip(names, _recode_cells(names, renamed, kind), strict=True))
    changed = np.array([new[name] != name for name in names] + [False], dtype=bool)
    rows = {
        row: new[names[indices[row]]]
        for row in np.flatnonzero(changed[indices]).tolist()
        if row not in edited
    }
    later = dict(zip(edited, _recode_cells([*edited.values()], renamed, kind), strict=True))
    changed_edits = {row: cell for row, cell in later.items() if cell != edited[row]}
    return dict(sorted((rows | changed_edits).items()))


def _recode_cells(cells: Sequence[str], renamed: Mapping[str, str], kind: CodingKind) -> list[str]:
    if kind == "spans":
        return [_recode_spans(cell, renamed) for cell in cells]
    if kind != "labels":
        return [renamed.get(cell, cell) for cell in cells]
    return [
        join_labels(
            [*dict.fromkeys(new for label in labels if (new := renamed.get(label, label)))],
            as_list=parse_texts(cell) is not None,
        )
        if renamed.keys() & {*labels}
        else cell
        for cell, labels in zip(cells, parse_label_sets(cells), strict=True)
    ]


def _recode_spans(cell: str, renamed: Mapping[str, str]) -> str:
    spans = [(span, renamed.get(span.label, span.label)) for span in read_spans(cell) or ()]
    if all(span.label == label for span, label in spans):
        return cell
    return format_spans([span._replace(label=label) for span, label in spans if label])


def labels_in(cell: str, kind: CodingKind) -> list[str]:
    """The labels of a filled cell that was coded."""
    if kind == "spans":
        return [span.label for span in read_spans(cell) or ()]
    return [*parse_label_sets([cell])[0]] if kind == "labels" else [cell]


def free_keys(codes: Sequence[Code], keys: str) -> dict[str, Code]:
    """The label of each key: its own if that is a letter or digit, else the next free of `keys`."""
    own = {c.key.lower(): c for c in codes if len(c.key) == 1 and c.key.isalnum()}
    rest = iter([key for key in keys if key not in own])
    found = dict(own)
    for code in codes:
        if code not in own.values() and (key := next(rest, None)) is not None:
            found[key] = code
    order = {code.label: place for place, code in enumerate(codes)}
    return dict(sorted(found.items(), key=lambda item: order[item[1].label]))

"""Export data sets in every format and read them with its own library; run with the peers.

    python exported.py FOLDER

Prints a JSON object: by format and kind of rows “right”, “does not fit”, or what is wrong.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import spacy
from label_studio_sdk.converter import Converter
from spacy.tokens import Doc, DocBin

from engine.config.dataset import Mapping, Split
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.data.writers import WRITERS
from engine.data.writers.export import Export
from engine.data.writers.writer import write_export

TEXTS = [
    *("A fine day, isn't it?", 'He said "no"; twice\tor so', "two lines\nof one  text"),
    *("an emoji 👩🏽‍🚒 in a text", "שלום עולם and more", "=1+1", "日本語の文です。", "@all of you"),
]
LABELS = ["good", "bad", "so, so", "bad"] * 2
SETS = [["a", "b"], ["b"], ["a", "c"], ["c"]] * 2
SENTENCES = [
    ["Maria", "Keller", "lives", "in", "New", "York"],
    ["Nobody", "😀", "sees", "Rome"],
] * 4
TAGS = [["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC"], ["O", "O", "O", "B-LOC"]] * 4
SPANS = [[("Maria Keller", "PER"), ("New York", "LOC")], [("Rome", "LOC")]] * 4
MARKS = [  # nested, overlapping, at parts of words, over two lines, behind an emoji
    [(0, 10, "PER"), (2, 6, "LOC"), (7, 10, "PER")],
    [(3, 7, "PER"), (8, 12, "LOC"), (9, 19, "PER")],
    [(4, 12, "LOC"), (0, 3, "PER")],
    [(9, 13, "PER")],
    *([(0, 4, "LOC"), (5, 9, "PER")], [], [(0, 2, "LOC")], [(1, 4, "PER"), (1, 7, "LOC")]),
]
KINDS: dict[str, tuple[dict[str, list[str]], Mapping]] = {
    "classes": ({"text": TEXTS, "label": LABELS}, Mapping(text="text", label="label")),
    "sets": (
        {"text": TEXTS, "label": ["|".join(one) for one in SETS]},
        Mapping(text="text", label="label"),
    ),
    "tags": (
        {"words": [" ".join(w) for w in SENTENCES], "tags": [" ".join(t) for t in TAGS]},
        Mapping(text="words", tags="tags"),
    ),
    "spans": (
        {"text": TEXTS, "spans": [json.dumps(spans) for spans in MARKS]},
        Mapping(text="text", tags="spans"),
    ),
}
Found = list[tuple[Any, Any]]  # text and annotations of each row
CONFIG = '<View><Text name="text" value="$text"/><{0} name="label" toName="text">{1}</{0}></View>'


def expected(kind: str) -> Found:
    """Texts and labels, sets or spans."""
    texts = [" ".join(words) for words in SENTENCES] if kind == "tags" else TEXTS
    marks = [sorted(spans) for spans in MARKS]
    found = {"classes": LABELS, "sets": SETS, "tags": SPANS, "spans": marks}[kind]
    return list(zip(texts, found, strict=True))


def of_columns(columns: dict[str, list[Any]], kind: str) -> Found:
    """Rows of a table, whose cells may be lists or texts."""
    if kind == "spans":
        cells = [json.loads(c) if isinstance(c, str) else c for c in columns["spans"]]
        return [(text, _marks(cell)) for text, cell in zip(columns["text"], cells, strict=True)]
    if kind != "tags":
        labels = [one.split("|") if kind == "sets" and isinstance(one, str) else one
                  for one in columns["label"]]  # fmt: skip
        return list(zip(columns["text"], map(_plain, labels), strict=True))
    words, tags = (
        [cell.split(" ") if isinstance(cell, str) else list(cell) for cell in columns[name]]
        for name in ("words", "tags")
    )
    return [(" ".join(w), _spans(w, t)) for w, t in zip(words, tags, strict=True)]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else list(value)


def _marks(spans: Any) -> list[tuple[int, int, str]]:
    """Sorted spans of lists, or of objects; None has none."""
    values = (
        (span["start"], span["end"], span["label"]) if isinstance(span, dict) else span
        for span in (spans if spans is not None else ())
    )
    return sorted((start, end, label) for start, end, label in values)


def _spans(words: list[str], tags: list[str]) -> list[tuple[str, str]]:
    spans: list[tuple[str, str]] = []
    for word, tag in zip(words, tags, strict=True):
        if tag[0] == "B":
            spans.append((word, tag[2:]))
        elif tag[0] == "I":
            spans[-1] = (f"{spans[-1][0]} {word}", tag[2:])
    return spans


def read_hf(path: Path, kind: str) -> Found:
    parts = datasets.load_from_disk(str(path)).values()
    columns: dict[str, list[Any]] = {}
    for part in parts:
        for name in part.column_names:
            columns.setdefault(name, []).extend(part[name])
    return of_columns(columns, kind)


def read_table(read: Callable[..., Any], **options: Any) -> Callable[[Path, str], Found]:
    def rows(path: Path, kind: str) -> Found:
        frame = read(path, **options)
        columns = {name: frame[name].tolist() for name in frame.columns}
        if path.suffix in (".csv", ".tsv"):  # their formulas are escaped
            columns = {n: [str(c).removeprefix("'") for c in cells] for n, cells in columns.items()}
        return of_columns(columns, kind)

    return rows


def of_docs(docs: list[Doc], kind: str) -> Found:
    if kind == "spans":
        groups = [doc.spans.get("sc", doc.ents) for doc in docs]
        found = [[(s.start_char, s.end_char, s.label_) for s in group] for group in groups]
        return [(doc.text, sorted(spans)) for doc, spans in zip(docs, found, strict=True)]
    if kind == "tags":
        return [(doc.text, [(ent.text, ent.label_) for ent in doc.ents]) for doc in docs]
    labels = [[name for name, score in doc.cats.items() if score] for doc in docs]
    return [(d.text, x[0] if kind == "classes" else x) for d, x in zip(docs, labels, strict=True)]


def read_spacy(path: Path, kind: str) -> Found:
    vocab = spacy.blank("xx").vocab
    items = json.loads(path.read_text("utf-8"))
    return of_docs([Doc(vocab).from_json(item, validate=True) for item in items], kind)


def read_docbin(path: Path, kind: str) -> Found:
    docs = DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab)
    return of_docs(list(docs), kind)


def read_label_studio(path: Path, kind: str) -> Found:
    names = "".join(f'<{"Label" if kind in ("tags", "spans") else "Choice"} value="{x}"/>'
                    for x in ("PER", "LOC", *LABELS[:3], "a", "b", "c"))  # fmt: skip
    config = CONFIG.format("Labels" if kind in ("tags", "spans") else "Choices", names)
    source, target = path.parent / f"{kind}-in", path.parent / f"{kind}-out"
    source.mkdir(), target.mkdir()
    (source / "tasks.json").write_bytes(path.read_bytes())
    Converter(config, str(path.parent), download_resources=False).convert(
        str(source), str(target), "JSON_MIN"
    )
    items = json.loads(next(target.glob("*.json")).read_text("utf-8"))
    if kind == "spans":
        lists = [item.get("label") or [] for item in items]
        found = [[(s["start"], s["end"], s["labels"][0]) for s in spans] for spans in lists]
        return [(i["text"], sorted(spans)) for i, spans in zip(items, found, strict=True)]
    if kind == "tags":
        return [(i["text"], [(s["text"], s["labels"][0]) for s in i["label"]]) for i in items]
    labels = [item["label"] for item in items]
    chosen = [one["choices"] if isinstance(one, dict) else one for one in labels]
    if kind == "sets":
        chosen = [[one] if isinstance(one, str) else one for one in chosen]
    return [(item["text"], one) for item, one in zip(items, chosen, strict=True)]


TEXT = {"dtype": str, "keep_default_na": False}
READERS: dict[str, Callable[[Path, str], Found]] = {
    "csv": read_table(pd.read_csv, **TEXT),
    "tsv": read_table(pd.read_csv, sep="\t", **TEXT),
    "excel": read_table(pd.read_excel, engine="openpyxl", **TEXT),
    "parquet": read_table(pd.read_parquet),
    "jsonl": read_table(pd.read_json, lines=True),
    "hf": read_hf,
    "spacy": read_spacy,
    "docbin": read_docbin,
    "label_studio": read_label_studio,
}
"""Formats with a library that reads them; Prodigy, doccano and brat are not on PyPI."""


def store(kind: str, folder: Path) -> Dataset:
    columns, mapping = KINDS[kind]
    file = folder / f"{kind}.parquet"
    pq.write_table(pa.table(columns), file)
    version = folder / kind / "1"
    reading = recognise(file).reading
    import_dataset(kind, {"train": file}, reading, mapping, Split(validation=0), version)
    return open_dataset(version)


def main(folder: Path) -> None:
    outcomes: dict[str, dict[str, str]] = {}
    for kind in KINDS:
        export = Export.choose(store(kind, folder))
        for name, read in READERS.items():
            writer = WRITERS[name]
            path = folder / f"{kind}-{name}{writer.suffix}"
            write_export(export, writer, path)
            found = [(text, _plain(labels)) for text, labels in read(path, kind)]
            wrong = [
                f"{a} instead of {b}" for a, b in zip(found, expected(kind), strict=True) if a != b
            ]
            outcomes.setdefault(name, {})[kind] = wrong[0] if wrong else "right"
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

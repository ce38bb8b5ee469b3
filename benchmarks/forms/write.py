"""Write small files with the writers of their tools, and what is in them; run with their peers.

    python write.py FOLDER

`files.json` has a row for each file: tool, path, the kind of its rows (a key of ROWS), and, if it
cannot be read, a part of the name that its refusal must give.
"""

import csv
import json
import sys
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import argilla
import cassis
import datasets
import docx
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import spacy
from argilla.records._io import GenericIO, JsonIO
from label_studio_sdk.converter import Converter
from spacy.tokens import DocBin
from spacy.training import docs_to_json, offsets_to_biluo_tags

NAMES, WORDS = ["good", "bad", "so-so"], ["Maria", "Keller", "lives", "in", "New", "York", "."]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O"]
TEXTS = [
    *("A fine day, isn't it?", 'He said "no", twice', "Über naïve Größen – ein Satz"),
    *("日本語の文です。", "An emoji 😀 in a text", "two lines\nof one text", "a tab\tin a text"),
    *("semicolons; here; and there", "pipes | and # signs", "it costs 3,50 or 1.000 in all"),
    *("back\\slash and 'quotes'", "the last of them all"),
]
PERSONS = ("Ann", "Bob", "Zoë", "I", "We", "O")
SENTENCES = [[*WORDS[:2], "and", person, *WORDS[2:]] for person in PERSONS]
MARKS = [[*TAGS[:2], "O", "O", *TAGS[2:]] for _ in SENTENCES]
SETS = [["a", "b"], ["b"], ["a", "c"], ["c", "b"], ["a"], ["c"]] * 2
ANSWERS = [{"text": [text[2:8]], "answer_start": [2]} for text in TEXTS]
ROWS: dict[str, dict[str, list[Any]]] = {
    "classes": {"text": TEXTS, "label": NAMES * 4},
    "scores": {"text": TEXTS, "score": [n * 0.37 + 0.1 for n in range(12)]},
    "pairs": {
        "sentence1": TEXTS,
        "sentence2": [text.upper() for text in TEXTS],
        "label": ["yes", "no"] * 6,
    },
    "sets": {"text": TEXTS, "labels": SETS},
    "flags": {"text": TEXTS, "labels": [[float(x in labels) for x in "abc"] for labels in SETS]},
    "words": {"tokens": SENTENCES, "intent": ["ask", "tell"] * 3},
    "tags": {"tokens": SENTENCES, "ner_tags": MARKS},
    "questions": {
        "id": [f"q{n}" for n in range(12)],
        "question": [f"What is {n}?" for n in range(12)],
        "context": TEXTS,
        "answers": ANSWERS,
    },
}
FLAT = ("classes", "scores", "pairs")
Made = Iterator[tuple[str, str, str]]  # file, kind of its rows, part of the name of a refusal
TOOLS: dict[str, Callable[[Path], Made]] = {}


def tool(write: Callable[[Path], Made]) -> Callable[[Path], Made]:
    TOOLS[write.__name__] = write
    return write


@tool
def datasets_(folder: Path) -> Made:
    for kind, rows in ROWS.items():
        data = datasets.Dataset.from_dict(rows)
        data.to_csv(folder / f"{kind}.csv")
        data.to_csv(folder / f"{kind}.tsv", sep="\t")
        data.to_json(folder / f"{kind}.jsonl")
        data.to_json(folder / f"{kind}.json", lines=False)
        data.to_json(folder / f"{kind}.jsonl.gz", compression="gzip")
        data.to_parquet(folder / f"{kind}.parquet")
        data.save_to_disk(folder / kind)
        yield from ((f"{kind}.{end}", kind, "") for end in ("csv", "tsv", "jsonl", "json"))
        yield from ((f"{kind}.{end}", kind, "") for end in ("jsonl.gz", "parquet"))
        yield f"{kind}/data-00000-of-00001.arrow", kind, ""
        yield f"{kind}/dataset_info.json", kind, "settings file"
    for kind, column, names in (
        ("classes", "label", NAMES),
        ("tags", "ner_tags", ["O", *sorted(set(TAGS) - {"O"})]),
    ):
        feature = datasets.ClassLabel(names=names)
        data = datasets.Dataset.from_dict(ROWS[kind])
        feature = datasets.List(feature) if kind == "tags" else feature
        data.cast_column(column, feature).to_parquet(folder / f"{kind}_numbers.parquet")
        yield f"{kind}_numbers.parquet", kind, ""


@tool
def pandas(folder: Path) -> Made:
    for kind, rows in ROWS.items():
        frame = pd.DataFrame(rows)
        frame.to_csv(folder / f"{kind}.csv", index=False)
        frame.to_csv(folder / f"{kind}_index.csv")
        frame.to_csv(folder / f"{kind}_semicolon.csv", index=False, sep=";")
        frame.to_csv(folder / f"{kind}.csv.xz", index=False, encoding="utf-8-sig")
        frame.to_json(folder / f"{kind}.jsonl", orient="records", lines=True)
        for orient in ("records", "columns", "split", "index", "table"):
            frame.to_json(folder / f"{kind}_{orient}.json", orient=orient, indent=1)
        frame.to_parquet(folder / f"{kind}.parquet")
        frame.to_feather(folder / f"{kind}.feather")
        frame.to_excel(folder / f"{kind}.xlsx", index=False)
        frame.to_pickle(folder / f"{kind}.pkl")
        yield from ((f"{kind}{end}.csv", kind, "") for end in ("", "_index", "_semicolon"))
        yield from ((f"{kind}_{x}.json", kind, "") for x in ("records", "columns", "split"))
        yield from ((f"{kind}_{x}.json", kind, "") for x in ("index", "table"))
        yield from ((f"{kind}.{end}", kind, "") for end in ("csv.xz", "jsonl", "parquet"))
        yield from ((f"{kind}.{end}", kind, "") for end in ("feather", "xlsx"))
        yield f"{kind}.pkl", kind, "a Python pickle"
    frame = pd.DataFrame(ROWS["classes"])
    frame.to_csv(folder / "utf16.csv", index=False, encoding="utf-16")
    frame.to_stata(folder / "classes.dta", version=118)
    frame.to_html(folder / "classes.html")
    yield from (("utf16.csv", "classes", ""), ("classes.dta", "", "a Stata file"))
    yield "classes.html", "", "a web page"


@tool
def polars(folder: Path) -> Made:
    for kind, rows in ROWS.items():
        frame = pl.DataFrame(rows)
        frame.write_json(folder / f"{kind}.json")
        frame.write_ndjson(folder / f"{kind}.ndjson")
        frame.write_parquet(folder / f"{kind}.parquet")
        frame.write_ipc(folder / f"{kind}.arrow")
        frame.write_ipc_stream(folder / f"{kind}_stream.arrow")
        yield from ((f"{kind}.{end}", kind, "") for end in ("json", "ndjson", "parquet"))
        yield from ((f"{kind}{end}.arrow", kind, "") for end in ("", "_stream"))
        if kind in FLAT:
            frame.write_avro(folder / f"{kind}.avro")
            yield f"{kind}.avro", kind, "an Avro file"
            frame.write_csv(folder / f"{kind}.csv")
            frame.write_csv(folder / f"{kind}.tsv", separator="\t", quote_style="always")
            frame.write_excel(folder / f"{kind}.xlsx")
            yield from ((f"{kind}.{end}", kind, "") for end in ("csv", "tsv", "xlsx"))


@tool
def pyarrow_(folder: Path) -> Made:
    for kind, rows in ROWS.items():
        table = pa.table(rows)
        pa.parquet.write_table(table, folder / f"{kind}.parquet", compression="zstd")
        pa.feather.write_feather(table, str(folder / f"{kind}.feather"), compression="lz4")
        coded = {n: pa.array(c).dictionary_encode() if n == "label" else c for n, c in rows.items()}
        pa.parquet.write_table(pa.table(coded), folder / f"{kind}_coded.parquet")
        yield from (
            (f"{kind}{end}", kind, "") for end in (".parquet", ".feather", "_coded.parquet")
        )
        if kind in FLAT:
            pa.csv.write_csv(table, folder / f"{kind}.csv")
            yield f"{kind}.csv", kind, ""
    pa.orc.write_table(pa.table(ROWS["classes"]), folder / "classes.orc")
    yield "classes.orc", "", "an ORC file"


@tool
def csv_(folder: Path) -> Made:
    dialects = {
        "excel": {},
        "unix": {"dialect": "unix"},
        "tab": {"dialect": "excel-tab"},
        "pipe": {"delimiter": "|"},
        "quotes": {"quoting": csv.QUOTE_NONNUMERIC},
    }
    for kind in FLAT:
        for name, options in dialects.items():
            with open(folder / f"{kind}_{name}.csv", "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, **options)
                writer.writerow(ROWS[kind])
                writer.writerows(zip(*ROWS[kind].values(), strict=True))
            yield f"{kind}_{name}.csv", kind, ""


@tool
def openpyxl_(folder: Path) -> Made:
    for kind in FLAT:
        for title in ("", "Our data of 2026"):
            book = openpyxl.Workbook()
            rows = [[title]] if title else []
            for row in [*rows, [*ROWS[kind]], *zip(*ROWS[kind].values(), strict=True)]:
                book.active.append(list(row))
            name = f"{kind}_titled.xlsx" if title else f"{kind}.xlsx"
            book.save(folder / name)
            yield name, kind, ""


@tool
def spacy_(folder: Path) -> Made:
    nlp = spacy.blank("en")
    starts = [[True, *[False] * (len(words) - 1)] for words in SENTENCES]
    docs = [
        spacy.tokens.Doc(nlp.vocab, words=words, sent_starts=start)
        for words, start in zip(SENTENCES, starts, strict=True)
    ]
    for doc, tags in zip(docs, MARKS, strict=True):
        doc.set_ents(
            [
                spacy.tokens.Span(doc, 0, 2, "PER"),
                spacy.tokens.Span(doc, tags.index("B-LOC"), len(tags) - 1, "LOC"),
            ]
        )
    as_json = [doc.to_json() for doc in docs]
    (folder / "docs.json").write_text(json.dumps(as_json))
    (folder / "docs.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in as_json))
    (folder / "v2.json").write_text(json.dumps([docs_to_json(docs)]))
    DocBin(docs=docs).to_disk(folder / "docs.spacy")
    ents = [[(e.start_char, e.end_char, e.label_) for e in doc.ents] for doc in docs]
    examples = [(doc.text, {"entities": e}) for doc, e in zip(docs, ents, strict=True)]
    (folder / "examples.json").write_text(json.dumps(examples))
    tagged = [
        zip(map(str, d), offsets_to_biluo_tags(d, e), strict=True)
        for d, e in zip(docs, ents, strict=True)
    ]
    lines = ["".join(f"{word} {tag}\n" for word, tag in pairs) for pairs in tagged]
    (folder / "biluo.iob").write_text("\n".join(lines))
    yield from ((name, "tags", "") for name in ("docs.json", "docs.jsonl", "v2.json", "biluo.iob"))
    yield from (("examples.json", "tags", ""), ("docs.spacy", "", "a spaCy DocBin"))


def spans(words: list[str]) -> list[tuple[int, int, str]]:
    text = " ".join(words)
    return [(0, 12, "PER"), (text.index("New"), text.index("New") + 8, "LOC")]


@tool
def label_studio(folder: Path) -> Made:
    control = {"labels": "Labels", "choices": "Choices"}
    for kind, tag in control.items():
        value = "".join(f'<{tag[:-1]} value="{x}"/>' for x in ("PER", "LOC", *NAMES))
        controls = f'<{tag} name="c" toName="text">{value}</{tag}>'
        config = f'<View><Text name="text" value="$text"/>{controls}</View>'
        named = {"from_name": "c", "to_name": "text", "type": kind}
        tasks = []
        texts = [" ".join(words) for words in SENTENCES] if kind == "labels" else TEXTS
        for number, text in enumerate(texts):
            results = [
                named | {"value": {"start": a, "end": b, "text": text[a:b], "labels": [label]}}
                for a, b, label in (spans(SENTENCES[number]) if kind == "labels" else ())
            ] or [named | {"value": {"choices": [(NAMES * 4)[number]]}}]
            annotation = {"id": number, "result": results, "was_cancelled": False}
            tasks.append({"id": number, "data": {"text": text}, "annotations": [annotation]})
        source = folder / f"{kind}_tasks"
        source.mkdir()
        (source / "tasks.json").write_text(json.dumps(tasks))
        converter = Converter(config, str(folder), download_resources=False)
        rows = "tags" if kind == "labels" else "classes"
        yield f"{kind}_tasks/tasks.json", rows, ""
        forms = ["JSON", "JSON_MIN", "CSV", "TSV", *(["CONLL2003"] if kind == "labels" else [])]
        for form in forms:
            target = folder / f"{kind}_{form}"
            target.mkdir()
            converter.convert(str(source), str(target), form)
            for file in sorted(path for path in target.iterdir() if path.is_file()):
                yield file.relative_to(folder).as_posix(), rows, ""


@tool
def argilla_(folder: Path) -> Made:
    user = uuid.UUID(int=1)
    values = {
        "classes": [*zip(TEXTS, NAMES * 4, strict=True)],
        "sets": [*zip(TEXTS, SETS, strict=True)],
        "tags": [
            (" ".join(w), [{"start": a, "end": b, "label": x} for a, b, x in spans(w)])
            for w in SENTENCES
        ],
    }
    for kind, rows in values.items():
        records = [
            argilla.Record(
                fields={"text": text},
                responses=[argilla.Response("q", value, user_id=user, status="submitted")],
                suggestions=[argilla.Suggestion("q", values[kind][0][1], agent="m")],
            )
            for text, value in rows
        ]
        JsonIO.to_json(records, folder / f"{kind}.json")
        flat = datasets.Dataset.from_list(GenericIO.to_list(records, flatten=True))
        flat.to_json(folder / f"{kind}_flat.jsonl")
        flat.to_parquet(folder / f"{kind}_flat.parquet")
        yield from ((f"{kind}{end}", kind, "") for end in (".json", "_flat.jsonl"))
        yield f"{kind}_flat.parquet", kind, ""


@tool
def python_docx(folder: Path) -> Made:
    document = docx.Document()
    for text in TEXTS:
        document.add_paragraph(text)
    document.save(folder / "paragraphs.docx")
    table = docx.Document().add_table(0, 2)
    for row in [("text", "label"), *zip(*ROWS["classes"].values(), strict=True)]:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    table.part.save(folder / "table.docx")
    yield from (("paragraphs.docx", "texts", ""), ("table.docx", "classes", ""))


@tool
def cassis_(folder: Path) -> Made:
    """One document in both forms, with tokens, and as INCEpTION zips it."""
    types = cassis.TypeSystem()
    token, sentence, entity = (
        types.create_type(f"de.tudarmstadt.ukp.dkpro.core.api.{name}")
        for name in ("segmentation.type.Token", "segmentation.type.Sentence", "ner.NamedEntity")
    )
    types.create_feature(entity, "value", "uima.cas.String")
    document, start = cassis.Cas(types), 0
    document.sofa_string = "\n".join(map(" ".join, SENTENCES))
    for words in SENTENCES:
        end = start + len(" ".join(words))
        document.add(sentence(begin=start, end=end))
        for begin, stop, label in spans(words):
            document.add(entity(begin=start + begin, end=start + stop, value=label))
        for word in words:
            document.add(token(begin=start, end=start + len(word)))
            start += len(word) + 1
    document.to_xmi(folder / "document.xmi")
    document.to_json(folder / "document.json")
    types.to_xml(folder / "TypeSystem.xml")
    with zipfile.ZipFile(folder / "document.zip", "w") as archive:
        for name in ("document.xmi", "TypeSystem.xml"):
            archive.write(folder / name, name)
    yield from ((f"document.{suffix}", "tags", "") for suffix in ("xmi", "json", "zip"))
    yield "TypeSystem.xml", "", "a settings file"


def main(folder: Path) -> None:
    files = []
    for name, write in TOOLS.items():
        target = folder / name.rstrip("_")
        target.mkdir(parents=True)
        files += [
            {"tool": target.name, "file": f"{target.name}/{file}", "kind": kind, "refused": refused}
            for file, kind, refused in write(target)
        ]
    rows = ROWS | {"texts": {"text": TEXTS}}
    rows["scores"]["score"] = [round(score, 9) for score in rows["scores"]["score"]]
    (folder / "files.json").write_text(json.dumps({"rows": rows, "files": files}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

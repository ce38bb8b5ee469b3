"""Exports of annotation tools are read as texts with tags or labels."""

import csv
import json
from itertools import accumulate
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Mapping
from engine.data.columns.tags import spans_from_tags
from engine.data.columns.text_spans import TextSpan, format_spans, tag_spans
from engine.data.formats import FORMATS, annotated
from engine.data.formats.reading import preview, read, recognise
from engine.data.formats.sources import holds_texts
from engine.errors import BadFile
from tests.engine.data.importing import ONLY_TRAIN, import_files
from tests.often import tries

TEXT = "Peter Blackburn lives in New York-based Berlin."
SPANS = [(0, 15, "PER"), (25, 33, "LOC"), (40, 46, "LOC")]
WORDS = ["Peter", "Blackburn", "lives", "in", "New", "York", "-based", "Berlin", "."]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O", "B-LOC", "O"]
TAGGED = (" ".join(WORDS), " ".join(TAGS))
PLAIN = ("Nothing here", "O O")
MARKED_ROWS = [(TEXT, format_spans([TextSpan(*span) for span in SPANS])), ("Nothing here", "[]")]
WORDS_OF_TOOL = ("gliner.json", "spert.json")

# ── exports ──────────────────────────────────────────────────────────────────────────────────────

DOCCANO: list[Any] = [
    {"id": 1, "text": TEXT, "label": [list(s) for s in SPANS], "Comments": []},
    {"id": 2, "text": "Nothing here", "label": [], "Comments": []},
]
ENTITIES = [{"label": label, "start_offset": a, "end_offset": b} for a, b, label in SPANS]
RELATIONS = [{"id": 0, "from_id": 0, "to_id": 1, "type": "in"}]
DOCCANO_RELATIONS: list[Any] = [
    {"id": 1, "text": TEXT, "entities": ENTITIES, "relations": RELATIONS},
    {"id": 2, "text": "Nothing here", "entities": [], "relations": []},
]
NUMBERS = {"PER": 3, "LOC": 4}
NUMBERED = [item | {"label": NUMBERS[item["label"]], "user": 1} for item in ENTITIES]
DOCCANO_NUMBERED: list[Any] = [
    {"id": 1, "text": TEXT, "annotations": NUMBERED, "meta": {}, "annotation_approver": None},
    {"id": 2, "text": "Nothing here", "annotations": [], "meta": {}, "annotation_approver": None},
]


def task(text: str, results: list[Any], **fields: Any) -> dict[str, Any]:
    annotation = {"id": 7, "completed_by": 1, "result": results, "was_cancelled": False} | fields
    return {"id": 1, "data": {"text": text}, "annotations": [annotation], "predictions": []}


def result(a: int, b: int, label: str, text: str = TEXT) -> dict[str, Any]:
    value = {"start": a, "end": b, "text": text[a:b], "labels": [label]}
    return {"value": value, "id": "x", "from_name": "label", "to_name": "text", "type": "labels"}


LABEL_STUDIO = [task(TEXT, [result(*s) for s in SPANS])]
LABEL_STUDIO += [{"id": 2, "data": {"text": "Nothing here"}, "annotations": [{"result": []}]}]
LABEL_STUDIO_MIN = [
    {
        "id": 1,
        "text": TEXT,
        "label": [{"start": a, "end": b, "text": TEXT[a:b], "labels": [x]} for a, b, x in SPANS],
        "annotator": 1,
        "annotation_id": 1,
        "created_at": "2026-01-31T10:00:00.000000Z",
        "lead_time": 3.2,
    },
    {"id": 2, "text": "Nothing here", "annotator": 1, "annotation_id": 2, "lead_time": 1.0},
]
PRODIGY: list[Any] = [
    {
        "text": text,
        "_input_hash": 1,
        "_task_hash": 2,
        "spans": [{"start": a, "end": b, "label": label} for a, b, label in spans],
        "answer": "accept",
    }
    for text, spans in ((TEXT, SPANS), ("Nothing here", []))
]
SPACY = [[TEXT, {"entities": [list(s) for s in SPANS]}], ["Nothing here", {"entities": []}]]
OFFSETS = ((0, 1), (2, 6), (7, 13), (13, 14))
SPACY_DOC: list[Any] = [  # spaCy 3.8.18, Doc.to_json() of the blank English pipeline
    {
        "text": "I like London.",
        "ents": [{"start": 7, "end": 13, "label": "LOC"}],
        "tokens": [{"id": n, "start": a, "end": b} for n, (a, b) in enumerate(OFFSETS)],
    }
]
ORTHS = (("I", "O"), ("like", "O"), ("New", "B-LOC"), ("York", "L-LOC"), (".", "-"))
TOKENS = [{"id": n, "orth": word, "ner": tag} for n, (word, tag) in enumerate(ORTHS)]
SPACY_V2 = [
    {"id": 0, "paragraphs": [{"raw": "I like New York.", "sentences": [{"tokens": TOKENS}]}]}
]


def argilla(text: str, value: Any) -> dict[str, Any]:
    """A record of Argilla 2 with an answer, and a suggestion of a model."""
    suggestion = {"value": [{"start": 0, "end": 2, "label": "WRONG"}], "agent": "m"}
    return {"id": "0", "fields": {"text": text}, "metadata": {}, "status": "completed"} | {
        "suggestions": {"q": suggestion},
        "responses": {"q": [{"value": value, "user_id": "u"}]} if value is not None else {},
    }


def argilla_flat(text: str, value: Any) -> dict[str, Any]:
    """A record of Argilla 2 flattened, with a discarded answer before the one that counts."""
    answers = {"q.responses": ["no", value], "q.responses.status": ["discarded", "submitted"]}
    nothing = dict.fromkeys(answers)
    record = {"id": "0", "status": "completed", "_server_id": None, "text": text}
    suggestion = {"q.suggestion": "WRONG", "q.suggestion.agent": "m"}
    return record | (nothing if value is None else answers) | suggestion


def argilla_1(text: str, value: Any) -> dict[str, Any]:
    """A record of Argilla 1, with a draft of another person."""
    answers = [("draft", "no"), ("submitted", value)] if value is not None else []
    values = [{"status": status, "values": {"q": {"value": one}}} for status, one in answers]
    suggestion = {"question_name": "q", "value": "WRONG", "agent": "m"}
    return {"fields": {"text": text}, "responses": values, "suggestions": [suggestion]}


def argilla_1_table(text: str, value: Any) -> dict[str, Any]:
    """A row of a table of Argilla 1; datasets wrote spans as an object of lists."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = {key: [span[key] for span in value] for key in ("start", "end", "label")}
    answers = [{"user_id": "u", "value": value, "status": "submitted"}]
    suggestion = {"q-suggestion": "WRONG", "q-suggestion-metadata": {"agent": "m"}}
    return {"text": text, "q": answers if value is not None else []} | suggestion


def rubrix(text: str, annotation: Any) -> dict[str, Any]:
    spans = annotation and isinstance(annotation[0], dict)
    if spans:
        annotation = [[span["label"], span["start"], span["end"]] for span in annotation]
    return {"text": text, "prediction": [["WRONG", 0, 2]], "prediction_agent": "m"} | {
        "annotation": annotation,
        "annotation_agent": "u",
    }


ARGILLA = [argilla, argilla_flat, argilla_1, argilla_1_table, rubrix]
MARKED = [{"start": a, "end": b, "label": label} for a, b, label in SPANS]


def ground_truth(text: str, result: Any, **metadata: Any) -> dict[str, Any]:
    known = {"type": "groundtruth/text", "job-name": "labeling-job/j", "human-annotated": "yes"}
    return {"source": text, "j": result, "j-metadata": known | metadata}


def entities(spans: list[Any]) -> dict[str, Any]:
    found = [{"label": label, "startOffset": a, "endOffset": b} for a, b, label in spans]
    return {"annotations": {"entities": found, "labels": [{"label": "PER"}]}}


def lighttag(*examples: tuple[str, list[Any], list[str]]) -> dict[str, Any]:
    """An export with a span that a reviewer rejected, and an example that was not seen."""

    def example(text: str, spans: list[Any], classes: list[str], **fields: Any) -> dict[str, Any]:
        wrong = [{"start": 0, "end": 1, "tag": "WRONG", "correct": False}] if spans else []
        found = [{"start": a, "end": b, "tag": x, "correct": None} for a, b, x in spans]
        named = [{"classname": name, "correct": None} for name in classes]
        lists = {"annotations": wrong + found, "classifications": named}
        return (
            {"example_id": "1", "content": text, "metadata": {}, "seen_by": [{}]} | lists | fields
        )

    items = [*(example(*one) for one in examples), example("unseen", [], [], seen_by=[])]
    return {"id": "1", "examples": items, "schema": {"tags": []}, "relations": [], "name": "j"}


def rasa(*examples: tuple[str, list[Any], str]) -> dict[str, Any]:
    items = [
        {"text": text, "intent": intent}
        | {"entities": [{"start": a, "end": b, "entity": label} for a, b, label in spans]}
        for text, spans, intent in examples
    ]
    return {"rasa_nlu_data": {"regex_features": [{"name": "x"}], "common_examples": items}}


def spanned(text: str, spans: list[Any], ends: str = "start end") -> dict[str, Any]:
    """A row of no known tool, such as data sets of the hub have."""
    start, end = ends.split()
    return {"text": text, "mentions": [{start: a, end: b, "tag": label} for a, b, label in spans]}


def vertex(text: str, spans: list[Any]) -> dict[str, Any]:
    found = [{"startOffset": a, "endOffset": b, "displayName": label} for a, b, label in spans]
    return {"textContent": text, "textSegmentAnnotations": found}


def dataturks(text: str, spans: list[Any]) -> dict[str, Any]:
    """Its spans end with their last character."""
    points = [[{"start": a, "end": b - 1, "text": text[a:b]}] for a, b, _ in spans]
    labels = [{"label": [label]} for _, _, label in spans]
    found = [label | {"points": one} for label, one in zip(labels, points, strict=True)]
    return {"content": text, "annotation": found or None, "extras": None}


def gliner(words: list[str], tags: list[str]) -> dict[str, Any]:
    spans = [[span.start, span.end - 1, span.type] for span in spans_from_tags(tags)]
    return {"tokenized_text": words, "ner": spans}


def spert(words: list[str], tags: list[str]) -> dict[str, Any]:
    spans = [{"start": s.start, "end": s.end, "type": s.type} for s in spans_from_tags(tags)]
    return {"tokens": words, "entities": spans, "relations": [], "orig_id": 1}


def dygie(*sentences: tuple[list[str], list[str]]) -> dict[str, Any]:
    """Its spans count the words of the document."""
    firsts = [0, *accumulate(len(words) for words, _ in sentences)]
    spans = [
        [[first + s.start, first + s.end - 1, s.type] for s in spans_from_tags(tags)]
        for first, (_, tags) in zip(firsts, sentences, strict=False)
    ]
    return {"doc_key": "d", "sentences": [words for words, _ in sentences], "ner": spans}


def superannotate(text: str, spans: list[Any]) -> dict[str, Any]:
    found = [{"type": "entity", "start": a, "end": b, "className": label} for a, b, label in spans]
    return {"metadata": {"name": "a.txt"}, "instances": found, "tags": [], "contents": text}


def as_columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """As pandas writes a table to JSON."""
    return {key: {str(n): row[key] for n, row in enumerate(rows)} for key in rows[0]}


def write_json_lines(path: Path, values: list[Any]) -> Path:
    content = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    path.write_text(content, encoding="utf-8")
    return path


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2), encoding="utf-8")
    return path


CASES = [
    ("doccano", "a.jsonl", DOCCANO),
    ("doccano", "relations.jsonl", DOCCANO_RELATIONS),
    ("label_studio", "a.json", LABEL_STUDIO),
    ("label_studio", "min.json", LABEL_STUDIO_MIN),
    ("prodigy", "a.jsonl", PRODIGY),
    (
        *("ground_truth", "out.manifest"),
        [ground_truth(TEXT, entities(SPANS)), ground_truth("Nothing here", entities([]))],
    ),
    *(
        ("spans", "a.jsonl", [spanned(TEXT, SPANS, ends), spanned("Nothing here", [], ends)])
        for ends in ("start end", "begin end", "startOffset endOffset")
    ),
    ("spans", "vertex.jsonl", [vertex(TEXT, SPANS), vertex("Nothing here", [])]),
    ("spans", "dataturks.json", [dataturks(TEXT, SPANS), dataturks("Nothing here", [])]),
    ("spans", "gliner.json", [gliner(WORDS, TAGS), gliner(["Nothing", "here"], [])]),
    ("spans", "contents.json", [superannotate(TEXT, SPANS), superannotate("Nothing here", [])]),
    ("spans", "spert.json", [spert(WORDS, TAGS), spert(["Nothing", "here"], [])]),
    (
        "argilla",
        "columns.json",
        as_columns([argilla_flat(TEXT, MARKED), argilla_flat(PLAIN[0], [])]),
    ),
    ("label_studio", "nested.json", [LABEL_STUDIO[:1], LABEL_STUDIO[1:]]),
    ("lighttag", "a.json", lighttag((TEXT, SPANS, []), ("Nothing here", [], []))),
    *(
        ("argilla", f"{record.__name__}.jsonl", [record(TEXT, MARKED), record("Nothing here", [])])
        for record in ARGILLA
    ),
    ("spacy", "a.jsonl", SPACY),
    ("spacy", "a.json", SPACY),
    ("spacy", "ner.json", {"classes": ["PER", "LOC"], "annotations": SPACY}),
]


@pytest.mark.parametrize("name, file, values", CASES)
def test_spans_of_every_tool_are_read(tmp_path, name, file, values):
    write = write_json if file.endswith(".json") else write_json_lines
    path = write(tmp_path / file, values)
    guess = recognise(path)
    assert guess.reading.format == name
    column, rows = "spans", MARKED_ROWS
    if file in WORDS_OF_TOOL:
        column, rows = "tags", [TAGGED, PLAIN]
    assert guess.mapping == Mapping(text="text", tags=column)
    assert guess.columns[:2] == ("text", column)
    table = read(path, guess.reading)
    assert [row.cells[:2] for row in table] == rows
    assert preview(path, guess.reading).rows[0].cells[:2] == rows[0]
    dataset = import_files(path, tmp_path / "v", ONLY_TRAIN)
    assert dataset.spec.spans == {"LOC": 2, "PER": 1}
    assert dataset.spec.has_text_spans == (column == "spans")
    assert dataset.rows("train").texts == [text for text, _ in rows]
    tagged = dataset.rows("train").tagged
    assert [*zip(tagged.words, tagged.tags, strict=True)] == [TAGGED, PLAIN]


def test_numeric_labels_of_an_older_doccano_are_noted(tmp_path):
    path = write_json_lines(tmp_path / "a.jsonl", DOCCANO_NUMBERED)
    guess = recognise(path)
    assert (guess.reading.format, guess.columns[:2]) == ("doccano", ("text", "spans"))
    table = read(path, guess.reading)
    spans = MARKED_ROWS[0][1].replace("PER", "3").replace("LOC", "4")
    assert [row.cells[:2] for row in table] == [(TEXT, spans), MARKED_ROWS[1]]
    assert "by its number" in table.notes[0]
    labels = [
        {"id": 1, "text": "a b", "annotations": [{"label": 7, "user": 1}], "meta": {}},
        {"id": 2, "text": "c", "annotations": [], "meta": {}},
    ]
    path = write_json_lines(tmp_path / "labels.jsonl", labels)
    guess = recognise(path)
    assert [row.cells[:2] for row in read(path, guess.reading)] == [("a b", "7"), ("c", "")]


def test_tokens_of_a_tool_become_the_words(tmp_path):
    doc = write_json(tmp_path / "doc.json", SPACY_DOC)
    assert recognise(doc).reading.format == "spacy"
    rows = [row.cells for row in read(doc, recognise(doc).reading)]
    assert rows == [("I like London .", "O O B-LOC O")]
    v2 = write_json(tmp_path / "v2.json", SPACY_V2)
    rows = [row.cells for row in read(v2, recognise(v2).reading)]
    assert rows == [("I like New York .", "O O B-LOC L-LOC O")]
    sentences = (["Nothing", "here"], ["O", "O"]), (WORDS, TAGS)
    document = write_json_lines(tmp_path / "dygie.jsonl", [dygie(*sentences)])
    assert [row.cells for row in read(document, recognise(document).reading)] == [PLAIN, TAGGED]
    spec = import_files(v2, tmp_path / "v", ONLY_TRAIN).spec
    assert spec.spans == {"LOC": 1} and "BILOU" in spec.notes[0]
    tokens = [{"text": "Lon", "start": 0, "end": 3}, {"text": "don", "start": 3, "end": 6}]
    item = PRODIGY[0] | {"text": "London", "spans": [], "tokens": tokens}
    path = write_json_lines(tmp_path / "p.jsonl", [item])
    assert next(iter(read(path, recognise(path).reading))).cells == ("Lon don", "O O")


CHOICES = [{"type": "choices", "value": {"choices": names}} for names in (["x"], [])]
ACCEPTED = [
    {"text": "a b", "label": "x", "answer": "accept"},
    {"text": "c", "accept": [], "options": [{"id": "x"}], "answer": "accept"},
]
LABELS = [
    ("doccano", [{"id": 1, "text": "a b", "label": ["x"]}, {"id": 2, "text": "c", "label": []}]),
    ("label_studio", [task("a b", CHOICES[:1]), task("c", CHOICES[1:])]),
    ("prodigy", ACCEPTED),
    ("ground_truth", [ground_truth("a b", 7, **{"class-name": "x"}), ground_truth("c", [])]),
    (
        "ground_truth",
        [ground_truth("a b", [3], **{"class-map": {"3": "x"}}), ground_truth("c", [])],
    ),
    ("lighttag", lighttag(("a b", [], ["x"]), ("c", [], []))),
    ("rasa_json", rasa(("a b", [], "x"), ("c", [], ""))),
    *(("argilla", [record("a b", "x"), record("c", [])]) for record in ARGILLA),
    ("spacy", [["a b", {"cats": {"x": 1.0, "y": 0.0}}], ["c", {"cats": {"x": 0.2}}]]),
]


@pytest.mark.parametrize("name, values", LABELS)
def test_labels_of_every_tool_are_read(tmp_path, name, values):
    path = write_json(tmp_path / "a.json", values)
    guess = recognise(path)
    assert guess.reading.format == name and guess.columns[:2] == ("text", "label")
    assert [row.cells[:2] for row in read(path, guess.reading)] == [("a b", "x"), ("c", "")]


@pytest.mark.parametrize(
    "rows",
    [
        [spanned(TEXT, SPANS), spanned("Nothing here", [])],
        [{"text": TEXT, "ner": {"entities": SPANS}}, {"text": PLAIN[0], "ner": {"entities": []}}],
        [{"label": None} | item for item in LABEL_STUDIO_MIN],
        [argilla_flat(TEXT, MARKED), argilla_flat("Nothing here", [])],
    ],
    ids=["spans", "spacy", "label_studio", "argilla"],
)
@pytest.mark.parametrize("file, shown", [("a.csv", json.dumps), ("b.csv", str), ("a.parquet", str)])
def test_annotations_in_cells_of_a_table_are_read(tmp_path, rows, file, shown):
    path = tmp_path / file
    nested = (list, dict)
    table = pa.Table.from_pylist(
        [{k: shown(v) if isinstance(v, nested) else v for k, v in row.items()} for row in rows]
    )
    (pq.write_table if path.suffix == ".parquet" else pyarrow.csv.write_csv)(table, path)
    guess = recognise(path)
    column = guess.mapping.tags
    assert guess.mapping == Mapping(text="text", tags=column) and column in guess.columns
    dataset = import_files(path, tmp_path / "v", ONLY_TRAIN)
    assert dataset.spec.spans == {"LOC": 2, "PER": 1} and dataset.spec.has_text_spans
    rows = dataset.page(0, 2)
    assert [(row["text"], row[column]) for row in rows] == MARKED_ROWS


@pytest.mark.parametrize(
    "item",
    [
        {"text": "Peter Blackburn lives", "mentions": [{"start": 0, "end": 1, "label": "PER"}]},
        {
            "text": "Peter lives",
            "mentions": [{"start": 0, "end": 5, "label": "PER", "text": "Helga"}],
        },
        {"text": "Peter lives", "mentions": [{"start": 0, "end": 50, "label": "PER"}]},
        {"tokens": ["Peter", "lives"], "ner": [[0, 0, "PER"]]},
    ],
)
def test_positions_that_are_not_of_characters_are_no_spans(tmp_path, item):
    file = write_json(tmp_path / "a.json", [item])
    reading = recognise(file).reading
    notes = " ".join(read(file, reading).notes)
    assert reading.format == "json" and ("that do not fit the words" in notes) == ("text" in item)


def test_a_list_of_labels_of_a_span_in_a_cell_is_read(tmp_path):
    """Label Studio writes it, of whose columns people often keep these two."""
    spans = [{"start": 0, "end": 5, "text": "Peter", "labels": ["PER"]}]
    file = tmp_path / "a.csv"
    with open(file, "w", newline="") as opened:
        csv.writer(opened).writerows([["text", "label"], ["Peter lives", json.dumps(spans)]])
    assert [row.cells for row in read(file, recognise(file).reading)] == [
        ("Peter lives", json.dumps(spans))
    ]
    dataset = import_files(file, tmp_path / "v", ONLY_TRAIN)
    assert dataset.column("label").to_pylist() == ['[[0, 5, "PER"]]']


def test_a_dialogue_of_label_studio_is_named(tmp_path):
    item = task("", []) | {"data": {"dialogue": [{"author": "a", "text": "b"}]}}
    with pytest.raises(BadFile, match="such as the turns of a dialogue"):
        recognise(write_json(tmp_path / "a.json", [item]))


RASA_ROWS = [
    ("hey there", "greet", "[]"),
    ("in New York?", "ask/place", '[[3, 11, "city"]]'),
]
RASA_MARKDOWN = """## intent:greet
- hey there

## synonym:NYC
- new york

# intent:ask/place
- in [New York](city:NYC)?

## a path
* greet
  - utter_greet
"""
RASA_YAML = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - hey there
- synonym: NYC
  examples: |
    - new york
# a remark
- intent: ask/place
  examples:
  - text: |
      in [New York]{"entity": "city", "role": "to"}?
stories:
- story: a path
  steps:
  - intent: greet
  - action: utter_greet
"""
PUBTATOR = f"""7|t|{TEXT}
7|a|Nothing here
7\t0\t15\tPeter Blackburn\tPER\tD1
7\t25\t33\tNew York\tLOC\t-
7\tCID\tD1\tD2

8|t|Nothing
8|a|here
"""
WEBANNO_WORDS = """1-1\t0-2\t😀\tSYM\t_\t_
1-2\t3-8\tPeter\tNE\t*[1]\tA\\_B[1]
1-3\t9-18\tBlackburn\tNE\t*[1]\tA\\_B[1]
1-4\t19-29\tYork-based\tADJ\t_\t_
1-4.1\t19-23\tYork\tADJ\tx\tLOC
1-5\t30-34\tZoom\tNE\tx\t*
1-6\t34-35\t.\tNE\t_\t_
"""
WEBANNO = f"""#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value


#Text=😀 Peter Blackburn York-based Zoom.
{WEBANNO_WORDS}
#Text=Nothing here
2-1\t36-43\tNothing\tNE\t_\t_
2-2\t44-48\there\tADV\t_\t_
"""
WEBANNO_ROWS = [
    ("😀 Peter Blackburn York -based Zoom .", "O B-A_B I-A_B B-LOC O B-NamedEntity O"),
    PLAIN,
]
CAS_TEXT = "😀 Peter Blackburn, York.\nNothing here"
CAS_TYPES = {"type": "a.Sentence", "pos": "a.POS", "ner": "a.NamedEntity", "dep": "a.Dependency"}
CAS_ANNOTATIONS = [  # as dkpro-cassis writes them: offsets in UTF-16
    ("type", {"begin": 0, "end": 25}, {}),
    ("type", {"begin": 26, "end": 38}, {}),
    ("pos", {"begin": 3, "end": 8, "PosValue": "NE"}, {}),
    ("ner", {"begin": 3, "end": 18, "value": "A_B", "identifier": "x"}, {}),
    ("ner", {"begin": 20, "end": 24}, {}),
    ("dep", {"begin": 3, "end": 8, "DependencyType": "x"}, {"Governor": 4}),
]
CAS_SOFA = {"sofaNum": 1, "sofaID": "_InitialView", "sofaString": CAS_TEXT}
CAS_OTHER = {"sofaNum": 2, "sofaID": "html", "sofaString": "<p>"}
CAS_XMI = "".join(
    [
        '<?xml version="1.0" encoding="UTF-8"?>\n<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" ',
        'xmlns:cas="http:///uima/cas.ecore" xmi:version="2.0"',
        *(f' xmlns:{name}="http:///{name}.ecore"' for name in CAS_TYPES),
        '><cas:NULL xmi:id="0"/>',
        *(
            f'<{name}:{CAS_TYPES[name][2:]} xmi:id="{number}" sofa="1" '
            + " ".join(f'{key}="{value}"' for key, value in (values | links).items())
            + "/>"
            for number, (name, values, links) in enumerate(CAS_ANNOTATIONS, 3)
        ),
        *(
            f'<cas:Sofa xmi:id="{number}" '
            + " ".join(f"{key}={quoteattr(str(value))}" for key, value in sofa.items())
            + "/>"
            for number, sofa in ((1, CAS_SOFA), (2, CAS_OTHER))
        ),
        '<cas:View sofa="1" members="3 4"/></xmi:XMI>',
    ]
)
CAS_JSON = {
    "%TYPES": {},
    "%FEATURE_STRUCTURES": [
        {"%ID": 1, "%TYPE": "uima.cas.Sofa"} | CAS_SOFA,
        {"%ID": 2, "%TYPE": "uima.cas.Sofa"} | CAS_OTHER,
        *(
            {"%ID": number, "%TYPE": CAS_TYPES[name], "@sofa": 1}
            | values
            | {f"@{key}": link for key, link in links.items()}
            for number, (name, values, links) in enumerate(CAS_ANNOTATIONS, 3)
        ),
    ],
}
CAS_ROWS = [
    ("😀 Peter Blackburn, York.", '[[2, 17, "A_B"], [19, 23, "NamedEntity"]]'),
    MARKED_ROWS[1],
]
PUBTATOR_ROWS = [
    (f"{TEXT}\nNothing here", '[[0, 15, "PER"], [25, 33, "LOC"]]', "7"),
    ("Nothing\nhere", "[]", "8"),
]


LINE_CASES = [
    ("rasa", "nlu.md", RASA_MARKDOWN, RASA_ROWS, ""),
    ("rasa", "nlu.yml", RASA_YAML, RASA_ROWS, ""),
    ("pubtator", "a.txt", PUBTATOR, PUBTATOR_ROWS, "relation, left out"),
    ("webanno", "a.tsv", WEBANNO, WEBANNO_ROWS, "layer “POS” is left out"),
    ("cas", "a.xmi", CAS_XMI, CAS_ROWS, "view “html” is left out. The layer “POS” is left out"),
    ("cas", "a.json", json.dumps(CAS_JSON), CAS_ROWS, "layer “POS” is left out"),
]


def test_every_tool_has_an_example():
    functions = {name: form.open for name, form in FORMATS.items()}
    tools = {n for n, f in functions.items() if getattr(f, "__module__", "") == annotated.__name__}
    assert tools == {case[0] for case in (*CASES, *LABELS, *LINE_CASES)}


@pytest.mark.parametrize("name, file, content, rows, left_out", LINE_CASES)
def test_forms_of_lines_are_read(tmp_path, name, file, content, rows, left_out):
    path = tmp_path / file
    path.write_text(content, "utf-8")
    guess = recognise(path)
    table = read(path, guess.reading)
    assert (guess.reading.format, [row.cells for row in table]) == (name, rows)
    assert left_out in " ".join(table.notes) and guess.mapping.tags == (
        "tags" if name == "webanno" else "spans"
    )


@pytest.mark.parametrize(
    "file, content, line, message",
    [
        (
            "a.txt",
            PUBTATOR.replace("Peter Blackburn\tPER", "Helga\tPER"),
            3,
            "contain “Helga” at 0",
        ),
        ("a.tsv", WEBANNO.replace("19-29", "?"), 10, "no number, offsets and word"),
        ("a.xmi", CAS_XMI.replace('end="18"', 'end="99"'), 0, "annotation 6 is not within"),
        ("a.xmi", CAS_XMI[:-9], 0, "damaged or incomplete"),
        (
            "a.manifest",
            json.dumps({"source-ref": "s3://b/1.txt", "j": 1, "j-metadata": {"type": "x"}}),
            *(1, "named under “source-ref”"),
        ),
    ],
)
def test_an_invalid_line_of_a_form_is_reported(tmp_path, file, content, line, message):
    path = tmp_path / file
    path.write_text(content, "utf-8")
    with pytest.raises(BadFile, match=message) as caught:
        list(read(path, recognise(path).reading))
    assert caught.value.line == line


@pytest.mark.parametrize("record", ARGILLA)
def test_suggestions_of_a_model_are_never_labels(tmp_path, record):
    path = write_json(tmp_path / "a.json", [record("a b", "x"), record("c d", None)])
    table = read(path, recognise(path).reading)
    assert [row.cells[:2] for row in table] == [("a b", "x")]
    notes = " ".join(table.notes)
    assert "Suggestions of a model left out" in notes and "without a submitted answer" in notes


def test_labels_of_several_questions_are_columns(tmp_path):
    """Argilla's to_json does not mark drafts, and a ranking is no label."""
    record = argilla("a b", "x") | {"status": "pending"}
    others = {"topics": [{"value": ["p", "q"]}, {"value": ["p"]}], "stars": [{"value": 3}]}
    ranking = {"order": [{"value": [{"value": "a", "rank": 1}]}]}
    record["responses"] |= others | ranking
    path = write_json(tmp_path / "a.json", [record, argilla("c", "y")])
    table = read(path, recognise(path).reading)
    assert table.columns == ("text", "q", "topics", "stars")
    assert [row.cells for row in table] == [("a b", "x", "p|q", "3"), ("c", "y", "", "")]
    notes = " ".join(table.notes)
    for part in ("different answers", "Ranking left out", "pending record", "Suggestions"):
        assert part in notes
    ratings = {"type": "rating", "value": {"rating": 2}, "from_name": "stars"}
    paths = {"type": "taxonomy", "value": {"taxonomy": [["a", "b"], ["c"]]}, "from_name": "topic"}
    tasks = [task("a b", [CHOICES[0] | {"from_name": "tone"}, ratings, paths])]
    path = write_json(tmp_path / "l.json", tasks)
    table = read(path, recognise(path).reading)
    assert [table.columns, next(iter(table)).cells] == [
        ("text", "tone", "stars", "topic"),
        ("a b", "x", "2", "a > b|c"),
    ]


def test_labels_and_spans_of_a_text_are_both_read(tmp_path):
    items = [[TEXT, {"entities": [list(SPANS[0])], "cats": {"x": 1, "y": 1}}]] * 2
    path = write_json_lines(tmp_path / "a.jsonl", items)
    table = read(path, recognise(path).reading)
    assert table.columns == ("text", "label", "spans")
    assert next(iter(table)).cells == (TEXT, "x|y", '[[0, 15, "PER"]]')
    tokens = [{"start": start, "end": end} for start, end in OFFSETS]
    items = [SPACY_DOC[0] | {"cats": {"x": 1, "y": 0}, "tokens": tokens}]
    table = read(write_json(tmp_path / "b.json", items), recognise(tmp_path / "b.json").reading)
    assert table.columns == ("text", "label", "words", "tags")
    assert next(iter(table)).cells == ("I like London.", "x", "I like London .", "O O B-LOC O")


def test_rejected_entries_are_skipped_and_unannotated_ones_have_no_tags(tmp_path):
    items = [PRODIGY[0], PRODIGY[0] | {"answer": "reject"}, PRODIGY[0] | {"answer": "ignore"}]
    path = write_json_lines(tmp_path / "p.jsonl", items)
    table = read(path, recognise(path).reading)
    assert len(list(table)) == 1
    assert table.notes == ("Text that was not accepted skipped: 2 times, first in line 2.",)
    binary = [{"text": t, "label": "x", "answer": a} for t, a in (("a", "accept"), ("b", "reject"))]
    path = write_json_lines(tmp_path / "b.jsonl", binary)
    assert [r.cells[1] for r in read(path, recognise(path).reading)] == ["x", "not x"]
    tasks = [*LABEL_STUDIO, {"id": 3, "data": {"text": "new"}, "annotations": []}]
    tasks.append(task("cancelled", [], was_cancelled=True))
    tasks[0]["annotations"].append(tasks[0]["annotations"][0] | {"result": []})
    tasks[1]["annotations"][0]["result"] = [{"type": "relation", "direction": "right"}]
    path = write_json(tmp_path / "l.json", tasks)
    table = read(path, recognise(path).reading)
    assert [row.cells[:2] for row in table] == [*MARKED_ROWS, ("new", "")]
    message = " ".join(table.notes)
    for part in ("without an annotation", "several annotations", "type “relation” left out"):
        assert part in message


def test_a_span_in_utf16_offsets_is_found(tmp_path):
    text = "😀 Peter and Peter"  # JavaScript counts the emoji as two
    path = write_json(tmp_path / "a.json", [task(text, [result(3, 8, "PER", " " + text)])])
    table = read(path, recognise(path).reading)
    assert next(iter(table)).cells == ("😀 Peter and Peter", '[[2, 7, "PER"]]')
    assert "nearest occurrence" in table.notes[0]


@pytest.mark.parametrize(
    "item, message",
    [
        ({"text": TEXT, "label": [[0, "5", "PER"]]}, "no start, end and label"),
        ({"label": [[0, 5, "PER"]]}, "no text under “text”"),
        ({"text": TEXT, "label": {"a": 1}}, "“label” is not a list"),
        ([1], "not an object"),
    ],
)
def test_an_invalid_entry_is_reported_with_its_line(tmp_path, item, message):
    path = write_json_lines(tmp_path / "a.jsonl", [*DOCCANO, item])
    reading = recognise(write_json_lines(tmp_path / "good.jsonl", DOCCANO)).reading
    with pytest.raises(BadFile, match=message) as caught:
        list(read(path, reading))
    assert caught.value.line == 3


NESTED = [[25, 33, "LOC"], [25, 46, "ORG"], [30, 47, "X"]]


def test_overlapping_spans_are_kept_and_taggers_learn_the_longer_one(tmp_path):
    item = {"id": 1, "text": TEXT, "label": NESTED}
    path = write_json_lines(tmp_path / "a.jsonl", [item, *DOCCANO])
    dataset = import_files(path, tmp_path / "v", ONLY_TRAIN)
    cell = '[[25, 46, "ORG"], [25, 33, "LOC"], [30, 47, "X"]]'
    assert dataset.column("spans")[0].as_py() == cell
    assert dataset.spec.overlaps == 2 and dataset.spec.spans == {
        "LOC": 3,
        "ORG": 1,
        "PER": 1,
        "X": 1,
    }
    tagged = dataset.rows("train").tagged
    assert tagged.tags[0] == "O O O O B-ORG I-ORG I-ORG O"
    assert tagged.remarks["Span that overlaps another one left out; the longer one was kept"] == 2


@pytest.mark.parametrize(
    "item",
    [
        {
            "tokens": ["New", "York", "Times"],
            "relations": [],
            "entities": [
                {"start": 0, "end": 3, "type": "ORG"},
                {"start": 0, "end": 2, "type": "LOC"},
            ],
        },
        {"tokenized_text": ["New", "York", "Times"], "ner": [[0, 2, "ORG"], [0, 1, "LOC"]]},
        {
            "doc_key": "a",
            "sentences": [["New", "York", "Times"]],
            "ner": [[[0, 2, "ORG"], [0, 1, "LOC"]]],
        },
    ],
)
def test_nested_spans_of_words_become_spans_of_characters(tmp_path, item):
    path = write_json(tmp_path / "a.json", [item])
    (row,) = read(path, recognise(path).reading)
    assert row.cells == ("New York Times", '[[0, 14, "ORG"], [0, 8, "LOC"]]')


@pytest.mark.parametrize(
    "text, spans, tags, lost",
    [
        ("abcd", [(0, 2, "A"), (2, 4, "A")], "B-A B-A", "Word cut"),
        ("ab cd", [(1, 5, "A")], "O B-A I-A", "Word cut"),
        ("ab-cd", [(0, 2, "A")], "B-A O", ""),
        ("ab cd", [(-1, 2, "A")], "O O", "not within its text"),
        ("ab cd", [(2, 2, "A")], "O O", "empty"),
        ("ab cd", [(0, 9, "A")], "O O", "not within its text"),
        (" b cd", [(1, 3, "A")], "B-A O", ""),
        ("ab cd", [(2, 3, "A")], "O O", "white space"),
        ("ab cd", [(0, 2, " ")], "O O", "without a label"),
        ("ab cd", [(0, 5, "A"), (0, 5, "A")], "B-A I-A", ""),
    ],
)
def test_only_valid_spans_become_tags(text, spans, tags, lost):
    result = tag_spans(text, [TextSpan(*span) for span in spans])
    assert " ".join(result.tags) == tags and "".join(result.words) == "".join(text.split())
    assert lost in " ".join(result.remarks) and bool(result.remarks) == bool(lost)


@st.composite
def spanned_text(draw: st.DrawFn) -> tuple[str, list[TextSpan]]:
    """A text with disjoint spans, none of which begins or ends with white space."""
    text = draw(st.text(st.sampled_from("ab ,.-(東京é😀\t\n\u00a0"), max_size=40))
    positions = sorted(draw(st.sets(st.integers(0, len(text)), max_size=10)))
    pairs = zip(positions[::2], positions[1::2], strict=False)
    labels = st.sampled_from(["PER", "LOC", "a type"])
    valid = [(a, b) for a, b in pairs if not (text[a].isspace() or text[b - 1].isspace())]
    return text, [TextSpan(a, b, draw(labels)) for a, b in valid]


@given(spanned_text())
@tries(300)
def test_spans_are_recovered_from_words_and_tags(case):
    text, spans = case
    result = tag_spans(text, spans)
    assert "".join(result.words) == "".join(text.split())
    assert {*result.remarks} <= {"Word cut between two letters, where a span begins or ends"}
    positions, index = [], 0
    for word in result.words:
        index = text.index(word, index)
        positions.append((index, index + len(word)))
        index += len(word)
    recovered = [
        TextSpan(positions[s.start][0], positions[s.end - 1][1], s.type)
        for s in spans_from_tags(result.tags)
    ]
    assert recovered == spans


# ── brat ─────────────────────────────────────────────────────────────────────────────────────────

ANN = "T1\tPER 0 15\tPeter Blackburn\nT2\tLOC 25 33\tNew York\nT3\tLOC 40 46\tBerlin\n"


def brat(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode("utf-8"))
    return folder


def test_a_brat_folder_gives_a_row_for_each_line(tmp_path):
    text = f"{TEXT}\nNothing here\r\n\nover two\nlines of it\n"
    a = text.index("two\nlines")
    ann = ANN + f"T4\tX {a} {a + 9}\ttwo lines\nR1\tin Arg1:T1 Arg2:T2\nT5\tX 0 3;4 9\tPet r\n"
    folder = brat(tmp_path / "b", {"1.txt": text, "1.ann": ann, "2.txt": "no ann", "3.txt": "a b"})
    (folder / "3.ann").write_text("")
    assert holds_texts(folder)
    guess = recognise(folder)
    assert guess.reading.format == "brat" and guess.mapping == Mapping(text="text", tags="spans")
    table = read(folder, guess.reading)
    rows = [row.cells for row in table]
    assert rows == [
        (*MARKED_ROWS[0], "1.txt"),
        (*MARKED_ROWS[1], "1.txt"),
        ("over two\nlines of it", '[[5, 14, "X"]]', "1.txt"),
        ("a b", "[]", "3.txt"),
    ]
    message = " ".join(table.notes)
    for part in ("Discontinuous", "Relations, events", "without an .ann file"):
        assert part in message
    assert import_files(folder, tmp_path / "v").spec.spans == {"LOC": 2, "PER": 1, "X": 1}


def test_changing_an_annotation_changes_the_source_digest(tmp_path):
    from engine.data.datasets.collecting import source_digest

    folder = brat(tmp_path / "b", {"1.txt": TEXT, "1.ann": ANN})
    before = source_digest(folder)
    (folder / "1.ann").write_text(ANN[:26])
    assert source_digest(folder) != before


@pytest.mark.parametrize(
    "ann, line, message",
    [
        ("T1\tPER 0\tPeter\n", 1, "is not a span"),
        (ANN + "T4 PER 0 5 Peter\n", 4, "is not a span"),
        ("T1\tPER 0 5\tHelga\n", 1, "does not contain “Helga” at 0"),
    ],
)
def test_an_invalid_brat_line_is_reported(tmp_path, ann, line, message):
    folder = brat(tmp_path / "b", {"1.txt": TEXT, "1.ann": ann})
    with pytest.raises(BadFile, match=message) as caught:
        list(read(folder, recognise(folder).reading))
    assert caught.value.line == line and caught.value.path.name == "1.ann"

"""A text has one answer, whichever way it comes in."""

import csv
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Mapping, Split
from engine.config.tasks.token_classification import TokenClassification
from engine.data.columns.choices import parse_endings
from engine.data.columns.label_sets import parse_label_sets
from engine.data.columns.numbers import parse_numbers
from engine.data.columns.words import parse_words, split_words
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import read, recognise
from engine.explore.prediction import predict
from engine.messages.explore.prediction import Predict
from engine.models.checkpoint import Checkpoint, load
from engine.models.heads import Heads
from engine.serving.serving import Serving
from engine.tasks.predicting import Predictor
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.models import small
from tests.engine.tokenizers.published_tokenizers import byte_level
from tests.often import tries

TEXTS = (
    "Maria Keller, who lives in Paris, was (very) old.",
    "John York (London) said: “Don't!”\u00ad \u00ad",
    "Мария Келлер, которая живёт в Париже.",
    "Η Μαρία (Παρίσι) ήταν εκεί;",
    "ماريا كيلر، (باريس).",
    "מריה קלר, (פריז).",
    "मारिया केलर, पेरिस।",
    "玛丽亚·凯勒住在巴黎。",
    "マリアはパリに住む。",
    "마리아 켈러, (파리).",
    "มาเรีย (ปารีส)",
    "[1] a list? [no]",
)


@pytest.fixture(scope="module", params=["WordPiece", "byte-level"])
def tagger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A random model of three tags with a small vocabulary."""
    folder = tmp_path_factory.mktemp("tagger")
    if request.param == "WordPiece":
        tokenizer = Tokenizer.train(TEXTS * 5, 400, lowercase=True)
    else:
        tokenizer = Tokenizer.from_folder(byte_level(folder / "bytes", TEXTS * 5))
    heads = Heads(outputs=3, kind=TokenClassification().kind)
    spec = small.SPEC.model_copy(update={"vocab_size": tokenizer.size, "max_positions": 256})
    checkpoint = load(small.folder(folder / "model", heads, spec))
    return replace(checkpoint, tokenizer=tokenizer, labels=("O", "B-x", "I-x"))


def test_tags_of_a_text_are_the_same_typed_in_a_file_and_as_a_list(tagger):
    predictor = Predictor(Serving(tagger))
    of_texts = predictor.predict(Rows(TEXTS))
    words = [parse_words(text) for text in TEXTS]
    assert [row["words"] for row in of_texts] == words
    assert of_texts == predictor.predict(Rows([json.dumps(row) for row in words]))
    found = 0
    for text, row in zip(TEXTS, of_texts, strict=True):
        (alone,) = predictor.predict(Rows([text]))
        assert alone["tags"] == row["tags"]
        spans = predict(tagger, Predict(checkpoint=Path("any"), text=text)).spans
        assert [(span.label, "".join(span.text.split())) for span in spans] == [
            (span["type"], span["text"].replace(" ", "")) for span in row["spans"]
        ]
        assert [span.probability for span in spans] == pytest.approx(
            [span["probability"] for span in row["spans"]], abs=1e-5
        )
        found += len(spans)
    assert found > len(TEXTS)


def test_a_list_of_words_in_a_file_is_their_text_and_keeps_its_words(tagger):
    words = ["Dr.", "Keller", "(London)"]
    mapping = Mapping(text="tokens")
    rows = Rows.from_columns(mapping, {"tokens": [json.dumps(words), "typed text.", "[]"]})
    assert list(rows.texts) == ["Dr. Keller (London)", "typed text.", ""]
    of_list, of_text, _ = Predictor(Serving(tagger)).predict(rows)
    assert of_list["words"] == words and of_text["words"] == ["typed", "text", "."]
    tagged = Rows.from_columns(
        Mapping(text="tokens", tags="tags"), {"tokens": [json.dumps(words)], "tags": ["O O O"]}
    )
    assert list(tagged.plain_texts) == ["Dr. Keller (London)"]


def test_words_of_a_tagged_file_stay_as_they_are(tagger):
    rows = Rows(["U.S. (EU) now."], tags=["B-x O O"])
    (row,) = Predictor(Serving(tagger)).predict(rows)
    assert row["words"] == ["U.S.", "(EU)", "now."]


Cell = str | float | list[str]
Table = list[dict[str, Cell]]


def flat(table: Table) -> list[list[str | float]]:
    """The header and the rows, with lists as JSON."""

    def cell(value: Cell) -> str | float:
        return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value

    return [[*table[0]], *([cell(value) for value in row.values()] for row in table)]


def write_csv(path: Path, table: Table) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(flat(table))


def write_json(path: Path, table: Table) -> None:
    path.write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")


def write_lines(path: Path, table: Table) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")


def write_excel(path: Path, table: Table) -> None:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(flat(table)):
            for column, cell in enumerate(row):
                (sheet.write_string if isinstance(cell, str) else sheet.write)(number, column, cell)


def write_parquet(path: Path, table: Table) -> None:
    pq.write_table(pa.Table.from_pylist(table), path)


def write_arrow(path: Path, table: Table) -> None:
    rows = pa.Table.from_pylist(table)
    with pa.ipc.new_stream(str(path), rows.schema) as stream:
        stream.write_table(rows)


WRITERS = {
    ".csv": write_csv,
    ".tsv": write_csv,
    ".json": write_json,
    ".jsonl": write_lines,
    ".xlsx": write_excel,
    ".parquet": write_parquet,
    ".arrow": write_arrow,
}


def as_tuple(cell: object) -> object:
    return tuple(cell) if isinstance(cell, list) else cell


def parse(kind: str, rows: Rows) -> tuple[list[object], list[object]]:
    """Texts, words or choices, and targets of rows, as the task reads them."""
    labels = list(rows.labels or ())
    inputs: Iterable[object] = rows.texts
    targets: Iterable[object] = labels
    match kind:
        case "numbers":
            targets = parse_numbers(labels).tolist()
        case "sets":
            targets = parse_label_sets(labels)
        case "tags":
            inputs, targets = map(split_words, rows.texts), map(split_words, rows.tags or ())
        case "words":
            inputs = [tuple(text.split(" ")) for text in rows.texts]
        case "choices":
            inputs = parse_endings(rows.endings or [])
    return [*map(as_tuple, inputs)], [*map(as_tuple, targets)]


@st.composite
def tables(draw: st.DrawFn, kind: str) -> Table:
    """A table of 20 rows with words of all scripts."""
    words = [word for text in TEXTS for word in text.split() if "[" not in word]
    pick = st.sampled_from(words)
    sentences = draw(st.lists(st.lists(pick, min_size=3, max_size=8), min_size=20, max_size=20))
    plain = st.sampled_from([word for word in words if not set(word) & set(",;|#.:“")])
    names = draw(st.lists(plain, min_size=4, max_size=4, unique=True))
    rows: Table = []
    for n, sentence in enumerate(sentences):
        text, name = " ".join(sentence) + f" {n}", names[n % 4]
        match kind:
            case "numbers":
                rows.append({"text": text, "score": n / 8 + 0.125})
            case "sets":
                rows.append({"text": text, "labels": names[: 1 + n % 3]})
            case "tags":
                tags = [("O", "B-PER", "B-LOC")[(n + m) % 3] for m in range(len(sentence))]
                rows.append({"tokens": sentence, "ner_tags": tags})
            case "words":
                rows.append({"tokens": sentence, "intent": name})
            case "choices":
                rows.append({"question": text, "choices": [*names], "answer": str(n % 4)})
            case _:
                rows.append({"text": text, "label": name})
    return rows


@pytest.mark.parametrize("kind", ["classes", "numbers", "sets", "tags", "words", "choices"])
@given(data=st.data())
@tries(12)
def test_a_table_means_the_same_in_every_format(tmp_path_factory, kind, data):
    table, folder = data.draw(tables(kind)), tmp_path_factory.mktemp("ways")
    *_, inputs, targets = zip(*(row.values() for row in table), strict=True)
    expected = [*map(as_tuple, inputs)], [*map(as_tuple, targets)]
    for suffix, write in WRITERS.items():
        file = folder / f"rows{suffix}"
        write(file, table)
        reading, columns, mapping, *_ = recognise(file)
        assert mapping is not None
        rows = zip(*(row.cells for row in read(file, reading)), strict=True)
        cells = dict(zip(columns, map(list, rows), strict=True))
        assert parse(kind, Rows.from_columns(mapping, cells)) == expected, suffix
        if suffix in (".csv", ".arrow"):
            target = folder / suffix[1:]
            import_dataset("rows", {"all": file}, reading, mapping, Split(validation=0), target)
            assert parse(kind, open_dataset(target).rows("train")) == expected

"""Pending edits of rows, and differences between two versions."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from engine.config.codebook import Code, Codebook
from engine.config.dataset import Mapping, Split, SplitName
from engine.data.columns.fit import likely_task
from engine.data.datasets.coding import CODING, RowCoding, read_coding
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.differences import RowDifference, differences
from engine.data.datasets.editing import PendingEdits, RowEdit, read_edits, with_tag
from engine.data.datasets.store import Dataset, open_dataset
from engine.errors import StudioError
from engine.runs.launch import CODE
from tests.engine.data.importing import import_files, write_lines


@pytest.fixture
def films(tmp_path: Path) -> Dataset:
    """Twelve rows; every third is for validation."""
    rows = [f"film {n},{'good' if n % 2 else 'bad'}" for n in range(12)]
    file = write_lines(tmp_path / "films.csv", "text,label", *rows)
    return import_files(file, tmp_path / "films" / "1", Split(validation=0.25))


def apply_edits(old: Dataset, rows: dict[int, RowEdit]) -> Dataset:
    """Derive the next version."""
    into = old.folder.parent / str(old.spec.version + 1)
    edits = PendingEdits(fingerprint=old.spec.fingerprint, rows=rows).edits()
    derive(old.folder, into, old.spec.version + 1, edits=edits)
    return open_dataset(into)


def test_edits_become_the_next_version_with_its_lineage(films):
    train = [n for n in range(12) if films.page(n, 1)[0]["_split"] == "train"]
    other = next(n for n in train if n not in (2, 3, 5))
    new = apply_edits(
        films,
        {
            other: RowEdit(split="test"),
            2: RowEdit(cells={"label": "good"}),
            3: RowEdit(cells={"text": "a better film", "label": "bad"}),
            5: RowEdit(deleted=True, cells={"label": "bad"}),
        },
    )
    assert new.spec.made_from == 1
    assert new.spec.changes == (
        "1 row removed.",
        "2 rows relabelled: “bad” → “good” (1), “good” → “bad” (1).",
        "“text” edited in 1 row.",
        "1 row moved to the test set.",
    )
    rows = differences(films, new)
    assert RowDifference(4, 2, 2, {"label": ("bad", "good")}) in rows
    text = {"text": ("film 3", "a better film"), "label": ("good", "bad")}
    assert RowDifference(5, 3, 3, text) in rows
    assert rows[-1] == RowDifference(7, 5, None, {})
    assert RowDifference(other + 2, other, other - (other > 5), {}, ("train", "test")) in rows
    assert len(rows) == 4
    assert differences(films, films) == []


def test_rows_are_matched_across_several_versions(films):
    second = apply_edits(films, {n: RowEdit(deleted=True) for n in (0, 4, 11)})
    third = apply_edits(second, {0: RowEdit(cells={"text": "the second row"})})
    rows = differences(films, third)
    assert rows[0] == RowDifference(3, 1, 0, {"text": ("film 1", "the second row")})
    assert [(row.line, row.after) for row in rows[1:]] == [(2, None), (6, None), (13, None)]
    reverse = differences(third, films)
    assert [row.line for row in reverse if row.before is None] == [2, 6, 13]


def import_splits(folder: Path, texts: dict[SplitName, list[str]]) -> Dataset:
    """Import one file per split, with these texts from its second line on."""
    files = {
        name: write_lines(folder / f"{name}.csv", "text,label", *(f"{text},good" for text in rows))
        for name, rows in texts.items()
    }
    return import_files(files, folder / "films" / "1")


def test_rows_of_several_files_are_matched_by_their_cells(tmp_path):
    """Line numbers repeat in each file, so that they alone do not identify a row."""
    old = import_splits(
        tmp_path,
        {
            "train": ["one", "two", "three"],
            "validation": ["four", "five", "six", "seven", "eight"],
            "test": ["nine", "ten", "eleven"],
        },
    )
    deleted = {1, 2, 3}  # the last two of train and the first one of validation
    rows = {n: RowEdit(deleted=True) for n in deleted} | {6: RowEdit(cells={"label": "bad"})}
    new = apply_edits(old, rows)
    changes = differences(old, new)
    assert [(row.before, row.after, row.cells) for row in changes] == [
        (6, 3, {"label": ("good", "bad")}),
        *((n, None, {}) for n in sorted(deleted)),
    ]
    reverse = differences(new, old)
    assert {row.after for row in reverse if row.before is None} == deleted and len(reverse) == 4


def test_copies_in_several_files_are_matched_in_their_order(tmp_path):
    old = import_splits(tmp_path, {"train": ["one", "two", "three"], "test": ["one", "two"]})
    new = apply_edits(old, {1: RowEdit(deleted=True), 4: RowEdit(cells={"text": "four"})})
    assert differences(old, new) == [
        RowDifference(3, 4, 3, {"text": ("two", "four")}),
        RowDifference(3, 1, None, {}),
    ]


def test_edits_are_saved_and_empty_edits_remove_the_file(tmp_path):
    file = tmp_path / "edits" / "films-1.json"
    edits = PendingEdits(fingerprint="a", rows={3: RowEdit(cells={"label": "good"})})
    edits.write(file)
    assert read_edits(file, "a") == edits
    with pytest.raises(StudioError, match="belong to another data set"):
        read_edits(file, "b")
    file.write_text("{\n", encoding="utf-8")
    with pytest.raises(StudioError, match="cannot be read"):
        read_edits(file, "a")
    PendingEdits(fingerprint="a").write(file)
    assert not file.exists() and read_edits(file, "a") == PendingEdits(fingerprint="a")


CODER = """
import sys
from pathlib import Path
from engine.data.datasets.editing import PendingEdits, RowEdit, read_edits

path = Path(sys.argv[1])
read_edits(path, "f").write(path)
for row in range(100_000):  # as the window does it: a decision, then the next row
    edit = RowEdit(cells={"label": f"label of row {row}"})
    PendingEdits(fingerprint="f", rows={row: edit}).append(path)
    print(row, flush=True)
"""


def test_no_decision_is_lost_if_the_program_is_killed_at_any_moment(tmp_path):
    path, shown = tmp_path / "edits.jsonl", 0
    for most in (1, 60):
        command = [sys.executable, "-c", CODER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CODE) as coder:
            assert coder.stdout is not None
            for _ in range(most):
                shown = max(shown, int(coder.stdout.readline()))
            coder.kill()  # SIGKILL, or TerminateProcess on Windows
        rows = read_edits(path, "f").rows
        assert all(rows[n].cells == {"label": f"label of row {n}"} for n in range(shown + 1))


def test_edits_of_a_row_are_merged():
    first = RowEdit(cells={"label": "good", "text": "a film"}, split="test")
    merged = first.merge(RowEdit(cells={"label": "bad"}))
    assert merged == RowEdit(cells={"label": "bad", "text": "a film"}, split="test")
    assert first.merge(RowEdit(deleted=True)).merge(RowEdit()) == first
    assert RowEdit().is_empty and not first.is_empty


@pytest.mark.parametrize(
    "cell, first, last, name, expected",
    [
        ("O O O", 0, 1, "person", "B-person I-person O"),
        ("B-person I-person I-person", 1, 1, "", "B-person O B-person"),
        ("B-person I-person O", 1, 2, "place", "B-person B-place I-place"),
        ("B-a B-a O", 0, 1, "a", "B-a I-a O"),
        ("NOUN VERB O", 0, 1, "ADJ", "ADJ ADJ O"),
    ],
)
def test_words_get_a_tag(cell, first, last, name, expected):
    are_spans = "NOUN" not in cell
    assert with_tag(cell.split(), first, last, name, are_spans) == expected


def test_each_edit_is_a_line_of_the_file_and_the_last_one_of_a_row_counts(tmp_path):
    file = tmp_path / "edits" / "x.jsonl"
    good, bad = RowEdit(cells={"label": "good"}), RowEdit(cells={"label": "bad"})
    book = Codebook(codes=(Code(label="good"),))
    for rows, codebooks in (
        ({1: good, 2: good}, {}),
        ({2: bad}, {"label": book}),
        ({1: RowEdit()}, {}),
    ):
        PendingEdits(fingerprint="a", rows=rows, codebooks=codebooks).append(file)
    expected = PendingEdits(fingerprint="a", rows={2: bad}, codebooks={"label": book})
    assert read_edits(file, "a") == expected
    with open(file, "ab") as lines:
        lines.write(b'{"fingerprint":"a","rows":{"2":')  # the program was ended here
    assert read_edits(file, "a") == expected
    read_edits(file, "a").write(file)
    assert len(file.read_text().splitlines()) == 1 and read_edits(file, "a") == expected


def test_coding_and_codebooks_become_part_of_the_version_and_follow_their_rows(films):
    when = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    coded = RowCoding(coder="Ada", at=when, drawn="random", chance=0.25, control=True, note="why?")
    flagged, unsure = RowCoding(coder="Ben", flagged=True), RowCoding(skipped=True, unsure=True)
    book = Codebook(codes=(Code(label="good", definition="praise", examples=("a delight",)),))
    rows = {
        1: RowEdit(deleted=True),
        2: RowEdit(cells={"label": "good"}, coding={"label": coded, "tone": flagged}),
        7: RowEdit(coding={"label": unsure}),
    }
    edits = PendingEdits(fingerprint="", rows=rows, codebooks={"label": book}).edits()
    derive(films.folder, films.folder.parent / "2", 2, edits=edits)
    second = open_dataset(films.folder.parent / "2")
    second.verify()
    assert second.spec.codebooks == {"label": book}
    expected = {1: {"label": coded, "tone": flagged}, 6: {"label": unsure}}
    assert read_coding(second.folder) == expected and read_coding(films.folder) == {}
    third = apply_edits(second, {0: RowEdit(deleted=True), 5: RowEdit(coding={"label": flagged})})
    new = {0: expected[1], 4: {"label": flagged}, 5: {"label": unsure}}
    assert read_coding(third.folder) == new and third.spec.codebooks == {"label": book}
    (third.folder / CODING).write_bytes(b"no Parquet")
    with pytest.raises(StudioError, match="The coding of the rows in films 3 cannot be read"):
        read_coding(third.folder)


def test_a_version_gets_an_empty_column_for_coding(films):
    derive(films.folder, films.folder.parent / "2", 2, edits=Edits(coded_column="tone"))
    new = open_dataset(films.folder.parent / "2").spec
    assert new.columns == ("text", "label", "tone") and new.mapping == Mapping(
        text="text", label="tone"
    )
    assert sum(new.unlabelled.values()) == 12 and new.targets["label"].labels == {
        "bad": 6,
        "good": 6,
    }
    assert new.changes == ("Column “tone” added for coding.",)


def test_pairs_without_labels_are_coded_as_pairs(tmp_path):
    lines = [f"question {n}\tanswer {n}" for n in range(12)]
    file = write_lines(tmp_path / "pairs.tsv", "text\tother", *lines)
    mapping = Mapping(text="text", pair="other")
    import_files(file, tmp_path / "x" / "1", mapping=mapping)
    derive(tmp_path / "x" / "1", tmp_path / "x" / "2", 2, edits=Edits(coded_column="fits"))
    new = open_dataset(tmp_path / "x" / "2")
    assert new.spec.mapping == Mapping(text="text", pair="other", label="fits")
    assert likely_task(new.spec.mapping).kind == "pair_classification"


def test_a_codebook_names_each_label_and_key_once():
    for codes in (
        (Code(label="a"), Code(label="a")),
        (Code(label="a", key="1"), Code(label="b", key="1")),
    ):
        with pytest.raises(ValidationError, match="is in the codebook twice"):
            Codebook(codes=codes)
    scale = Codebook(
        kind="number", lowest=-1, highest=1, codes=(Code(label="0", definition="neutral"),)
    )
    assert [code.label for code in scale.active] == ["-1", "0", "1"]
    assert scale.active[1].definition == "neutral"

"""An import from the choice of files to the new folder, with real files and no widgets."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
import xlsxwriter
from PySide6.QtCore import QThreadPool

from app.pages.data.importing.roles import Roles
from app.pages.data.importing.sections import LIST_ROLES
from app.pages.data.importing.state import ImportState
from app.studio import Studio
from engine.config.dataset import Cleaning, Mapping
from engine.data.datasets.store import open_dataset
from tests.app.pages.train.conftest import write_model

PATIENCE = 30_000  # ms


class Import:
    """An ImportState with helpers that wait for its results."""

    def __init__(self, qtbot, studio: Studio) -> None:
        self._qtbot = qtbot
        self.state = ImportState(studio, studio.datasets)
        self.folders: list[Path] = []
        self.state.imported.connect(self.folders.append)

    def open(self, *paths: Path) -> ImportState:
        """Open files and wait for their preview."""
        self.state.open(paths)
        self.wait(lambda s: s.preview is not None or s.preview_problem is not None)
        return self.state

    def wait(self, condition: Callable[[ImportState], object]) -> None:
        self._qtbot.waitUntil(lambda: bool(condition(self.state)), timeout=PATIENCE)

    def wait_for_count(self) -> None:
        self.wait(lambda s: s.count.split_rows is not None or s.count.problem is not None)

    def finish(self) -> Path:
        self.state.start_import()
        assert self.state.is_importing
        self.wait(lambda s: not s.is_importing)
        return self.folders[-1]

    def messages(self) -> list[str]:
        return [problem.text for problem in self.state.problems()]


@pytest.fixture
def importing(qtbot, studio: Studio) -> Import:
    return Import(qtbot, studio)


def test_a_file_becomes_a_data_set_in_the_home(importing, studio, reviews):
    state = importing.open(reviews)
    assert state.reading.format == "csv"
    assert state.roles == Roles("sentence", None, "label")
    assert state.name == "reviews"
    importing.wait_for_count()
    assert not state.obstacle()
    state.set_split(state.split.model_copy(update={"validation": 0.25, "test": 0.25}))
    importing.wait_for_count()
    sizes = dict(state.count.split_rows)
    assert sizes == {"train": 60, "validation": 30, "test": 30}
    folder = importing.finish()
    assert folder == studio.home.datasets / "reviews" / "1"
    dataset = open_dataset(folder)
    assert len(dataset) == 120
    assert dataset.spec.labels == {"0": 40, "1": 80} and dataset.spec.rows == sizes


def test_a_name_creates_a_new_data_set_or_its_next_version(importing, reviews, studio):
    for name in ("a/b", "a:b"):
        importing.open(reviews)
        importing.state.set_name(name)
        importing.finish()
    assert sorted(entry.name for entry in studio.datasets()) == ["a/b", "a:b"]
    assert len({folder.parent for folder in importing.folders}) == 2
    importing.open(reviews)
    importing.finish()
    state = importing.open(reviews)
    assert state.version == 2
    folder = importing.finish()
    assert folder == studio.home.datasets / "reviews" / "2"
    assert open_dataset(folder).spec.version == 2
    assert (studio.home.datasets / "reviews" / "1").is_dir()


def test_other_reading_options_are_shown_immediately(importing, write):
    state = importing.open(write("semicolons.csv", "text;label\nshort, but good;1\nbad;0\n"))
    assert state.columns == ("text", "label")
    state.set_reading(state.reading.model_copy(update={"delimiter": ","}))
    importing.wait(lambda s: s.preview_problem is not None)
    assert "line 2" in state.preview_problem.problem
    state.set_reading(state.reading.model_copy(update={"delimiter": ";", "header": False}))
    importing.wait(lambda s: s.preview is not None)
    assert state.columns == ("column 1", "column 2")
    assert len(state.preview.table.rows) == 3


def test_an_invalid_row_below_the_preview_is_reported_with_its_line(importing, write):
    rows = [f"a good film {n},1" for n in range(2990)]
    state = importing.open(write("bad.csv", "text,label\n" + "\n".join([*rows, "x,y,z"]) + "\n"))
    assert not state.obstacle(), "the first rows are valid"
    importing.wait_for_count()
    assert "line 2992" in state.obstacle()
    state.start_import()
    assert not state.is_importing


def test_unreadable_files_are_reported(importing, tmp_path):
    for name, content, problem in (
        ("empty.csv", b"", "the file is empty"),
        ("table.xlsx", b"PK\x03\x04 xl/ and more", "cannot be unpacked"),
        ("noise.txt", bytes(range(256)) * 40, "binary"),
        ("missing.csv", None, "does not exist"),
    ):
        file = tmp_path / name
        if content is not None:
            file.write_bytes(content)
        state = importing.open(file)
        assert state.reading is None
        assert problem in state.obstacle()
        assert name in state.obstacle()


def test_a_wrong_encoding_is_named_and_can_be_corrected(importing, write):
    state = importing.open(write("umlauts.csv", "text,label\nschön und gut,1\nübel,0\n"))
    valid = state.reading
    for wrong in ("ascii", "no-such-encoding"):
        state.set_reading(valid.model_copy(update={"encoding": wrong}))
        importing.wait(
            lambda s, wrong=wrong: s.preview_problem and wrong in s.preview_problem.problem
        )
    state.set_reading(valid)
    importing.wait(lambda s: s.preview is not None)
    assert not state.obstacle()


def test_a_single_class_can_be_imported_with_a_warning(importing, write):
    state = importing.open(write("same.csv", "text,label\n" + "a good film,1\n" * 40))
    state.set_roles(Roles("text", None, "label"))
    importing.wait_for_count()
    assert any("Only one class, “1”" in text for text in importing.messages())
    assert not state.obstacle()


def test_missing_choices_are_reported(importing, reviews):
    state = importing.open(reviews)
    state.set_roles(Roles(None, None, "label"))
    assert state.obstacle() == "No text column is chosen."
    state.set_roles(Roles("label", None, "label"))
    assert state.obstacle() == "The same column is used twice."
    state.set_roles(Roles("sentence", None, "label"))
    state.set_name("  ")
    assert state.obstacle() == "The data set has no name."
    state.set_name("named")
    assert not state.obstacle()


def test_file_names_determine_the_splits(importing, write):
    rows = "text,label\n" + "".join(f"a film {n},{n % 2}\n" for n in range(10))
    for name in ("dev", "test", "train"):
        write(f"films/{name}.csv", rows)
    state = importing.open(write("films/README.txt", "about").parent)
    assert state.name == "films"
    assert [file.name for file in state.files] == ["train.csv", "dev.csv", "test.csv"]
    importing.wait_for_count()
    assert state.count.split_rows == {"train": 10, "validation": 10, "test": 10}
    dataset = open_dataset(importing.finish())
    assert dataset.spec.rows == {"train": 10, "validation": 10, "test": 10}


def test_files_without_split_names_are_all_for_training(importing, write):
    for name in ("emma", "hamlet", "alice"):
        write(f"books/{name}.txt", "\n".join(f"line {n} of {name}" for n in range(10)))
    state = importing.open(write("books/README.txt", "about").parent)
    assert state.splits == ["train"] * 3
    assert not state.obstacle()
    importing.wait_for_count()
    assert state.count.split_rows == {"train": 27, "validation": 3, "test": 0}
    dataset = open_dataset(importing.finish())
    texts = {text.split()[-1] for text in dataset.rows("train").texts}
    assert texts == {"emma", "hamlet", "alice"}
    assert [path.stem for path in dataset.spec.sources["all"]] == ["alice", "emma", "hamlet"]
    assert len(dataset.spec.source_sha256) == 3


def test_one_of_several_files_must_be_for_training(importing, write):
    rows = "text,label\nlong,0\nshort,1\n"
    state = importing.open(write("a.csv", rows), write("b.csv", rows))
    assert state.sources == {"all": tuple(state.files)}
    state.set_file_split(0, "test")
    state.set_file_split(1, "validation")
    assert state.obstacle() == "No file is assigned to the training set."
    state.set_file_split(1, None)
    state.set_file_split(0, "train")
    assert state.sources == {"all": (state.files[0],)}
    assert not state.obstacle()


def test_columns_are_those_of_the_sheet_for_training(importing, tmp_path):
    book = tmp_path / "survey.xlsx"
    with xlsxwriter.Workbook(book) as workbook:
        answers, codes = workbook.add_worksheet("Answers"), workbook.add_worksheet("Codes")
        for row in range(20):
            answers.write_row(row, 0, (f"a long answer {row}", "yes" if row % 2 else "no", row))
            codes.write_row(
                row, 0, ("meaning", "code") if not row else (f"code number {row}", row % 2)
            )
    state = importing.open(book)
    assert [file.name for file in state.files] == ["Answers", "Codes"]
    assert state.splits == ["train", None] and not state.reading.header
    assert len(state.columns) == 3
    state.set_file_split(1, "train")
    assert state.file_index == 0 and len(state.columns) == 3
    state.set_file_split(0, None)
    importing.wait(lambda s: not s._previewing.is_busy)
    assert (state.file_index, state.columns) == (1, ("meaning", "code"))
    assert state.reading.header and state.roles.text == "meaning"
    dataset = open_dataset(importing.finish())
    assert dataset.spec.columns == ("meaning", "code") and sum(dataset.spec.rows.values()) == 19


def test_roles_are_guessed_again_when_their_columns_disappear(importing, write):
    rows = "".join(f"a film {n},a longer note {n},{n % 2}\n" for n in range(20))
    state = importing.open(write("films.csv", "text,note,label\n" + rows))
    state.set_roles(Roles("note", None, "label"))
    state.set_reading(state.reading.model_copy(update={"quoted": False}))
    importing.wait(lambda s: not s._previewing.is_busy)
    assert state.roles.text == "note", "an existing column stays chosen"
    state.set_reading(state.reading.model_copy(update={"header": False}))
    importing.wait(lambda s: not s._previewing.is_busy)
    assert state.roles.text != "note"
    assert "chosen again" in state.columns_note
    state.set_roles(Roles(state.columns[0], None, state.columns[2]))
    assert not state.columns_note


def find_fix(state: ImportState, text: str) -> Cleaning:
    """The cleaning offered with this message."""
    (problem,) = [p for p in state.problems() if text in p.text and p.cleaning_title]
    return problem.cleaning


def test_rows_without_a_label_are_skipped_and_restored_at_a_click(importing, write):
    rows = "".join(f"a film {n},{'' if n < 2 else n % 2}\n" for n in range(20))
    state = importing.open(write("holes.csv", "text,label\n" + rows))
    importing.wait_for_count()
    (note,) = importing.messages()
    assert note.startswith("2 of 20 rows (10.0 %) have no label: they are kept")
    for _ in range(2):
        state.set_cleaning(find_fix(state, "have no label"))
        importing.wait_for_count()
        assert importing.messages() == ["Rows in which “label” is empty are skipped."]
        state.set_cleaning(find_fix(state, "are skipped"))
        importing.wait_for_count()
        assert importing.messages() == [note]
    state.set_cleaning(find_fix(state, "have no label"))
    importing.wait_for_count()
    dataset = open_dataset(importing.finish())
    assert sum(dataset.spec.rows.values()) == 18 and dataset.spec.labels == {"0": 9, "1": 9}
    assert any("skipped: 2 times" in note for note in dataset.spec.notes)


def test_each_kind_of_incomplete_row_has_its_own_button(importing, write):
    rows = "".join(
        f"{'' if n < 3 else f'a film {n}'},{'' if n > 17 else n % 2}\n" for n in range(20)
    )
    state = importing.open(write("holes.csv", "text,label\n" + rows))
    importing.wait_for_count()
    assert find_fix(state, "have no text").skip_empty == ("text",)
    assert find_fix(state, "have no label").skip_empty == ("label",)
    state.set_cleaning(find_fix(state, "have no label"))
    importing.wait_for_count()
    state.set_cleaning(find_fix(state, "have no text"))
    importing.wait_for_count()
    assert importing.messages() == ["Rows in which one of “label”, “text” is empty are skipped."]


def test_only_the_checks_report_answers_not_in_their_passage(importing, write):
    rows = "".join(f"who is {n}?,It is Ann at {n}.,{'aA'[n % 2]}nn\n" for n in range(20))
    state = importing.open(write("who.csv", "question,context,answer\n" + rows))
    importing.wait_for_count()
    importing.wait(lambda s: s.findings.listed)
    (finding,) = state.findings.listed
    assert "10 rows whose passage spells the answer in another way" in finding.sentence
    assert not any("answer" in message for message in importing.messages())


def test_labels_in_several_spellings_are_reported_and_merged_at_a_click(importing, write):
    spellings = {1: "Positive", 2: "positive ", 3: "postive"}
    rows = [f"a film {n},{spellings.get(n, ('negative', 'positive')[n % 2])}" for n in range(60)]
    state = importing.open(write("spelled.csv", "\n".join(["text,label", *rows])))
    importing.wait_for_count()
    text = "The labels “positive” and “Positive”, “postive” may be the same; they are treated as "
    assert importing.messages() == [text + "different labels."]
    assert set(state.count.collected.labels) == {"negative", "positive", "Positive", "postive"}
    state.set_cleaning(find_fix(state, "may be the same"))
    importing.wait_for_count()
    assert importing.messages() == ["Other spellings are read as “positive”."]
    dataset = open_dataset(importing.finish())
    assert dataset.spec.labels == {"negative": 29, "positive": 31}
    assert dataset.spec.cleaning.spellings == {"Positive": "positive", "postive": "positive"}


def test_examples_show_the_tokens_of_the_model(importing, studio, write):
    folder = write_model(studio.home.models / "little")
    state = importing.open(write("pairs.csv", "text,pair,label\nthe film,a film,1\nbad,good,0\n"))
    state.set_roles(Roles("text", "pair", "label"))
    state.examples.set_model(folder)
    importing.wait(lambda s: s.examples.examples)
    first = state.examples.examples[0]
    word = [t.text.removeprefix("##") for t in first.tokens if (t.word, t.segment) == (0, 0)]
    assert "".join(word) == "the"
    assert [t.text for t in first.tokens if t.special] == ["[CLS]", "[SEP]", "[SEP]"]
    assert {token.segment for token in first.tokens} == {0, 1}
    assert (first.label, first.line) == ("1", 2)


def test_a_damaged_tokenizer_is_reported_instead_of_examples(importing, studio, reviews):
    folder = write_model(studio.home.models / "little")
    for name in ("tokenizer.json", "vocab.txt"):
        (folder / name).write_text("{")
    state = importing.open(reviews)
    state.examples.set_model(folder)
    importing.wait(lambda s: s.examples.problem)
    assert not state.examples.examples
    assert not state.obstacle(), "the import itself needs no model"


def test_cancelling_leaves_nothing(importing, studio, write, qtbot):
    rows = "".join(f"the film number {n} was long,{n % 2}\n" for n in range(150_000))
    state = importing.open(write("many.csv", "text,label\n" + rows))
    with qtbot.waitSignal(state.progressed, timeout=PATIENCE):
        state.start_import()
    state.cancel_import()
    assert not state.is_importing
    state.close()
    assert QThreadPool.globalInstance().waitForDone(PATIENCE)
    files = [path for path in studio.home.datasets.rglob("*") if path.is_file()]
    assert not files
    assert not importing.folders


def test_choices_are_reset_for_another_file_and_survive_a_failed_import(importing, reviews, write):
    state = importing.open(reviews)
    state.set_split(state.split.model_copy(update={"column": "label"}))
    state = importing.open(write("other.txt", "Just text.\n\nAnd more.\n"))
    assert state.split.column is None
    assert state.roles == replace(Roles(), text="text")
    state = importing.open(reviews)
    importing.wait_for_count()
    reviews.unlink()
    state.start_import()
    importing.wait(lambda s: not s.is_importing)
    assert any("reviews.csv" in text for text in importing.messages())
    assert state.roles == Roles("sentence", None, "label")
    assert not importing.folders


def test_chosen_fixes_create_a_second_version(importing, duplicates):
    state = importing.open(duplicates)
    importing.wait(lambda s: s.findings.findings is not None)
    assert [f.check for f in state.findings.listed] == ["label_conflicts", "exact_duplicates"]
    assert not state.obstacle() and state.findings.note()
    state.set_split(state.split.model_copy(update={"validation": 0.3}))
    assert state.findings.findings is None, "another split may have other findings"
    importing.wait(lambda s: s.findings.findings is not None)
    conflict, duplicate = state.findings.listed
    assert [fix.name for fix in conflict.fixes] == ["majority", "several", "drop"]
    state.findings.choose(conflict, conflict.fixes[0])
    state.findings.choose(conflict, conflict.fixes[-1])
    state.findings.choose(duplicate, duplicate.fixes[0])
    assert state.findings.chosen_fixes == {
        ("label_conflicts", "drop"),
        ("exact_duplicates", "drop"),
    }
    state.findings.choose(conflict, None)
    folder = importing.finish()
    assert folder.name == "2"
    spec = open_dataset(folder).spec
    assert (spec.version, spec.made_from) == (2, 1) and sum(spec.rows.values()) == 41
    assert spec.changes == ("1 row removed.",)
    assert sum(open_dataset(folder.parent / "1").spec.rows.values()) == 42, "version 1 is kept"


def test_an_import_whose_fix_drops_every_row_leaves_nothing(importing, write, studio):
    text = "the same words again and again"
    rows = [f"{text},{n % 2}" for n in range(12)]
    state = importing.open(write("one.csv", "\n".join(["sentence,label", *rows])))
    importing.wait(lambda s: s.findings.findings is not None)
    conflict = next(f for f in state.findings.listed if f.check == "label_conflicts")
    state.findings.choose(conflict, conflict.fixes[-1])
    state.start_import()
    importing.wait(lambda s: not s.is_importing)
    assert "No training row is left." in importing.messages() and not importing.folders
    assert not list(studio.home.datasets.iterdir())


def test_every_role_can_be_chosen_and_roles_become_a_mapping():
    assert {field.name for field in fields(Roles)} == set(Mapping.model_fields)
    assert LIST_ROLES == ("flags", "endings", "coders")
    assert Roles().mapping() is None
    assert Roles("text", label="text").mapping() is None
    mapping = Mapping(text="a", label="b", endings=("c", "d"))
    assert Roles.from_mapping(mapping).mapping() == mapping
    assert Roles.from_mapping(mapping).columns == {
        "a": "text",
        "b": "label",
        "c": "endings",
        "d": "endings",
    }

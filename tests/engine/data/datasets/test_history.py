"""The changes of a version are found by comparing it with the one before."""

from engine.config.dataset import Split
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import recognise
from tests.engine.data.importing import import_files, write_lines

ROWS = [f"film {n},{('good', 'bad', '')[n % 3]},{('low', 'high')[n % 2]},x{n}" for n in range(60)]


def test_changes_of_rows_name_labels_targets_and_columns(tmp_path):
    file = write_lines(tmp_path / "films.csv", "text,label,urgency,note", *ROWS)
    old = import_files(file, tmp_path / "films" / "1")
    cells = {
        0: {"label": "bad"},
        1: {"label": ""},
        2: {"label": "good", "urgency": "high"},
        3: {"label": "bad", "note": "y"},
        4: {"text": "another"},
        6: {"urgency": ""},
    }
    new = derive(old.folder, tmp_path / "films" / "2", 2, edits=Edits({7, 8}, cells, {9: "test"}))
    assert new.changes == (
        "2 rows removed.",
        "1 row labelled.",
        "1 label removed.",
        "2 rows relabelled: “good” → “bad” (2).",
        "“urgency”: 1 label removed.",
        "“urgency”: 1 row relabelled: “low” → “high” (1).",
        "“text” edited in 1 row.",
        "“note” edited in 1 row.",
        "1 row moved to the test set.",
    )
    same = derive(tmp_path / "films" / "2", tmp_path / "films" / "3", 3)
    assert same.changes == ()


def test_an_import_under_the_same_name_says_what_is_new(tmp_path):
    file = write_lines(tmp_path / "films.csv", "text,label,urgency,note", *ROWS)
    first = import_files(file, tmp_path / "films" / "1").spec
    more = write_lines(tmp_path / "more.csv", "text,label,urgency,who", *ROWS, "film 60,good,low,a")
    guess = recognise(more)
    mapping = guess.mapping.model_copy(update={"label": "urgency"})
    split = Split(column="who", by="group")
    folder = tmp_path / "films" / "2"
    spec = import_dataset("films", {"all": more}, guess.reading, mapping, split, folder, 2)
    assert first.changes == () and spec.made_from is None
    assert open_dataset(folder).spec == spec and spec.changes == (
        "Imported from more.csv.",
        "1 row more.",
        "Split by the groups in “who”.",
        "Labels: “urgency”.",
        "New columns: “who”.",
        "Without the columns: “note”.",
    )

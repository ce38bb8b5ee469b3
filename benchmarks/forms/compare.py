"""Small files as their tools write them: each is read as it was meant, or refused by its name.

Datasets, pandas, polars, pyarrow, csv, openpyxl, spaCy, Label Studio, Argilla, python-docx and
dkpro-cassis write the files in a virtual environment of their own in WORK, made by the first run;
the program reads them as an import does. Then it exports data sets, and the tools read these.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.harness import print_row, table_head
from engine.config.dataset import Split
from engine.data.columns.answers import parse_answers
from engine.data.columns.label_sets import parse_label_sets
from engine.data.columns.words import split_words
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import recognise
from engine.errors import StudioError

PEERS = (
    *("datasets==5.2.0", "pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1", "openpyxl==3.1.5"),
    *("xlsxwriter==3.3.1", "spacy==3.8.18", "label-studio-sdk==2.1.2", "argilla==2.8.0"),
    *("python-docx==1.2.0", "dkpro-cassis==0.12.0", "requests"),
    *("python-calamine", "platformdirs", "psutil", "tokenizers"),  # of the program's exports
)
WRITER, EXPORTER = (Path(__file__).with_name(name) for name in ("write.py", "exported.py"))
ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> None:
    parser = harness.parser("forms", __doc__)
    parser.add_argument("work", type=Path)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        written = write(options.work.absolute(), Path(folder) / "files")
        outcomes = [(file, outcome(file, written["rows"])) for file in written["files"]]
        exported = read_exports(options.work.absolute(), Path(folder) / "exported")
    counts = Counter((file["tool"], kind_of(result)) for file, result in outcomes)
    kinds = ("right", "refused by name", "wrong")
    print(table_head("tool", *kinds))
    for tool in dict.fromkeys(tool for tool, _ in counts):
        print_row(tool, *(counts[tool, kind] for kind in kinds))
    print_row("all", *(sum(counts[t, k] for t, k in counts if k == kind) for kind in kinds))
    kinds = tuple(next(iter(exported.values())))
    print(table_head("export", *kinds))
    for name, results in exported.items():
        print_row(name, *(kind_of(results[kind]) for kind in kinds))
    wrong = [f"{file['file']}: {result}" for file, result in outcomes if kind_of(result) == "wrong"]
    wrong += [f"{n} of {k}: {r}" for n, found in exported.items() for k, r in found.items()
              if r != "right"]  # fmt: skip
    sys.exit("\n".join(wrong) or None)


def kind_of(result: str) -> str:
    return result if result in ("right", "refused by name") else "wrong"


def write(work: Path, folder: Path) -> dict[str, Any]:
    """Let the tools write the files into a folder; returns `files.json` with whole paths."""
    python = work / "peers" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "peers"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True, env=environment)
    subprocess.run([python, WRITER, folder], check=True, env=environment)
    written: dict[str, Any] = json.loads((folder / "files.json").read_text("utf-8"))
    for file in written["files"]:
        file["path"] = folder / file["file"]
    return written


def read_exports(work: Path, folder: Path) -> dict[str, dict[str, str]]:
    """Export data sets in every format and let the tools read them; results by format and kind."""
    folder.mkdir()
    python = work / "peers" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    run = subprocess.run(
        [python, EXPORTER, folder], check=True, env=environment, capture_output=True, text=True
    )
    results: dict[str, dict[str, str]] = json.loads(run.stdout.splitlines()[-1])
    return results


def outcome(file: dict[str, Any], rows: dict[str, dict[str, list[Any]]]) -> str:
    """“right”, “refused by name”, or what is wrong."""
    try:
        found = read(file["path"])
    except StudioError as error:
        return (
            "refused by name" if file["refused"] and file["refused"] in str(error) else str(error)
        )
    if file["refused"]:
        return f"read, but is {file['refused']}"
    columns, values = rows[file["kind"]], meaning(file["kind"], found)
    if isinstance(values, str):
        return values
    expected = [column for name, column in columns.items() if name != "id"]
    pairs = zip(values, expected, strict=True)
    return next((f"{a[:2]} instead of {b[:2]}" for a, b in pairs if a != b), "right")


def read(path: Path) -> Rows:
    guess = recognise(path)
    if guess.mapping is None:
        raise StudioError("There is no text in it.", "")
    with tempfile.TemporaryDirectory() as folder:
        version = Path(folder) / "v1"
        import_dataset(
            "x", {"train": path}, guess.reading, guess.mapping, Split(validation=0), version
        )
        stored = open_dataset(version).rows("train")
        return stored.take(range(len(stored)))


def meaning(kind: str, rows: Rows) -> list[list[Any]] | str:
    """The columns in the order of the kind; a sentence if a role is missing."""
    texts, labels = [*rows.texts], [*(rows.labels or ())]
    match kind:
        case "texts":
            return [texts]
        case "classes":
            return [texts, labels]
        case "scores":
            return [texts, [round(float(label), 9) for label in labels]]
        case "sets":
            return [texts, [list(labels) for labels in parse_label_sets(labels)]]
        case "flags":
            sets = parse_label_sets(labels)
            return [texts, [[float(str(n) in one) for n in range(3)] for one in sets]]
        case "words":
            return [[text.split(" ") for text in texts], labels]
        case "pairs":
            return [texts, [*(rows.pairs or ())], labels]
        case "tags":
            tagged = rows.tagged
            return [[*map(split_words, cells)] for cells in (tagged.words, tagged.tags or ())]
    contexts, answers = [*(rows.pairs or ())], rows.answers or ()
    parsed = [parse_answers(a, c) for a, c in zip(answers, contexts, strict=bool(answers))]
    lists = [
        {"text": [a.text for a in one], "answer_start": [a.start for a in one]} for one in parsed
    ]
    return [texts, contexts, lists]

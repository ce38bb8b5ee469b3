"""Write the files that both sides train on and are evaluated on, from the sets as they were found.

    python benchmarks/fidelity/prepare.py ASSETS/datasets WORK

Tables are TSV with a header and without quotes; tags are CoNLL, questions SQuAD 2.0, choices CSV
with the columns of SWAG. The same sets give the same bytes.
"""

import csv
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.fidelity.settings import data_folder

SST2_ROWS = 20_000  # of 60,614, the first after a shuffle
SHUFFLE = 0  # its seed
TEST_ARTICLE = 4  # every fourth article is for the evaluation, the others are trained on


def main(options: list[str]) -> None:
    parser = harness.parser("fidelity prepare", __doc__)
    parser.add_argument("datasets", type=Path, help="the folder with sst2, trec-qc, …")
    parser.add_argument("work", type=Path, help="the folder in which data/ is made")
    arguments = parser.parse_args(options)
    folder = data_folder(arguments.work)
    folder.mkdir(parents=True, exist_ok=True)
    for prepare in (sst2, trec_qc, subj, mrpc, stsb, wnut17, squads, codah):
        for name, rows in prepare(arguments.datasets, folder):
            print(f"{name}: {rows} rows")


Written = Iterator[tuple[str, int]]  # the name of a file, and how many rows it has


def sst2(datasets: Path, folder: Path) -> Written:
    """A part of train.tsv, and test.tsv; train and dev share phrases, so dev is left out."""
    for part in ("train", "test"):
        rows = _cells(datasets / "sst2" / f"{part}.tsv")[1:]
        if part == "train":
            random.Random(SHUFFLE).shuffle(rows)
            rows = rows[:SST2_ROWS]
        yield _table(folder / f"sst2-{part}.tsv", ("text", "label"), rows)


def trec_qc(datasets: Path, folder: Path) -> Written:
    """Latin-1, “COARSE:fine question”: the coarse class is learned."""
    for part in ("train", "test"):
        text = (datasets / "trec-qc" / f"{part}.txt").read_text(encoding="latin-1")
        pairs = [line.split(" ", 1) for line in text.splitlines()]
        rows = [[question, classes.split(":")[0]] for classes, question in pairs]
        yield _table(folder / f"trec-qc-{part}.tsv", ("text", "label"), rows)


def subj(datasets: Path, folder: Path) -> Written:
    """Label before text, without header; dev.tsv is evaluated on."""
    for part, source in (("train", "train"), ("test", "dev")):
        rows = [[text, label] for label, text in _cells(datasets / "subj" / f"{source}.tsv")]
        yield _table(folder / f"subj-{part}.tsv", ("text", "label"), rows)


def mrpc(datasets: Path, folder: Path) -> Written:
    """Train has no header; test has one after a byte order mark."""
    for part in ("train", "test"):
        cells = _cells(datasets / "mrpc" / f"{part}.tsv")
        rows = [[a, b, label] for label, _, _, a, b in cells if label != "Quality"]
        yield _table(folder / f"mrpc-{part}.tsv", ("text", "pair", "label"), rows)


def stsb(datasets: Path, folder: Path) -> Written:
    """Tab-separated despite .csv, unquoted; two more columns with sources in some rows."""
    for part in ("train", "dev", "test"):
        cells = _cells(datasets / "stsb" / f"sts-{part}.csv")
        rows = [[row[5], row[6], row[4]] for row in cells]
        yield _table(folder / f"stsb-{part}.tsv", ("text", "pair", "score"), rows)


def wnut17(datasets: Path, folder: Path) -> Written:
    """Train has a tab in the lines between its sentences."""
    sources = {"train": "wnut17train.conll", "test": "emerging.test.annotated"}
    for part, source in sources.items():
        text = (datasets / "wnut17" / source).read_text(encoding="utf-8")
        lines = [line.strip() for line in text.split("\n")]
        blocks = ("\n".join(lines).strip("\n") + "\n").split("\n\n")
        sentences = [block.strip("\n") for block in blocks if block.strip()]
        name = f"wnut17-{part}.conll"
        _write(folder / name, "".join(f"{sentence}\n\n" for sentence in sentences))
        yield name, len(sentences)


def squads(datasets: Path, folder: Path) -> Written:
    """SQuAD 2.0, and as 1.1 has it: without the questions that have no answer.

    Split by article; for training, as in SQuAD's own file, only the first answer is kept.
    """
    path = datasets / "squad2-devhalf" / "dev-v2.0.json"
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    tested = articles[TEST_ARTICLE - 1 :: TEST_ARTICLE]
    trained = [article for article in articles if article not in tested]
    for question in _questions(trained):
        question["answers"] = question["answers"][:1]
    for part, chosen in (("train", trained), ("test", tested)):
        yield _squad(folder / f"squad2-devhalf-{part}.json", "v2.0", chosen)
    for part, chosen in (("train", trained), ("test", tested)):
        for paragraph in (paragraph for article in chosen for paragraph in article["paragraphs"]):
            paragraph["qas"] = [item for item in paragraph["qas"] if not item.pop("is_impossible")]
        yield _squad(folder / f"squad1-devhalf-{part}.json", "1.1", chosen)


def _squad(path: Path, version: str, articles: list[dict[str, Any]]) -> tuple[str, int]:
    content = {"version": version, "data": articles}
    _write(path, json.dumps(content, ensure_ascii=False) + "\n")
    return path.name, sum(1 for _ in _questions(articles))


def codah(datasets: Path, folder: Path) -> Written:
    """Unquoted, without header: category, prompt, four endings, the number of the right one."""
    names = ("sent1", "ending0", "ending1", "ending2", "ending3", "label")
    for part in ("train", "test"):
        rows = [row[1:] for row in _cells(datasets / "codah" / "fold_0" / f"{part}.tsv")]
        name = f"codah-{part}.csv"
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows(rows)
        yield name, len(rows)


def _questions(articles: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (q for article in articles for p in article["paragraphs"] for q in p["qas"])


def _cells(path: Path) -> list[list[str]]:
    """Tab-separated cells of all rows."""
    text = path.read_text(encoding="utf-8-sig")
    return [line.split("\t") for line in text.split("\n") if line]


def _table(path: Path, header: tuple[str, ...], rows: list[list[str]]) -> tuple[str, int]:
    for row in rows:
        if len(row) != len(header) or not all(cell.strip() for cell in row):
            raise SystemExit(f"{path.name}: {row} does not fit {header}.")
    _write(path, "".join("\t".join(row) + "\n" for row in [header, *rows]))
    return path.name, len(rows)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")

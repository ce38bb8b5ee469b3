"""From files to a model in use and back, by headless commands on real data.

DATASETS has a folder for each set. Of the training rows 5 % get a wrong label, lose their tags, or
get another score or no answer. Then the data is imported, checked and fixed, a model is trained and
evaluated, probably wrong rows are listed, and the changed ones of the first 10 % are corrected. The
second model is trained on that version, both results are compared, and the model is applied to new
rows, exported and reported. WORK/SET/log.txt has the output of every command, WORK/home can be
opened in the window (BERT_STUDIO_HOME). `--window` does the same by mouse and keys.
"""

import json
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import harness

CHANGED, LISTED = 0.05, 0.1  # of the training rows: made wrong, and reviewed
CONFIDENT = ("text_classification", "pair_classification")  # tasks with label-error detection
Run = Callable[..., str]
"""Runs a command of the program and returns its output."""
Row = dict[str, Any]


@dataclass
class Part:
    """Files of a set."""

    files: dict[str, Path]  # train, validation, new and optionally test
    truth: dict[str, str]  # original labels of the changed training rows, by `key`
    key: tuple[str, ...]  # columns that identify a row
    options: tuple[str, ...] = ()  # of the import
    job: tuple[str, ...] = ()

    def of(self, row: Row) -> str:
        return "\n".join(str(row[name]) for name in self.key)


# ── the sets ─────────────────────────────────────────────────────────────────────────────────


def sst2(folder: Path, into: Path, fraction: float) -> Part:
    """Sentences with 0 or 1; the test rows are the validation rows of GLUE."""

    def rows(name: str) -> list[tuple[str, str]]:
        lines = (folder / name).read_text("utf-8").splitlines()[1:]
        return [(text.strip(), label) for text, label in (x.rsplit("\t", 1) for x in lines)]

    train, validation = (
        sample(rows("train.tsv"), 2_000 * fraction),
        sample(rows("dev.tsv"), 600 * fraction),
    )
    return labelled(into, train, validation, sample(rows("test.tsv"), 900 * fraction))


def trec(folder: Path, into: Path, fraction: float) -> Part:
    """Questions with one of six classes."""

    def rows(name: str) -> list[tuple[str, str]]:
        pairs = (x.split(" ", 1) for x in (folder / name).read_text("latin-1").splitlines())
        return [(text, kind.split(":")[0]) for kind, text in pairs]

    questions, count = sample(rows("train.txt"), 2_500 * fraction), round(500 * fraction)
    test = sample(rows("test.txt"), 500 * fraction)
    return labelled(into, questions[count:], questions[:count], test)


def labelled(
    into: Path,
    train: list[tuple[str, str]],
    validation: list[tuple[str, str]],
    test: list[tuple[str, str]],
) -> Part:
    """Texts and labels as JSON lines; wrong labels are drawn at random."""
    names, truth, rng = (sorted({label for _, label in train}), dict[str, str](), random_numbers())
    rows = []
    for number, (text, label) in enumerate(train):
        if number < CHANGED * len(train):
            truth[text] = label
            label = rng.choice([name for name in names if name != label])
        rows.append({"text": text, "label": label})
    rng.shuffle(rows)
    files = {
        "train": json_lines(into / "train.jsonl", rows),
        "validation": json_lines(into / "validation.jsonl", _pairs(validation)),
        "test": json_lines(into / "test.jsonl", _pairs(test)),
        "new": json_lines(into / "new.jsonl", ({"text": text} for text, _ in test)),
    }
    return Part(files, truth, ("text",))


def stsb(folder: Path, into: Path, fraction: float) -> Part:
    """Pairs with their similarity from 0 to 5; a wrong score is as far away as possible."""

    def rows(name: str) -> list[Row]:
        cells = (x.split("\t") for x in (folder / name).read_text("utf-8").splitlines())
        return [{"first": c[5], "second": c[6], "similarity": float(c[4])} for c in cells]

    train, truth = sample(rows("sts-train.csv"), 1_600 * fraction), dict[str, str]()
    part = Part({}, truth, ("first", "second"), job=("--task=regression",))
    for row in train[: round(CHANGED * len(train))]:
        truth[part.of(row)] = str(row["similarity"])
        row["similarity"] = 5.0 if row["similarity"] < 2.5 else 0.0
    random_numbers().shuffle(train)
    test = sample(rows("sts-test.csv"), 1_400 * fraction)
    part.files = {
        "train": json_lines(into / "train.jsonl", train),
        "validation": json_lines(
            into / "validation.jsonl", sample(rows("sts-dev.csv"), 600 * fraction)
        ),
        "test": json_lines(into / "test.jsonl", test),
        "new": json_lines(into / "new.jsonl", ({k: r[k] for k in part.key} for r in test)),
    }
    part.options = ("--text=first", "--pair=second", "--label=similarity")
    return part


def wnut17(folder: Path, into: Path, fraction: float) -> Part:
    """Tweets with named entities; a wrong row has no tags."""

    def sentences(name: str) -> list[str]:
        """Most lines between two sentences contain a tab."""
        lines = (x.split("\t") for x in (folder / name).read_text("utf-8").splitlines())
        pairs = (f"{x[0]}\t{x[1]}" if len(x) > 1 and x[0].strip() else "" for x in lines)
        return [block.strip("\n") for block in "\n".join(pairs).split("\n\n") if block.strip()]

    train = list(dict.fromkeys(sample(sentences("wnut17train.conll"), 1_600 * fraction)))
    validation = sample(sentences("emerging.dev.conll"), 600 * fraction)
    truth = dict[str, str]()
    wrong = [n for n, lines in enumerate(train) if "\tB-" in lines][: round(CHANGED * len(train))]
    for number in wrong:
        words, tags = zip(*(x.split("\t") for x in train[number].splitlines()), strict=True)
        truth[" ".join(words)] = " ".join(tags)
        train[number] = "\n".join(f"{word}\tO" for word in words)
    test = sample(sentences("emerging.test.annotated"), 1_300 * fraction)
    files = {
        "train": conll(into / "train.conll", train),
        "validation": conll(into / "validation.conll", validation),
        "test": conll(into / "test.conll", test),
        "new": conll(into / "new.conll", test),
    }
    return Part(files, truth, ("text",))


def squad2(folder: Path, into: Path, fraction: float) -> Part:
    """Questions about passages, half of them unanswerable; a wrong row has no answer."""
    content = json.loads((folder / "dev-v2.0.json").read_text("utf-8"))
    passages = sample([p for a in content["data"] for p in a["paragraphs"]], 75 * fraction)
    count = max(len(passages) // 5, 1)
    validation, training = passages[:count], passages[count:]
    truth = dict[str, str]()
    questions = [question for p in training for question in p["qas"]]
    answerable = [question for question in questions if question["answers"]]
    for question in sample(answerable, round(CHANGED * len(questions))):
        truth[question["id"]] = json.dumps(question["answers"], ensure_ascii=False)
        question["answers"], question["is_impossible"] = [], True
    new = json.loads((folder / "test-v2.0-noanswers.json").read_text("utf-8"))
    others = sample([p for article in new["data"] for p in article["paragraphs"]], 20 * fraction)
    rows = ({"question": q["question"], "context": p["context"]} for p in others for q in p["qas"])
    files = {
        "train": squad(into / "train.json", training),
        "validation": squad(into / "validation.json", validation),
        "new": json_lines(into / "new.jsonl", rows),
    }
    return Part(files, truth, ("id",), job=("--max-length=256",))


SETS: dict[str, Callable[[Path, Path, float], Part]] = {
    "sst2": sst2,
    "wnut17": wnut17,
    "stsb": stsb,
    "trec-qc": trec,
    "squad2-devhalf": squad2,
}


def random_numbers() -> random.Random:
    return random.Random(17)


def sample(rows: list[Any], count: float) -> list[Any]:
    """`count` random rows, the same every time."""
    return random_numbers().sample(rows, min(round(count), len(rows)))


def _pairs(rows: Iterable[tuple[str, str]]) -> list[Row]:
    return [{"text": text, "label": label} for text, label in rows]


def json_lines(path: Path, rows: Iterable[Row]) -> Path:
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def conll(path: Path, sentences: Iterable[str]) -> Path:
    path.write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    return path


def squad(path: Path, paragraphs: list[Row]) -> Path:
    content = {"version": "v2.0", "data": [{"title": "some", "paragraphs": paragraphs}]}
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# ── the circle ───────────────────────────────────────────────────────────────────────────────


@dataclass
class Result:
    """Result of a set."""

    name: str
    metric: str
    first: tuple[float, float, float]  # score of the first training with its 95 % interval
    second: tuple[float, float, float]
    baseline: float | None  # of the best one
    changed: int
    corrected: int
    flips: tuple[int, int]  # rows better and worse in the second
    claim: str
    seconds: float = 0.0

    def line(self) -> str:
        scores = (f"{a:.3f} ({b:.3f} to {c:.3f})" for a, b, c in (self.first, self.second))
        before, after = scores
        baseline = "–" if self.baseline is None else f"{self.baseline:.3f}"
        better, worse = self.flips
        return (
            f"| {self.name} | {self.metric} | {baseline} | {before} | {self.corrected} of "
            f"{self.changed} | {after} | {better} better, {worse} worse | {self.seconds:.0f} s |"
        )


HEAD = harness.table_head(
    *("set", "metric", "best baseline", "first training", "wrong rows corrected"),
    *("second training", "rows that flipped", "time"),
)


def circle(name: str, part: Part, home: Path, work: Path, run: Run) -> Result:
    """Run the workflow once with the commands of `run`; files go to `work`."""
    began = time.perf_counter()
    files = part.files
    others = [f"--{split}={files[split]}" for split in ("validation", "test") if split in files]
    run("import", files["train"], *others, f"--name={name}", *part.options)
    while problem := first_problem(run("check", name, "--json")):
        run("fix", name, problem, "drop")

    first = train(name, 1, part, home, work, run)
    scored = json.loads(run("evaluate", "--run", first, "--baseline", "--slices", "--json"))
    corrected = correct(name, part, first, work, run)
    second = train(name, 2, part, home, work, run)
    again = json.loads(run("evaluate", "--run", second, "--json"))
    compared = json.loads(run("compare-results", first, second, "--json"))
    if "test" in files:
        run("evaluate", "--run", second, "--part=test")

    best = max((second / "checkpoints").iterdir())
    columns = [option for option in part.options if not option.startswith("--label")]
    run("predict", files["new"], "--model", best, "--out", work / "new.xlsx", *columns)
    run("export", best, "--format=onnx", "--to", work / "onnx")
    run("report", second, "--out", work / "report.html")
    metric = next(iter(scored["intervals"]))
    baselines = scored["baselines"]
    return Result(
        name=name,
        metric=metric,
        first=tuple(scored["intervals"][metric]),
        second=tuple(again["intervals"][metric]),
        baseline=baselines[-1]["score"][0] if baselines else None,
        changed=len(part.truth),
        corrected=corrected,
        flips=(len(compared["better"]), len(compared["worse"])),
        claim=compared["claim"],
        seconds=time.perf_counter() - began,
    )


def first_problem(output: str) -> str | None:
    """The first check with a problem; its fix may also solve others."""
    findings = json.loads(output)["findings"]
    fixable = (item for item in findings if "drop" in item["fixes"])
    return next((item["check"] for item in fixable if item["severity"] == "problem"), None)


def train(name: str, number: int, part: Part, home: Path, work: Path, run: Run) -> Path:
    """Train on the newest version of the data set; return the run folder."""
    job, folder = work / f"job-{number}.json", home / "runs" / f"{name}-{number}"
    job.write_text(run("job", "--data", name, f"--name={name} {number}", *part.job), "utf-8")
    run("train", job, "--into", folder)
    return folder


def correct(name: str, part: Part, trained: Path, work: Path, run: Run) -> int:
    """Correct the changed rows in the first 10 % of a list, and return their number.

    The list has the likely label errors; for other tasks first training rows with a predicted tag
    that the row lacks, then those with the highest loss.
    """
    task = json.loads((trained / "spec.json").read_text("utf-8"))["task"]["kind"]
    if task in CONFIDENT:
        run("label-errors", name, "--out", work / "suspicious.jsonl")
        rows, by_part = read_lines(work / "suspicious.jsonl"), []
    else:
        best, out = max((trained / "checkpoints").iterdir()), work / "learned.jsonl"
        run("evaluate", "--data", name, "--part=train", "--model", best, "--predictions", out)
        rows, by_part = sorted(read_lines(out), key=_doubt, reverse=True), ["--part=train"]
    reviewed = rows[: round(LISTED / CHANGED * len(part.truth))]
    wrong = [
        {"row": row["row"], "new_label": part.truth[part.of(row)]}
        for row in reviewed
        if part.of(row) in part.truth
    ]
    if wrong:
        run("relabel", name, json_lines(work / "corrected.jsonl", wrong), *by_part)
    return len(wrong)


def _doubt(row: Row) -> tuple[bool, float]:
    """Sort key of suspicious rows: missed tags first, then by loss."""
    pairs = zip(str(row["gold"]).split(), str(row["predicted"]).split(), strict=False)
    return any(gold == "O" != predicted for gold, predicted in pairs), row["loss"]


class Commands:
    """Runs commands in separate processes and logs their output."""

    def __init__(self, home: Path, log: Path) -> None:
        self._log = log
        self._environment = {**os.environ, "BERT_STUDIO_HOME": str(home)}

    def __call__(self, *words: object) -> str:
        arguments = list(map(str, words))
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "app", *arguments],
            env=self._environment,
            cwd=harness.PROJECT,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - began
        command = f"$ bert-studio {shlex.join(arguments)}"
        with self._log.open("a", encoding="utf-8") as out:
            out.write(f"{command}\n{done.stderr}{done.stdout}({seconds:.1f} s)\n\n")
        print(f"{seconds:6.1f} s  {command[:150]}", flush=True)
        if done.returncode:
            sys.exit(f"ended with {done.returncode}:\n{done.stderr}")
        return done.stdout


def main(arguments: list[str]) -> None:
    parser = harness.parser("quality circle", __doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--fraction", type=float, default=1.0, help="of the rows; 0.1 in a window")
    parser.add_argument("--window", action="store_true", help="by mouse and keys, with pictures")
    parser.add_argument("--epochs", default="3", help="label of the button (window)")
    parser.add_argument("--theme", default="light", choices=("light", "dark"))
    parser.add_argument("--size", default="1280x800")
    parser.add_argument("--scale", default="1")
    options = parser.parse_args(arguments)
    if options.window:
        from benchmarks.quality import circle_window

        circle_window.main(options)
    results = []
    for name in options.sets:
        work = options.work.absolute() / name
        work.mkdir(parents=True)
        home = options.work.absolute() / "home"
        part = SETS[name](options.datasets / name, work, options.fraction)
        results.append(circle(name, part, home, work, Commands(home, work / "log.txt")))
        print(results[-1].claim)
    print(HEAD, *(result.line() for result in results), sep="\n")

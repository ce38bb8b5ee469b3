"""Long texts in windows, on speeches and novels.

Each document is a part of a speech or novel. In the data “verdicts” a sentence on a verdict is
inserted behind its first 512 tokens and decides its label; in “authors” the label is the author of
the novel. `scores` compares truncation, the ways to read windows and the sentences alone: each run
is a line of the results, and runs that are there are not made again. `passages` masks each window
of the documents in turn, by its rank in the reading room; `speed` compares tokens/s with rows of
full length; `memory` predicts documents of 10,000 and 100,000 tokens.
"""

import argparse
import csv
import json
import random
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.few.data import AUTHORS
from engine.config.task import Aggregation

STORED = Path(__file__).parent / "runs.jsonl"
WINDOW, READ = 128, 512  # tokens of a window; tokens that truncation reads
EPOCHS = 15
WORDS = 600  # of a document; with other windows in proportion, as READ
NAMES = ("Ann Reed", "the miller", "Mr. Cole", "the two sisters", "the railway", "John Hale")
VERDICTS = {
    "granted": ("granted", "allowed", "upheld"),
    "refused": ("dismissed", "rejected", "denied"),
}
END_TO_END = {"windows_per_text": 16}  # more than a text has
WAYS: dict[str, dict[str, Any]] = {  # settings of the task
    "sentences alone": {},
    "truncated": {},
    "windows": {"aggregate": "mean"},  # each with the label of its text
    "end to end, mean": {"aggregate": "mean", **END_TO_END},
    "end to end, max": {"aggregate": "max", **END_TO_END},
    "end to end, attention": {"aggregate": "attention", **END_TO_END},
    "end to end of 4 windows, max": {"aggregate": "max", "windows_per_text": 4},
    "end to end, max, half a window": {"aggregate": "max", "stride": 0.5, **END_TO_END},
    "end to end, max, a whole window": {"aggregate": "max", "stride": 1, **END_TO_END},
}
PREDICTED: dict[str, tuple[Aggregation, ...]] = {"windows": ("mean", "max", "first")}
DATA = ("verdicts", "authors")


def main(arguments: list[str]) -> None:
    parts = {"scores": scores, "passages": passages, "speed": speed, "memory": memory}
    harness.run_part("long_texts", __doc__, parts, arguments)


def _options(part: str) -> argparse.ArgumentParser:
    options = harness.parser(f"long_texts {part}", __doc__)
    options.add_argument("--assets", type=Path, required=True, help="a folder with corpora")
    options.add_argument("--model", type=Path, help="Default: the tiny BERT of the assets.")
    options.add_argument("--work", type=Path)
    return options


def _model(options: argparse.Namespace) -> Path:
    given: Path | None = options.model
    return given or options.assets / "models" / "bert-tiny-splade-en"


def _read(window: int) -> int:
    """Tokens that truncation reads."""
    return READ * window // WINDOW


# ── documents ────────────────────────────────────────────────────────────────────────────────


def _texts(assets: Path, words: int = WORDS) -> list[str]:
    """Parts of speeches and novels of so many words, each once."""
    files = sorted((assets / "corpora" / "sotu").glob("*.txt"))
    files += sorted((assets / "corpora" / "gutenberg-nltk").glob("*.txt"))
    result = [part for file in files for part in _parts(file, words)]
    random.Random(0).shuffle(result)
    return result


def _parts(file: Path, count: int) -> list[str]:
    words = file.read_text(encoding="utf-8", errors="replace").split()
    return [" ".join(words[n : n + count]) for n in range(0, len(words) - count, count)]


def _by_authors(assets: Path, rows: int, words: int) -> list[tuple[str, str]]:
    """Parts of novels and their authors, as many of each."""
    table, draw = list[tuple[str, str]](), random.Random(0)
    for author in AUTHORS:
        files = sorted((assets / "corpora" / "gutenberg-nltk").glob(f"{author}-*.txt"))
        parts = [part for file in files for part in _parts(file, words)]
        table += [(p, author) for p in draw.sample(parts, min(rows // len(AUTHORS), len(parts)))]
    draw.shuffle(table)
    return table


def _plants() -> Iterator[tuple[str, str]]:
    """Yield passages about a verdict and their class: the claim was granted, or refused."""
    draw, first = random.Random(0), True
    while True:
        label = "granted" if first else "refused"
        first = not first
        yield (
            (
                f"In the end the judge {draw.choice(('ruled', 'decided', 'found'))} "
                f"{'for' if label == 'granted' else 'against'} {draw.choice(NAMES)}, and the "
                f"{draw.choice(('claim', 'appeal', 'motion'))} was {draw.choice(VERDICTS[label])}."
            ),
            label,
        )


def write_documents(
    folder: Path, assets: Path, rows: int, model: Path, window: int = WINDOW
) -> dict[str, Path]:
    """Write verdicts.csv, sentences.csv and authors.csv, the last rows for tests."""
    from engine.tokenizers.tokenizer import Tokenizer

    tokenizer, size = Tokenizer.from_folder(model), WORDS * window // WINDOW
    draw, plants = random.Random(1), _plants()
    tables: dict[str, list[tuple[str, str]]] = {"verdicts": [], "sentences": []}
    tables["authors"] = _by_authors(assets, rows, size)
    files = {name: folder / f"{name}.csv" for name in tables}
    for text in _texts(assets, size)[:rows]:
        plant, label = next(plants)
        words = text.split()
        read, at = 0, 0
        for ids in tokenizer.contents(words):
            if read > _read(window):
                break
            read, at = read + len(ids), at + 1
        at = draw.randint(at, len(words))
        tables["verdicts"].append((" ".join([*words[:at], plant, *words[at:]]), label))
        tables["sentences"].append((plant, label))
    for name, table in tables.items():
        with open(files[name], "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *table])
    return files


def _tested(rows: int) -> int:
    """Rows for tests."""
    return 2 * rows // 5


def _test_rows(file: Path) -> Any:
    from engine.data.datasets.rows import Rows

    with open(file, newline="", encoding="utf-8") as stored:
        rows = list(csv.DictReader(stored))
    rows = rows[len(rows) - _tested(len(rows)) :]
    return Rows([row["text"] for row in rows], None, [row["label"] for row in rows])


def _train(
    way: str, file: Path, folder: Path, model: Path, seed: int, window: int = WINDOW
) -> Path:
    """Train a way on all rows but the last, and return its last checkpoint.

    With a kept folder, a run that was killed is resumed, and a finished one is used again.
    """
    from engine.config.dataset import FileData, Mapping, Reading, Split
    from engine.config.job import FromCheckpoint, JobSpec
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec, TrainingSpec
    from engine.runs.folder import RunFolder
    from engine.training.loop import train

    target = folder / f"{file.stem}-{way}-{seed}".replace(" ", "-").replace(",", "")
    run = RunFolder(target)
    done = target / "done"
    if done.is_file():
        return run.checkpoint_folders()[-1]
    with open(file, newline="", encoding="utf-8") as stored:
        rows = list(csv.reader(stored))
    training = folder / f"train-{file.stem}.csv"
    with open(training, "w", newline="", encoding="utf-8") as written:
        csv.writer(written).writerows(rows[: len(rows) - _tested(len(rows[1:]))])
    settings = dict(WAYS[way])
    if stride := settings.pop("stride", 0):
        settings["doc_stride"] = round(stride * (window - 2))
    task = TextClassification(**settings, long_texts="windows" if settings else "truncate")
    job = JobSpec(
        name=way,
        task=task,
        base_model=FromCheckpoint(path=model.absolute()),
        data=FileData(
            path=training,
            reading=Reading(format="csv"),
            mapping=Mapping(text="text", label="label"),
            split=Split(validation=0, test=0),
        ),
        training=TrainingSpec(
            max_length=window if settings else _read(window),
            learning_rate=5e-4,
            epochs=EPOCHS,
            batch_size=64 if way == "windows" else 8,  # about as many windows
            seed=seed,
            save_every=0,
        ),
        hardware=HardwareSpec(device="cpu", precision="fp32", threads=1),
    )
    run = run if target.is_dir() else RunFolder.create(target, job)
    train(run.job(), run, lambda event: None, lambda: False)
    done.touch()
    return run.checkpoint_folders()[-1]


def scores(arguments: list[str]) -> None:
    options = _options("scores")
    options.add_argument("--results", type=Path, default=STORED, help="a file of JSON lines")
    options.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    options.add_argument("--rows", type=int, default=260)
    options.add_argument("--window", type=int, default=WINDOW, help="tokens of a window")
    options.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    options.add_argument("--minutes", type=float, default=1e6, help="start no run after so many")
    chosen = options.parse_args(arguments)
    done = {line["key"] for line in harness.read_lines(chosen.results)}
    stops = time.monotonic() + 60 * chosen.minutes
    with harness.work_folder(chosen.work) as folder:
        given = (chosen.assets, chosen.rows, _model(chosen), chosen.window)
        files = write_documents(folder, *given)
        runs = [(s, name, way) for s in chosen.seeds for name in chosen.data for way in chosen.ways]
        for seed, name, way in runs:
            key = f"{_model(chosen).name}|{chosen.window}|{chosen.rows}|{name}|{way}|{seed}"
            if key in done or (name == "authors" and way == "sentences alone"):
                continue
            if time.monotonic() > stops:
                break
            file = files["sentences" if way == "sentences alone" else name]
            began = time.process_time()
            model = _train(way, file, folder, _model(chosen), seed, chosen.window)
            line = {"key": key, "data": name, "way": way, "seed": seed}
            line["cpu"] = round(time.process_time() - began, 1)
            line["scores"] = _scores(model, way, _test_rows(file), _read(chosen.window))
            with chosen.results.open("a", encoding="utf-8") as results:
                results.write(json.dumps(line) + "\n")
            print(key, line["scores"], line["cpu"], flush=True)
    print(*table(harness.read_lines(chosen.results)), sep="\n")


def _scores(model: Path, way: str, rows: Any, length: int) -> dict[str, float]:
    """The accuracy by aggregation of the windows; “” for the one of the training."""
    from engine.tasks.predicting import Predictor

    scores = dict[str, float]()
    predictor = Predictor(model, max_length=length)
    learner = predictor.learner
    for aggregate in PREDICTED.get(way, ("",)):
        if aggregate:
            learner.task = learner.task.model_copy(update={"aggregate": aggregate})
        scores[aggregate] = round(predictor.evaluate(rows).metrics()["accuracy"], 4)
    return scores


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each way: its accuracy on each data set, and the CPU time of training."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    spent: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        for aggregate, score in line["scores"].items():
            way = f"{line['way']}, {aggregate}" if aggregate else line["way"]
            found[way, line["data"]].append(100 * score)
            spent[way].append(line["cpu"])
    yield harness.table_head("way", *(f"{name}, accuracy in %" for name in DATA), "training, CPU s")
    for way in dict.fromkeys(way for way, _ in found):
        cells = [found[way, name] for name in DATA]
        yield harness.table_row((way, *map(_cell, cells), _cell(spent[way])))


def _cell(values: list[float]) -> str:
    """Median, range and number of values."""
    return f"{harness.median_range(values, '.0f')}, {len(values)}" if values else "missing"


def passages(arguments: list[str]) -> None:
    options = _options("passages")
    options.add_argument("--rows", type=int, default=400)
    options.add_argument("--documents", type=int, default=100)
    options.add_argument("--way", default="end to end, max", choices=list(WAYS))
    chosen = options.parse_args(arguments)
    from engine.data.datasets.rows import Rows
    from engine.messages.explore.prediction import Predict, Predicted
    from engine.models import checkpoint
    from engine.tasks import checkpoint_learner
    from engine.tasks.inputs import encode_question
    from engine.tasks.predicting import Predictor

    with harness.work_folder(chosen.work) as folder:
        files = write_documents(folder, chosen.assets, chosen.rows, _model(chosen))
        model = _train(chosen.way, files["verdicts"], folder, _model(chosen), 0)
        sentences = _test_rows(files["sentences"]).texts
        rows = _test_rows(files["verdicts"])
        loaded = checkpoint.load(model)
        learner = checkpoint_learner(loaded)
        assert learner is not None
        predictor = Predictor(model, max_length=READ)
        flips: dict[int, list[bool]] = {}  # by the rank of the masked passage
        found, used = 0, 0
        for text, plant in zip(rows.texts, sentences, strict=True):
            question = Predict(checkpoint=model, text=text)
            answer = learner.predict(loaded, encode_question(loaded, question), question)
            assert isinstance(answer, Predicted)
            ranked = sorted(answer.passages, key=lambda passage: -passage.effect)
            masked = []
            for one in ranked:
                count = len(loaded.tokenizer.contents([text[one.start : one.end]])[0])
                masks = " [MASK]" * count
                masked.append(f"{text[: one.start]}{masks} {text[one.end :]}")
            labels = [record["label"] for record in predictor.predict(Rows(masked))]
            for rank, label in enumerate(labels):
                flips.setdefault(rank, []).append(label != answer.predicted[0])
            at = text.index(plant) + len(plant) // 2
            found += ranked[0].start <= at < ranked[0].end
            used += 1
            if used == chosen.documents:
                break
    print(harness.table_head("masked passage", "documents flipped"))
    for rank, values in sorted(flips.items()):
        if len(values) == used:
            name = "named first" if not rank else f"rank {rank + 1}"
            harness.print_row(name, f"{sum(values)} of {len(values)}")
    print(f"\nThe passage named first has the planted sentence in {found} of {used} documents.")


def speed(arguments: list[str]) -> None:
    options = _options("speed")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--window", type=int, default=WINDOW)
    chosen = options.parse_args(arguments)
    import numpy as np
    import torch

    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec
    from engine.data.datasets.rows import Rows
    from engine.models import checkpoint
    from engine.progress import no_progress
    from engine.tasks import learner_for
    from engine.tasks.evaluating import collect_predictions
    from engine.training.device.machine import choose_machine
    from engine.training.gradients import GradientAccumulator

    texts = _texts(chosen.assets)[:48]
    labels = ["a", "b"] * 24
    words = " ".join(_texts(chosen.assets)[48:96]).split()
    starts = range(0, len(words) - chosen.window, chosen.window)
    full = [" ".join(words[start : start + chosen.window]) for start in starts]  # more than fit
    ways = {
        "rows of full length": (
            Rows(full, None, (labels * len(full))[: len(full)]),
            TextClassification(),
        ),
        "windows": (Rows(texts, None, labels), TextClassification(long_texts="windows")),
        "end to end": (
            Rows(texts, None, labels),
            TextClassification(long_texts="windows", windows_per_text=8),
        ),
    }
    machine = choose_machine(HardwareSpec(device="cpu", precision="fp32"))
    rates: dict[str, dict[str, list[float]]] = {name: {} for name in ("training", "prediction")}
    with harness.work_folder(chosen.work) as folder:
        prepared = {}
        for name, (rows, task) in ways.items():
            learner = learner_for(task)
            learner.fit_labels(rows)
            loaded = checkpoint.load(_model(chosen), learner.heads, learner.labels)
            tokens = folder / name
            examples = learner.tokenize(rows, loaded.tokenizer, chosen.window, tokens, no_progress)
            prepared[name] = learner, loaded, rows, learner.training_examples(examples), examples
        for round_ in range(chosen.rounds):
            for name, (learner, loaded, rows, groups, examples) in prepared.items():
                accumulator = GradientAccumulator(loaded.network.train(), learner, machine)
                count = 4 if name == "end to end" else 32
                rng = np.random.default_rng(round_)
                order = rng.permutation(len(groups))
                tokens, began = 0, time.process_time()
                for first in range(0, min(len(order), 6 * count), count):
                    indices = np.sort(order[first : first + count])
                    indices = indices[np.argsort(groups.lengths[indices], kind="stable")]
                    batch = learner.batch(groups, indices, loaded.tokenizer, rng)
                    accumulator.add(batch, learner.counts(batch))
                    loaded.network.zero_grad(set_to_none=True)
                    tokens += batch.token_count
                _add(rates["training"], name, tokens / (time.process_time() - began))
                loaded.network.eval()
                began = time.process_time()
                collect_predictions(loaded, learner, rows, chosen.window, 32)
                spent = time.process_time() - began
                _add(rates["prediction"], name, examples.tokenized.tokens / spent)
    print(harness.table_head("", *ways))
    for part, by_way in rates.items():
        base = by_way["rows of full length"]
        cells = [
            harness.median_range([r / 1e3 for r in values], ".1f") for values in by_way.values()
        ]
        harness.print_row(f"{part}, thousand tokens/s", *cells)
        ratios = [
            harness.median_range([a / b for a, b in zip(values, base, strict=True)])
            for values in by_way.values()
        ]
        harness.print_row(f"{part}, ratio", *ratios)
    print(f"\nCPU seconds, windows of {chosen.window} tokens; {harness.cpu_name()},", end=" ")
    print(f"{torch.get_num_threads()} thread(s)")


def _add(rates: dict[str, list[float]], name: str, rate: float) -> None:
    rates.setdefault(name, []).append(rate)


def memory(arguments: list[str]) -> None:
    options = _options("memory")
    options.add_argument("--tokens", type=int, help="Predict one document, and print its peak.")
    chosen = options.parse_args(arguments)
    if chosen.tokens is None:
        peaks = {
            tokens: harness.run_json(
                "benchmarks", "long_texts", "memory", "--assets", chosen.assets, "--tokens", tokens
            )
            for tokens in (10_000, 100_000)
        }
        print(harness.table_head("tokens of the document", "windows", "peak memory, MB"))
        for tokens, (windows, peak) in peaks.items():
            harness.print_row(f"{tokens:,}", windows, f"{peak:.0f}")
        print(f"\n{harness.cpu_name()}")
        return
    import numpy as np

    from engine.config.tasks.text_classification import TextClassification
    from engine.data.datasets.rows import Rows
    from engine.models import checkpoint
    from engine.tasks import learner_for
    from engine.tasks.evaluating import collect_predictions

    learner = learner_for(TextClassification(labels=("a", "b"), long_texts="windows"))
    loaded = checkpoint.load(_model(chosen), learner.heads, ("a", "b"))
    words = " ".join(_texts(chosen.assets)).split()
    lengths = [len(ids) for ids in loaded.tokenizer.contents(words[: chosen.tokens])]
    count = int((np.cumsum(lengths) < chosen.tokens).sum())
    text = " ".join(words[:count])
    collector = collect_predictions(loaded, learner, Rows([text]), READ)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print([len(collector.outputs), peak])  # type: ignore[attr-defined]

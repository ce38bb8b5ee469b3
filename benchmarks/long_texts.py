"""Long texts in windows, on speeches and novels with a deciding passage behind token 512.

Each document is a part of a speech or novel; a sentence on a verdict is inserted behind its first
512 tokens and decides its label. `planted` compares truncation, windows and the sentences alone;
`passages` masks each window of the documents in turn, by its rank in the reading room; `speed`
compares tokens/s with rows of full length; `memory` predicts documents of 10,000 and 100,000
tokens.
"""

import argparse
import csv
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness

WINDOW, READ = 128, 512  # tokens of a window; tokens that truncation reads
WORDS = 600  # of a document
NAMES = ("Ann Reed", "the miller", "Mr. Cole", "the two sisters", "the railway", "John Hale")
VERDICTS = {
    "granted": ("granted", "allowed", "upheld"),
    "refused": ("dismissed", "rejected", "denied"),
}
WAYS: dict[str, dict[str, Any]] = {  # settings of the task
    "sentences alone": {},
    "truncated": {},
    "windows, mean": {"aggregate": "mean"},
    "windows, max": {"aggregate": "max"},
    "end to end, mean": {"aggregate": "mean", "windows_per_text": 16},
    "end to end, max": {"aggregate": "max", "windows_per_text": 16},
    "end to end, attention": {"aggregate": "attention", "windows_per_text": 16},
}


def main(arguments: list[str]) -> None:
    parts = {"planted": planted, "passages": passages, "speed": speed, "memory": memory}
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


# ── documents ────────────────────────────────────────────────────────────────────────────────


def _texts(assets: Path) -> list[str]:
    """Parts of speeches and novels of `WORDS` words, each once."""
    files = sorted((assets / "corpora" / "sotu").glob("*.txt"))
    files += sorted((assets / "corpora" / "gutenberg-nltk").glob("*.txt"))
    result: list[str] = []
    for file in files:
        words = file.read_text(encoding="utf-8", errors="replace").split()
        starts = range(0, len(words) - WORDS, WORDS)
        result += [" ".join(words[start : start + WORDS]) for start in starts]
    random.Random(0).shuffle(result)
    return result


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


def write_documents(folder: Path, assets: Path, rows: int) -> dict[str, Path]:
    """Write documents.csv and sentences.csv with `rows` rows, the last fifth of them for tests."""
    from engine.tokenizers.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_folder(assets / "models" / "bert-tiny-splade-en")
    draw, plants = random.Random(1), _plants()
    files = {name: folder / f"{name}.csv" for name in ("documents", "sentences")}
    tables: dict[str, list[tuple[str, str]]] = {name: [] for name in files}
    for text in _texts(assets)[:rows]:
        plant, label = next(plants)
        words = text.split()
        read, at = 0, 0
        for ids in tokenizer.contents(words):
            if read > READ:
                break
            read, at = read + len(ids), at + 1
        at = draw.randint(at, len(words))
        tables["documents"].append((" ".join([*words[:at], plant, *words[at:]]), label))
        tables["sentences"].append((plant, label))
    for name, table in tables.items():
        with open(files[name], "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *table])
    return files


def _test_rows(file: Path) -> Any:
    from engine.data.datasets.rows import Rows

    with open(file, newline="", encoding="utf-8") as stored:
        rows = list(csv.DictReader(stored))
    rows = rows[len(rows) - len(rows) // 5 :]
    return Rows([row["text"] for row in rows], None, [row["label"] for row in rows])


def _train(way: str, files: dict[str, Path], folder: Path, model: Path, seed: int) -> Path:
    """Train a way on all rows but the last fifth, and return its last checkpoint.

    With a kept folder, a run that was killed is resumed, and a finished one is used again.
    """
    from engine.config.dataset import FileData, Mapping, Reading, Split
    from engine.config.job import FromCheckpoint, JobSpec
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec, TrainingSpec
    from engine.runs.folder import RunFolder
    from engine.training.loop import train

    target = folder / f"{way}-{seed}".replace(" ", "-").replace(",", "")
    run = RunFolder(target)
    done = target / "done"
    if done.is_file():
        return run.checkpoint_folders()[-1]
    file = files["sentences" if way == "sentences alone" else "documents"]
    with open(file, newline="", encoding="utf-8") as stored:
        rows = list(csv.reader(stored))
    training = folder / f"train-{file.stem}.csv"
    with open(training, "w", newline="", encoding="utf-8") as written:
        csv.writer(written).writerows(rows[: len(rows) - len(rows[1:]) // 5])
    settings = WAYS[way]
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
            max_length=WINDOW if settings else READ,
            learning_rate=5e-4,
            epochs=8,
            batch_size=8,
            seed=seed,
            save_every=0,
        ),
        hardware=HardwareSpec(device="cpu", precision="fp32"),
    )
    run = run if target.is_dir() else RunFolder.create(target, job)
    train(run.job(), run, lambda event: None, lambda: False)
    done.touch()
    return run.checkpoint_folders()[-1]


def planted(arguments: list[str]) -> None:
    options = _options("planted")
    options.add_argument("--rows", type=int, default=400)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    chosen = options.parse_args(arguments)
    from engine.tasks.predicting import Predictor

    with harness.work_folder(chosen.work) as folder:
        files = write_documents(folder, chosen.assets, chosen.rows)
        print(harness.table_head("way", "test accuracy, %", "training, CPU s"), flush=True)
        for way in chosen.ways:
            scores, seconds = [], []
            for seed in range(chosen.seeds):
                began = time.process_time()
                model = _train(way, files, folder, _model(chosen), seed)
                seconds.append(time.process_time() - began)
                rows = _test_rows(files["sentences" if way == "sentences alone" else "documents"])
                report = Predictor(model, max_length=READ).evaluate(rows)
                scores.append(100 * report.metrics()["accuracy"])
            harness.print_row(
                way, harness.median_range(scores, ".1f"), harness.median_range(seconds, ".0f")
            )
    print(f"\n{chosen.rows} documents, a fifth of them for tests; {harness.cpu_name()}")


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
        files = write_documents(folder, chosen.assets, chosen.rows)
        model = _train(chosen.way, files, folder, _model(chosen), 0)
        sentences = _test_rows(files["sentences"]).texts
        rows = _test_rows(files["documents"])
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

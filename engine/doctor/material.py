"""Training material of the checks: tiny jobs of every task, from a few sentences."""

import itertools
import json
from pathlib import Path
from typing import Any

from engine.config.dataset import FileData, Mapping, Reading, Split
from engine.config.families.bert import BertSpec
from engine.config.job import FromCheckpoint, FromScratch, JobSpec
from engine.config.tasks import TASKS, get_head, parse_task
from engine.config.training import HardwareSpec, TrainingSpec
from engine.data.datasets.rows import Rows
from engine.files.spreadsheet import format_table

SIZE: dict[str, Any] = {
    "vocab_size": 120,
    "hidden_size": 16,
    "layers": 2,
    "heads": 2,
    "intermediate_size": 32,
    "max_positions": 64,
    "initializer_range": 0.2,
}
TRAINING: dict[str, Any] = {
    "steps": 4,
    "batch_size": 8,
    "learning_rate": 1e-3,
    "max_length": 32,
    "evaluate_every": 4,
    "save_every": 4,
    "dropout": 0.0,  # random streams differ between devices
}
GOOD, BAD = ("warm", "lovely", "fine", "happy"), ("dull", "cold", "poor", "sad")
NOUNS, ENDS = ("film", "story", "play"), ("and a good end", "of a dog")
TEXT, OTHER = "a warm film and a good end", "a dull story of a dog"


def write(folder: Path) -> None:
    """Write the files named by `task_data`."""
    texts = [
        (f"a {word} {noun} {end}", word in GOOD)
        for word, noun, end in itertools.product(GOOD + BAD, NOUNS, ENDS)
    ]
    header = ("text", "other", "label", "topics", "score", "one", "two", "right")
    rows = [
        (
            *(text, texts[-number][0], "good" if good else "bad"),
            "|".join(noun for noun in NOUNS if noun in text),
            f"{(4 if good else 1) + number / 100:.2f}",
            *(ENDS if number % 2 else ENDS[::-1]),
            number % 2,
        )
        for number, (text, good) in enumerate(texts)
    ]
    with open(folder / "rows.csv", "w", newline="", encoding="utf-8") as file:
        file.write(format_table(header, rows))
    words = {"ann": "B-person", "bob": "B-person", "rome": "B-place", "oslo": "B-place"}
    tagged = [
        f"{person}\t{words[person]}\nlives\tO\nin\tO\na\tO\n{word}\tO\n{city}\t{words[city]}"
        for person, city, word in itertools.product(("ann", "bob"), ("rome", "oslo"), GOOD + BAD)
    ]
    (folder / "tags.conll").write_text("\n\n".join(tagged) + "\n", encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(_questions()), encoding="utf-8")
    documents = ["\n".join(text for text, _ in texts[n : n + 8]) for n in range(0, len(texts), 4)]
    (folder / "texts.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")


def _questions() -> dict[str, Any]:
    """SQuAD 2.0 with places of residence; one question has no answer."""
    paragraphs = []
    for number, (person, city) in enumerate(
        itertools.product(("ann", "bob", "eve"), ("rome", "oslo", "bern", "cork"))
    ):
        is_known = person != "eve"
        name = person if is_known else "ann"
        context = f"{name} lives in {city} ." + " it is so ." * (number % 3)
        answers = [{"text": city, "answer_start": context.index(city)}] if is_known else []
        question = {"id": str(number), "question": f"where does {person} live ?"}
        record = question | {"answers": answers, "is_impossible": not is_known}
        paragraphs.append({"context": context, "qas": [record]})
    return {"version": "v2.0", "data": [{"title": "places", "paragraphs": paragraphs}]}


def task_data(kind: str) -> tuple[str, Mapping | None]:
    """The file of a task, and its column mapping; None: the columns of the file itself."""
    info = TASKS[kind].info
    if info.is_pretraining:
        return "texts.txt", None
    if "tags" in info.reads:
        return "tags.conll", None
    if "answers" in info.reads:
        return "questions.json", None
    head = get_head(kind)
    label = "topics" if head.is_multi_label else "score" if head.predicts_numbers else "label"
    if info.has_levels:
        label = "{label} > {right}"
    if "endings" in info.reads:
        return "rows.csv", Mapping(text="text", endings=("one", "two"), label="right")
    pair = "other" if "pair" in info.reads else None
    return "rows.csv", Mapping(text="text", pair=pair, label=label)


def task_settings(kind: str) -> dict[str, Any]:
    """Settings of a task that extend the coverage of the checks."""
    if TASKS[kind].info.is_pretraining:
        return {"nsp": True}
    return {"doc_stride": 6} if get_head(kind).finds_spans else {}


def rows_for(kind: str) -> Rows:
    """An example input for a model of a task."""
    reads = TASKS[kind].info.reads
    if "answers" in reads:
        return Rows(["where does ann live ?"], ["ann lives in rome ."])
    if "endings" in reads:
        return Rows([TEXT], endings=[("of a dog", "and a good end")])
    return Rows([TEXT], [OTHER]) if "pair" in reads else Rows([TEXT, "a cold play of a dog"])


def job(
    kind: str, folder: Path, hardware: HardwareSpec, base: Path | None = None, **settings: Any
) -> JobSpec:
    """A small job of the task `kind` on the files in `folder`.

    Args:
        base: a checkpoint to start from; None: fresh weights.
        settings: overrides of the training settings; with `features`, those of a probe.
    """
    file, mapping = task_data(kind)
    reading = Reading(format="csv") if file.endswith(".csv") else None
    features = settings.pop("features", None)
    start = FromScratch(model=BertSpec(**SIZE)) if base is None else FromCheckpoint(path=base)
    fields = {
        "name": kind,
        "task": parse_task({"kind": kind, **task_settings(kind)}),
        "base_model": start,
        "data": FileData(
            path=folder / file, reading=reading, mapping=mapping, split=Split(validation=0.25)
        ),
        "training": TrainingSpec.model_validate(TRAINING | settings),
        "hardware": hardware,
    }
    return JobSpec.model_validate(fields if features is None else fields | {"features": features})

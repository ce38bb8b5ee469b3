"""A tiny network and a few sentences: jobs that train in a second or two."""

import csv
import json
import random
from pathlib import Path

from engine.config.dataset import FileData, Mapping, Reading, Split
from engine.config.families.bert import BertSpec
from engine.config.job import FromCheckpoint, FromScratch, JobSpec
from engine.config.task import TaskSpec
from engine.config.tasks.multi_label import MultiLabel
from engine.config.tasks.multiple_choice import MultipleChoice
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.question_answering import QuestionAnswering
from engine.config.tasks.regression import Regression
from engine.config.tasks.sentence_similarity import SentenceSimilarity
from engine.config.tasks.span_classification import SpanClassification
from engine.config.tasks.text_classification import TextClassification
from engine.config.tasks.token_classification import TokenClassification
from engine.config.training import HardwareSpec, TrainingSpec
from engine.messages.events import Measured, Noted
from engine.runs.folder import RunFolder
from engine.training.loop import train

NETWORK = BertSpec(
    vocab_size=120,
    hidden_size=16,
    layers=2,
    heads=2,
    intermediate_size=32,
    max_positions=64,
    initializer_range=0.2,
)
GOOD = ("a lovely warm film", "great acting and a happy end", "i loved this fine story")
BAD = ("a dull cold film", "bad acting and a sad end", "i hated this poor story")


def sentences(path: Path, rows: int = 96) -> Path:
    """A CSV with columns text and label, learnable in a few steps."""
    rng = random.Random(7)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for number in range(rows):
            kind = "good" if number % 2 else "bad"
            words = rng.choice(GOOD if number % 2 else BAD).split()
            writer.writerow([" ".join(words + rng.sample(words, 2)), kind])
    return path


def paragraphs(path: Path, documents: int = 40) -> Path:
    """Plain text, one document per paragraph and one sentence per line."""
    rng = random.Random(7)
    texts = ["\n".join(rng.choice(GOOD + BAD) for _ in range(12)) for _ in range(documents)]
    path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return path


def make_job(name: str, task: TaskSpec, data: FileData, **training: object) -> JobSpec:
    """A job that trains NETWORK from scratch."""
    settings = {"batch_size": 8, "learning_rate": 5e-3, "max_length": 32, "save_every": 5}
    if "steps" in training:
        settings["evaluate_every"] = 9  # a short run is evaluated at its end
    return JobSpec(
        name=name,
        task=task,
        base_model=FromScratch(model=NETWORK),
        data=data,
        training=TrainingSpec.model_validate(settings | training),
        hardware=HardwareSpec(device="cpu", precision="fp32", threads=1),
    )


def classifying(folder: Path, **training: object) -> JobSpec:
    data = FileData(
        path=sentences(folder / "sentences.csv"),
        reading=Reading(format="csv"),
        mapping=Mapping(text="text", label="label"),
    )
    return make_job("Good or bad", TextClassification(), data, **training)


PASSAGES = ("ann lives in rome and bob in oslo .", "bob plays the horn , ann plays chess .")


def questions(path: Path, rows: int = 48) -> Path:
    """SQuAD 2.0 as JSON; questions about eve have no answer."""
    rng = random.Random(7)
    expected = {
        "where does ann live ?": (0, "rome"),
        "where does bob live ?": (0, "oslo"),
        "what plays bob ?": (1, "the horn"),
        "what plays ann ?": (1, "chess"),
        "what plays eve ?": (1, None),
    }
    qas = []
    for number in range(rows):
        question = rng.choice(list(expected))
        position, answer = expected[question]
        context = PASSAGES[position] + " it is so ." * rng.randrange(3)
        answers = [{"text": answer, "answer_start": context.index(answer)}] if answer else []
        entry = {"id": str(number), "question": question, "answers": answers}
        qas.append({"context": context, "qas": [entry | {"is_impossible": not answer}]})
    content = {"version": "v2.0", "data": [{"title": "ann and bob", "paragraphs": qas}]}
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def answering(folder: Path, **training: object) -> JobSpec:
    data = FileData(path=questions(folder / "questions.json"), split=Split(validation=0.2))
    task = QuestionAnswering(doc_stride=6)
    return make_job("Where is it", task, data, **{"max_length": 24, **training})


def tagged(path: Path, sentences: int = 48) -> Path:
    """A CoNLL file with persons and places, learnable in a few steps."""
    rng = random.Random(7)
    people = (["anna\tB-person"], ["paul\tB-person", "jones\tI-person"], ["mary\tB-person"])
    places = (["rome\tB-place"], ["oslo\tB-place"])
    rest = (["the\tO", "bread\tO"], ["of\tO"], ["saw\tO", "it\tO"])
    result = []
    for _ in range(sentences):
        parts = [rng.choice(people), rng.choice(places), *rng.sample(rest, 2)]
        rng.shuffle(parts)
        result.append("\n".join(line for part in parts for line in part))
    path.write_text("\n\n".join(result) + "\n", encoding="utf-8")
    return path


def tagging(folder: Path, **training: object) -> JobSpec:
    data = FileData(path=tagged(folder / "tagged.conll"))
    return make_job("People and places", TokenClassification(), data, **training)


def spanned(path: Path, rows: int = 96) -> Path:
    """JSON lines with spans of characters: places, and organisations named after them."""
    rng = random.Random(7)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(rows):
            text, spans = "", []
            for kind in rng.choices(("org", "place", "other"), k=4):
                start, place = len(text), rng.choice(("rome", "oslo", "cork"))
                words = rng.choice(("the bread", "of", "saw it"))
                text += {"org": f"university of {place} ", "place": f"{place} "}.get(
                    kind, f"{words} "
                )
                if kind != "other":
                    spans.append([len(text) - 1 - len(place), len(text) - 1, "place"])
                if kind == "org":
                    spans.append([start, len(text) - 1, "org"])
            file.write(json.dumps({"text": text.strip(), "spans": spans}) + "\n")
    return path


def finding_spans(folder: Path, **training: object) -> JobSpec:
    data = FileData(path=spanned(folder / "spanned.jsonl"))
    settings = {"learning_rate": 2e-2, **training}
    return make_job("Places and universities", SpanClassification(), data, **settings)


def labelled(path: Path, rows: int = 96) -> Path:
    """A CSV with a text, a number, sets of labels, a flag, two endings and the right one.

    Few texts are equal, because equal texts stay in one split.
    """
    rng = random.Random(7)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "score", "topics", "sad", "ending0", "ending1", "right"])
        for number in range(rows):
            good = number % 3 != 0
            text = rng.choice(GOOD if good else BAD)
            score = (4 if good else 1) + len(text) / 100
            topics = "|".join(w for w in ("film", "acting", "story") if w in text)
            text += " so" * (number // 3 % 8)
            endings = [rng.choice(GOOD), rng.choice(BAD)][:: 1 if number % 2 else -1]
            right = 1 - number % 2  # index of the good ending
            writer.writerow([text, f"{score:.2f}", topics, int(not good), *endings, right])
    return path


TASKS: dict[str, tuple[TaskSpec, Mapping]] = {
    "weighted classes": (
        TextClassification(balanced=True, class_weights={"1": 3.0}, label_smoothing=0.1),
        Mapping(text="text", label="sad"),
    ),
    "windows": (
        TextClassification(
            long_texts="windows", aggregate="attention", windows_per_text=2, doc_stride=5
        ),
        Mapping(text="text", label="sad"),
    ),
    "labels": (MultiLabel(balanced=True), Mapping(text="text", label="topics")),
    "flags": (MultiLabel(), Mapping(text="text", flags=("sad", "right"))),
    "number": (Regression(), Mapping(text="text", label="score")),
    "choices": (
        MultipleChoice(),
        Mapping(text="text", endings=("ending0", "ending1"), label="right"),
    ),
    "alike": (SentenceSimilarity(), Mapping(text="text", pair="ending0", label="score")),
    "together": (SentenceSimilarity(), Mapping(text="text", pair="ending0")),
    "triplets": (SentenceSimilarity(), Mapping(text="text", pair="ending0", negative="ending1")),
}


def learning(task: str, folder: Path, **training: object) -> JobSpec:
    """Job of one of TASKS."""
    spec, mapping = TASKS[task]
    path = labelled(folder / "labelled.csv")
    data = FileData(path=path, reading=Reading(format="csv"), mapping=mapping)
    return classifying(folder, **training).model_copy(update={"task": spec, "data": data})


def pretraining(folder: Path, **training: object) -> JobSpec:
    data = FileData(path=paragraphs(folder / "text.txt"))
    defaults = {"steps": 30, "save_every": 7}
    return make_job("Masked words", Pretraining(), data, **{**defaults, **training})


def new_run(folder: Path, job: JobSpec) -> RunFolder:
    return RunFolder.create(folder, job)


def pairs(folder: Path, **training: object) -> JobSpec:
    return pretraining(folder, **training).model_copy(update={"task": Pretraining(nsp=True)})


def left_to_right(folder: Path, **training: object) -> JobSpec:
    start = FromScratch(model=NETWORK.model_copy(update={"causal": True}))
    update = {"task": Pretraining(objective="clm"), "base_model": start}
    return pretraining(folder, **training).model_copy(update=update)


def adapted(folder: Path, **training: object) -> JobSpec:
    """LoRA from the checkpoint of a short run."""
    base = trained(folder / "base", classifying(folder, steps=2))
    start = FromCheckpoint(path=base.checkpoint(2))
    job = classifying(folder).model_copy(update={"base_model": start})
    return with_training(job, **{"lora_rank": 2, **training})


def with_training(job: JobSpec, **settings: object) -> JobSpec:
    return job.model_copy(update={"training": job.training.model_copy(update=settings)})


def with_hardware(job: JobSpec, **settings: object) -> JobSpec:
    return job.model_copy(update={"hardware": job.hardware.model_copy(update=settings)})


def trained(folder: Path, job: JobSpec) -> RunFolder:
    run = new_run(folder, job)
    assert train(job, run, run.append)[0] == "finished"
    return run


def resumed(folder: Path, job: JobSpec, step: int) -> RunFolder:
    """A run that was stopped after a step and then trained to its end."""
    run = new_run(folder, job)
    assert train(job, run, run.append, lambda: has_seen(run, step)) == ("stopped", step)
    assert train(job, run, run.append)[0] == "finished"
    return run


def notes(run: RunFolder) -> list[str]:
    return [event.text for event in run.events_after(0)[0] if isinstance(event, Noted)]


def has_seen(run: RunFolder, step: int) -> bool:
    """True if a run has taken this step."""
    events, _ = run.events_after(0)
    return any(isinstance(e, Measured) and (e.name, e.step) == ("loss", step) for e in events)

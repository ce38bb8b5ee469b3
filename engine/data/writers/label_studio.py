"""Label Studio: tasks with their annotations, as JSON that a project imports.

Offsets count code points; the text of each span shows readers if they count otherwise.
"""

from pathlib import Path

from engine.data.writers.examples import Example, iter_examples
from engine.data.writers.export import Export
from engine.data.writers.writer import Writer, classes_of_words, word_losses, write_json
from engine.phrases import phrase

TEXT, LABEL = "text", "label"  # names in the configuration of the project


def _write(file: Path, export: Export) -> None:
    write_json(file, map(_task, iter_examples(export, (TEXT,))))


def _task(example: Example) -> dict[str, object]:
    """A task with its annotation; without one if the row has no label."""
    number, results = example.number + 1, _results(example)
    is_labelled = example.spans is not None or example.labels is not None
    annotation = {"id": number, "was_cancelled": False, "result": results}
    return {
        "id": number,
        "data": {TEXT: example.text, **example.others},
        "annotations": [annotation] if is_labelled else [],
    }


def _results(example: Example) -> list[dict[str, object]]:
    kind = "labels" if example.spans is not None else "choices"
    values: list[dict[str, object]] = [
        {"start": start, "end": end, "text": example.text[start:end], "labels": [label]}
        for start, end, label in example.spans or ()
    ]
    if example.spans is None and example.labels:
        values = [{"choices": example.labels}]
    return [
        {
            "id": f"{example.number}-{number}",
            "from_name": LABEL,
            "to_name": TEXT,
            "type": kind,
            "value": value,
        }
        for number, value in enumerate(values)
    ]


LABEL_STUDIO = Writer(
    "label_studio",
    "Label Studio",
    phrase("Tasks with annotations; the project calls its text “text” and its labels “label”."),
    ".label-studio.json",
    _write,
    word_losses,
    classes_of_words,
)

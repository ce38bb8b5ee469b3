"""What the added layer of a fine-tuned checkpoint answers, as its config.json says it."""

from typing import Any, cast

from engine.spec.task import HeadKind

ARCHITECTURES: dict[HeadKind, str] = {  # the end of the class's name in transformers
    "classes": "ForSequenceClassification",
    "labels": "ForSequenceClassification",
    "number": "ForSequenceClassification",
    "tags": "ForTokenClassification",
    "answer": "ForQuestionAnswering",
    "choices": "ForMultipleChoice",
}
PROBLEMS: dict[HeadKind, str] = {  # the “problem_type” of those that share a class
    "classes": "single_label_classification",
    "labels": "multi_label_classification",
    "number": "regression",
}
NAMED: tuple[HeadKind, ...] = ("classes", "labels", "tags")  # whose outputs have names
READER = ("vectors", "layer", "probe", "probe_size", "pooling")  # what config.json says of a reader
READER_ANSWER = "reader.dense.weight"


def head_kind(config: dict[str, Any], outputs: int) -> HeadKind:
    """What an added layer with so many outputs answers; the rules are those of transformers."""
    reader = config.get("probe")
    if isinstance(reader, dict) and reader.get("kind") in [*ARCHITECTURES]:
        return cast(HeadKind, reader["kind"])
    named = config.get("architectures")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    for kind in ("tags", "answer", "choices"):
        if architecture.endswith(ARCHITECTURES[kind]):
            return kind
    problem = config.get("problem_type")
    found = next((kind for kind, name in PROBLEMS.items() if name == problem), None)
    return found or ("number" if outputs == 1 else "classes")

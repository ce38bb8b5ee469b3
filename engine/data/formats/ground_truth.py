"""Manifests of Amazon SageMaker Ground Truth: JSONL with a text and the result of each job."""

from typing import Any

from engine.data.formats.annotated import (
    AnnotatedText,
    BadObject,
    Object,
    Tool,
    extra_values,
    get_list,
    get_span,
    make_format,
)
from engine.phrases import phrase

SOURCES = ("source", "source-ref")
METADATA = "-metadata"


def recognise(items: list[Any]) -> bool:
    """Recognise sources with the metadata of a labelling job."""
    return all(isinstance(item, dict) and _is_record(item) for item in items)


def _is_record(item: Object) -> bool:
    return bool(item.keys() & {*SOURCES}) and any(
        key.endswith(METADATA) and isinstance(value, dict) and {"type", "job-name"} & value.keys()
        for key, value in item.items()
    )


def read(item: Any) -> list[AnnotatedText] | str:
    """Read a text with the result of each job. Raises BadObject."""
    if not isinstance(item, dict):
        raise BadObject(phrase("this is not an object."))
    if not isinstance(item.get(SOURCES[0]), str):
        raise BadObject(
            phrase("its text is not in it, but in another file, named under “source-ref”."),
            phrase("Put the text itself under “source”."),
        )
    entry = AnnotatedText(item[SOURCES[0]])
    for key, metadata in item.items():
        job = key.removesuffix(METADATA)
        if job != key and isinstance(metadata, dict) and "failure-reason" not in metadata:
            _add_result(entry, job, item.get(job), metadata)
    if entry.spans is None and not entry.labels:
        return phrase("Text without an annotation skipped")
    entry.extra = extra_values(item, (*SOURCES, *entry.labels))
    return [entry]


def _add_result(entry: AnnotatedText, job: str, result: Any, metadata: Object) -> None:
    if metadata.get("human-annotated") == "no":
        entry.remarks.append(phrase("Annotation of Ground Truth's own model"))
    if isinstance(result, dict):
        annotations = result.get("annotations")
        entities = get_list(annotations if isinstance(annotations, dict) else {}, "entities")
        spans = [get_span(one, "startOffset", "endOffset", "label") for one in entities]
        entry.spans = [*(entry.spans or ()), *spans]
    elif isinstance(result, list):
        names = metadata.get("class-map")
        names = names if isinstance(names, dict) else {}
        entry.labels[job] = [str(names.get(str(number), number)) for number in result]
    elif result is not None:
        entry.labels[job] = [str(metadata.get("class-name", result))]


GROUND_TRUTH = make_format(
    "ground_truth",
    "Ground Truth",
    Tool(recognise, read),
    (".manifest", ".jsonl", ".json"),
)

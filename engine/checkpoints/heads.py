"""The task of a fine-tuned checkpoint, according to its config.json."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.config.task import SEQUENCE, Head, TaskSpec
from engine.config.tasks import TASKS, added_layers, get_head, heads, parse_task
from engine.config.zero_shot import nli_outputs

TASK = "bert_studio_task"  # in config.json: the task that a model of ours was fine-tuned for
TEXTS = "bert_studio_texts"  # in config.json: the columns or templates that it was trained on
PROBE_FIELDS = (
    "vectors",
    "layer",
    "probe",
    "probe_size",
    "pooling",
)  # entries of config.json for a probe
PROBE_OUTPUT = "probe.dense.weight"


def head_kind(config: dict[str, Any], outputs: int) -> str:
    """The task of a task head with this number of outputs.

    Models of ours record it, unless another program has replaced the head; otherwise the rules are
    those of transformers. If several tasks have the same head, a foreign model gets the one with
    the fewest columns, or with pairs if its labels are those of natural language inference.
    """
    named, problem = config.get("architectures"), config.get("problem_type")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    entry = config.get(TASK)
    kind = entry.get("kind") if isinstance(entry, Mapping) else None
    every_head = dict(heads())
    if isinstance(kind, str) and kind in every_head:
        head = every_head[kind]
        is_probe = isinstance(config.get("probe"), Mapping)
        if is_probe or _belongs(head, architecture, problem):
            return kind
    added = {kind: head for kind, head in added_layers() if kind == _simplest(head)}
    for kind, head in added.items():
        if head.architecture != SEQUENCE and architecture.endswith(head.architecture):
            return kind
    sequence_heads = {kind: head for kind, head in added.items() if head.architecture == SEQUENCE}
    for kind, head in sequence_heads.items():
        if head.problem_type == problem:
            return kind
    exact = (kind for kind, head in sequence_heads.items() if head.outputs == outputs)
    labelled = (kind for kind, head in sequence_heads.items() if head.has_labels)
    found = next(exact, None) or next(labelled)
    if nli_outputs(label_names(config, outputs)) is None:
        return found
    return next(kind for kind, head in heads() if head == every_head[found] and _reads_pairs(kind))


def kind_among(kinds: Sequence[str], config: dict[str, Any], outputs: int) -> str:
    """The task of a head whose tensors have the names of these tasks."""
    kind = kinds[0] if len(kinds) == 1 else head_kind(config, outputs)
    fitting = [k for number in (outputs, 0) for k in kinds if get_head(k).outputs == number]
    return kind if kind in kinds or not fitting else fitting[0]


def label_names(config: Mapping[str, Any], outputs: int) -> tuple[str, ...]:
    """The names of the outputs by id; as in transformers, LABEL_0, … without a name."""
    names = config.get("id2label")
    by_id = names if isinstance(names, Mapping) else {}
    return tuple(str(by_id.get(str(index), f"LABEL_{index}")) for index in range(outputs))


def stored_texts(config: Mapping[str, Any]) -> dict[str, str]:
    """The columns or templates of the texts that a model of ours was trained on, by role."""
    entry = config.get(TEXTS)
    texts = entry if isinstance(entry, Mapping) else {}
    given = {role: texts.get(role) for role in ("text", "pair")}
    return {role: name for role, name in given.items() if isinstance(name, str) and name}


def stored_task(config: Mapping[str, Any], kind: str, labels: tuple[str, ...]) -> TaskSpec:
    """The task of a fine-tuned checkpoint: as recorded by a run, or inferred for a foreign one."""
    entry = config.get(TASK)
    foreign = TASKS[kind].from_imported(labels)
    if not isinstance(entry, Mapping) or entry.get("kind") != kind or len(entry) == 1:
        return foreign
    try:
        return parse_task(entry).with_labels(labels)
    except ValueError:
        return foreign


def _reads_pairs(kind: str) -> bool:
    return "pair" in TASKS[kind].info.reads


def _simplest(head: Head) -> str:
    """The task with this head and the fewest columns."""
    same = [kind for kind, other in heads() if other == head]
    return min(same, key=lambda kind: len(TASKS[kind].info.reads))


def _belongs(head: Head, architecture: str, problem: object) -> bool:
    """True if config.json is unchanged since we wrote it."""
    return architecture.endswith(head.architecture) and (
        not head.problem_type or head.problem_type == problem
    )

"""Published weight names ↔ ours, and the head entries of config.json."""

from typing import Any

from pydantic import ValidationError

from engine.checkpoints.config import CAUSAL_KEY, LAST, POOLED_FROM, TIED_KEY, config_entries
from engine.checkpoints.heads import PROBE_FIELDS, TASK, label_names
from engine.checkpoints.sentence_layout import layer_folder
from engine.config.families import FAMILIES
from engine.config.families.bert import FAMILY as BERT
from engine.config.families.family import Family
from engine.config.features import Features
from engine.config.model import EncoderSpec
from engine.config.tasks import get_head
from engine.models.heads import Heads
from engine.phrases import phrase

CODE_KEYS = ("auto_map", "trust_remote_code", "custom_pipelines", "kernel_config", "use_kernels")
NO_HEADS = Heads()
OWN_DECODER = "mlm.decoder"  # stored only if it is not tied
WINDOW_SCORE = "window_score.weight"  # not in transformers


def published_name(ours: str, family: Family = BERT, heads: Heads = NO_HEADS) -> str:
    """Name of one of our tensors in transformers, given the heads."""
    if ours.startswith("probe."):  # not in transformers
        return ours
    if ours == OWN_DECODER:
        return family.decoder[0]
    if ours.startswith("task.layers."):  # pooling head: separate files
        _, _, index, rest = ours.split(".", 3)
        return f"{layer_folder(int(index), rest.startswith('norm.'))}/{rest}"
    if ours == "task.score.weight":
        return WINDOW_SCORE
    if ours.startswith("task.dense."):
        return family.task_names(get_head(heads.kind))[ours.endswith("bias")]
    if family.pooler_of_head and heads.outputs and ours.startswith(("mlm.dense.", "mlm.norm.")):
        return ours  # its name is taken by the task head
    if ours.startswith("encoder.pooler.dense."):
        prefix = family.pooler(heads.task) or family.names["encoder.pooler.dense."]
        return prefix + ours.rpartition(".")[2]
    return family.published_name(ours)


def is_buffer(name: str) -> bool:
    """True for position buffers, which only old files contain."""
    return name.endswith((".position_ids", ".token_type_ids"))


def custom_code_notes(config: dict[str, Any]) -> list[str]:
    """Notes about custom code in config.json, which is ignored."""
    return [
        phrase("config.json asks for custom code ({name}); it was ignored.", name=name)
        for name in CODE_KEYS
        if config.get(name)
    ]


def labels_in(config: dict[str, Any]) -> tuple[str, ...]:
    """Class names in the order of their ids; empty unless ids 0, 1, … are all named."""
    names = config.get("id2label")
    if not isinstance(names, dict):
        return ()
    by_id = {str(index): str(label) for index, label in names.items()}
    ordered = [by_id.get(str(index)) for index in range(len(by_id))]
    return tuple(label for label in ordered if label is not None) if None not in ordered else ()


def build_config(
    spec: EncoderSpec, heads: Heads, labels: tuple[str, ...], dtype: str
) -> dict[str, Any]:
    """Build the config.json from which transformers loads the right class."""
    config: dict[str, Any] = {
        "architectures": [architecture(heads, spec.family, spec.is_causal)],
        "model_type": spec.family,
        **config_entries(spec),
        TIED_KEY: not heads.own_decoder,
        "dtype": dtype,
    }
    if FAMILIES[spec.family].causal:
        config |= {CAUSAL_KEY: spec.is_causal, "position_embedding_type": "absolute"}
    if spec.is_causal and heads.pooler:
        config[POOLED_FROM] = LAST
    return config | head_entries(heads, labels)


def head_entries(heads: Heads, labels: tuple[str, ...]) -> dict[str, Any]:
    """Entries of config.json for the task head."""
    head = heads.task
    if head is None:
        return {}
    entries: dict[str, Any] = {TASK: {"kind": heads.kind}}
    if head.has_labels or head.problem_type:
        count = head.labels_of(heads.outputs)
        names = head.output_names(labels if len(labels) == count else label_names({}, count))
        entries["id2label"] = {str(index): label for index, label in enumerate(names)}
        entries["label2id"] = {label: index for index, label in enumerate(names)}
    if head.problem_type:
        entries["problem_type"] = head.problem_type
    if heads.features is not None:
        entries["probe"] = heads.features.model_dump(mode="json", include=set(PROBE_FIELDS))
    return entries


def probe_in(config: dict[str, Any]) -> Features | None:
    """Probe described by config.json, or None."""
    probe = config.get("probe")
    if not isinstance(probe, dict):
        return None
    try:
        return Features.model_validate(
            {name: probe[name] for name in PROBE_FIELDS if name in probe}
        )
    except ValidationError:
        return None


def architecture(heads: Heads, family: str = BERT.name, causal: bool = False) -> str:
    """Class of transformers that has these heads; for a probe, that of the bare encoder."""
    prefix = FAMILIES[family].classes
    if heads.features is not None:
        return f"{prefix}Model"
    if heads.task is not None:
        return prefix + heads.task.architecture
    if causal and heads.mlm:
        return f"{prefix}LMHeadModel"
    if heads.mlm and heads.nsp:
        return f"{prefix}ForPreTraining"
    if heads.mlm:
        return f"{prefix}ForMaskedLM"
    if not heads.nsp:
        return f"{prefix}Model"
    return prefix + FAMILIES[family].pair_head

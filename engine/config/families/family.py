"""What a family of networks is: its spec, and how others publish it.

Which entry of config.json a field of the spec is, the field says. What stands here is the rest: the
names of tensors, and what is special about a family.

A name is put together from our name of a part and the published one for it; a layer's number goes
where the braces stand.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic.fields import FieldInfo

from engine.config.model import EncoderSpec, is_needed, published_names, without_it
from engine.config.task import SEQUENCE, Head
from engine.config.tasks import added_layers

NOT_CAUSAL: dict[str, tuple[object, ...]] = {"is_decoder": (None, False)}

BERT_LAYER = {  # ours → published, inside a layer
    "attention.query.": "attention.self.query.",
    "attention.key.": "attention.self.key.",
    "attention.value.": "attention.self.value.",
    "attention.output.": "attention.output.dense.",
    "attention.norm.": "attention.output.LayerNorm.",
    "feed_forward.wide.": "intermediate.dense.",
    "feed_forward.narrow.": "output.dense.",
    "feed_forward.norm.": "output.LayerNorm.",
}


def embedding_names(prefix: str) -> dict[str, str]:
    return {
        "encoder.embeddings.token.": f"{prefix}.embeddings.word_embeddings.",
        "encoder.embeddings.position.": f"{prefix}.embeddings.position_embeddings.",
        "encoder.embeddings.segment.": f"{prefix}.embeddings.token_type_embeddings.",
        "encoder.embeddings.norm.": f"{prefix}.embeddings.LayerNorm.",
    }


def mlm_names(dense: str, norm: str, bias: str) -> dict[str, str]:
    return {"mlm.dense.": dense, "mlm.norm.": norm, "mlm.bias": bias}


LM_HEAD = mlm_names("lm_head.dense.", "lm_head.layer_norm.", "lm_head.bias")
BERT_HEAD = mlm_names(
    "cls.predictions.transform.dense.",
    "cls.predictions.transform.LayerNorm.",
    "cls.predictions.bias",
)

OWN_POOLER = ("classifier.dense.", "classifier.out_proj.")  # and the layer behind it


@dataclass(frozen=True)
class Family:
    """One kind of network, and how transformers writes it.

    Args:
        title: as papers call it.
        prefix: the beginning of the tensors' names; empty: its name.
        classes: the beginning of the names of classes in transformers.
        spec: its network; the fields say which entries of config.json they are.
        layer: the published name of a layer, with {} for its number.
        inner: ours → published, of the parts of a layer.
        names: ours → published, of all other parts; heads that it has none of are absent.
        decoder: names under which the token embedding and the bias of masked words are stored
            once more.
        parts: the beginnings of tensors in files without `prefix` before them.
        own_pooler: where its classes have a pooler of their own, that one and the layer behind it.
        network: its encoder, as module and class in `engine.models`.
        positions_after_padding: whether positions are counted from behind the id of padding.
        lowercase: whether its usual tokenizers ignore case, unless they say something else.
        pair_head: the end of the class that has the head for two sentences alone.
        orders_pairs: whether that head was trained on their order, and not on whether they belong
            together.
        remarks: the beginnings of published tensors that are passed over, and what is said of it.
        aliases: other beginnings under which files keep the same tensors, and the usual ones.
        detects: the beginning of a head that a file has in the place of one for masked words.
        constants: entries of config.json that all of our networks of the family have.
        fused: within published names, what holds several of our tensors, and how many.
        answers: the beginning of the layer that answers questions.
        pooler_of_head: whether the pooler belongs to a head for whole texts, whose layers have the
            names of those of the other heads.
        reads: makes a config.json of the form that the fields name.
        writes: further entries of a config.json, from those.
        others: entries of config.json that would make it another network, and the values that
            do not.
    """

    title: str
    classes: str
    spec: type[EncoderSpec]
    network: str
    layer: str
    inner: dict[str, str]
    names: dict[str, str]
    decoder: tuple[str, ...]
    prefix: str = ""
    parts: tuple[str, ...] = ("embeddings.", "encoder.", "pooler.")
    own_pooler: tuple[str, str] | None = None
    others: dict[str, tuple[object, ...]] = field(default_factory=dict)
    positions_after_padding: bool = False
    lowercase: bool = True
    pair_head: str = "ForNextSentencePrediction"
    orders_pairs: bool = False
    remarks: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    detects: str = ""
    fused: dict[str, int] = field(default_factory=dict)
    answers: str = "qa_outputs."
    pooler_of_head: bool = False
    reads: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    writes: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    constants: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The “model_type” of a config.json."""
        return self.spec.family

    @property
    def sizes(self) -> dict[str, str]:
        """Entries of config.json → fields of the spec that no config lacks."""
        return {name: ours for name, ours in self.entries.items() if is_needed(self._field(ours))}

    @property
    def settings(self) -> dict[str, str]:
        """Those that one may leave out."""
        return {
            name: ours for name, ours in self.entries.items() if not is_needed(self._field(ours))
        }

    @property
    def entries(self) -> dict[str, str]:
        """Entries of config.json → fields of the spec."""
        fields = self.spec.model_fields.items()
        return {name: ours for ours, info in fields for name in published_names(info)}

    @property
    def absent(self) -> dict[str, object]:
        """What transformers takes where an entry is left out, if our spec has something else."""
        usual = {name: without_it(self._field(ours)) for name, ours in self.entries.items()}
        return {name: value for name, value in usual.items() if value is not None}

    def entry_of(self, field: str) -> str:
        """How config.json names a field of the spec; where there are several names, one of them."""
        return published_names(self._field(field))[0]

    def _field(self, ours: str) -> FieldInfo:
        return self.spec.model_fields[ours]

    @property
    def causal(self) -> bool:
        """Whether one may be left-to-right."""
        return "causal" in self.spec.model_fields

    @property
    def beginning(self) -> str:
        """With what the names of its tensors begin."""
        return f"{self.prefix or self.name}."

    def published(self, ours: str) -> str:
        """The name under which transformers keeps one of our tensors; not for the task head."""
        for beginning, theirs in self.names.items():
            if ours.startswith(beginning):
                return theirs + ours.removeprefix(beginning)
        if ours.startswith("encoder.layers."):
            _, _, number, inside = ours.split(".", 3)
            return self.layer.format(number) + _replaced(inside, self.inner)
        raise ValueError(f"{ours} has no published name")

    def task_names(self, head: Head) -> tuple[str, str]:
        """The published names of the weight and the bias of the layer that fine-tuning adds."""
        if head.finds_spans:
            return f"{self.answers}weight", f"{self.answers}bias"
        own = self.own_pooler if head.architecture == SEQUENCE else None
        added = own[1] if own else "classifier."
        return f"{added}weight", f"{added}bias"

    def all_task_names(self) -> dict[tuple[str, str], list[str]]:
        """The tasks for which a layer with these names may be."""
        found: dict[tuple[str, str], list[str]] = {}
        for kind, head in added_layers():
            found.setdefault(self.task_names(head), []).append(kind)
        return found

    @property
    def has_nsp_head(self) -> bool:
        """Whether it has a head for two sentences."""
        return "nsp.dense." in self.names

    def pooler(self, head: Head | None) -> str:
        """The published name of the pooler in a network with such a task head; None: with none.

        Empty where it has none.
        """
        if self.pooler_of_head and (head is None or head.reads_tokens):
            return ""
        if self.own_pooler and head is not None and head.architecture == SEQUENCE:
            return self.own_pooler[0]
        return self.names["encoder.pooler.dense."]


def _replaced(name: str, beginnings: dict[str, str]) -> str:
    for ours, published in beginnings.items():
        if name.startswith(ours):
            return published + name.removeprefix(ours)
    raise ValueError(f"{name} has no published name")

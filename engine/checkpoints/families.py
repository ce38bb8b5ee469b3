"""The families of networks as they are published: entries of config.json, names of tensors.

A name is put together from our name of a part and the published one for it; a layer's number goes
where the braces stand.
"""

from dataclasses import dataclass, field

from engine.spec.model import AlbertSpec, BertSpec, DistilBertSpec, EncoderSpec, RobertaSpec
from engine.spec.task import SEQUENCE, Head
from engine.spec.tasks import heads

NOT_CAUSAL: dict[str, tuple[object, ...]] = {"is_decoder": (None, False)}

SIZES = {  # config.json → spec; a config has all of these
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "intermediate_size",
}
SETTINGS = {  # and may leave out these
    "max_position_embeddings": "max_positions",
    "type_vocab_size": "segments",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "hidden_act": "activation",
    "layer_norm_eps": "layer_norm_eps",
    "initializer_range": "initializer_range",
}
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


def _embeddings(prefix: str) -> dict[str, str]:
    return {
        "encoder.embeddings.token.": f"{prefix}.embeddings.word_embeddings.",
        "encoder.embeddings.position.": f"{prefix}.embeddings.position_embeddings.",
        "encoder.embeddings.segment.": f"{prefix}.embeddings.token_type_embeddings.",
        "encoder.embeddings.norm.": f"{prefix}.embeddings.LayerNorm.",
    }


@dataclass(frozen=True)
class Family:
    """One kind of network, and how transformers writes it.

    Args:
        title: as papers call it.
        name: the “model_type” of a config.json, and the beginning of the tensors' names.
        classes: the beginning of the names of classes in transformers.
        sizes: entries of config.json → spec that no config lacks.
        settings: those that one may leave out.
        absent: what transformers takes where one is left out, if our spec has something else.
        layer: the published name of a layer, with {} for its number.
        inner: ours → published, of the parts of a layer.
        names: ours → published, of all other parts; heads that it has none of are absent.
        decoder: names under which the token embedding and the bias of masked words are stored
            once more.
        parts: the beginnings of tensors in files without `name` before them.
        own_pooler: where its classes have a pooler of their own, that one and the layer behind it.
        network: its encoder, as module and class in `engine.models`.
        causal: whether one may be left-to-right.
        positions_after_padding: whether positions are counted from behind the id of padding.
        lowercase: whether its usual tokenizers ignore case, unless they say something else.
        pair_head: the end of the class that has the head for two sentences alone.
        orders_pairs: whether that head was trained on their order, and not on whether they belong
            together.
        others: entries of config.json that would make it another network, and the values that
            do not.
    """

    title: str
    name: str
    classes: str
    spec: type[EncoderSpec]
    network: str
    sizes: dict[str, str]
    settings: dict[str, str]
    layer: str
    inner: dict[str, str]
    names: dict[str, str]
    decoder: tuple[str, ...]
    parts: tuple[str, ...] = ("embeddings.", "encoder.", "pooler.")
    own_pooler: tuple[str, str] | None = None
    others: dict[str, tuple[object, ...]] = field(default_factory=dict)
    absent: dict[str, object] = field(default_factory=dict)
    causal: bool = False
    positions_after_padding: bool = False
    lowercase: bool = True
    pair_head: str = "ForNextSentencePrediction"
    orders_pairs: bool = False

    def published(self, ours: str) -> str:
        """The name under which transformers keeps one of our tensors; not for the task head."""
        if ours.startswith("encoder.layers."):
            _, _, number, inside = ours.split(".", 3)
            return self.layer.format(number) + _replaced(inside, self.inner)
        return _replaced(ours, self.names)

    def task_names(self, head: Head) -> tuple[str, str]:
        """The published names of the weight and the bias of the layer that fine-tuning adds."""
        if head.finds_spans:
            return "qa_outputs.weight", "qa_outputs.bias"
        own = self.own_pooler if head.architecture == SEQUENCE else None
        added = own[1] if own else "classifier."
        return f"{added}weight", f"{added}bias"

    def all_task_names(self) -> dict[tuple[str, str], list[str]]:
        """The tasks for which a layer with these names may be."""
        found: dict[tuple[str, str], list[str]] = {}
        for kind, head in heads():
            found.setdefault(self.task_names(head), []).append(kind)
        return found

    @property
    def has_nsp_head(self) -> bool:
        """Whether it has a head for two sentences."""
        return "nsp.dense." in self.names

    def pooler(self, head: Head | None) -> str:
        """The published name of the pooler in a network with such a task head; None: with none."""
        if self.own_pooler and head is not None and head.architecture == SEQUENCE:
            return self.own_pooler[0]
        return self.names["encoder.pooler.dense."]


def _replaced(name: str, beginnings: dict[str, str]) -> str:
    for ours, published in beginnings.items():
        if name.startswith(ours):
            return published + name.removeprefix(ours)
    raise ValueError(f"{name} has no published name")


BERT = Family(
    title="BERT",
    name="bert",
    classes="Bert",
    spec=BertSpec,
    network="bert.Bert",
    sizes=SIZES,
    settings=SETTINGS | {"classifier_dropout": "head_dropout"},
    layer="bert.encoder.layer.{}.",
    inner=BERT_LAYER,
    names={
        **_embeddings("bert"),
        "encoder.pooler.dense.": "bert.pooler.dense.",
        "mlm.dense.": "cls.predictions.transform.dense.",
        "mlm.norm.": "cls.predictions.transform.LayerNorm.",
        "mlm.bias": "cls.predictions.bias",
        "nsp.dense.": "cls.seq_relationship.",
    },
    decoder=("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"),
    causal=True,
)
DISTILBERT = Family(
    title="DistilBERT",
    name="distilbert",
    classes="DistilBert",
    spec=DistilBertSpec,
    network="distilbert.DistilBert",
    sizes={
        "vocab_size": "vocab_size",
        "dim": "hidden_size",
        "n_layers": "layers",
        "n_heads": "heads",
        "hidden_dim": "intermediate_size",
    },
    settings={
        "max_position_embeddings": "max_positions",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "activation": "activation",
        "initializer_range": "initializer_range",
        "seq_classif_dropout": "head_dropout",
        "qa_dropout": "answer_dropout",
    },
    layer="distilbert.transformer.layer.{}.",
    inner={
        "attention.query.": "attention.q_lin.",
        "attention.key.": "attention.k_lin.",
        "attention.value.": "attention.v_lin.",
        "attention.output.": "attention.out_lin.",
        "attention.norm.": "sa_layer_norm.",
        "feed_forward.wide.": "ffn.lin1.",
        "feed_forward.narrow.": "ffn.lin2.",
        "feed_forward.norm.": "output_layer_norm.",
    },
    names={
        **_embeddings("distilbert"),
        "encoder.pooler.dense.": "pre_classifier.",
        "mlm.dense.": "vocab_transform.",
        "mlm.norm.": "vocab_layer_norm.",
        "mlm.bias": "vocab_projector.bias",
    },
    decoder=("vocab_projector.weight", ""),
    parts=("embeddings.", "transformer."),
    others=NOT_CAUSAL,
)
ROBERTA = Family(
    title="RoBERTa",
    name="roberta",
    classes="Roberta",
    spec=RobertaSpec,
    network="roberta.Roberta",
    sizes=SIZES,
    settings=SETTINGS | {"classifier_dropout": "head_dropout", "pad_token_id": "pad_token_id"},
    absent={"type_vocab_size": 2},
    layer="roberta.encoder.layer.{}.",
    inner=BERT_LAYER,
    names={
        **_embeddings("roberta"),
        "encoder.pooler.dense.": "roberta.pooler.dense.",
        "mlm.dense.": "lm_head.dense.",
        "mlm.norm.": "lm_head.layer_norm.",
        "mlm.bias": "lm_head.bias",
    },
    decoder=("lm_head.decoder.weight", "lm_head.decoder.bias"),
    own_pooler=("classifier.dense.", "classifier.out_proj."),
    positions_after_padding=True,
    lowercase=False,
    others=NOT_CAUSAL,
)
ALBERT = Family(
    title="ALBERT",
    name="albert",
    classes="Albert",
    spec=AlbertSpec,
    network="albert.Albert",
    sizes=SIZES,
    settings=SETTINGS
    | {
        "embedding_size": "embedding_size",
        "num_hidden_groups": "layer_groups",
        "classifier_dropout_prob": "head_dropout",
    },
    layer="albert.encoder.albert_layer_groups.{}.albert_layers.0.",
    inner={
        "attention.query.": "attention.query.",
        "attention.key.": "attention.key.",
        "attention.value.": "attention.value.",
        "attention.output.": "attention.dense.",
        "attention.norm.": "attention.LayerNorm.",
        "feed_forward.wide.": "ffn.",
        "feed_forward.narrow.": "ffn_output.",
        "feed_forward.norm.": "full_layer_layer_norm.",
    },
    names={
        **_embeddings("albert"),
        "encoder.embeddings.widen.": "albert.encoder.embedding_hidden_mapping_in.",
        "encoder.pooler.dense.": "albert.pooler.",
        "mlm.dense.": "predictions.dense.",
        "mlm.norm.": "predictions.LayerNorm.",
        "mlm.bias": "predictions.bias",
        "nsp.dense.": "sop_classifier.classifier.",
    },
    decoder=("predictions.decoder.weight", "predictions.decoder.bias"),
    others=NOT_CAUSAL | {"inner_group_num": (None, 1)},
    pair_head="ForPreTraining",
    orders_pairs=True,
)
FAMILIES = {family.name: family for family in (BERT, DISTILBERT, ROBERTA, ALBERT)}

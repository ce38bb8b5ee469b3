"""The families of networks as they are published: one entry for each, and the table of all."""

from dataclasses import replace

from engine.checkpoints import modernbert
from engine.checkpoints.family import (
    BERT_LAYER,
    NOT_CAUSAL,
    SETTINGS,
    SIZES,
    Family,
    embedding_names,
)
from engine.phrases import phrase
from engine.spec.model import (
    AlbertSpec,
    BertSpec,
    CamembertSpec,
    DebertaSpec,
    DistilBertSpec,
    ElectraSpec,
    ModernBertSpec,
    MpnetSpec,
    RobertaSpec,
    XlmRobertaSpec,
)

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
        **embedding_names("bert"),
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
        **embedding_names("distilbert"),
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
        **embedding_names("roberta"),
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
XLM_ROBERTA = replace(
    ROBERTA,
    title="XLM-RoBERTa",
    name="xlm-roberta",
    prefix="roberta",
    classes="XLMRoberta",
    spec=XlmRobertaSpec,
)
CAMEMBERT = replace(
    ROBERTA,
    title="CamemBERT",
    name="camembert",
    prefix="roberta",
    classes="Camembert",
    spec=CamembertSpec,
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
        **embedding_names("albert"),
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
ELECTRA = Family(
    title="ELECTRA",
    name="electra",
    classes="Electra",
    spec=ElectraSpec,
    network="electra.Electra",
    sizes=SIZES,
    settings=SETTINGS | {"embedding_size": "embedding_size", "classifier_dropout": "head_dropout"},
    layer="electra.encoder.layer.{}.",
    inner=BERT_LAYER,
    names={
        **embedding_names("electra"),
        "encoder.embeddings.widen.": "electra.embeddings_project.",
        "encoder.pooler.dense.": "sequence_summary.summary.",  # of the class for choices
        "mlm.dense.": "generator_predictions.dense.",
        "mlm.norm.": "generator_predictions.LayerNorm.",
        "mlm.bias": "generator_lm_head.bias",
    },
    decoder=("generator_lm_head.weight", ""),
    parts=("embeddings.", "embeddings_project.", "encoder."),
    own_pooler=("classifier.dense.", "classifier.out_proj."),
    others=NOT_CAUSAL
    | {
        "summary_type": (None, "first"),
        "summary_use_proj": (None, True),
        "summary_activation": (None, "gelu"),
    },
    remarks={
        "discriminator_predictions.": phrase(
            "This is ELECTRA's discriminator: it is for tasks, and its head for replaced tokens is "
            "not used. The generator is the one that predicts masked tokens."
        )
    },
)
MPNET = Family(
    title="MPNet",
    name="mpnet",
    classes="MPNet",
    spec=MpnetSpec,
    network="mpnet.Mpnet",
    sizes=SIZES,
    settings={theirs: ours for theirs, ours in SETTINGS.items() if ours != "segments"},
    layer="mpnet.encoder.layer.{}.",
    inner=BERT_LAYER
    | {
        "attention.query.": "attention.attn.q.",
        "attention.key.": "attention.attn.k.",
        "attention.value.": "attention.attn.v.",
        "attention.output.": "attention.attn.o.",
        "attention.norm.": "attention.LayerNorm.",
    },
    names={
        **embedding_names("mpnet"),
        "encoder.relative.bias.": "mpnet.encoder.relative_attention_bias.",
        "encoder.pooler.dense.": "mpnet.pooler.dense.",
        "mlm.dense.": "lm_head.dense.",
        "mlm.norm.": "lm_head.layer_norm.",
        "mlm.bias": "lm_head.bias",
    },
    decoder=("lm_head.decoder.weight", "lm_head.decoder.bias"),
    own_pooler=("classifier.dense.", "classifier.out_proj."),
    positions_after_padding=True,
    others=NOT_CAUSAL | {"relative_attention_num_buckets": (None, 32), "pad_token_id": (None, 1)},
)
DEBERTA = Family(
    title="DeBERTa v2 and v3",
    name="deberta-v2",
    prefix="deberta",
    classes="DebertaV2",
    spec=DebertaSpec,
    network="deberta.Deberta",
    sizes=SIZES,
    settings=SETTINGS
    | {
        "position_biased_input": "absolute_positions",
        "position_buckets": "position_buckets",
        "max_relative_positions": "max_relative_positions",
        "conv_kernel_size": "convolution",
        "conv_act": "convolution_activation",
        "pooler_dropout": "pooler_dropout",
        "pooler_hidden_act": "pooler_activation",
        "cls_dropout": "head_dropout",
    },
    layer="deberta.encoder.layer.{}.",
    inner=BERT_LAYER
    | {
        "attention.query.": "attention.self.query_proj.",
        "attention.key.": "attention.self.key_proj.",
        "attention.value.": "attention.self.value_proj.",
    },
    names={
        **embedding_names("deberta"),
        "encoder.layers.0.convolution.conv.": "deberta.encoder.conv.conv.",
        "encoder.layers.0.convolution.norm.": "deberta.encoder.conv.LayerNorm.",
        "encoder.relative.table.": "deberta.encoder.rel_embeddings.",
        "encoder.relative.norm.": "deberta.encoder.LayerNorm.",
        "encoder.pooler.dense.": "pooler.dense.",
        "mlm.dense.": "cls.predictions.transform.dense.",
        "mlm.norm.": "cls.predictions.transform.LayerNorm.",
        "mlm.bias": "cls.predictions.bias",
    },
    decoder=("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"),
    parts=("embeddings.", "encoder."),
    lowercase=False,
    aliases={
        "lm_predictions.lm_head.dense.": "cls.predictions.transform.dense.",
        "lm_predictions.lm_head.LayerNorm.": "cls.predictions.transform.LayerNorm.",
        "lm_predictions.lm_head.bias": "cls.predictions.bias",
    },
    detects="mask_predictions.",
    constants={
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
    },
    others=NOT_CAUSAL
    | {
        "relative_attention": (True,),
        "pos_att_type": (["p2c", "c2p"], ["c2p", "p2c"], "p2c|c2p", "c2p|p2c"),
        "share_att_key": (True,),
        "norm_rel_ebd": ("layer_norm",),
        "conv_groups": (None, 1),
    },
    remarks={
        "mask_predictions.": phrase(
            "This model was trained to detect replaced tokens, as DeBERTa v3 is; it has no trained "
            "head for masked tokens."
        ),
        "deberta.embeddings.position_embeddings.": phrase(
            "The absolute positions in the file, which only pre-training used, are not used."
        ),
    },
)
MODERNBERT = Family(
    title="ModernBERT",
    name="modernbert",
    prefix="model",
    classes="ModernBert",
    spec=ModernBertSpec,
    network="modernbert.ModernBert",
    sizes=SIZES,
    settings={
        "max_position_embeddings": "max_positions",
        "embedding_dropout": "dropout",
        "mlp_dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "classifier_dropout": "head_dropout",
        "hidden_activation": "activation",
        "classifier_activation": "classifier_activation",
        "norm_eps": "layer_norm_eps",
        "initializer_range": "initializer_range",
        "local_attention": "window",
        "global_attn_every_n_layers": "all_every",
        "global_rope_theta": "rotary_base_all",
        "local_rope_theta": "rotary_base",
    },
    layer="model.layers.{}.",
    inner={
        "attention.query.": "attn.Wqkv.0.",
        "attention.key.": "attn.Wqkv.1.",
        "attention.value.": "attn.Wqkv.2.",
        "attention.output.": "attn.Wo.",
        "attention.norm.": "attn_norm.",
        "feed_forward.wide.": "mlp.Wi.0.",
        "feed_forward.gate.": "mlp.Wi.1.",
        "feed_forward.narrow.": "mlp.Wo.",
        "feed_forward.norm.": "mlp_norm.",
    },
    names={
        "encoder.embeddings.token.": "model.embeddings.tok_embeddings.",
        "encoder.embeddings.norm.": "model.embeddings.norm.",
        "encoder.norm.": "model.final_norm.",
        "encoder.pooler.dense.": "head.dense.",
        "encoder.pooler.norm.": "head.norm.",
        "task.turn.": "head.",
        "mlm.dense.": "head.dense.",
        "mlm.norm.": "head.norm.",
        "mlm.bias": "decoder.bias",
    },
    decoder=("decoder.weight", ""),
    parts=("embeddings.", "layers.", "final_norm."),
    lowercase=False,
    fused={"attn.Wqkv.": 3, "mlp.Wi.": 2},
    answers="classifier.",
    pooler_of_head=True,
    reads=modernbert.as_published,
    writes=modernbert.entries,
    constants={"classifier_pooling": "cls"},
    others=NOT_CAUSAL
    | {
        "norm_bias": (None, False),
        "attention_bias": (None, False),
        "mlp_bias": (None, False),
        "classifier_bias": (None, False),
        "decoder_bias": (None, True),
        modernbert.IRREGULAR: (None,),
        modernbert.SCALED: (None, "default"),
    },
)
FAMILIES = {
    family.name: family
    for family in (
        BERT,
        DISTILBERT,
        ROBERTA,
        XLM_ROBERTA,
        CAMEMBERT,
        ALBERT,
        ELECTRA,
        MPNET,
        DEBERTA,
        MODERNBERT,
    )
}

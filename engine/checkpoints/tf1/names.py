"""Mapping between Google's tensor names and those of transformers, which we use elsewhere."""

import re

PUBLISHED_NAMES = {  # by Google's name
    "bert/embeddings/word_embeddings": "bert.embeddings.word_embeddings.weight",
    "bert/embeddings/position_embeddings": "bert.embeddings.position_embeddings.weight",
    "bert/embeddings/token_type_embeddings": "bert.embeddings.token_type_embeddings.weight",
    "cls/predictions/output_bias": "cls.predictions.bias",
    "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
    "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
}
GOOGLE_NAMES = {published: google for google, published in PUBLISHED_NAMES.items()}
LAYER = r"bert/encoder/layer_(?:0|[1-9]\d{0,8})"
DENSE = re.compile(
    rf"(?:{LAYER}/(?:attention/self/(?:query|key|value)"
    r"|(?:attention/output|intermediate|output)/dense)"
    r"|bert/pooler/dense|cls/predictions/transform/dense)/(?:kernel|bias)"
)
NORM = re.compile(
    rf"(?:{LAYER}/(?:attention/)?output|bert/embeddings|cls/predictions/transform)"
    r"/LayerNorm/(?:gamma|beta)"
)
LEAVES = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}


def published_name(google: str) -> str | None:
    """The name in transformers for a tensor of Google's; None if it has none.

    Optimiser state (adam_m, adam_v, global_step) has none.
    """
    if google in PUBLISHED_NAMES or not (DENSE.fullmatch(google) or NORM.fullmatch(google)):
        return PUBLISHED_NAMES.get(google)
    module, _, leaf = google.rpartition("/")
    return f"{module.replace('/layer_', '/layer.').replace('/', '.')}.{LEAVES[leaf]}"


def google_name(published: str) -> str:
    """Google's name for a tensor of our networks."""
    if published in GOOGLE_NAMES:
        return GOOGLE_NAMES[published]
    module, _, leaf = published.rpartition(".")
    weight, bias = ("gamma", "beta") if module.endswith("LayerNorm") else ("kernel", "bias")
    path = re.sub(r"layer\.(\d+)", r"layer_\1", module).replace(".", "/")
    return f"{path}/{weight if leaf == 'weight' else bias}"


def is_transposed(google: str) -> bool:
    """True if Google stores a matrix as [in, out], and torch as [out, in]."""
    return google.endswith("/kernel")

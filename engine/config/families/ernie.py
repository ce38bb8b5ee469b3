"""ERNIE (Sun et al. 2019, 2020, 2021): BERT, with a task embedding in 3.0."""

from typing import ClassVar

from pydantic import Field

from engine.config.families.family import (
    BERT_HEAD,
    BERT_LAYER,
    NOT_CAUSAL,
    Family,
    embedding_names,
)
from engine.config.model import Count, WithSegments, config_keys


class ErnieSpec(WithSegments):
    """ERNIE (Sun et al. 2019, 2020, 2021): BERT, with a task embedding in 3.0."""

    family: ClassVar[str] = "ernie"
    task_embedding: bool = Field(
        False,
        title="Task embedding",
        description="The first task embedding is added to every token, as in ERNIE 3.0.",
        json_schema_extra=config_keys("use_task_id", level="elsewhere"),
    )
    task_types: Count = Field(
        3,
        title="Task embeddings",
        description="Number of task embeddings; only the first is used.",
        json_schema_extra=config_keys("task_type_vocab_size", level="elsewhere"),
    )


FAMILY = Family(
    title="ERNIE",
    classes="Ernie",
    spec=ErnieSpec,
    network="ernie.Ernie",
    layer="ernie.encoder.layer.{}.",
    inner=BERT_LAYER,
    names={
        **embedding_names("ernie"),
        "encoder.embeddings.task.": "ernie.embeddings.task_type_embeddings.",
        "encoder.pooler.dense.": "ernie.pooler.dense.",
        **BERT_HEAD,
        "nsp.dense.": "cls.seq_relationship.",
    },
    decoder=("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"),
    others=NOT_CAUSAL,
)

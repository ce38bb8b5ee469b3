"""A tiny checkpoint with all heads, and one of each family saved by transformers."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import transformers

from engine.models.checkpoint import Checkpoint, import_checkpoint, load
from engine.models.heads import Heads
from engine.tasks.inputs import Inputs, encode_text
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS, published_folder
from tests.engine.models.small import folder

ALL_HEADS = Heads(mlm=True, outputs=3)
ALIKE = ("distilbert", "electra", "ernie", "gte", "nomic_bert")  # in the parts that Explore reads
FAMILIES = [
    pytest.param(name, marks=pytest.mark.long) if name in ALIKE else name
    for name in ("bert", *OWN_NETWORKS)
]


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("models") / "tiny", ALL_HEADS)


@pytest.fixture(scope="session")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("models") / "classes", Heads(outputs=3))


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> Checkpoint:
    return load(tiny_folder)


class Known(NamedTuple):
    """The same weights in our network and in transformers."""

    family: str
    folder: Path
    checkpoint: Checkpoint
    model: Any

    @torch.no_grad()
    def run(self, inputs: Inputs, tokens: torch.Tensor | None = None, **options: Any) -> Any:
        """Output of transformers for an input, or for other tokens [B, T]."""
        ids = inputs.tokens if tokens is None else tokens
        if EXAMPLES[self.family].has_segments:
            options["token_type_ids"] = inputs.segments.expand_as(ids)
        return self.model(input_ids=ids, **options)

    def encode_text(self, text: str, pair: str | None = None, *masked: int) -> Inputs:
        return encode_text(self.checkpoint, text, pair, masked)


@pytest.fixture(scope="session", params=FAMILIES)
def known(request, tmp_path_factory) -> Known:
    """An imported checkpoint of transformers."""
    root = tmp_path_factory.mktemp("families")
    source = published_folder(request.param, "ForMaskedLM", root / "theirs")[0]
    import_checkpoint(source, root / "imported")
    model = transformers.AutoModelForMaskedLM.from_pretrained(
        root / "imported", local_files_only=True, attn_implementation="eager"
    )
    return Known(request.param, root / "imported", load(root / "imported"), model.eval())

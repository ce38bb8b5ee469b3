"""Exports of tiny networks, and a fixture that reloads them in this process."""

from pathlib import Path

import pytest

from engine.config.families.bert import BertSpec
from engine.config.features import Features
from engine.export import exporting, reloading
from engine.export.reloading import Reloaded, Request
from engine.export.running import Predictions
from engine.messages.exporting import Export, Exported
from engine.models.checkpoint import write
from engine.models.heads import Heads
from tests.engine.models.small import LABELS, SPEC, network, tokenizer

LONG = SPEC.model_copy(update={"max_positions": 128})
KINDS = {
    "nothing": (Heads(), ()),
    "pooler": (Heads(pooler=True), ()),
    "mlm": (Heads(mlm=True), ()),
    "pre-training": (Heads(mlm=True, nsp=True), ()),
    "text_classification": (Heads(outputs=3), LABELS),
    "multi_label": (Heads(outputs=3, kind="multi_label"), LABELS),
    "regression": (Heads(outputs=1, kind="regression"), ()),
    "token_classification": (Heads(outputs=3, kind="token_classification"), LABELS),
    "span_classification": (Heads(outputs=70, kind="span_classification"), LABELS),
    "question_answering": (Heads(outputs=2, kind="question_answering"), ()),
    "multiple_choice": (Heads(outputs=1, kind="multiple_choice"), ()),
    "linear probe": (
        Heads(outputs=3, features=Features(vectors="learned mix", probe="linear")),
        LABELS,
    ),
}
LSTM = Heads(
    outputs=3, kind="token_classification", features=Features(vectors="last", probe_size=8)
)


def model(path: Path, kind: str, spec: BertSpec = LONG) -> Path:
    """A checkpoint folder of a tiny network with the heads of this name."""
    heads, labels = KINDS.get(kind, (LSTM, LABELS))
    path.mkdir(parents=True)
    write(path, network(heads, spec), tokenizer(path), labels)
    return path


def run_export(tmp_path: Path, kind: str = "text_classification", **settings: object) -> Exported:
    """The export of such a model, at `tmp_path / "out"`."""
    checkpoint = tmp_path / "model"
    if not checkpoint.exists():
        model(checkpoint, kind)
    return exporting.export(
        Export.model_validate({"checkpoint": checkpoint, "into": tmp_path / "out", **settings})
    )


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reload exports in this process, which is faster."""

    def reload(request: Request, scratch: Path) -> tuple[Reloaded, Predictions]:
        return reloading.load_and_run(request)

    monkeypatch.setattr(exporting, "reload", reload)

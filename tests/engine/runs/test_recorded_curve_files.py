"""Files for TensorBoard and MLflow equal those written by their own libraries.

The expected output was recorded, since both libraries bring servers: `add_scalar` of torch's
SummaryWriter with TensorBoard 2.20.0, and MlflowClient of mlflow-skinny 3.17.2 with its file store.
"""

import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from engine.messages.events import Ended, Started, measured
from engine.runs.folder import RunFolder
from engine.runs.mlflow import MLflowFiles
from engine.runs.tensorboard import TensorBoardFiles
from tests.engine.runs import fake_worker

AT = datetime(2026, 3, 4, 5, 6, 7, 500_000, tzinfo=UTC)
POINTS = [  # name, step, value, seconds after AT
    ("loss", 1, 0.75, 0.0),
    ("validation_f1", 300, 0.5, 0.75),
    ("loss", 2, float("nan"), 1.5),
    ("learning_rate", 70_000, 2e-05, 2.5),
]
TENSORBOARD = """
2300000000000000b09f7743090000e06fef69da4110012a160a140a0d747261696e696e672f6c6f7373150000403fe33820e6
2400000000000000422b804d0900001070ef69da4110ac022a160a140a0d76616c69646174696f6e2f6631150000003f75d446bd
2300000000000000b09f77430900004070ef69da4110022a160a140a0d747261696e696e672f6c6f7373150000c07fd47f9937
2e00000000000000c5cb57fa0900008070ef69da4110f0a2042a1f0a1d0a16747261696e696e672f6c6561726e696e675f7261746515acc5a737eceeebfc
"""
MLFLOW = {
    "metrics/training/loss": "1772600767500 0.75 1\n1772600769000 nan 2\n",
    "metrics/validation/f1": "1772600768250 0.5 300\n",
    "metrics/training/learning_rate": "1772600770000 2e-05 70000\n",
    "params/training.learning_rate": "5e-05",
    "tags/mlflow.runName": "short",
    "tags/mlflow.source.name": "BERT Studio",
    "tags/mlflow.source.type": "LOCAL",
}
MLFLOW_RUN = {  # without the fields specific to that run
    "end_time": 1772600771000,
    "entry_point_name": "",
    "lifecycle_stage": "active",
    "run_name": "short",
    "source_name": "",
    "source_type": 4,
    "source_version": "",
    "start_time": 1772600767500,
    "status": 3,
    "tags": [],
}
RUN_FIELDS = {"artifact_uri", "experiment_id", "run_id", "user_id"}
MLFLOW_EXPERIMENT = {  # the others belong to features that the program does not use
    *("artifact_location", "creation_time", "experiment_id", "last_update_time"),
    *("lifecycle_stage", "name"),
}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder.create(tmp_path / "night", fake_worker.job())
    folder.append(Started(pid=1, at=AT))
    for name, step, value, seconds in POINTS:
        at = AT + timedelta(seconds=seconds)
        folder.append(measured(name, step, value).model_copy(update={"at": at}))
    folder.append(Ended(outcome="finished", at=AT + timedelta(seconds=3.5)))
    return folder


def test_tensorboard_records_equal_the_recorded_bytes(run, tmp_path):
    files = TensorBoardFiles(run, tmp_path / "tb")
    files.write_all()
    [path] = files.folder.glob("events.*")
    content, records = path.read_bytes(), list[str]()
    while content:
        (size,) = struct.unpack("<Q", content[:8])
        records.append(content[: 16 + size].hex())
        content = content[16 + size :]
    assert records[2:] == TENSORBOARD.split(), "after the version and the start"


def test_mlflow_files_equal_the_recorded_ones(run, tmp_path):
    files = MLflowFiles(run, tmp_path / "mlflow")
    files.write_all()
    folder = files.folder
    written = {name: (folder / name).read_text("utf-8") for name in MLFLOW}
    assert written == MLFLOW
    metadata = yaml.safe_load((folder / "meta.yaml").read_text("utf-8"))
    assert {key: metadata[key] for key in MLFLOW_RUN} == MLFLOW_RUN
    assert metadata.keys() - MLFLOW_RUN.keys() == RUN_FIELDS and folder.name == metadata["run_id"]
    experiment = yaml.safe_load((folder.parent / "meta.yaml").read_text("utf-8"))
    assert experiment.keys() == MLFLOW_EXPERIMENT
    assert experiment["experiment_id"] == folder.parent.name == metadata["experiment_id"]

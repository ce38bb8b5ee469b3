"""The curves and settings of a run in a folder that MLflow reads as a store.

The format is MLflow's file store (mlflow/store/tracking/file_store.py, version 3.17): a folder for
the experiment with its `meta.yaml`; in it a folder for each run with `meta.yaml`, and `params`,
`tags` and `metrics`, which have a file for each name. A metric has a line for each point: time in
milliseconds since 1970, value, step. MLflow 3.17 needs MLFLOW_ALLOW_FILE_STORE=true for such a
folder, or `mlflow migrate-filestore`, which converts it to a database.
"""

import json
import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.files.atomic_write import write_file
from engine.messages.events import AnyEvent, Ended, Measured
from engine.runs.curve_files import CurveFiles, point_value
from engine.runs.tensorboard import tag
from engine.visible import one_line

EXPERIMENT, EXPERIMENT_NAME = "1810048050", "BERT Studio"
NAMESPACE = uuid.UUID("1bd1a3c5-31f4-4e41-9e1f-5b7e0c7b1a16")  # for ids derived from names
RUNNING, FINISHED, FAILED, KILLED = 1, 3, 4, 5  # mlflow.entities.RunStatus
OUTCOMES = {"finished": FINISHED, "failed": FAILED, "stopped": KILLED}
LOCAL = 4  # mlflow.entities.SourceType
MAX_VALUE, MAX_NAME = 6_000, 200  # characters; MLflow takes 250 of a name
UNSAFE = re.compile(r"[^\w.\- ]")


class MLflowFiles(CurveFiles):
    """A run of MLflow; its id is derived from the name of the run folder."""

    form = "MLflow"

    def _run_folder(self) -> Path:
        return self.parent / EXPERIMENT / uuid.uuid5(NAMESPACE, self.run.path.name).hex

    def _point_files(self) -> Iterator[Path]:
        yield from sorted(f for f in (self.folder / "metrics").rglob("*") if f.is_file())

    def _write_header(self, first: AnyEvent | None) -> None:
        for name in ("metrics", "params", "tags", "artifacts"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        experiment = self.parent / EXPERIMENT
        if not (experiment / "meta.yaml").is_file():
            started = _milliseconds(first.at) if first is not None else 0
            metadata = {
                "artifact_location": experiment.absolute().as_uri(),
                "creation_time": started,
                "experiment_id": EXPERIMENT,
                "last_update_time": started,
                "lifecycle_stage": "active",
                "name": EXPERIMENT_NAME,
            }
            write_file(experiment / "meta.yaml", _yaml(metadata))
        job = self.run.job()
        for path, value in flatten_settings(job.model_dump(mode="json")):
            text = one_line(value if isinstance(value, str) else json.dumps(value))
            write_file(self.folder / "params" / path, text[:MAX_VALUE].encode("utf-8"))
        tags = {
            "mlflow.runName": one_line(job.name),
            "mlflow.source.name": EXPERIMENT_NAME,
            "mlflow.source.type": "LOCAL",
            "folder": one_line(str(self.run.path)),
        }
        for name, text in tags.items():
            write_file(self.folder / "tags" / name, text.encode("utf-8"))

    def _append(self, points: Iterator[Measured]) -> None:
        lines: dict[str, list[str]] = {}
        for event in points:
            line = f"{_milliseconds(event.at)} {point_value(event)!r} {event.step}\n"
            lines.setdefault(event.name, []).append(line)
        for name, added in lines.items():
            file = self.folder / "metrics" / metric_file(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            with open(file, "ab") as out:
                out.write("".join(added).encode("ascii"))

    def _write_end(self, end: Ended | None) -> None:
        first = next(iter(self.run.events_after(0, chunk_size=1)[0]), None)
        status = RUNNING if end is None else OUTCOMES[end.outcome]
        if end is None and not self.run.has_worker():
            status = FAILED  # its worker died without an Ended event
        metadata: dict[str, Any] = {
            "artifact_uri": (self.folder / "artifacts").absolute().as_uri(),
            "end_time": None if end is None else _milliseconds(end.at),
            "entry_point_name": "",
            "experiment_id": EXPERIMENT,
            "lifecycle_stage": "active",
            "run_id": self.folder.name,
            "run_name": one_line(self.run.job().name),
            "source_name": "",
            "source_type": LOCAL,
            "source_version": "",
            "start_time": None if first is None else _milliseconds(first.at),
            "status": status,
            "tags": [],
            "user_id": "",
        }
        write_file(self.folder / "meta.yaml", _yaml(metadata))


def flatten_settings(job: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each setting of a job by its path: (“training.learning_rate”, 5e-05)."""
    for name, value in job.items():
        if isinstance(value, dict) and value:
            yield from flatten_settings(value, f"{prefix}{_safe(name)}.")
        else:
            yield f"{prefix}{_safe(name)}"[:MAX_NAME], value


def metric_file(name: str) -> Path:
    """The file of a metric below `metrics`; untrusted names cannot lead out of it."""
    group, _, rest = tag(name).partition("/")
    return Path(group) / _safe(rest)[:MAX_NAME]


def _safe(name: str) -> str:
    return UNSAFE.sub("_", name).strip(". ") or "_"


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _yaml(metadata: dict[str, Any]) -> bytes:
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in metadata.items()]
    return ("\n".join(lines) + "\n").encode("utf-8")

"""Load an export in a process that has only its files.

The exporting process writes a Request into a scratch folder and starts a worker on it, which leaves
its results there: a Reloaded and the arrays. The worker ends when its stdin closes, so that it
never outlives its parent.
"""

import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file, save_file

from engine.config import Spec
from engine.config.export import Output
from engine.errors import StudioError
from engine.export.running import Predictions, Request, onnx_run, predict, torch_run
from engine.phrases import phrase
from engine.runs import launch
from engine.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch

    from engine.models.network import Network

GRAPH = "model.onnx"
REQUEST, ANSWER, ARRAYS = "request.json", "reloaded.json", "values.safetensors"
MAX_OUTPUT = 300  # characters of the output of a failed process


class BrokenExport(StudioError):
    """The export is broken; nothing of it is left on disk."""


class Reloaded(Spec):
    """Properties of the loaded export, except its outputs.

    `heads`, `missing`, `unexpected` and `weights` (see `fingerprint`) are not known for a graph.
    """

    tokens: tuple[tuple[tuple[int, ...], ...], ...] = ()
    labels: tuple[str, ...] = ()
    heads: str | None = None
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    weights: str | None = None
    problem: str = ""


def reload(request: Request, scratch: Path) -> tuple[Reloaded, Predictions]:
    """Load an export in a clean process and run it; `scratch` is an empty folder.

    Raises BrokenExport if that process fails.
    """
    (scratch / REQUEST).write_text(request.model_dump_json(), encoding="utf-8")
    process = subprocess.Popen(
        launch.worker("reload", str(scratch)),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=launch.CODE,
        env=launch.environment(),
    )
    try:
        assert process.stderr is not None
        printed = process.stderr.read().decode("utf-8", "replace").strip()
        code = process.wait()
    finally:
        process.kill()
        process.communicate()
    if code != 0 or not (scratch / ANSWER).is_file():
        last = (
            printed.splitlines()[-1][-MAX_OUTPUT:]
            if printed
            else phrase("exit code {code}", code=code)
        )
        raise BrokenExport(
            phrase("The export could not be reloaded in a separate process: {last}", last=last),
            phrase("Nothing was kept. Try again; if it keeps happening, please report it."),
        )
    reloaded = Reloaded.model_validate_json((scratch / ANSWER).read_bytes())
    if reloaded.problem:
        raise BrokenExport(
            phrase("The export could not be reloaded: {problem}", problem=reloaded.problem),
            phrase("Nothing was kept. Try again; if it keeps happening, please report it."),
        )
    tokens = [[list(ids) for ids in example] for example in reloaded.tokens]
    values: dict[str, list[Any]] = {output.name: [] for output in request.outputs}
    arrays = load_file(scratch / ARRAYS)
    for name, of_examples in values.items():
        of_examples += [arrays[f"{name} {n}"] for n in range(len(request.examples))]
    return reloaded, Predictions(tokens, values)


def fingerprint(network: "Network", dtype: "torch.dtype | None" = None) -> str:
    """SHA-256 over the names and values of all weights, as float32; first rounded to `dtype`."""
    digest = hashlib.sha256()
    for name, parameter in sorted(network.named_parameters()):
        rounded = parameter.detach() if dtype is None else parameter.detach().to(dtype)
        digest.update(f"{name} {tuple(parameter.shape)} ".encode())
        digest.update(rounded.float().contiguous().numpy().data)
    return digest.hexdigest()


def main(scratch: Path) -> int:
    """Entry point of the clean process: answer the request in `scratch`."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    request = Request.model_validate_json((scratch / REQUEST).read_bytes())
    try:
        reloaded, predictions = load_and_run(request)
    except StudioError as error:
        (scratch / ANSWER).write_text(Reloaded(problem=str(error)).model_dump_json())
        return 0
    arrays = {
        f"{name} {number}": np.ascontiguousarray(value)
        for name, values in predictions.values.items()
        for number, value in enumerate(values)
    }
    save_file(arrays, scratch / ARRAYS)
    tokens = tuple(tuple(tuple(ids) for ids in example) for example in predictions.tokens)
    answer = reloaded.model_copy(update={"tokens": tokens})
    (scratch / ANSWER).write_text(answer.model_dump_json(), encoding="utf-8")
    return 0


def load_and_run(request: Request) -> tuple[Reloaded, Predictions]:
    return _load_graph(request) if request.form == "onnx" else _load_folder(request)


def _exit_with_parent() -> None:
    # blocks until stdin closes; not through sys.stdin, whose lock outlives this thread
    os.read(0, 1)
    os._exit(1)


def _load_folder(request: Request) -> tuple[Reloaded, Predictions]:
    from engine.models import checkpoint
    from engine.models.outputs import head_outputs

    loaded = checkpoint.load(request.folder)
    reloaded = Reloaded(
        labels=loaded.labels,
        heads=str(loaded.network.heads),
        missing=loaded.report.missing,
        unexpected=loaded.report.unexpected,
        weights=fingerprint(loaded.network),
    )
    outputs = head_outputs(loaded.network.heads)
    if outputs != request.outputs:
        raise StudioError(
            "it outputs {outputs}, but the model outputs {expected}.",
            outputs=_names(outputs),
            expected=_names(request.outputs),
        )
    return reloaded, predict(torch_run(loaded.network), loaded.tokenizer, request)


def _load_graph(request: Request) -> tuple[Reloaded, Predictions]:
    config = json.loads((request.folder / "config.json").read_text(encoding="utf-8"))
    names = config.get("id2label") or {}
    labels = tuple(names[str(number)] for number in range(len(names)))
    tokenizer = Tokenizer.from_folder(request.folder)
    return Reloaded(labels=labels), predict(onnx_run(request.folder / GRAPH), tokenizer, request)


def _names(outputs: Sequence[Output]) -> str:
    return ", ".join(output.name for output in outputs)

"""Reduced precision for a fine-tuned model, by its agreement on the validation rows of its run.

Built-in texts (`engine.serving.quantization_check`) say little about a task; here the same rows are
predicted in fp32 and in reduced precision. Layers whose outputs change most stay in fp32 until the
predictions agree.
"""

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import torch
from pydantic import ValidationError

from engine.config.tasks import get_head
from engine.data.columns.numbers import parse_numbers
from engine.data.datasets.rows import Rows
from engine.errors import DiskFull, StudioError
from engine.files.atomic_write import write_file
from engine.files.home import Home
from engine.files.regular_file import read_json
from engine.messages.applying import Agreement
from engine.models.checkpoint import Checkpoint
from engine.progress import no_progress
from engine.results.store import evaluation_question
from engine.runs.folder import checkpoint_step
from engine.runs.snapshots import find_run
from engine.serving.network import pack_network
from engine.serving.quantization_check import NUMBER_BOUND, TEXTS
from engine.serving.quantized_matmul import Kind, is_available, is_native
from engine.serving.serving import MIN_SPEEDUP
from engine.tasks.evaluating import collect_predictions
from engine.tasks.learner import Learner

KINDS: tuple[Kind, ...] = ("int8", "bfloat16")  # float16 saves time for few rows only
MAX_ROWS = 1_000  # validation rows that are predicted
MIN_EQUAL = 0.995  # fraction of equal predictions
MAX_LOSS = 0.002  # of the score
FOLDER = "agreement"  # in the cache of the home


class _Measured(NamedTuple):
    predicted: Sequence[str]
    score: float
    seconds: float  # CPU time


class AgreementSearch:
    """Finds the fastest precision that agrees for a loaded model."""

    def __init__(
        self, exact: Checkpoint, learner: Learner, folder: Path, max_length: int, batch: int
    ) -> None:
        self._exact, self._learner, self._folder = exact, learner, folder
        self._max_length, self._batch = max_length, batch

    def find(self) -> tuple[Checkpoint, Agreement] | None:
        """The checkpoint and its agreement, stored after the first time; None without rows.

        It is the exact one if nothing faster agrees.
        """
        stored = self._stored()
        if stored is None:
            rows = validation_rows(self._folder, self._learner)
            if rows is None:
                return None
            stored = self._measure(rows)
            with suppress(DiskFull, OSError):
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_file(self._file, stored.model_dump_json().encode("utf-8"))
        return self._pack(stored.computed, stored.exact_layers), stored

    def _measure(self, rows: Rows) -> Agreement:
        exact = self._predict(self._exact, rows)
        metric = self._learner.best_metric
        is_number = get_head(self._learner.task.kind).predicts_numbers
        best = Agreement(rows=len(rows), metric=metric, score=exact.score, exact_score=exact.score)
        for kind in KINDS:
            if not (is_available(kind) and is_native(kind)):
                continue
            layers = self._sensitive_layers(kind)
            for count in (0, *(2**n for n in range(len(layers).bit_length()))):
                if 2 * count > len(layers):
                    break
                kept = tuple(sorted(layers[:count]))
                quick = self._predict(self._pack(kind, kept), rows)
                times = exact.seconds / quick.seconds
                if times < MIN_SPEEDUP * best.times:
                    break
                equal = equal_fraction(quick.predicted, exact.predicted, is_number)
                if equal >= MIN_EQUAL and abs(quick.score - exact.score) <= MAX_LOSS:
                    update = {"computed": kind, "exact_layers": kept, "equal": equal}
                    best = best.model_copy(update=update | {"score": quick.score, "times": times})
                    break
        return best

    def _predict(self, checkpoint: Checkpoint, rows: Rows) -> _Measured:
        began = time.process_time()
        collector = collect_predictions(
            checkpoint, self._learner, rows, self._max_length, self._batch
        )
        seconds = time.process_time() - began
        score = collector.report().metrics().get(self._learner.best_metric, 0.0)
        return _Measured(collector.row_predictions().predicted, score, seconds)

    def _pack(self, kind: Kind, kept: tuple[int, ...]) -> Checkpoint:
        if kind == "float32":
            return self._exact
        return replace(self._exact, network=pack_network(self._exact.network, kind, kept))

    @torch.inference_mode()
    def _sensitive_layers(self, kind: Kind) -> list[int]:
        """Indices of the layers, those first whose outputs change most on built-in texts."""
        encoder, quick = self._exact.network.encoder, self._pack(kind, ()).network.encoder
        indices = {id(layer): index for index, layer in enumerate(encoder.layers)}
        errors = np.zeros(len(indices))
        for text in TEXTS:
            encoded = self._exact.tokenizer.encode(*text, self._exact.spec.max_positions)
            tokens, segments = torch.tensor([encoded.ids]), torch.tensor([encoded.segments])
            x = encoder.embeddings(tokens, segments)
            layout = encoder.padded_layout(x, None)
            for layer, other in zip(encoder.iter_layers(), quick.iter_layers(), strict=True):
                (y, _), (z, _) = layer(x, layout), other(x, layout)
                errors[indices[id(layer)]] += float((y - z).norm() / y.norm())
                x = y
        order: list[int] = np.argsort(-errors, kind="stable").tolist()
        return order

    @property
    def _file(self) -> Path:
        """Of this model, its files, the settings and the machine."""
        files = sorted(path for path in self._folder.iterdir() if path.is_file())
        states = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        machine = (torch.__version__, torch.cpu.get_capabilities(), torch.get_num_threads())
        key = repr((self._folder.absolute(), states, self._max_length, self._batch, machine))
        return Home().cache / FOLDER / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"

    def _stored(self) -> Agreement | None:
        try:
            return Agreement.model_validate(read_json(self._file))
        except (OSError, ValueError, ValidationError):
            return None


def validation_rows(checkpoint: Path, learner: Learner) -> Rows | None:
    """Some validation rows of the run of a checkpoint; None without a run or such rows."""
    from engine.tasks.scoring import open_rows

    run = find_run(checkpoint)
    if run is None:
        return None
    try:
        question = evaluation_question(run, "validation", checkpoint_step(checkpoint))
        with TemporaryDirectory(prefix="agreement-") as scratch:
            folder, task = Path(scratch) / "rows", learner.task
            dataset, part = open_rows(question.data, question.part, folder, task, no_progress)
            rows = learner.rows(dataset, part)
            chosen = np.random.default_rng(0).permutation(len(rows))[:MAX_ROWS]
            rows = rows.take(np.sort(chosen))
    except StudioError:
        return None  # the data are gone, or have no validation rows
    return rows if learner.can_evaluate(rows) else None


def equal_fraction(quick: Sequence[str], exact: Sequence[str], is_number: bool) -> float:
    """Fraction of equal predictions; numbers may differ by a hundredth of their range, or of 1."""
    if not is_number:
        return float(np.mean([text == other for text, other in zip(quick, exact, strict=True)]))
    first, second = parse_numbers(quick), parse_numbers(exact)
    bound = NUMBER_BOUND * max(1.0, float(np.ptp(second)))
    return float(np.mean(np.abs(first - second) <= bound))

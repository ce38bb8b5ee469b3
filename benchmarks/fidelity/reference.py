"""Fine-tune with transformers: the side that the engine is held against. Nothing of it is ours.

    python benchmarks/fidelity/reference.py ASSETS/models/bert-tiny-splade-en WORK

Runs that are in the results already are not made again.
"""

import math
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from torch.utils.data import DataLoader

from benchmarks import harness
from benchmarks.fidelity import results
from benchmarks.fidelity.reference_questions import Questions
from benchmarks.fidelity.reference_tasks import (
    Choices,
    Classes,
    Example,
    ReferenceTask,
    Scores,
    Tags,
)
from benchmarks.fidelity.settings import SEEDS, TASKS, Setting, data_folder

KINDS: dict[str, type[ReferenceTask]] = {
    "text_classification": Classes,
    "regression": Scores,
    "token_classification": Tags,
    "question_answering": Questions,
    "multiple_choice": Choices,
}
VERSIONS = {"transformers": transformers.__version__, "torch": torch.__version__}


def main(options: list[str]) -> None:
    parser = harness.parser("fidelity transformers", __doc__)
    parser.add_argument("checkpoint", type=Path, help="the folder with the starting weights")
    parser.add_argument("work", type=Path, help="the folder that prepare.py filled")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args(options)
    torch.set_num_threads(arguments.threads)
    transformers.logging.set_verbosity_error()  # hides warnings about fresh heads
    for seed in arguments.seeds:
        for task in arguments.tasks:
            if not results.exists(arguments.work, "transformers", task, seed):
                began = time.monotonic()
                figures = run(arguments.checkpoint, arguments.work, TASKS[task], seed)
                seconds = time.monotonic() - began
                work = arguments.work
                results.add(work, "transformers", task, seed, figures, seconds, VERSIONS)


def run(checkpoint: Path, work: Path, setting: Setting, seed: int) -> dict[str, float]:
    """Train once; the figures of the last weights."""
    folder = data_folder(work)
    torch.manual_seed(seed)  # fresh heads and dropout
    task = KINDS[setting.kind](checkpoint, setting, folder / setting.train)
    train(task, setting, seed)
    task.model.eval()
    figures: dict[str, float] = {}
    for prefix, name in setting.evaluated.items():
        with torch.inference_mode():
            scores = task.evaluate(folder / name)
        figures |= {prefix + figure: round(value, 6) for figure, value in scores.items()}
    return figures


def train(task: ReferenceTask, setting: Setting, seed: int) -> None:
    loader: DataLoader[Example] = DataLoader(
        task.examples,  # type: ignore[arg-type]  # a list is a data set
        batch_size=setting.batch,
        shuffle=True,
        generator=torch.Generator().manual_seed(seed),
        collate_fn=task.collate,
    )
    steps = setting.epochs * len(loader)
    optimiser = torch.optim.AdamW(
        list(_groups(task.model, setting.weight_decay)), lr=setting.learning_rate, fused=True
    )
    schedule = transformers.get_linear_schedule_with_warmup(
        optimiser, math.ceil(setting.warmup * steps), steps
    )
    task.model.train()
    for _ in range(setting.epochs):
        for batch in loader:
            task.model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(task.model.parameters(), setting.clip)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()


def _groups(model: torch.nn.Module, decay: float) -> Iterator[dict[str, object]]:
    """Weights decay; biases and layer norms do not."""
    weights = dict(model.named_parameters())
    plain = {name for name in weights if name.endswith("bias") or "LayerNorm" in name}
    yield {"params": [p for name, p in weights.items() if name not in plain], "weight_decay": decay}
    yield {"params": [p for name, p in weights.items() if name in plain], "weight_decay": 0.0}

"""Whether the memory that the window foretells of a run is what the run then takes.

    python benchmarks/memory.py                                 # every row; base takes minutes
    python benchmarks/memory.py --rows small --steps 40 --threads 1

The job is asked of a fresh process, as the window asks it; then the run is started as the window
starts it, draws real batches, evaluates, saves, and says at its end how much it held at the most. A
foretold peak may be off by 15 %.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.config.dataset import StoredData
    from engine.config.families.bert import BertSpec
    from engine.config.job import JobSpec
    from engine.messages.estimating import Estimated

PROJECT = Path(__file__).parents[1]
sys.path[:0] = [str(PROJECT), str(PROJECT / "benchmarks" / "peers")]

BOUND = 0.15  # by which what is foretold may differ from what is measured


@dataclass(frozen=True)
class Row:
    """A job: what it learns, by how large a network, and how many examples at once."""

    title: str
    layers: int
    width: int
    batch: int
    learns_words: bool = False
    recomputes: bool = False  # gradient checkpointing


ROWS = {
    "small": Row("classes, small 4/256, batches of 32", 4, 256, 32),
    "base": Row("classes, base 12/768, batches of 32", 12, 768, 32),
    "words": Row("masked words and next sentence, base, 8 rows of 128", 12, 768, 8, True),
    "checkpointing": Row(
        "classes, base, batches of 32, gradient checkpointing", 12, 768, 32, recomputes=True
    ),
}


def main() -> None:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="bert-studio-memory-") as made:
        folder = Path(made)
        os.environ["BERT_STUDIO_HOME"] = str(folder / "home")
        os.environ["OMP_NUM_THREADS"] = str(given.threads)
        data = synthetic_data(folder)
        print("| what is trained | foretold, GB | measured, GB | difference |")
        print("| --- | --- | --- | --- |", flush=True)
        for name in given.rows:
            row = ROWS[name]
            job = job_of(row, data[row.learns_words], folder, given)
            foretold, held = ask(job, folder).memory, run(job, folder / f"run-{name}")
            off = foretold / held - 1
            remark = "" if abs(off) <= BOUND else " **(too far off)**"
            print(
                f"| {row.title} | {foretold / 1e9:.2f} | {held / 1e9:.2f} | {off:+.0%}{remark} |",
                flush=True,
            )
    print(f"\n{given.steps} steps, {given.threads} thread(s), {given.device}, {given.precision}")


def synthetic_data(folder: Path) -> "dict[bool, StoredData]":
    """Imported as the window imports: sentences with classes, and documents without."""
    from engine.config.dataset import Mapping, Reading, Split, StoredData
    from engine.data.datasets.importing import import_dataset
    from synthetic import write

    write(folder)
    table = Reading(format="csv", delimiter="\t")
    sentences = Mapping(text="text", label="label")
    ways = {
        False: ("sentences", folder / "sentences.tsv", table, sentences),
        True: ("documents", folder / "documents.txt", Reading(format="text"), Mapping(text="text")),
    }
    made = {}
    for learns_words, (name, file, reading, mapping) in ways.items():
        into = folder / "home" / "datasets" / name / "1"
        import_dataset(name, {"all": file}, reading, mapping, Split(validation=0.02), into)
        made[learns_words] = StoredData(folder=into)
    return made


def job_of(row: Row, data: "StoredData", folder: Path, given: argparse.Namespace) -> "JobSpec":
    """Classes are learned from a checkpoint, and words from nothing, as is usual."""
    from engine.config.families.bert import BertSpec
    from engine.config.job import FromCheckpoint, FromScratch, JobSpec
    from engine.config.tasks.pretraining import Pretraining
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec, TrainingSpec

    model = BertSpec(
        vocab_size=30_522,
        hidden_size=row.width,
        layers=row.layers,
        heads=row.width // 64,
        intermediate_size=4 * row.width,
        max_positions=512,
    )
    return JobSpec(
        name=row.title,
        task=Pretraining(nsp=True) if row.learns_words else TextClassification(),
        base_model=FromScratch(model=model, tokenizer=folder / "vocab.txt")
        if row.learns_words
        else FromCheckpoint(path=checkpoint(model, folder)),
        data=data,
        training=TrainingSpec(
            steps=given.steps,
            batch_size=row.batch,
            max_length=128,
            gradient_checkpointing=row.recomputes,
            evaluate_every=max(1, given.steps // 2),  # so that steps follow an evaluation
        ),
        hardware=HardwareSpec(
            device=given.device, precision=given.precision, threads=given.threads
        ),
    )


def checkpoint(model: "BertSpec", folder: Path) -> Path:
    """A network that was trained on words, but its weights are random."""
    import torch

    from engine.models.checkpoint import save
    from engine.models.heads import Heads
    from engine.models.network import Network
    from engine.tokenizers.tokenizer import Tokenizer

    into = folder / f"model-{model.layers}-{model.hidden_size}"
    if not into.is_dir():
        torch.manual_seed(0)
        tokenizer = Tokenizer.from_vocabulary(folder / "vocab.txt", lowercase=True)
        save(into, Network(model, Heads(mlm=True)), tokenizer)
    return into


def ask(job: "JobSpec", scratch: Path) -> "Estimated":
    """What the window would be told, by a worker of its own."""
    from engine.messages.estimating import Estimate, Estimated
    from engine.messages.question import Working, parse_answer
    from engine.runs import launch

    with subprocess.Popen(
        launch.worker("explore", str(scratch)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=launch.environment(),
        cwd=launch.CODE,
    ) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        question = Estimate(number=1, job=job)
        worker.stdin.write(question.line())
        worker.stdin.flush()
        answers = (parse_answer(line, question) for line in worker.stdout)
        last = next((one for one in answers if not isinstance(one, Working)), None)
        worker.stdin.close()
    if not isinstance(last, Estimated):
        raise SystemExit(f"There is no estimate: {last}")
    return last


def run(job: "JobSpec", into: Path) -> int:
    """Train it in a process of its own; bytes that it held at the most."""
    from engine.messages.events import Ended
    from engine.runs import launch
    from engine.runs.folder import RunFolder

    folder = RunFolder.create(into, job)
    subprocess.run(launch.command(into), env=launch.environment(), cwd=launch.CODE, check=True)
    ended = [event for event in folder.events_after(0)[0] if isinstance(event, Ended)][-1]
    return ended.device_memory or ended.memory


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=_rows, default=tuple(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="auto")
    return parser.parse_args()


def _rows(names: str) -> tuple[str, ...]:
    """The rows that are wanted, with commas between them."""
    chosen = tuple(names.split(","))
    if unknown := [name for name in chosen if name not in ROWS]:
        raise argparse.ArgumentTypeError(f"no “{unknown[0]}”; there are {', '.join(ROWS)}")
    return chosen


if __name__ == "__main__":
    main()

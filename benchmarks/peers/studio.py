"""Our side: the very loop that a run of the studio goes through, with its events and its clipping.

python benchmarks/peers/studio.py finetuning --synthetic FOLDER --layers 4 --width 256 --threads 1

With `--cached` the frozen layers are computed once, which is shared out over the steps of EPOCHS
epochs. With `--profile` on a GPU: how long its kernels take in a step, how many are launched, and
torch's table of both.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

EPOCHS = 4
PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT))


class Enough(Exception):
    """The last step was counted."""


def main() -> None:
    given = _arguments()
    os.environ["BERT_STUDIO_HOME"] = tempfile.mkdtemp(prefix="bert-studio-benchmark-")
    from engine.system.torch_import import load_torch_without_gc
    from engine.worker import share_the_machine

    share_the_machine()  # both before torch is loaded, as a worker does
    load_torch_without_gc()
    from clock import Clock, Profiled
    from engine.messages.events import Event, Measured
    from engine.runs.folder import RunFolder
    from engine.training import loop, start
    from engine.training.setup import TrainingSetup
    from size import Size

    job = _job(given)
    run = RunFolder.create(Path(os.environ["BERT_STUDIO_HOME"]) / "run", job)
    clock = (Profiled if given.profile else Clock)(given.warm, given.steps)
    made, spent = list[TrainingSetup](), list[tuple[float, float]]()
    set_up, attach = start.set_up, start.attach_features

    def set_up_and_keep(*everything: object) -> TrainingSetup:
        made.append(set_up(*everything))
        return made[0]

    def attach_and_time(*everything: object) -> None:
        began = time.perf_counter(), time.process_time()
        attach(*everything)
        spent.append((time.perf_counter() - began[0], time.process_time() - began[1]))

    def tell(event: Event) -> None:
        if isinstance(event, Measured) and event.name == "loss" and clock.tick():
            raise Enough

    start.set_up = set_up_and_keep  # to know afterwards which examples a step saw
    start.attach_features = attach_and_time
    try:
        loop.train(job, run, tell)
    except Enough:
        start.set_up, start.attach_features = set_up, attach
        size = Size(given.layers, given.width, made[0].network.spec.vocab_size)
        batches = [made[0].data.batch(step) for step in range(given.warm, given.warm + given.steps)]
        predicted = [0 if batch.positions is None else len(batch.positions) for batch in batches]
        epochs = EPOCHS if given.cached else 1
        needed = sum(
            size.needed(b.lengths, g, given.frozen, given.lora > 0, epochs)
            for b, g in zip(batches, predicted, strict=True)
        )
        tokens = sum(batch.token_count for batch in batches)
        share = tokens / (EPOCHS * made[0].data.phases[0].examples.lengths.sum())
        wall, cpu = spent[0] if given.cached else (0.0, 0.0)
        clock.tell(tokens, needed, (share * wall, share * cpu))


def _job(given: argparse.Namespace) -> "JobSpec":  # noqa: F821 (torch is not loaded before)
    from engine.config.dataset import FileData, Mapping, Reading, Split
    from engine.config.families.bert import BertSpec
    from engine.config.job import FromCheckpoint, FromScratch, JobSpec
    from engine.config.tasks.pretraining import Pretraining
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec, TrainingSpec

    model = BertSpec(
        vocab_size=30_522,
        hidden_size=given.width,
        layers=given.layers,
        heads=given.width // 64,
        intermediate_size=4 * given.width,
        max_positions=512,
        dropout=given.dropout,
        attention_dropout=given.dropout,
    )
    learns_words = given.work == "pretraining"
    if learns_words:
        task = Pretraining(nsp=True)
        data = FileData(path=given.synthetic / "documents.txt", split=Split(validation=0))
    else:
        task = TextClassification()
        data = FileData(
            path=given.synthetic / "sentences.tsv",
            reading=Reading(format="csv", delimiter="\t"),
            mapping=Mapping(text="text", label="label"),
            split=Split(validation=0),
        )
    base_model: FromScratch | FromCheckpoint = FromScratch(
        model=model, tokenizer=given.synthetic / "vocab.txt"
    )
    if given.lora:  # which only a model that has learned something can have
        base_model = FromCheckpoint(path=_checkpoint(model, given.synthetic / "vocab.txt"))
    count = given.warm + given.steps + 1
    training = TrainingSpec(
        steps=count,
        batch_size=given.batch,
        learning_rate=1e-4 if learns_words else 2e-5,
        frozen_layers=given.frozen,
        cache_frozen_layers=given.cached,
        lora_rank=given.lora,
        evaluate_every=count,
        save_every=count,
        max_length=128,
    )
    return JobSpec(
        name="Benchmark",
        task=task,
        base_model=base_model,
        data=data,
        training=training,
        hardware=HardwareSpec(
            device=given.device,
            precision=given.precision,
            threads=given.threads,
            cuda_graphs=given.graphs,
        ),
    )


def _checkpoint(model: "EncoderSpec", vocabulary: Path) -> Path:  # noqa: F821
    """A folder with random weights."""
    from engine.models.checkpoint import save
    from engine.models.heads import Heads
    from engine.models.network import Network
    from engine.tokenizers.tokenizer import Tokenizer

    folder = Path(os.environ["BERT_STUDIO_HOME"]) / "base"
    heads = Heads(mlm=True, pooler=True)
    save(folder, Network(model, heads), Tokenizer.from_vocabulary(vocabulary, lowercase=True))
    return folder


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", choices=("finetuning", "pretraining"))
    parser.add_argument("--synthetic", type=Path, required=True, help="see synthetic.py")
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--graphs", default="auto", help="CUDA graphs: auto, on or off")
    parser.add_argument("--cached", action="store_true", help="what frozen layers make")
    parser.add_argument("--profile", action="store_true", help="kernels and launches, on a GPU")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--frozen", type=int, default=0, help="of the lowest layers")
    parser.add_argument("--lora", type=int, default=0, help="rank of adapters")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--warm", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--dry", action="store_true", help="see dry.py, which has set it up")
    return parser.parse_args()


if __name__ == "__main__":
    main()

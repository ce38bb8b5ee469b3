"""BERT Studio's side: the training loop of a run, with its events and clipping.

With `--cached` the frozen layers are computed once, which is shared by the steps of EPOCHS epochs.
With `--profile` on a GPU: time of the kernels per step, number of launches, and torch's profile.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import harness, synthetic

EPOCHS = 4


class StepsDone(Exception):
    """Ends the training after the last counted step."""


def main(arguments: list[str]) -> None:
    options = _arguments(arguments)
    os.environ["BERT_STUDIO_HOME"] = tempfile.mkdtemp(prefix="bert-studio-benchmark-")
    from engine.system.torch_import import load_torch_without_gc
    from engine.worker import configure_threads

    configure_threads()  # both before torch is loaded, as in a worker
    load_torch_without_gc()
    from benchmarks.training.clock import Clock, Profiled
    from benchmarks.training.size import Size
    from engine.messages.events import Event, Measured
    from engine.runs.folder import RunFolder
    from engine.training import loop, start
    from engine.training.setup import TrainingSetup

    job = _make_job(options)
    run = RunFolder.create(Path(os.environ["BERT_STUDIO_HOME"]) / "run", job)
    clock = (Profiled if options.profile else Clock)(options.warm, options.steps)
    setups, cache_times = list[TrainingSetup](), list[tuple[float, float]]()
    set_up, attach = start.set_up, start.attach_features

    def record_setup(*everything: object) -> TrainingSetup:
        setups.append(set_up(*everything))
        return setups[0]

    def time_cache(*everything: object) -> None:
        cache_times.append(harness.timed(lambda: attach(*everything)))

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and event.name == "loss" and clock.tick():
            raise StepsDone

    start.set_up = record_setup  # to read the batches afterwards
    start.attach_features = time_cache
    try:
        loop.train(job, run, on_event)
    except StepsDone:
        start.set_up, start.attach_features = set_up, attach
        size = Size(options.layers, options.width, setups[0].network.spec.vocab_size)
        batches = [
            setups[0].data.batch(step) for step in range(options.warm, options.warm + options.steps)
        ]
        predicted = [0 if batch.positions is None else len(batch.positions) for batch in batches]
        epochs = EPOCHS if options.cached else 1
        needed = sum(
            size.needed(b.lengths, g, options.frozen, options.lora > 0, epochs)
            for b, g in zip(batches, predicted, strict=True)
        )
        tokens = sum(batch.token_count for batch in batches)
        fraction = tokens / (EPOCHS * setups[0].data.phases[0].examples.lengths.sum())
        wall, cpu = cache_times[0] if options.cached else (0.0, 0.0)
        clock.print_result(tokens, needed, (fraction * wall, fraction * cpu))


def _make_job(options: argparse.Namespace) -> "JobSpec":  # noqa: F821
    from engine.config.dataset import FileData, Mapping, Reading, Split
    from engine.config.families.bert import bert
    from engine.config.job import FromCheckpoint, FromScratch, JobSpec
    from engine.config.tasks.pretraining import Pretraining
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec, TrainingSpec

    model = bert(options.layers, options.width, vocabulary=synthetic.PIECES)
    rates = {"dropout": options.dropout, "attention_dropout": options.dropout}
    model = model.model_copy(update=rates)
    pretrains = options.work == "pretraining"
    if pretrains:
        task = Pretraining(nsp=True)
        data = FileData(path=options.synthetic / "documents.txt", split=Split(validation=0))
    else:
        task = TextClassification()
        data = FileData(
            path=options.synthetic / "sentences.tsv",
            reading=Reading(format="csv", delimiter="\t"),
            mapping=Mapping(text="text", label="label"),
            split=Split(validation=0),
        )
    base_model: FromScratch | FromCheckpoint = FromScratch(
        model=model, tokenizer=options.synthetic / "vocab.txt"
    )
    if options.lora:  # adapters need a checkpoint
        base_model = FromCheckpoint(path=_checkpoint(model, options.synthetic / "vocab.txt"))
    count = options.warm + options.steps + 1
    training = TrainingSpec(
        steps=count,
        batch_size=options.batch,
        learning_rate=1e-4 if pretrains else 2e-5,
        frozen_layers=options.frozen,
        cache_frozen_layers=options.cached,
        lora_rank=options.lora,
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
            device=options.device,
            precision=options.precision,
            threads=options.threads,
            cuda_graphs=options.graphs,
        ),
    )


def _checkpoint(model: "EncoderSpec", vocabulary: Path) -> Path:  # noqa: F821
    """A checkpoint with random weights."""
    from engine.tokenizers.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_vocabulary(vocabulary, lowercase=True)
    folder = Path(os.environ["BERT_STUDIO_HOME"]) / "base"
    return harness.random_model(folder, model, tokenizer, mlm=True, pooler=True)


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=("finetuning", "pretraining"))
    parser.add_argument(
        "--synthetic", type=Path, required=True, help="folder of benchmarks.synthetic"
    )
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--graphs", default="auto", help="CUDA graphs: auto, on or off")
    parser.add_argument("--cached", action="store_true", help="cache the frozen layers")
    parser.add_argument("--profile", action="store_true", help="kernels and launches, on a GPU")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--frozen", type=int, default=0, help="number of lowest layers")
    parser.add_argument("--lora", type=int, default=0, help="rank of adapters")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--warm", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--dry", action="store_true", help="called by dry.py")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])

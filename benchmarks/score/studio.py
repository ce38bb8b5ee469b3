"""BERT Studio's side: a run with its events, evaluations and checkpoints, in a loaded worker."""

import os
import tempfile
from pathlib import Path

from benchmarks.score.plan import Watch, Work, read_work


def main(work: Work) -> None:
    home = tempfile.TemporaryDirectory(prefix="bert-studio-benchmark-")
    os.environ["BERT_STUDIO_HOME"] = home.name
    from engine.system.torch_import import load_torch_without_gc
    from engine.worker import configure_threads

    configure_threads()  # both before torch is loaded, as in a worker
    load_torch_without_gc()
    from engine.messages.events import Event, Measured, Prepared
    from engine.runs.folder import RunFolder
    from engine.training import loop, start

    job, watch, prepared = work.job(), Watch(), list[Prepared]()
    attach = start.attach_features

    def begin(*everything: object) -> None:
        watch.begin()  # frozen layers are run by the next line
        attach(*everything)

    def on_event(event: Event) -> None:
        if isinstance(event, Prepared):
            prepared.append(event)
        if isinstance(event, Measured) and event.name == prepared[0].best_metric:
            assert event.value is not None
            watch.add(event.step, event.value)

    start.attach_features = begin
    with home:
        loop.train(job, RunFolder.create(Path(home.name) / "run", job), on_event)
        training = job.training.model_dump(exclude_defaults=True)
        watch.print_result(steps=prepared[0].steps, settings=training)


if __name__ == "__main__":
    main(read_work(__doc__))

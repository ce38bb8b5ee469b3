"""Which examples the steps see."""

from pathlib import Path

from engine.config.tasks.pretraining import Pretraining
from engine.training.context import RunContext
from engine.training.setup import set_up
from tests.engine.training.finished import losses, notes, trained
from tests.engine.training.small import new_run, pretraining


def test_the_last_steps_see_long_inputs(tmp_path: Path) -> None:
    job = pretraining(tmp_path, steps=10, max_length=16)
    task = Pretraining(long_length=48, long_share=0.3)
    job = job.model_copy(update={"task": task})
    prepared = set_up(RunContext(job, new_run(tmp_path / "run", job)))
    widths = []
    for step in range(10):
        examples, numbers = prepared.data.examples_at(step)
        widths.append(int(examples.tokenized.lengths[numbers].max()))
    assert max(widths[:7]) <= 16 < min(widths[7:]) <= max(widths) == 48
    run, _, told = trained(tmp_path / "trained", job)
    assert len(losses(told)) == 10 and run.checkpoint_folders()
    cut = job.model_copy(update={"task": Pretraining(long_length=512)})
    said: list[object] = []
    set_up(RunContext(cut, new_run(tmp_path / "cut", cut), said.append))
    assert any("truncated to 64 tokens" in text for text in notes(said))

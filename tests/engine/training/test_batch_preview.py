"""The batch preview equals the batch that was trained on."""

import json
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.cli import main as command
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.tasks import TASKS
from engine.config.tasks.pretraining import Pretraining
from engine.errors import StudioError
from engine.messages.batch import BatchRow, BatchShown, ShowBatch
from engine.messages.question import Refused
from engine.tasks.learner import Batch, Learner
from engine.training.data.batch_preview import BatchPreview
from engine.training.loop import train
from engine.worker.answerers import respond
from engine.worker.context import WorkerContext
from engine.worker.questions import parse_line
from tests.engine.training import small

Batches = list[Batch]


def as_in_the_paper(folder: Path) -> JobSpec:
    task = Pretraining(nsp=True, long_length=40, long_share=0.5)
    job = small.pretraining(folder, steps=8, micro_batch_size=3)
    return job.model_copy(update={"task": task})


def whole_words_static(folder: Path) -> JobSpec:
    task = Pretraining(whole_word_masking=True, masking="static")
    return small.pretraining(folder, steps=8, train_fraction=0.6).model_copy(update={"task": task})


def learners(kind: type[Learner]) -> list[type[Learner]]:
    """This learner and its subclasses, if they define loss counts."""
    subclasses = [learner for child in kind.__subclasses__() for learner in learners(child)]
    return [learner for learner in (kind, *subclasses) if "counts" in vars(learner)]


@pytest.fixture
def trained_batches(monkeypatch: pytest.MonkeyPatch) -> Batches:
    """Batches of the training steps, in order."""
    batches: Batches = []
    for name in TASKS:
        import_module(f"engine.tasks.{name}")
    for kind in learners(Learner):
        plain = kind.counts

        def counts(
            self: Learner, batch: Batch, plain: Callable[..., dict[str, float]] = plain
        ) -> dict[str, float]:
            batches.append(batch)
            return plain(self, batch)

        monkeypatch.setattr(kind, "counts", counts)
    return batches


def check_pieces(rows: tuple[BatchRow, ...]) -> None:
    """Check how each target is shown, and the padding."""
    for row in rows:
        for target in row.targets:
            piece = row.tokens[target.position]
            assert (piece == "[MASK]") == (target.shown_as == "mask")
            assert (piece == target.expected) == (target.shown_as == "kept")
        assert row.tokens[row.length :] == ("[PAD]",) * (len(row.tokens) - row.length)


def check_classes(rows: tuple[BatchRow, ...]) -> None:
    assert {row.expected for row in rows} == {"good", "bad"}
    for row in rows:
        text = " ".join(row.tokens).replace(" ##", "")
        assert (row.expected == "good") == any(w in text for w in ("lovely", "great", "loved"))


def check_answers(rows: tuple[BatchRow, ...]) -> None:
    for row in rows:
        assert row.expected == "none" or row.expected in " ".join(row.tokens)


def check_tags(rows: tuple[BatchRow, ...]) -> None:
    counts = Counter(target.expected for row in rows for target in row.targets)
    assert counts["O"] and any(tag.startswith("B-") for tag in counts)
    for row in rows:
        assert all(target.shown_as == "label" for target in row.targets)
        assert not any(row.tokens[t.position].startswith(("##", "[")) for t in row.targets)


def check_spans(rows: tuple[BatchRow, ...]) -> None:
    assert not any(row.targets for row in rows)
    spans = {span for row in rows for span in row.expected.split("; ")}
    assert spans & {"place: rome", "org: university of rome"} and not spans & {"", "org: rome"}


Check = Callable[[tuple[BatchRow, ...]], None]
JOBS: dict[str, tuple[Callable[[Path], JobSpec], Check]] = {
    "as in the paper": (as_in_the_paper, check_pieces),
    "whole words, static": (whole_words_static, check_pieces),
    "left to right": (lambda folder: small.left_to_right(folder, steps=8), lambda rows: None),
    "classes": (lambda folder: small.classifying(folder, steps=8), check_classes),
    "answers": (lambda folder: small.answering(folder, steps=8), check_answers),
    "tags": (lambda folder: small.tagging(folder, steps=8), check_tags),
    "spans": (lambda folder: small.finding_spans(folder, steps=8), check_spans),
}


@pytest.mark.parametrize("name", JOBS)
def test_the_preview_shows_the_trained_batch(home, tmp_path, trained_batches, name):
    make, check = JOBS[name]
    run = small.trained(tmp_path / "run", make(tmp_path))
    assert len(trained_batches) == 8
    preview = BatchPreview()
    for step in (8, 1, 5, 2):
        trained, previewed = trained_batches[step - 1], preview.batch(run, step)
        for a, b in zip(trained, previewed, strict=True):
            same = torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
            assert same
        answer = preview.show(run, step)
        assert [list(row.ids) for row in answer.rows] == trained.tokens.tolist()
        assert [list(row.segments) for row in answer.rows] == trained.segments.tolist()
        mask = trained.attention_mask
        real = trained.tokens.new_ones(trained.tokens.shape) if mask is None else mask
        assert [row.length for row in answer.rows] == real.sum(1).tolist()
        assert answer.steps == 8
        check(answer.rows)


def test_a_preview_shows_how_targets_are_masked(home, tmp_path, trained_batches, capsys):
    job = as_in_the_paper(tmp_path)
    job = job.model_copy(update={"task": job.task.model_copy(update={"random_token_share": 0.15})})
    run = small.trained(tmp_path / "run", job)
    preview, counts = BatchPreview(), Counter[str]()
    labels = {0: "IsNext", 1: "NotNext"}
    for step in range(1, 9):
        rows, batch = preview.show(run, step).rows, trained_batches[step - 1]
        assert batch.positions is not None and batch.nsp_targets is not None
        width = batch.tokens.size(1)
        expected = [
            (n * width + target.position) for n, r in enumerate(rows) for target in r.targets
        ]
        assert expected == batch.positions.tolist()
        assert [r.expected for r in rows] == [labels[n] for n in batch.nsp_targets.tolist()]
        check_pieces(rows)
        counts.update(target.shown_as for row in rows for target in row.targets)
    total = counts.total()
    assert 0.7 < counts["mask"] / total < 0.9 and min(counts["random"], counts["kept"]) > 0

    capsys.readouterr()
    assert command(["batch", str(run.path), "--step", "3", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert np.array_equal([row["ids"] for row in output["rows"]], trained_batches[2].tokens.numpy())
    assert command(["batch", str(run.path)]) == 0
    table = capsys.readouterr().out
    assert table.startswith("step 8 of 8: 8 inputs\n") and "[MASK]=" in table
    assert "IsNext" in table
    assert command(["batch", str(run.path), "--step", "99"]) == 1


def test_every_task_shows_its_targets(home, tmp_path):
    for task in small.TASKS:
        run = small.trained(tmp_path / task, small.learning(task, tmp_path, steps=1))
        assert all(row.expected for row in BatchPreview().show(run, 1).rows), task


def test_batches_of_a_running_fine_tuning_are_previewed(home, tmp_path, trained_batches):
    first = small.trained(tmp_path / "first", small.pretraining(tmp_path, steps=4))
    trained_batches.clear()
    start = FromCheckpoint(path=first.checkpoint_folders()[-1])
    job = small.classifying(tmp_path, steps=6).model_copy(update={"base_model": start})
    run = small.new_run(tmp_path / "run", job)
    preview, compared = BatchPreview(), 0

    def on_event(event: object) -> None:
        nonlocal compared
        run.append(event)  # type: ignore[arg-type]
        if getattr(event, "name", "") == "loss" and not run.checkpoint_folders():
            step = event.step  # type: ignore[attr-defined]
            assert torch.equal(preview.batch(run, step).tokens, trained_batches[step - 1].tokens)
            compared += 1

    train(job, run, on_event)
    assert compared >= 1


def test_previews_of_nonexistent_steps_are_refused(home, tmp_path):
    run = small.new_run(tmp_path / "run", whole_words_static(tmp_path))
    events: list[object] = []
    context = WorkerContext(tmp_path, events.append)
    with pytest.raises(StudioError, match="not started training yet"):
        BatchPreview().batch(run, 1)
    respond(parse_line(ShowBatch(number=3, run=run.path, step=2).line()), context)
    assert isinstance(events[-1], Refused) and events[-1].to == 3 and not events[-1].bug
    assert not run.dataset.exists(), "a preview writes nothing to the run folder"
    train(run.job(), run, run.append)
    respond(parse_line(ShowBatch(number=4, run=run.path, step=2).line()), context)
    assert isinstance(events[-1], BatchShown) and events[-1].to == 4
    assert events[-1].rows == BatchPreview().show(run, 2).rows
    for step in (0, 9):
        with pytest.raises(StudioError, match="steps are 1 to 8"):
            BatchPreview().batch(run, step)

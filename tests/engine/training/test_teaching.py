"""A student learns the outputs of its teacher instead of labels."""

import copy

import pytest
import torch
from pydantic import ValidationError

from engine.config.job import FromCheckpoint, JobSpec
from engine.errors import StudioError
from engine.models import checkpoint
from engine.tasks.whole_text import WholeTextLearner
from engine.training.context import RunContext
from engine.training.setup import set_up
from tests.engine.training import small
from tests.engine.training.finished import losses, run_job
from tests.tasks.jobs import JOBS

ORDERED = ("ordinal_classification", "hierarchical_classification")
TAUGHT = ("text_classification", "multi_label", *ORDERED, "regression")


def student_job(job, teacher, **training):
    update = {
        "training": job.training.model_copy(update={"steps": 12, **training}),
        "base_model": FromCheckpoint(path=teacher),
        "teacher": teacher,
    }
    return job.model_copy(update=update)


@pytest.mark.parametrize("kind", TAUGHT)
def test_targets_are_the_logits_of_the_teacher(kind, tuned, tmp_path):
    teacher = tuned(kind)
    run = small.new_run(tmp_path / "run", student_job(teacher.run.job(), teacher.checkpoint))
    setup = set_up(RunContext(run.job(), run))
    learner, network = setup.data.learner, checkpoint.load(teacher.checkpoint).network
    assert isinstance(learner, WholeTextLearner) and learner.taught
    batch = setup.data.batch(0)
    with torch.inference_mode():
        theirs = network.logits(*batch.inputs)
        assert torch.allclose(theirs, batch.targets, atol=1e-4)
        # the loss of another network is its mean squared difference
        other = copy.deepcopy(network)
        for parameter in other.parameters():
            parameter.mul_(0.5)
        (loss,) = learner.losses(other, batch).values()
        expected = torch.nn.functional.mse_loss(other.logits(*batch.inputs), batch.targets)
    assert float(loss) == pytest.approx(float(expected), rel=1e-4)
    assert setup.data.validation is not None and setup.data.validation.targets is not None
    assert setup.data.validation.targets.shape != batch.targets.shape


def test_a_new_network_comes_close_to_its_teacher(tuned, tmp_path):
    teacher = tuned("text_classification")
    job = small.classifying(tmp_path, steps=60, learning_rate=2e-3)
    job = job.model_copy(update={"teacher": teacher.checkpoint})
    _, _, events = run_job(tmp_path / "run", job)
    assert losses(events)[-1] < 0.2 * losses(events)[0]


def test_a_teacher_of_other_labels_is_refused(tuned, tmp_path):
    other = tuned("multi_label")
    job = small.classifying(tmp_path, steps=2).model_copy(update={"teacher": other.checkpoint})
    with pytest.raises(StudioError, match="does not have the task and the labels"):
        run_job(tmp_path / "run", job)


@pytest.mark.parametrize("kind", sorted({*JOBS} - {*TAUGHT, "pair_classification"}))
def test_tasks_without_whole_outputs_have_no_teacher(kind, tmp_path):
    fields = JOBS[kind](tmp_path).model_dump() | {"teacher": tmp_path}
    with pytest.raises(ValidationError, match="A teacher is for"):
        JobSpec.model_validate(fields)

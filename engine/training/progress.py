"""How far a run has come: what a checkpoint keeps of it beside the weights.

Random numbers need no state here: they follow from the seed and the step.
"""

from dataclasses import dataclass, field


@dataclass
class TrainingProgress:
    """The counters of a run, as `resume/progress.json` has them."""

    step: int = 0
    tokens: int = 0  # of all batches so far, without padding
    best_score: float | None = None  # the best metric at the best checkpoint
    best_loss: float | None = None  # on the validation set, at the best checkpoint
    best_step: int = 0
    evaluations_without_improvement: int = 0
    micro_batch_size: int = 0  # examples that fit since memory ran out; 0: it never did
    environment: dict[str, str] = field(default_factory=dict)  # see environment.py
    never_predicted: list[str] = field(default_factory=list)  # labels that were warned of
    loss_scale: float = 2.0**16  # in fp16; see loss_scaling.py
    good_steps: int = 0  # with this scale

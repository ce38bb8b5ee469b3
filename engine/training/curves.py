"""The curves of a training: the loss at every step, the others a few hundred times in a run."""

import time

from engine.messages.events import measured
from engine.training.step import Updated
from engine.training.training_run import TrainingRun

POINTS_OF_SLOW_CURVES = 400  # of the learning rate, the gradient norm, the speed and the tokens


class Speed:
    """Tokens per second since the last restart, on the monotonic clock."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._tokens, self._began = 0, time.monotonic()

    def add(self, tokens: int) -> None:
        self._tokens += tokens

    def tokens_per_second(self) -> float:
        """Ends the stretch that is measured, and begins the next."""
        rate = self._tokens / max(1e-9, time.monotonic() - self._began)
        self.restart()
        return rate


def emit_curves(run: TrainingRun, updated: Updated, speed: Speed) -> None:
    """Emit what was measured at the step that was just taken."""
    step, steps = run.progress.step, run.setup.data.steps
    run.context.emit(measured("loss", step, updated.loss))
    is_told = step % max(1, steps // POINTS_OF_SLOW_CURVES) == 0 or step == steps
    if is_told or run.evaluates_now:  # so that what is measured there has its exact count
        run.context.emit(measured("tokens", step, run.progress.tokens))
    if is_told:
        run.context.emit(measured("learning_rate", step, updated.learning_rate))
        run.context.emit(measured("gradient_norm", step, updated.gradient_norm))
        run.context.emit(measured("tokens_per_second", step, speed.tokens_per_second()))

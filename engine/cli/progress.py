"""Progress of a run, as one line that is redrawn."""

import time
from collections.abc import Callable
from typing import Self, TextIO

from engine.cli.options import get_flag
from engine.config.tasks import metric_text
from engine.messages import events
from engine.messages.question import Working
from engine.phrases import phrase
from engine.runs.advice import Advice, Advisor
from engine.runs.folder import RunFolder
from engine.visible import one_line

REDRAW_SECONDS = 0.2  # between updates on a terminal
LINE_SECONDS = 5.0  # between lines without a terminal
BAR_WIDTH = 24  # characters
MB = 1e6  # bytes


class ProgressLine:
    """A bar with step, loss, speed and time left on a terminal; plain lines elsewhere."""

    def __init__(self, out: TextIO, run: RunFolder | None = None) -> None:
        """`run`: earlier events of this run count for the advice."""
        self._out, self._is_terminal = out, out.isatty()
        self._advisor = Advisor(run.job()) if run is not None else None
        if self._advisor is not None and run is not None:
            for event in run.all_events():
                self._advisor.on_event(event)
        self._steps, self._step, self._first_step = 0, 0, 0
        self._values: dict[str, float] = {}
        self._last_draw, self._started = 0.0, time.monotonic()

    def on_event(self, event: events.Event) -> None:
        self._show(event)
        if self._advisor is not None:
            for advice in self._advisor.on_event(event):
                self._print(_advice_text(advice))

    def _show(self, event: events.Event) -> None:
        match event:
            case events.Started(step=step):
                self._first_step = self._step = step
            case events.Prepared(
                steps=steps, parameters=parameters, device=device, threads=threads
            ):
                self._steps, self._started = steps, time.monotonic()
                self._print(
                    f"{parameters:,} parameters, {steps} steps on {device}, {threads} threads"
                )
            case events.Progressed(stage=stage, done=done, total=total):
                self.draw(f"{stage}: {done:,}{f' of {total:,}' if total else ''}")
            case events.Measured(name=name, step=step, value=value):
                self._values[name] = float("nan") if value is None else value
                if name.startswith("validation_"):
                    text = metric_text(name, self._values[name])
                    self._print(f"step {step}: {name.replace('_', ' ')} {text}")
                elif name == "loss":
                    self._step = step
                    self.draw(self._bar())
            case events.Noted(text=text):
                self._print(text)
            case events.Waiting(problem=problem, advice=advice):
                self._print(f"{problem} {advice}")
            case events.Ended(outcome="failed", problem=problem, advice=advice):
                self._print(f"bert-studio: {problem} {advice}")
            case events.Ended(
                outcome=outcome, step=step, problem=problem, advice=advice, memory=peak
            ):
                ram = f", peak memory {peak / 1e6:,.0f} MB" if peak else ""
                self._print(f"{problem} {advice}" if problem else f"{outcome} at step {step}{ram}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_terminal:
            self._out.write("\r\033[K")
            self._out.flush()

    def _bar(self) -> str:
        fraction = self._step / max(1, self._steps)
        done = self._step - self._first_step
        elapsed = time.monotonic() - self._started
        remaining = elapsed / max(1, done) * (self._steps - self._step)
        filled = round(BAR_WIDTH * fraction)
        speed = self._values.get("tokens_per_second")
        pace = f", {speed:,.0f} tokens/s" if speed else ""
        return (
            f"[{'█' * filled}{'·' * (BAR_WIDTH - filled)}] step {self._step} of {self._steps}, "
            f"loss {self._values['loss']:.4f}{pace}, {clock(remaining)} left"
        )

    def draw(self, text: str) -> None:
        """Show a text, unless the last one was shown a moment ago."""
        now = time.monotonic()
        if now - self._last_draw < (REDRAW_SECONDS if self._is_terminal else LINE_SECONDS):
            return
        self._last_draw = now
        text = one_line(text)
        self._out.write(f"\r\033[K{text}" if self._is_terminal else f"{text}\n")
        self._out.flush()

    def draw_bytes(self, total: int) -> Callable[[Working], None]:
        """A callback that shows the progress of a download of `total` bytes."""
        return lambda working: self.draw(
            f"{working.stage}: {working.done / MB:,.1f} of {total / MB:,.1f} MB"
        )

    def _print(self, text: str) -> None:
        text = one_line(text)
        self._out.write(f"\r\033[K{text}\n" if self._is_terminal else f"{text}\n")
        self._out.flush()


def _advice_text(advice: Advice) -> str:
    """Advice with the matching options of `bert-studio job`, or the command that follows it."""
    options = [f"{get_flag(name)} {value:.12g}" for name, value in advice.change.items()]
    if advice.fix is not None:
        options.append(f"bert-studio fix DATA {' '.join(advice.fix)}")
    return phrase(
        "{problem} {advice}{options}",
        problem=advice.problem,
        advice=advice.advice,
        options="".join(f" ({option})" for option in options),
    )


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss or m:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

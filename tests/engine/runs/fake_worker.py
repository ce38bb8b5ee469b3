"""A worker without torch: takes the lock, writes events and empty checkpoints, and obeys or dies.

Run as a program with a run folder. The name of the job selects the behaviour: “short” trains to its
end; “long” measures three steps and then waits for a file `stop` in the folder, or a file `do` that
says how to end. “broken” never takes the lock.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from engine.config.dataset import FileData
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.tasks.text_classification import TextClassification
from engine.config.training import HardwareSpec, TrainingSpec
from engine.files.atomic_write import atomic_folder
from engine.messages.events import Ended, Noted, Prepared, Progressed, Saved, Started, measured
from engine.runs.folder import RunFolder, checkpoint_step


def job(name: str = "short", steps: int = 6, device: str = "cpu") -> JobSpec:
    return JobSpec(
        name=name,
        task=TextClassification(),
        base_model=FromCheckpoint(path=Path("model")),
        data=FileData(path=Path("data.csv")),
        training=TrainingSpec(steps=steps),
        hardware=HardwareSpec.model_validate({"device": device}),
    )


def prepared(steps: int, **fields: object) -> Prepared:
    defaults = {"parameters": 1, "examples": 1, "device": "cpu", "threads": 1}
    return Prepared.model_validate({"steps": steps} | defaults | fields)


def command(folder: Path) -> list[str]:
    """Replaces `launch.command`."""
    return [sys.executable, __file__, str(folder)]


def save(folder: RunFolder, step: int, best: bool = False) -> None:
    path = folder.checkpoint(step)
    with atomic_folder(path) as temporary:
        (temporary / "config.json").write_text("{}")
    folder.append(
        Saved(step=step, folder=path.relative_to(folder.path).as_posix(), best=best, bytes=2)
    )


def record_step(folder: RunFolder, step: int, factor: float = 1.0) -> None:
    folder.append(measured("loss", step, 1 / step))
    folder.append(measured("learning_rate", step, 1e-5))
    if step % 2 == 0:
        folder.append(measured("validation_accuracy", step, factor * (1 - 1 / step)))


def main(folder: RunFolder) -> int:
    job_spec = folder.job()
    if job_spec.name == "broken":
        print("no driver")
        return 3
    with folder.lock():
        saved = folder.checkpoint_folders()
        start = checkpoint_step(saved[-1]) if saved else 0
        folder.append(Started(pid=os.getpid(), step=start))
        print("worker log of", job_spec.name, flush=True)
        folder.append(Progressed(stage="Tokens", done=1, total=2))
        folder.append(Noted(text="One text was cut."))
        steps, device = job_spec.training.steps, job_spec.hardware.device.replace("auto", "cpu")
        folder.append(prepared(steps, device=device, best_metric="validation_accuracy"))
        for step in range(start + 1, steps + 1):
            record_step(folder, step, min(1.0, job_spec.training.learning_rate / 5e-5))
            if step % 2 == 0:
                save(folder, step, best=True)
            if job_spec.name.startswith("long") and step == start + 3:
                outcome = _wait(folder)
                if outcome != "go on":
                    save(folder, step)
                    reason = folder.stop_reason()
                    folder.append(Ended(outcome="stopped", step=step, problem=reason))
                    return 0
        folder.append(Ended(outcome="finished", step=steps))
    return 0


def _wait(folder: RunFolder) -> str:
    """Wait for the file `do` or a request to stop."""
    do = folder.path / "do"
    while not folder.stop_requested():
        word = do.read_text() if do.exists() else ""
        match word:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "fault":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "exit":
                os._exit(3)
            case "go on":
                return word
            case "child":
                do.unlink()
                subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
                (folder.path / "child").touch()
        time.sleep(0.01)
    return "stop"


if __name__ == "__main__":
    sys.exit(main(RunFolder(Path(sys.argv[1]))))

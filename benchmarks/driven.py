"""The real window on a virtual screen, used by mouse and keys: what several scripts share."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def driven(
    steps: str,
    home: Path,
    work: Path,
    preferences: Mapping[str, object],
    size: str = "1280x800",
    scale: str = "1",
) -> str:
    """Carry out the steps of tools/drive.py in a window on this home; what went wrong, or “”.

    The window begins with these preferences and remembers nothing. Pictures, the steps and, where
    a step fails, failure.png and tree.txt lie in `work`.
    """
    for folder in (home, work):
        folder.mkdir(parents=True, exist_ok=True)
    settings = {"preferences": dict(preferences), "places": {}}
    (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    file = work / "steps.txt"
    file.write_text(steps, encoding="utf-8")
    drive = [sys.executable, str(REPOSITORY / "tools" / "drive.py")]
    drive += ["--size", size, "--scale", scale, "--out", str(work), "--steps", str(file)]
    done = subprocess.run(
        [*drive, "--", sys.executable, "-m", "app"],
        cwd=REPOSITORY,
        env={**os.environ, "BERT_STUDIO_HOME": str(home), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    log = home / "studio.log"
    if log.is_file() and "Traceback" in (text := log.read_text(encoding="utf-8")):
        return f"the program says: {text[text.index('Traceback') :]}"
    return done.stderr[done.stderr.find("drive.py:") :].strip() if done.returncode else ""

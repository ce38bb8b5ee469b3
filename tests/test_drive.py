"""tools/drive.py uses a program with real mouse and key events, and names the failed step."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

DRIVE = Path(__file__).resolve().parents[1] / "tools" / "drive.py"
REQUIRED_TOOLS = ("Xvfb", "openbox", "xdotool", "import", "dbus-run-session")
PROGRAM = """
import sys
from PySide6.QtWidgets import *
app = QApplication(sys.argv)
page, name, greet, answer = QWidget(), QLineEdit(), QPushButton("Greet"), QLabel("nothing")
window = QScrollArea()  # in which the button is not visible
window.resize(200, 150)
window.setWidget(page)
window.setWidgetResizable(True)
window.setWindowTitle("Small thing")
name.setAccessibleName("Name")
clicks = []
greet.clicked.connect(lambda: clicks.append(", again"))
greet.clicked.connect(lambda: answer.setText("Hello " + name.text() + "".join(clicks[1:])))
column = QVBoxLayout(page)
column.addWidget(name)
column.addSpacing(900)
column.addWidget(greet)
column.addWidget(answer)
window.show()
sys.exit(app.exec())
"""
SHOWN = ['expect "Hello Ada"', "shot greeted.png"]
GREET = ['window "Small thing"', "click text:Name", 'type "Ada"', 'click "push button:Greet"']

pytestmark = [
    pytest.mark.gui,
    pytest.mark.skipif(
        not all(map(shutil.which, REQUIRED_TOOLS)),
        reason="needs Xvfb, openbox, xdotool, ImageMagick, D-Bus",
    ),
]


def drive(out: Path, *steps: str) -> subprocess.CompletedProcess[str]:
    options = [word for step in steps for word in ("--step", step)]
    command = [sys.executable, str(DRIVE), "--out", str(out), *options]
    return subprocess.run(
        [*command, "--", sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120
    )


def test_a_program_is_used_by_the_names_of_its_controls(tmp_path):
    """One click is enough, a lost one is repeated, and the failed step has a screenshot."""
    greet = 'click "push button:Greet"'
    repeated = f'{greet} "Hello Ada, again, again" 1'
    steps = (*GREET[:-1], f'{greet} "Hello Ada" 30', *SHOWN, repeated)
    done = drive(tmp_path, *steps, 'expect "Hello Bob" 1')
    assert done.returncode == 1
    assert "step 8 failed: expect" in done.stderr
    assert (tmp_path / "greeted.png").stat().st_size > 500
    assert (tmp_path / "failure.png").exists()
    assert "Hello Ada, again, again" in (tmp_path / "tree.txt").read_text("utf-8")


@pytest.mark.long
def test_two_parallel_sessions_are_independent(tmp_path):
    with ThreadPoolExecutor(2) as executor:
        sessions = [
            executor.submit(drive, tmp_path / name, *GREET[:2], f'type "{name}"', *steps)
            for name, steps in {
                "first": ['click "push button:Greet"', 'expect "Hello first"', "quit"],
                "second": ["wait 1", 'gone "Hello first"', "quit"],
            }.items()
        ]
    for session in sessions:
        assert session.result().returncode == 0, session.result().stderr

"""The installed PySide6 counts references to None, True and False correctly.

PySide6 6.12.0 does not on Python 3.11: every call of a method without a result loses a reference
to None, every emitted bool signal one to True, and after some thousand calls the interpreter dies
with “Fatal Python error: none_dealloc”. Python 3.12 and newer are not affected.
"""

import subprocess
import sys

SCRIPT = """
import sys
from PySide6.QtCore import QObject, Signal

class Sender(QObject):
    flag = Signal(bool)
    thing = Signal(object)

sender = Sender()
sender.flag.connect(lambda value: None)
sender.thing.connect(lambda value: None)

def work():
    sender.setObjectName("x")
    sender.blockSignals(False)
    sender.flag.emit(True)
    sender.flag.emit(False)
    sender.thing.emit(None)
    sender.setProperty("p", True)
    sender.property("p")

def counts():
    return [sys.getrefcount(value) for value in (None, True, False)]

work()
before = counts()
for _ in range(500):
    work()
lost = [(old - new) / 500 for old, new in zip(before, counts())]
print("references lost per round (None, True, False):", lost)
sys.exit(any(count > 0.4 for count in lost))
"""


def test_calls_and_signals_lose_no_references():
    # in a separate process, because a failure crashes it
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

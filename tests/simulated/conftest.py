"""Tests on a custom torch device, which must be registered before autograd runs.

`tests/test_simulated.py` runs them in a process of their own.
"""

import os

from tests.simulated.device import device

OWN_PROCESS = "BERT_STUDIO_SIMULATED_DEVICE"
collect_ignore_glob = [] if os.environ.get(OWN_PROCESS) else ["test_*.py"]
if os.environ.get(OWN_PROCESS):
    device()

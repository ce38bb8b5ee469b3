"""Tests on a custom torch device, which must be registered before autograd runs.

`tests/test_simulated.py` runs them in a separate process. If one of these files is named on the
command line, the device is registered before the first test.
"""

import os

import pytest

from tests.simulated.device import device

OWN_PROCESS = "BERT_STUDIO_SIMULATED_DEVICE"
collect_ignore_glob = [] if os.environ.get(OWN_PROCESS) else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get(OWN_PROCESS) or any("simulated" in arg for arg in config.args):
        device()

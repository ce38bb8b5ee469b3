"""Time and tokens of a run over its steps."""

from datetime import timedelta

import numpy as np

from engine.messages import now
from engine.messages.events import Event, Started, measured
from engine.runs.folder import RunFolder
from engine.runs.pace import read_pace
from tests.engine.runs import fake_worker


def test_steps_repeated_after_a_kill_count_once(tmp_path):
    run, at = RunFolder.create(tmp_path / "run", fake_worker.job("run")), now()
    updates: list[Event] = []
    for start, first, last in ((0, 1, 4), (5000, 3, 6)):  # killed at step 4, resumed from 2
        updates.append(Started(pid=1, at=at + timedelta(seconds=start)))
        for step in range(first, last + 1):
            moment = at + timedelta(seconds=start + 10 * (step - first + 1))
            for name, value in (("tokens_per_second", 3.0), ("tokens", 70.0 * step)):
                updates.append(measured(name, step, value).model_copy(update={"at": moment}))
    run.events_file.write_bytes(b"".join(event.line() for event in updates))

    pace = read_pace(run)
    np.testing.assert_array_equal(pace.steps, np.arange(1, 7))
    np.testing.assert_allclose(pace.seconds, 10 * np.arange(1, 7))
    np.testing.assert_array_equal(pace.token_steps, np.arange(1, 7))
    np.testing.assert_array_equal(pace.tokens, 70 * np.arange(1, 7))

"""Notifications, sleep inhibition, and the user's command; with fake services on a private bus."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.desktop import on_end
from engine.desktop.awake import Awake, awake_while_training
from engine.desktop.bus import NoAnswer
from engine.desktop.notifications import notify
from engine.desktop.preferences import RunPreferences, RunPreferencesFile, run_preferences
from engine.errors import StudioError
from engine.record.follow_ups import notification_texts, notify_ends
from engine.record.run_watch import RunEnd, RunUpdate
from tests.engine.desktop import fake_services
from tests.engine.runs.waiting import until

needs_bus = pytest.mark.skipif(
    shutil.which("dbus-daemon") is None or sys.platform != "linux", reason="there is no D-Bus"
)
HOSTILE = "x'; rm -rf $HOME; `touch /tmp/x` & <b>\n"


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[list[str]]]]:
    """A private bus with both services; returns the calls so far."""
    config = tmp_path / "bus.conf"
    config.write_text(
        f"<busconfig><type>session</type><listen>unix:dir={tmp_path}</listen>"
        '<policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/>'
        '<allow own="*"/></policy></busconfig>'
    )
    daemon = subprocess.Popen(
        ["dbus-daemon", f"--config-file={config}", "--print-address", "--nofork"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert daemon.stdout is not None
    address = daemon.stdout.readline().strip()
    for name in ("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"):
        monkeypatch.setenv(name, address)
    file = tmp_path / "calls"
    service = subprocess.Popen([sys.executable, fake_services.__file__, str(file)])

    def calls() -> list[list[str]]:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        return [json.loads(line) for line in text.splitlines()][1:]

    until(file.exists)
    yield calls
    for process in (service, daemon):
        process.kill()
        process.wait()
    daemon.stdout.close()


@pytest.fixture
def no_bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Addresses at which no bus listens."""
    for name in ("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"):
        monkeypatch.setenv(name, f"unix:path={tmp_path / 'none'}")


def run_end(state: str = "finished", by_user: bool = False, folder: Path = Path()) -> RunEnd:
    problem = "" if state == "finished" else "The loss is not a number."
    return RunEnd(
        "run-1", HOSTILE, state, problem, "", "validation_accuracy", 0.75, by_user, folder
    )


@needs_bus
def test_a_notification_reaches_the_desktop_with_its_sound_and_no_markup(bus, home):
    preferences = RunPreferences(notify=True, sound=True)
    assert notify_ends([RunUpdate("ended", (run_end(),))], home, preferences) == []
    until(bus)
    ((method, program, _, _, title, text, _, hints, _),) = bus()
    assert (method, program, text) == ("Notify", "BERT Studio", "Best validation accuracy: 75.0 %")
    assert title == f"“{HOSTILE}” finished" and "'complete'" in hints
    notify("t", "<b>bold</b> & so on", sound=False, good=False)
    until(lambda: len(bus()) == 2)
    assert bus()[1][5] == "&lt;b&gt;bold&lt;/b&gt; &amp; so on" and "suppress-sound" in bus()[1][7]


@needs_bus
def test_the_system_stays_awake_until_it_is_released(bus):
    awake = Awake()
    for _ in range(3):
        awake.hold()
    until(lambda: awake.is_held)
    assert bus() == [["Inhibit", "sleep:idle", "BERT Studio", "A model is being trained", "block"]]
    awake.release()
    until(lambda: ["released"] in bus())
    assert awake.problem == ""


@needs_bus
def test_training_keeps_the_system_awake_unless_disabled(bus, tmp_path):
    settings = tmp_path / "settings.json"
    settings.write_text('{"preferences": {"keep_awake": false}}')
    with awake_while_training(settings):
        pass
    with awake_while_training(tmp_path / "none.json"):  # the default
        until(bus)
    until(lambda: ["released"] in bus())
    assert [call[0] for call in bus()] == ["Inhibit", "released"], "not when it is disabled"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has D-Bus")
def test_an_unavailable_service_is_reported_once(no_bus):
    with pytest.raises(NoAnswer):
        notify("t", "t", sound=False, good=True)
    awake = Awake()
    awake.hold()
    until(lambda: awake.problem)
    assert "system bus" in awake.problem and "session bus" in awake.problem and not awake.is_held
    awake.release()
    awake.hold()
    assert awake._thread is None


def test_user_actions_cause_no_notification(home, monkeypatch):
    shown: list[object] = []
    monkeypatch.setattr(
        "engine.record.follow_ups.notify", lambda *arguments, **options: shown.append(arguments)
    )
    updates = [RunUpdate("ended", (run_end("stopped", by_user=True),))]
    assert notify_ends(updates, home, RunPreferences(notify=True)) == [] and shown == []
    assert notification_texts(run_end("failed")) == (
        f"“{HOSTILE}” failed",
        "The loss is not a number.",
    )
    assert notification_texts(run_end("stopped"))[0] == f"“{HOSTILE}” stopped"


def test_the_users_command_gets_the_run_in_its_environment_without_a_shell(home):
    home.make()
    out = home.root / "out.json"
    code = (
        "import json, os, sys; run = {k: v for k, v in os.environ.items() if 'STUDIO_RUN' in k}; "
        "json.dump([sys.argv[1:], run], open('out.json.new', 'w')); "
        "os.replace('out.json.new', 'out.json')"
    )
    command = f'"{sys.executable}" -c "{code}" "$HOME" "a b"'
    updates = [RunUpdate("ended", (run_end("failed", folder=home.runs / "one"),))]
    assert notify_ends(updates, home, RunPreferences(on_end=command)) == []
    until(out.exists)
    arguments, variables = json.loads(out.read_bytes())
    assert arguments == ["$HOME", "a b"], "no shell reads them"
    assert variables == {
        "BERT_STUDIO_RUN_ID": "run-1",
        "BERT_STUDIO_RUN_NAME": HOSTILE,
        "BERT_STUDIO_RUN_STATE": "failed",
        "BERT_STUDIO_RUN_FOLDER": str(home.runs / "one"),
        "BERT_STUDIO_RUN_PROBLEM": "The loss is not a number.",
        "BERT_STUDIO_RUN_METRIC": "validation_accuracy",
        "BERT_STUDIO_RUN_SCORE": "0.75",
    }


def test_a_failing_command_is_reported(home):
    home.make()
    updates = [RunUpdate("ended", (run_end(),))]
    for command, message in (("no-such-program x", "could not be started"), ("'open", "be read")):
        (update,) = notify_ends(updates, home, RunPreferences(on_end=command))
        assert update.signal == "noted" and message in str(update.values[1])
    with pytest.raises(StudioError):
        on_end.split_command('"')


def test_preferences_are_read_again_when_they_change(home):
    home.make()
    file = RunPreferencesFile(home.settings)
    assert file.get() == RunPreferences()
    for value in (True, False):
        home.settings.write_text(json.dumps({"preferences": {"notify": value, "theme": "dark"}}))
        os.utime(home.settings, ns=(1, 10**9 + value))
        assert file.get().notify is value
    home.settings.write_text("{")
    assert run_preferences(home.settings) == RunPreferences()

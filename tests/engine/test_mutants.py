"""Randomly damaged files of the home: the program starts, and no intact data is lost.

Each mutant depends on its number alone, so a failure can be repeated. A few run every time, and
hundreds with --long.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from app.settings import Settings
from engine.errors import BadCheckpoint
from engine.files.atomic_write import atomic_folder, verify
from engine.files.home import Home
from engine.record.backups import back_up
from engine.record.checking import NewerRecord
from engine.record.opening import open_record
from engine.record.rebuild import rebuild, refill
from engine.record.runs import all_runs, annotate
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker
from tests.often import times


def mutant(content: bytes, number: int) -> bytes:
    """Flip bits, cut or repeat pieces, or fill them with zeros or 0xff."""
    rng = random.Random(number)
    bad = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        index = rng.randrange(len(bad) or 1) if rng.random() < 0.7 else rng.randrange(120)
        index = min(index, max(len(bad) - 1, 0))
        length = rng.choice((1, 4, 64, 4096))
        match rng.randrange(5):
            case 0 | 1 if bad:
                bad[index] ^= 1 << rng.randrange(8)
            case 2:
                del bad[index : index + length]
            case 3:
                bad[index : index + length] = bytes([rng.choice((0, 255))]) * length
            case _:
                bad[index:index] = bad[index : index + length]
    return bytes(bad)


def train(home: Home, *names: str) -> None:
    for name in names:
        assert fake_worker.main(RunFolder.create(home.runs / name, fake_worker.job())) == 0


@times(8, 1000)
def test_a_damaged_record_prevents_no_start_and_loses_no_run(home, count):
    train(home, "one", "two")
    rebuild(home)
    record = open_record(home.record, home.backups)
    with record.session() as session:
        annotate(session, "one", notes="kept")
    back_up(home.record, home.backups, "daily")
    record.close()
    good = home.record.read_bytes()
    refused = 0
    for number in range(count):
        for old in home.root.glob("studio.db*"):
            old.unlink()
        bad = mutant(good, number)
        home.record.write_bytes(bad)
        try:
            record = open_record(home.record, home.backups)
        except NewerRecord:
            assert home.record.read_bytes() == bad
            refused += 1
            continue
        refill(record, home)
        with record.read() as session:
            runs = {run.id: run for run in all_runs(session)}
        record.close()
        assert set(runs) >= {"one", "two"}, number
        asides = home.root.glob("studio.db.corrupt-*")
        assert all(aside.read_bytes() == bad for aside in asides), number
    assert refused <= count / 50  # if only the version number was hit


@times(50, 2000)
@pytest.mark.usefixtures("qapp")
def test_damaged_settings_are_set_aside_for_the_defaults(tmp_path, count):
    file = tmp_path / "settings.json"
    settings = Settings(file)
    settings.set_state("page", "runs")
    settings.close()
    good = file.read_bytes()
    for number in range(count):
        file.write_bytes(mutant(good, number))
        opened = Settings(file)
        assert opened.get_state("page", "home"), number
        assert not opened.was_damaged or file.with_name("settings.json.bad").is_file(), number


@times(100, 5000)
def test_every_changed_byte_of_a_checkpoint_is_detected(tmp_path, count):
    with atomic_folder(tmp_path / "step-00000001") as temporary:
        (temporary / "model.safetensors").write_bytes(random.Random(1).randbytes(3000))
        (temporary / "config.json").write_text('{"a": 1}')
        (temporary / "resume").mkdir()
        (temporary / "resume" / "progress.json").write_text('{"step": 1}')
    folder = tmp_path / "step-00000001"
    files = [f for f in sorted(folder.rglob("*")) if f.is_file()]
    good = {file: file.read_bytes() for file in files}
    listed = json.loads(good[folder / "manifest.json"])
    for number in range(count):
        file = files[number % len(files)]
        bad = mutant(good[file], number)
        file.write_bytes(bad)
        is_refused = False
        try:
            verify(folder)
        except BadCheckpoint:
            is_refused = True
        if not is_refused and bad != good[file]:  # a manifest may still mean the same
            assert file.name == "manifest.json", number
            assert json.loads(bad).items() >= listed.items(), number
        file.write_bytes(good[file])


FILES: dict[str, Callable[[RunFolder], Path]] = {
    "spec": lambda run: run.spec_file,
    "events": lambda run: run.events_file,
    "manifest": lambda run: run.checkpoint_folders()[-1] / "manifest.json",
}


@times(6, 500)
@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_run_folder_is_listed_and_hides_no_other_run(home, kind, count):
    train(home, "bad", "good")
    file = FILES[kind](RunFolder(home.runs / "bad"))
    good = file.read_bytes()
    for number in range(count):
        file.write_bytes(mutant(good, number))
        for old in home.root.glob("studio.db*"):
            old.unlink()
        record = open_record(home.record, home.backups)
        refill(record, home)
        with record.read() as session:
            runs = {run.id: run for run in all_runs(session)}
        record.close()
        assert set(runs) == {"bad", "good"}, number
        assert runs["good"].state == "finished", number

"""Bundles of runs round-trip, and hostile ones are refused."""

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.messages.events import Ended, Started, measured
from engine.progress import Cancelled
from engine.runs.bundle import INDEX, is_bundle, pack, unpack
from engine.runs.folder import RunFolder
from engine.runs.snapshots import snapshot_folder
from tests.engine.runs import fake_worker


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A finished run with three checkpoints, the second the best, and results."""
    folder = RunFolder.create(tmp_path / "runs" / "night", fake_worker.job())
    folder.append(Started(pid=1))
    folder.append(fake_worker.prepared(6, best_metric="loss"))
    for step in (2, 4, 6):
        folder.append(measured("loss", step, 1 / step))
        fake_worker.save(folder, step, best=step == 4)
    folder.append(Ended(outcome="finished", step=6))
    folder.results.mkdir()
    (folder.results / "validation.parquet").write_bytes(b"PAR1" * 9)
    for step in (0, 1):
        snapshot = snapshot_folder(folder, step)
        snapshot.mkdir(parents=True)
        (snapshot / "model.safetensors").write_bytes(b"weights")
    (folder.path / "link").symlink_to("/etc/passwd")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    paths = (f for f in folder.rglob("*") if f.is_file() and not f.is_symlink())
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in paths}


@pytest.mark.parametrize("keep, steps", [("best", {4}), ("all", {2, 4, 6}), ("none", set())])
def test_a_run_survives_a_round_trip(run, tmp_path, keep, steps):
    bundle, into = tmp_path / "night.zip", tmp_path / "into"
    progress: list[tuple[int, int]] = []
    pack([run], bundle, keep, {"night": {"notes": "good"}}, lambda *n: progress.append(n))  # type: ignore[arg-type]
    assert is_bundle(bundle) and progress[-1][0] == progress[-1][1] > 0
    ((folder, metadata),) = unpack(bundle, into).items()
    assert metadata == {"notes": "good"} and folder.name == "night"
    before, after = files(run.path), files(folder)
    assert after == {n: c for n, c in before.items() if n in after}
    assert {"spec.json", "events.jsonl", "results/validation.parquet"} <= set(after)
    saved = {int(n.split("/")[1].removeprefix("step-")) for n in after if n.startswith("check")}
    assert saved == steps and "link" not in after
    assert sum(name.startswith("snapshots/") for name in after) == (2 if keep == "all" else 0)
    repeated = tmp_path / "again.zip"
    pack([run], repeated, keep, {"night": {"notes": "good"}})  # type: ignore[arg-type]
    assert repeated.read_bytes() == bundle.read_bytes()


def change_bundle(bundle: Path, change: Callable[[dict[str, bytes], dict[str, int]], None]) -> Path:
    """Copy a bundle with changed members."""
    with zipfile.ZipFile(bundle) as archive:
        content = {info.filename: archive.read(info) for info in archive.infolist()}
    modes: dict[str, int] = {}
    change(content, modes)
    hostile = bundle.with_name("hostile.zip")
    with zipfile.ZipFile(hostile, "w") as archive:
        for name, bytes_ in content.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = modes.get(name, stat.S_IFREG | 0o600) << 16
            archive.writestr(member, bytes_)
    return hostile


def add_to_index(content: dict[str, bytes], name: str, run: str = "night") -> None:
    """Add a file or another run to the index."""
    index = json.loads(content[INDEX])
    index["runs"][0]["files"][name] = "0" * 64
    index["runs"][0]["id"] = run
    content[INDEX] = json.dumps(index).encode()


HOSTILE: dict[str, tuple[Callable[[dict[str, bytes], dict[str, int]], None], str]] = {
    "up": (lambda c, m: add_to_index(c, "../../escaped"), "leads out"),
    "absolute": (lambda c, m: add_to_index(c, "/tmp/escaped"), "leads out"),
    "windows": (lambda c, m: add_to_index(c, "C:\\escaped"), "leads out"),
    "run up": (lambda c, m: add_to_index(c, "x", ".."), "cannot be a folder"),
    "run deep": (lambda c, m: add_to_index(c, "x", "a/b"), "cannot be a folder"),
    "unlisted": (lambda c, m: c.update({"runs/night/more": b"x"}), "does not have"),
    "outside": (lambda c, m: c.update({"../escaped": b"x"}), "does not have"),
    "link": (lambda c, m: m.update({"runs/night/spec.json": stat.S_IFLNK | 0o777}), "a link"),
    "other bytes": (lambda c, m: c.update({"runs/night/spec.json": b"{}"}), "not as it was"),
    "missing": (lambda c, m: c.pop("runs/night/spec.json") and None, "is missing"),
    "no list": (lambda c, m: c.pop(INDEX) and None, "no runs in it"),
    "bad list": (lambda c, m: c.update({INDEX: b"[1]"}), "cannot be read"),
    "deep list": (lambda c, m: c.update({INDEX: b"[" * 100_000}), "cannot be read"),
    "newer": (lambda c, m: c.update({INDEX: b'{"form": 2, "runs": []}'}), "newer BERT Studio"),
    "no runs": (lambda c, m: c.update({INDEX: b'{"form": 1, "runs": []}'}), "no runs in it"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_bundles_are_refused_with_a_sentence(run, tmp_path, kind):
    pack([run], tmp_path / "night.zip")
    change, message = HOSTILE[kind]
    bad, into = change_bundle(tmp_path / "night.zip", change), tmp_path / "deep" / "into"
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "deep")}
    with pytest.raises(StudioError, match=message):
        unpack(bad, into)
    after = {path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "deep")}
    assert after == before


def test_a_truncated_or_invalid_zip_is_refused(run, tmp_path):
    pack([run], tmp_path / "night.zip")
    content = (tmp_path / "night.zip").read_bytes()
    for number, part in enumerate((content[: len(content) // 2], b"", b"PK\3\4 nothing")):
        bad = tmp_path / f"bad{number}.zip"
        bad.write_bytes(part)
        assert not is_bundle(bad)
        with pytest.raises(StudioError, match="cannot be opened as runs"):
            unpack(bad, tmp_path / f"into{number}")


def test_a_cancelled_pack_leaves_no_file(run, tmp_path):
    with pytest.raises(Cancelled):
        pack([run], tmp_path / "night.zip", cancelled=lambda: True)
    assert not list(tmp_path.glob("*.zip*")) and [p.name for p in tmp_path.iterdir()] == ["runs"]

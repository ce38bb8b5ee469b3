"""A home folder on a shared drive is reported once."""

import pytest

from app.notices import Notices
from app.settings import Settings
from app.studio import warn_about_drive
from engine.system.drives import Drive


@pytest.mark.parametrize(
    "drive, warning",
    [
        (Drive("network", "nfs4"), "network drive (nfs4)"),
        (Drive("synced", "Dropbox"), "synchronised by Dropbox"),
        (Drive("local", ""), ""),
    ],
)
def test_a_shared_drive_is_reported_once(qapp, home, tmp_path, monkeypatch, drive, warning):
    monkeypatch.setattr("app.studio.detect_drive", lambda _: drive)
    notices, settings = Notices(qapp), Settings(home.settings)
    for _ in range(2):
        warn_about_drive(home, settings, notices)
    assert [warning in notice.problem for notice in notices.shown] == ([True] if warning else [])
    (home.root / "studio (conflicted copy).db").touch()
    warn_about_drive(home, settings, notices)
    assert "conflicting copies" in notices.shown[-1].problem

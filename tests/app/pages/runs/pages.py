"""Helpers for tests of the Runs page."""

from typing import Any

from pytestqt.qtbot import QtBot

from app.pages.runs.columns import Column
from app.pages.runs.run.view import RunView
from app.pages.runs.view import RunsPage
from app.studio import Studio
from engine.record.runs import find_run

HOSTILE = '<img src="file:///CANARY.png"><b>x</b>&amp; R&D'
PATIENCE = 30_000  # ms


def names(page: RunsPage) -> list[str]:
    model = page.list.model
    column = model.column(Column.NAME)
    return [model.index(n, column).data() for n in range(model.rowCount())]


def open_run(page: RunsPage, run_id: str, qtbot: QtBot) -> RunView:
    page.arrive({"run": run_id})
    view = page.run
    qtbot.waitUntil(lambda: view.state.row is not None and bool(view.details.job.toPlainText()))
    qtbot.waitUntil(lambda: not view.charts.is_filling())
    return view


def change_run(studio: Studio, run_id: str, **fields: object) -> None:
    """Change a run in the record, as its worker would."""
    with studio.record.session() as session:
        run = find_run(session, run_id)
        for name, value in fields.items():
            setattr(run, name, value)


def read_run(studio: Studio, run_id: str) -> Any:
    with studio.record.read() as session:
        return find_run(session, run_id)

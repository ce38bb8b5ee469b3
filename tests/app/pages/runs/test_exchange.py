"""Export of runs into a file, and import on another computer."""

from PySide6.QtCore import Qt

from app.drops import page_for
from engine.record.runs import remove_run
from engine.runs.mlflow import MLflowFiles
from tests.app.asking import question
from tests.app.pages.runs.pages import PATIENCE, names


def test_exports_and_imports_keep_name_and_notes(make_page, studio, make_run, qtbot, tmp_path):
    run_id = make_run("night")
    studio.dispatcher.begin()
    page = make_page()
    page.state.rename(run_id, "the best night")
    page.state.set_notes(run_id, "for the paper")
    page.state.set_tags(run_id, ["paper"])
    qtbot.waitUntil(lambda: page.state.rows[run_id].tags == ("paper",))
    qtbot.waitUntil(lambda: page.state.rows[run_id].notes == "for the paper")
    path = tmp_path / "night.zip"
    exchange = page.state.exchange
    with qtbot.waitSignal(exchange.ended, timeout=PATIENCE):
        exchange.export([page.state.rows[run_id]], path, "best")
    assert page_for([path]) == "runs"
    with studio.record.session() as session:  # as on another computer
        remove_run(session, run_id)
    studio.home.runs.joinpath(run_id).rename(tmp_path / "elsewhere")
    studio.dispatcher.run_removed.emit(run_id)
    assert names(page) == []
    assert page.accept_drop([path])
    qtbot.waitUntil(lambda: names(page) == ["the best night"], timeout=PATIENCE)
    (row,) = page.state.rows.values()
    qtbot.waitUntil(lambda: page.state.rows[row.id].notes == "for the paper")
    assert page.state.rows[row.id].tags == ("paper",)
    assert page.state.rows[row.id].checkpoint is not None
    qtbot.waitUntil(lambda: not list(studio.home.cache.glob("unpacked-*")), timeout=PATIENCE)


def test_runs_are_exported_to_tensorboard(make_page, make_run, qtbot, tmp_path, studio):
    make_run("one")
    make_run("two")
    page = make_page()
    page.list.table.selectAll()
    page.list.actions_.by_key["export"].trigger()
    dialog = question(qtbot)
    qtbot.mouseClick(dialog.buttons["cancel"], Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(page.state.exchange.ended, timeout=PATIENCE):
        page.state.exchange.export_curves(page.list.selected(), tmp_path / "tb")
    with qtbot.waitSignal(page.state.exchange.ended, timeout=PATIENCE):
        page.state.exchange.export_curves(page.list.selected(), tmp_path / "ml", MLflowFiles)
    assert len(list((tmp_path / "ml").glob("*/*/metrics/training/loss"))) == 2
    assert len(list((tmp_path / "tb").glob("*/events.out.tfevents.*"))) == 2
    bad = tmp_path / "bad.zip"
    bad.write_bytes(b"PK nothing")
    assert page_for([bad]) != "runs" and not page.accept_drop([bad])
    with qtbot.waitSignal(page.state.exchange.ended, timeout=PATIENCE):
        page.state.exchange.open(bad)
    assert not list(studio.home.cache.glob("unpacked-*"))

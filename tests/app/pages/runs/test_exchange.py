"""Export of runs into a file, and import on another computer."""

from PySide6.QtCore import Qt

from app.drops import page_for
from engine.record.runs import remove_run
from engine.runs.mlflow import MLflowFiles
from tests.app.asking import question
from tests.app.pages.runs.pages import PATIENCE, names


def test_exports_and_imports_keep_name_and_notes(page, studio, make_run, qtbot, tmp_path):
    run_id = make_run("night")
    studio.dispatcher.begin()
    shown = page()
    shown.state.rename(run_id, "the best night")
    shown.state.set_notes(run_id, "for the paper")
    shown.state.set_tags(run_id, ["paper"])
    qtbot.waitUntil(lambda: shown.state.rows[run_id].tags == ("paper",))
    qtbot.waitUntil(lambda: shown.state.rows[run_id].notes == "for the paper")
    path = tmp_path / "night.zip"
    exchange = shown.state.exchange
    with qtbot.waitSignal(exchange.ended, timeout=PATIENCE):
        exchange.export([shown.state.rows[run_id]], path, "best")
    assert page_for([path]) == "runs"
    with studio.record.session() as session:  # as on another computer
        remove_run(session, run_id)
    studio.home.runs.joinpath(run_id).rename(tmp_path / "elsewhere")
    studio.dispatcher.run_removed.emit(run_id)
    assert names(shown) == []
    assert shown.accept_drop([path])
    qtbot.waitUntil(lambda: names(shown) == ["the best night"], timeout=PATIENCE)
    (row,) = shown.state.rows.values()
    qtbot.waitUntil(lambda: shown.state.rows[row.id].notes == "for the paper")
    assert shown.state.rows[row.id].tags == ("paper",)
    assert shown.state.rows[row.id].checkpoint is not None
    qtbot.waitUntil(lambda: not list(studio.home.cache.glob("unpacked-*")), timeout=PATIENCE)


def test_runs_are_exported_to_tensorboard(page, make_run, qtbot, tmp_path, studio):
    make_run("one")
    make_run("two")
    shown = page()
    shown.list.table.selectAll()
    shown.list.actions_.by_key["export"].trigger()
    dialog = question(qtbot)
    qtbot.mouseClick(dialog.buttons["cancel"], Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(shown.state.exchange.ended, timeout=PATIENCE):
        shown.state.exchange.export_curves(shown.list.selected(), tmp_path / "tb")
    with qtbot.waitSignal(shown.state.exchange.ended, timeout=PATIENCE):
        shown.state.exchange.export_curves(shown.list.selected(), tmp_path / "ml", MLflowFiles)
    assert len(list((tmp_path / "ml").glob("*/*/metrics/training/loss"))) == 2
    assert len(list((tmp_path / "tb").glob("*/events.out.tfevents.*"))) == 2
    bad = tmp_path / "bad.zip"
    bad.write_bytes(b"PK nothing")
    assert page_for([bad]) != "runs" and not shown.accept_drop([bad])
    with qtbot.waitSignal(shown.state.exchange.ended, timeout=PATIENCE):
        shown.state.exchange.open(bad)
    assert not list(studio.home.cache.glob("unpacked-*"))

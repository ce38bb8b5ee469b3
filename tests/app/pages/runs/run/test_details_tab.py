"""Details and notes of a run."""

from tests.app.pages.runs.pages import HOSTILE, names, open_run, read_run


def test_the_log_is_followed_only_at_its_end_and_notes_are_saved(
    make_page, studio, make_run, qtbot
):
    run_id = make_run("one")
    page = make_page()
    view = open_run(page, run_id, qtbot)
    qtbot.waitUntil(lambda: "2 texts were truncated" in view.state.log)
    view.tabs.setCurrentWidget(view.log)
    assert view.log.widget.text.toPlainText() == view.state.log
    log = view.state.row.folder / "worker.log"
    log.write_text("\n".join(f"line {n}" for n in range(500)))
    view.tabs.setCurrentWidget(view.log)
    text = view.log.widget.text
    qtbot.waitUntil(lambda: "line 499" in text.toPlainText())
    bar = text.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(100)
    log.write_text("\n".join(f"line {n}" for n in range(600)))
    qtbot.waitUntil(lambda: "line 599" in text.toPlainText())
    assert bar.value() == 100
    # notes are saved and searched
    view.details.notes.setPlainText(f"remember {HOSTILE}")
    page.show_all()
    qtbot.waitUntil(lambda: read_run(studio, run_id).notes == f"remember {HOSTILE}")
    qtbot.waitUntil(lambda: bool(page.state.rows[run_id].notes))
    qtbot.keyClicks(page.list.search, "remember")
    assert names(page) == ["one"]
    assert open_run(page, run_id, qtbot).details.notes.toPlainText() == f"remember {HOSTILE}"

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from app.pages.runs.columns import Column
from app.pages.runs.rows import RunRow
from app.pages.runs.table import ROW_ROLE
from tests.app.accessible import assert_accessible
from tests.app.pages.runs.pages import HOSTILE, names, open_run


def test_both_pages_are_accessible_in_both_themes_and_with_markup(
    make_page, make_run, qtbot, set_theme, screen, studio, monkeypatch
):
    monkeypatch.setattr(studio.explorer, "ask", lambda question: 0)
    problem = f"Wrong: {HOSTILE}"
    run_id = make_run(HOSTILE, step=7, outcome="failed", problem=problem, not_finite=[3])
    page = make_page()
    for theme in ("light", "dark"):
        set_theme(theme)
        assert isinstance(page.list.table.model().index(0, 0).data(ROW_ROLE), RunRow)
        screen(page, f"runs-list-{theme}")
        assert_accessible(page)
    view = open_run(page, run_id, qtbot)
    for theme in ("dark", "light"):
        set_theme(theme)
        assert_accessible(page)
        for tab in range(view.tabs.count()) if theme == "dark" else ():
            view.tabs.setCurrentIndex(tab)
            screen(page, f"run-{tab}-{theme}")
    # the names have markup
    assert view.header.name.full_text() == HOSTILE
    assert view.banner.problem.text() == f"Wrong: {HOSTILE}"
    for label in page.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText or HOSTILE not in label.text()
    tip = page.list.model.index(0, page.list.model.column(Column.NAME)).data(
        Qt.ItemDataRole.ToolTipRole
    )
    assert "<img" not in tip and "&lt;img" in tip
    view.header.more.click()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.close()
    # an unknown run leads back to all runs
    page.arrive({"run": "gone"})
    qtbot.waitUntil(lambda: page.run is None)
    assert names(page) == [HOSTILE]

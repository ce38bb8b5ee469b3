"""The table and tabs of runs at other text sizes."""

import pytest

from app.pages.runs.columns import Column
from app.theme import px, set_text_size
from tests.app.cut import cut_texts
from tests.app.pages.runs.pages import open_run


@pytest.mark.parametrize("percent", [100, 150, 200])
def test_no_tab_of_a_run_cuts_texts(qtbot, qapp, make_page, make_run, percent):
    set_text_size(qapp, percent)
    try:
        run_id, page = make_run("One"), make_page()
        view = open_run(page, run_id, qtbot)
        for tab in range(view.tabs.count()):
            if view.tabs.isTabVisible(tab):
                view.tabs.setCurrentIndex(tab)

                def assert_fits(tab: int = tab) -> None:
                    least = page.minimumSizeHint()  # a smaller window scrolls
                    page.resize(max(1100 - px(84), least.width()), max(646, least.height()))
                    assert list(cut_texts(page)) == [], view.tabs.tabText(tab)

                qtbot.waitUntil(assert_fits)  # once it is read
    finally:
        set_text_size(qapp, 100)


def test_columns_of_runs_follow_the_text_size_without_widths_of_the_user(
    qtbot, qapp, make_page, make_run
):
    make_run("one")
    page = make_page()
    page.resize(1280 - 126, 700)
    table, column = page.list.table, page.list.model.column(Column.NAME)
    try:
        for percent in (150, 200, 100):
            set_text_size(qapp, percent)
            qtbot.wait(20)
            assert not page.list.columns.layout("", 0).widths, percent
            assert list(cut_texts(page)) == [], percent
        table.setColumnWidth(column, 200)
        set_text_size(qapp, 150)
        qtbot.wait(20)
        assert table.columnWidth(column) == 300
        assert page.list.columns.layout("", 0).widths == {"name": 200}
        table.setColumnWidth(column, 330)
        assert make_page().list.table.columnWidth(column) == 330
    finally:
        set_text_size(qapp, 100)

"""No tab of a run cuts texts at a text size of 150 %."""

import pytest

from app.theme import set_text_size
from tests.app.cut import cut_texts
from tests.app.pages.runs.pages import open_run


@pytest.mark.parametrize("percent", [100, 150])
def test_no_tab_of_a_run_cuts_texts(qtbot, qapp, make_page, make_run, percent):
    set_text_size(qapp, percent)
    try:
        run_id, page = make_run("One"), make_page()
        page.resize(1280 - 126, 700)
        view = open_run(page, run_id, qtbot)
        for tab in range(view.tabs.count()):
            if view.tabs.isTabVisible(tab):
                view.tabs.setCurrentIndex(tab)
                qtbot.wait(20)
                assert list(cut_texts(page)) == [], view.tabs.tabText(tab)
    finally:
        set_text_size(qapp, 100)

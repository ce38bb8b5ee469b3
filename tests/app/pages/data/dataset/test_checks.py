"""The checks on the page of a data set: findings, their rows, a fix, and its undo."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton

from app.pages.data.dataset.view import DatasetView
from app.pages.data.view import DataPage
from app.widgets.dialogs import Question
from app.widgets.text.labels import Text
from engine.data.datasets.store import open_dataset
from tests.app.accessible import assert_accessible
from tests.app.pages.data.dataset.test_view import PATIENCE, open_view, row_texts


@pytest.fixture
def messy(write) -> Path:
    """40 sentences: three are duplicated, one of them with another label."""
    rows = [f"the film {n} was very {'good' if n % 3 else 'bad'},{n % 2}" for n in range(40)]
    rows += [rows[3], rows[20], f"{rows[30][:-1]}1"]
    return write("messy.csv", "sentence,label\n" + "\n".join(rows) + "\n")


def open_checked(qtbot, page: DataPage, file: Path) -> DatasetView:
    view = open_view(qtbot, page, file)
    qtbot.waitUntil(lambda: view.checks_state.findings is not None, timeout=PATIENCE)
    return view


def find_button(view: DatasetView, name: str) -> QPushButton:
    buttons = view.checks.findChildren(QPushButton)
    return next(b for b in buttons if b.accessibleName() == name)


def test_findings_show_their_rows_are_cached_and_fixed(qtbot, page, messy, monkeypatch):
    view = open_checked(qtbot, page, messy)
    assert [finding.check for finding in view.checks_state.findings] == [
        "label_conflicts",
        "exact_duplicates",
    ]
    assert_accessible(view)
    find_button(view, "Exact duplicates: Show 4 row(s)").click()
    qtbot.waitUntil(lambda: view.count.text() == "4 of 43 rows", timeout=PATIENCE)
    qtbot.waitUntil(lambda: "…" not in row_texts(view), timeout=PATIENCE)
    texts = row_texts(view)
    assert texts[0] == texts[1] and texts[2] == texts[3] and texts[0] != texts[2]
    assert view.finding_text.text() == "Rows of “Exact duplicates”"
    qtbot.keyClicks(view.search, texts[2])
    qtbot.waitUntil(lambda: view.count.text() == "2 of 43 rows", timeout=PATIENCE)
    view._show_all()
    qtbot.waitUntil(lambda: view.count.text() == "43 row(s)", timeout=PATIENCE)
    assert view.finding_line.isHidden()
    with monkeypatch.context() as patch:
        patch.setattr("app.pages.data.dataset.checks.state.run_checks", lambda *_: 1 / 0)
        page.open_dataset(view.state.folder)
        view = page.dataset
        qtbot.waitUntil(lambda: view.checks_state.findings is not None, timeout=PATIENCE)
    assert len(view.checks_state.findings) == 2

    # a fix creates a version that can be undone
    before = view.state.folder
    find_button(view, "Exact duplicates: Drop the duplicates").click()
    (question,) = page.findChildren(Question)
    message = " ".join(text.text() for text in question.findChildren(Text))
    assert "2 exact duplicate(s) dropped" in message
    assert "Version 2 will be created; this version stays unchanged." in message
    next(b for b in question.findChildren(QPushButton) if b.isDefault()).click()
    qtbot.waitUntil(lambda: page.dataset.state.folder != before, timeout=PATIENCE)
    version = page.dataset.state.folder
    qtbot.waitUntil(lambda: page.dataset.checks_state.findings is not None, timeout=PATIENCE)
    assert [finding.check for finding in page.dataset.checks_state.findings] == ["label_conflicts"]
    facts = page.dataset.details.facts
    assert "version 1" in [text.text() for text in facts.findChildren(Text)]
    spec = open_dataset(version).spec
    assert (spec.version, spec.made_from, sum(spec.rows.values())) == (2, 1, 41)
    notice = page._studio.notices.shown[-1]
    assert "2 exact duplicate" in notice.problem and notice.action == "Undo"
    notice.act()
    qtbot.waitUntil(lambda: page.dataset.state.folder == before, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not version.exists(), timeout=PATIENCE)
    qtbot.waitUntil(lambda: page.dataset.state.dataset is not None, timeout=PATIENCE)


def test_many_rows_are_checked_only_on_request(qtbot, page, messy, monkeypatch):
    monkeypatch.setattr("app.pages.data.dataset.checks.state.MAX_AUTOMATIC_ROWS", 42)
    view = open_view(qtbot, page, messy)
    qtbot.waitUntil(lambda: not view.checks_state.is_examining, timeout=PATIENCE)
    assert view.checks_state.findings is None and view.checks.start.isVisibleTo(view)
    view.checks.start.click()
    view.checks.progress.cancel.click()
    assert not view.checks_state.is_examining and view.checks.start.isVisibleTo(view)
    view.checks.start.click()
    qtbot.waitUntil(lambda: view.checks_state.findings is not None, timeout=PATIENCE)
    assert view.checks.start.isHidden()

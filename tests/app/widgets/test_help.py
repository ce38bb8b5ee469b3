"""The pages of help: one source for a tooltip and for who wants to know more."""

import re

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.widgets.help import HelpButton, HelpWindow, concept, concepts
from tests.app.accessible import assert_accessible

GLOSSARY = "glossary"


@pytest.fixture
def owner(qtbot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.button = HelpButton("attention")
    QVBoxLayout(made).addWidget(made.button)
    made.show()
    return made


@pytest.mark.parametrize("shown", concepts(), ids=lambda c: c.key)
def test_every_page_has_a_line_a_title_and_a_text(shown):
    assert re.fullmatch(r"[A-Z“].{20,160}[.?]", shown.line), shown.line
    assert 3 <= len(shown.title) <= 40
    assert 300 <= len(shown.text) <= (8000 if shown.key == GLOSSARY else 4000)
    links = re.findall(r"\]\(([^)]+)\)", shown.text)
    for link in links:
        if not link.startswith("https://"):
            assert concept(link.removesuffix(".md"))


def test_every_page_says_where_it_comes_from():
    """A paper, or the words that the studio itself made it; the glossary is of the whole field."""
    without = [c.key for c in concepts() if "## Source" not in c.text and c.key != GLOSSARY]
    assert without == []


def test_the_question_mark_says_the_line_and_opens_the_page(qtbot, owner):
    assert concept("attention").line[:20] in owner.button.toolTip()
    qtbot.mouseClick(owner.button, Qt.MouseButton.LeftButton)
    window = owner.findChild(HelpWindow)
    qtbot.waitUntil(window.isVisible, timeout=5000)
    assert window.shown() == "attention"
    page = window.page.toPlainText()
    assert concept("attention").title in page
    assert concept("attention").line in page
    assert_accessible(window)
    qtbot.mouseClick(owner.button, Qt.MouseButton.LeftButton)
    assert len(owner.findChildren(HelpWindow)) == 1


def test_titles_lead_to_pages_and_links_from_page_to_page(qtbot, owner, monkeypatch):
    owner.button.click()
    window = owner.findChild(HelpWindow)
    qtbot.keyClick(window.titles, Qt.Key.Key_Home)
    assert window.shown() == concepts()[0].key
    window.page.anchorClicked.emit(QUrl("attention-rollout.md"))
    assert window.shown() == "attention-rollout"
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    window.page.anchorClicked.emit(QUrl("https://arxiv.org/abs/1706.03762"))
    assert [url.host() for url in opened] == ["arxiv.org"]
    assert window.shown() == "attention-rollout"


def test_the_page_follows_the_theme(qtbot, owner, looks):
    owner.button.click()
    window = owner.findChild(HelpWindow)
    looks("dark")
    assert concept("attention").title in window.page.toPlainText()

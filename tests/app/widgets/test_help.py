"""The help pages: one source for tooltips and longer explanations."""

import re

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QTextDocument
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.palette import score, window_commands
from app.theme import Role
from app.widgets.forms.form import SpecForm
from app.widgets.help import HelpButton, HelpView, HelpWindow, help_for
from app.widgets.help_topics import (
    METRIC,
    SECTIONS,
    SETTING,
    concept,
    concepts,
    find_pages,
    setting_key,
    topics,
)
from app.window import LOWER_PAGES, PAGES
from engine.config.fields import get_settings
from engine.config.tasks import TASKS
from engine.config.training import TrainingSpec
from engine.files.shipped import resources
from tests.app.accessible import assert_accessible

GLOSSARY = "glossary"
LISTS = (GLOSSARY, "settings", "metrics")  # of many entries
SPECS = [spec for _, specs in SECTIONS for spec in specs]
SEARCHES = {  # typed text → a page that must be among the first
    "learning rate": "setting-TrainingSpec.learning_rate",
    "predict": "predictions",
    "compare": "comparing",
    "early stopping": "setting-TrainingSpec.early_stopping_patience",
    "macro f1": "metric-f1_macro",
    "resume": "runs",
}


@pytest.fixture
def owner(qtbot) -> QWidget:
    owner = QWidget()
    qtbot.addWidget(owner)
    owner.button = HelpButton("attention")
    QVBoxLayout(owner).addWidget(owner.button)
    owner.show()
    return owner


def test_every_page_has_a_line_a_title_a_text_and_a_source():
    for page in concepts():
        assert re.fullmatch(r"[A-Z“].{20,160}[.?]", page.line), page.line
        assert 3 <= len(page.title) <= 40, page.title
        limit = 16_000 if page.key in LISTS else 4000
        assert 300 <= len(page.text) <= limit, page.key
    without_source = [c.key for c in concepts() if "## Source" not in c.text and c.key != GLOSSARY]
    assert without_source == []


def test_the_help_button_has_a_tooltip_and_opens_its_page(qtbot, owner):
    assert concept("attention").line[:20] in owner.button.toolTip()
    qtbot.mouseClick(owner.button, Qt.MouseButton.LeftButton)
    window = owner.findChild(HelpWindow)
    qtbot.waitUntil(window.isVisible, timeout=5000)
    assert window.view.shown() == "attention"
    page = window.view.page.toPlainText()
    assert concept("attention").title in page
    assert concept("attention").line in page
    assert_accessible(window)
    qtbot.mouseClick(owner.button, Qt.MouseButton.LeftButton)
    assert len(owner.findChildren(HelpWindow)) == 1


def test_titles_and_links_open_pages_that_follow_the_theme(qtbot, owner, monkeypatch, set_theme):
    owner.button.click()
    window = owner.findChild(HelpWindow)
    qtbot.keyClick(window.view.titles, Qt.Key.Key_Home)
    assert window.view.shown() == concepts()[0].key
    window.view.page.anchorClicked.emit(QUrl("attention-rollout.md"))
    assert window.view.shown() == "attention-rollout"
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    window.view.page.anchorClicked.emit(QUrl("https://arxiv.org/abs/1706.03762"))
    assert [url.host() for url in opened] == ["arxiv.org"]
    assert window.view.shown() == "attention-rollout"
    set_theme("dark")
    assert concept("attention-rollout").title in window.view.page.toPlainText()


def test_the_title_of_the_shown_page_is_scrolled_into_view(qtbot, set_theme):
    view = HelpView()
    qtbot.addWidget(view)
    view.resize(800, 400)
    view.show_page("settings")

    def is_in_view() -> bool:
        titles = view.titles
        rect = titles.visualItemRect(titles.currentItem())
        return titles.viewport().rect().contains(rect)

    view.show()
    qtbot.waitUntil(is_in_view)
    set_theme("dark")
    view.titles.scrollToTop()
    view.show_page("settings")
    qtbot.waitUntil(is_in_view)


def test_settings_and_metrics_have_pages_that_explain_them():
    for spec in SPECS:
        for name, info in get_settings(spec).items():
            page = concept(setting_key(spec, name))
            assert (page.title, page.line) == (info.title, info.description)
            assert f"`{name}`" in page.text
    for task in TASKS.values():
        for metric in task.info.metrics:
            page = concept(f"{METRIC}{metric.name}")
            assert re.fullmatch(r"[A-Z].{30,300}\.", page.line), page.line
            assert page.title.casefold() == metric.title.casefold()
            assert task.info.title in page.text


def test_links_and_lists_refer_to_pages():
    for page in topics():
        for link in re.findall(r"\]\(([^)]+)\)", page.text):
            is_page = not link.startswith("https://") and not link.endswith(".svg")
            assert not is_page or concept(link.removesuffix(".md"))
    listed = concept("settings").text + concept("metrics").text
    for page in topics()[len(concepts()) :]:
        assert f"({page.key})" in listed, page.key
    assert all(concept(entry.help).title for entry in (*PAGES, *LOWER_PAGES))


def test_pictures_of_the_help_are_shown_in_the_colours_of_the_theme(qtbot, set_theme):
    pages = {page.key: re.findall(r"!\[([^]]+)\]\((.+?)\)", page.text) for page in concepts()}
    shown = {key: found for key, found in pages.items() if found}
    files = {file.name for file in (resources() / "help").glob("*.svg")}
    assert {name for found in shown.values() for _, name in found} == files
    assert all(len(meaning) > 20 for found in shown.values() for meaning, _ in found)
    view = HelpView()
    qtbot.addWidget(view)
    light, dark = colour_names("light"), colour_names("dark")
    for key, found in shown.items():
        for mode, others in (("light", dark - light), ("dark", light - dark)):
            set_theme(mode)
            view.show_page(key)
            document = view.page.document()
            ((_, name),) = found
            picture = document.resource(QTextDocument.ResourceType.ImageResource.value, QUrl(name))
            image = picture.toImage()
            assert image.width() >= 500, key
            colours = {
                image.pixelColor(x, y).name()
                for x in range(0, image.width(), 2)
                for y in range(0, image.height(), 2)
                if image.pixelColor(x, y).alpha() == 255
            }
            assert len(colours) > 3 and not colours & others, (key, mode)


def colour_names(mode: str) -> set[str]:
    return {getattr(role, mode) for role in Role}


def test_the_search_and_the_palette_find_common_topics(qtbot, studio):
    view = HelpView()
    qtbot.addWidget(view)
    pages = [(entry.key, entry.title, entry.icon, entry.keys) for entry in PAGES]
    commands = window_commands(studio, pages, print, print)
    for typed, key in SEARCHES.items():
        view.search.setText(typed)
        listed = [
            view.titles.item(row).data(Qt.ItemDataRole.UserRole)
            for row in range(view.titles.count())
        ]
        assert key in listed[:5] and view.shown() == listed[0], typed
        assert any(score(typed, command) is not None for command in commands), typed
    view.search.clear()
    qtbot.keyClicks(view.search, "qqq")
    assert view.titles.count() == 0 and not view.empty.isHidden()


def test_concepts_come_before_settings_and_metrics():
    """Except for the page whose title was typed."""
    for page in concepts():
        assert find_pages(page.title)[0].title == page.title
        word = page.title.casefold().split()[0]
        found = [other for other in find_pages(word) if other.title.casefold() != word]
        stubs = [other.key.startswith((SETTING, METRIC)) for other in found]
        ours = [other.key for other in found].index(page.key) if page in found else 0
        assert not any(stubs[:ours]), word
    assert find_pages("learning rate")[0].key == "setting-TrainingSpec.learning_rate"


def test_the_help_of_a_control_is_that_of_its_setting(qtbot):
    form = SpecForm(TrainingSpec)
    qtbot.addWidget(form)
    for name, field in form.fields.items():
        for control in field.controls:
            assert help_for(control, "runs") == setting_key(TrainingSpec, name)
    assert help_for(form, "runs") == "runs"

"""The command palette finds what can be done on every page, and with every run and model."""

import shutil

import pytest
from PySide6.QtWidgets import QTableView, QTreeView

from app.palette import Command
from app.using.applying_view import ApplyingDialog
from app.widgets.context_menu import context_menu
from app.window import MainWindow

PATIENCE = 30_000  # ms


def find(window: MainWindow, typed: str) -> list[Command]:
    """Commands that a text finds, best first."""
    palette = window._palette
    assert palette is not None
    palette.line.setText(typed)
    return palette.shown()


@pytest.fixture
def window(qtbot, studio, monkeypatch) -> MainWindow:
    window = MainWindow(studio)
    qtbot.addWidget(window)
    for key in window.entries:
        window.go(key)
    window.go("home")
    return window


def check_menus(window: MainWindow) -> None:
    """Every table copies its rows and is exported, by keys of their own."""
    views = [*window.findChildren(QTableView), *window.findChildren(QTreeView)]
    assert len(views) > 5
    for view in views:
        texts = [action.text() for action in context_menu(view).build().actions()]
        assert any(text.startswith("Cop") for text in texts), view.accessibleName()
        assert any("Export" in text for text in texts), view.accessibleName()
        keys = [text[text.index("&") + 1].lower() for text in texts if "&" in text]
        assert len(set(keys)) == len(keys), texts


def test_deeds_of_every_page_are_found_from_any_page(qtbot, studio, window, tuned, make_run):
    check_menus(window)
    model = studio.home.models / "films"
    shutil.copytree(tuned("text_classification").checkpoint, model)
    run = make_run("reviews", step=4, outcome="stopped")
    window.open_palette()
    qtbot.waitUntil(lambda: any("films" in c.title for c in find(window, "apply films")))
    qtbot.waitUntil(lambda: any("reviews" in c.title for c in find(window, "resume reviews")))
    for typed, title in {
        "import data": "Import…",
        "import model": "Import…",
        "new run": "New run…",
        "fine-tune": "Fine-tune a model",
        "pre-train": "Pre-train from text",
        "compare two": "Compare two models",
        "dark": "Dark theme",
        "evaluate films": "Evaluate on a file… · films",
        "export films": "Export… · films",
        "apply films": "Apply… · films",
        "export runs reviews": "Export runs… · reviews",
        "file of runs": "Open a file of runs…",
    }.items():
        assert title in [command.title for command in find(window, typed)], typed
    resume = find(window, "resume reviews")[0]
    assert resume.kind == "Run" and resume.title == "Resume · reviews"
    requests = []
    studio.navigate.connect(lambda key, argument: requests.append((key, argument)))
    find(window, "apply films")[0].act()
    qtbot.waitUntil(lambda: bool(window.findChildren(ApplyingDialog)), timeout=PATIENCE)
    window.findChild(ApplyingDialog).close()
    assert requests == [("models", {"model": model, "do": "apply"})]
    find(window, "rename reviews")[0].act()
    assert requests[-1] == ("runs", {"run": run, "do": "rename"}) and window.current == "runs"
    window._palette.close()

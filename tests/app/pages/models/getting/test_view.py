"""The catalogue opens no connection unasked; a model of the hub is imported."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit

from app import library
from app.drops import page_for
from app.pages.models.getting.view import GettingPage
from app.pages.models.state import model_folder
from app.pages.models.view import ModelsPage
from app.studio import Studio
from app.widgets.dialogs import Question
from app.widgets.facts import Facts
from app.widgets.progress import BAR_STEPS
from app.widgets.text.labels import Text
from engine.checkpoints.source import read_source
from engine.hub.address import host
from engine.hub.shelf import OFFERED
from engine.messages.hub import HubFile, PushPlanned
from tests.app.accessible import assert_accessible
from tests.app.asking import question
from tests.engine.hub.conftest import certificates, keys  # noqa: F401 - fixtures
from tests.engine.hub.conftest import hub as library_hub  # noqa: F401 - a fixture
from tests.engine.hub.fake_hub import TOKEN, Hub, Repo
from tests.engine.models import small

PATIENCE = 60_000  # ms; workers start
NAME = "somebody/tiny"


@pytest.fixture
def hub(library_hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:  # noqa: F811
    """A hub for the workers of the window, set in their environment."""
    folder = small.folder(tmp_path / "published")
    library_hub.repos[NAME] = Repo({file.name: file.read_bytes() for file in folder.iterdir()})
    monkeypatch.setenv("HF_ENDPOINT", library_hub.address)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return library_hub


@pytest.fixture
def page(qtbot, studio: Studio) -> ModelsPage:
    page = ModelsPage(studio)
    qtbot.addWidget(page)
    page.resize(1280, 800)
    page.show()
    page.arrive({"get": ""})
    qtbot.waitUntil(lambda: page.getting.state.machine is not None)
    return page


def titles(getting: GettingPage) -> list[str]:
    return [item.title for item in getting.list.cards.rows]


def test_the_catalogue_is_searched_without_a_server_and_shows_a_refusal(qtbot, page, hub, studio):
    getting = page.getting
    assert len(titles(getting)) == len(OFFERED)
    getting.search_field.setText("german")
    assert titles(getting) == ["GBERT"]
    assert getting.address.text() == "deepset/gbert-base"
    assert "memory" in getting.facts.values["Fine-tuning"].text()
    getting.search_field.setText("nothing like this")
    assert not titles(getting) and getting.results_note.isVisible()
    getting.search_field.clear()
    getting.group.setCurrentIndex(getting.group.findData("fields"))
    assert len(titles(getting)) == sum(entry.group == "fields" for entry in OFFERED)
    assert not hub.requests
    assert_accessible(page)
    studio.settings.set("hub_allowed", True)
    getting.state.plan("somebody/nothing")
    qtbot.waitUntil(getting.problem.isVisible, timeout=PATIENCE)
    assert "no model somebody/nothing" in getting.problem.problem.text()
    assert getting.get.isEnabled() and titles(getting), "a refusal is shown and the page stays"


@pytest.mark.usefixtures("in_threads")
def test_a_model_is_searched_fetched_and_imported(qtbot, page, hub, studio):
    getting = page.getting
    getting.search_field.setText("tiny")
    getting.search_hub.click()
    message = " ".join(text.text() for text in question(qtbot).findChildren(Text))
    assert host() in message and hub.address.endswith(host())
    question(qtbot).buttons["cancel"].click()
    assert not hub.requests and not studio.settings.preferences.hub_allowed
    getting.search_hub.click()
    question(qtbot).buttons["contact"].click()
    qtbot.waitUntil(lambda: titles(getting) == [NAME], timeout=PATIENCE)
    getting.get.click()
    cost = question(qtbot, "Download").findChild(Facts)
    assert list(cost.values) == ["Fine-tuning", "Exploring", "1,000 short texts"]
    assert "free" in cost.values["Fine-tuning"].text()
    question(qtbot).buttons["download"].click()
    qtbot.waitUntil(lambda: page.state.imported is not None, timeout=PATIENCE)
    folder = page.state.imported.folder
    source = read_source(folder)
    assert folder == studio.home.models / "tiny"
    assert source is not None and source.revision == hub.repos[NAME].sha
    qtbot.waitUntil(lambda: not list(studio.home.downloads.iterdir()))
    with qtbot.waitSignal(studio.navigate) as signal:
        page.importing.tune_requested.emit(folder)
    assert signal.args == ["train", {"model": folder}]


def test_an_upload_is_cancelled_in_its_dialog(qtbot, page, hub, studio):
    folder = small.folder(studio.home.models / "mine")
    entry = library.describe_model("mine", folder, "imported")
    files = (HubFile(name="config.json", bytes=9),)
    plan = PushPlanned(model="me/mine", host="a hub", private=True, files=files, card="")
    page.sending._push(entry, plan)
    dialog, worker = page.sending.dialog, page.sending.worker
    assert dialog is not None and worker is not None and dialog.isVisible()
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert worker.is_finished() and page.sending.worker is page.sending.dialog is None
    assert not hub.pushed and not studio.notices.shown


@pytest.mark.usefixtures("in_threads")
def test_an_archive_and_a_nested_folder_are_accepted(qtbot, page, tmp_path, studio):
    model = small.folder(tmp_path / "above" / "mine")
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "gztar", tmp_path / "above"))
    assert page_for([archive]) == page_for([tmp_path / "above"]) == "models"
    assert model_folder([tmp_path / "above"]) == model
    assert page.accept_drop([archive])
    qtbot.waitUntil(lambda: page.state.imported is not None, timeout=PATIENCE)
    assert page.state.imported.folder == studio.home.models / "packed"
    assert sorted(entry.name for entry in studio.home.models.iterdir()) == ["packed"]


@pytest.mark.usefixtures("in_threads")
@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # of the library
def test_a_model_is_uploaded_after_a_review(qtbot, page, hub, studio, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    studio.settings.set("hub_allowed", True)
    folder = small.folder(studio.home.models / "mine")
    page.sending.ask(library.describe_model("mine", folder, "imported"))
    qtbot.keyClicks(question(qtbot).findChild(QLineEdit), "me/mine")
    question(qtbot).buttons["list"].click()

    def asks_to_send() -> bool:
        dialogs = [w for w in QApplication.topLevelWidgets() if isinstance(w, Question)]
        return any("send" in dialog.buttons and dialog.isVisible() for dialog in dialogs)

    qtbot.waitUntil(asks_to_send, timeout=PATIENCE)
    assert (
        "README.md" in question(qtbot).findChild(QPlainTextEdit).toPlainText() and not hub.requests
    )
    question(qtbot).buttons["send"].click()
    dialog = page.sending.dialog
    assert dialog is not None and dialog.focusWidget() is dialog.progress.close_button
    assert_accessible(dialog)
    values = list[int]()
    dialog.progress.bar.valueChanged.connect(values.append)
    qtbot.waitUntil(lambda: page.sending.worker is None, timeout=PATIENCE)
    assert page.sending.dialog is None and max(values) == BAR_STEPS
    assert hub.repos["me/mine"].private
    assert set(hub.pushed["me/mine"]) >= {"config.json", "model.safetensors", "README.md"}
    assert hub.address in studio.notices.shown[-1].problem


def test_a_group_of_the_shelf_is_shown_on_arrival(page):
    page.arrive({"get": "multilingual"})
    assert page.stack.currentWidget() is page.getting
    assert page.getting.group.currentText() == "Many languages"
    assert 2 < len(titles(page.getting)) < len(page.getting.state.entries)

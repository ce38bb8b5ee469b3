"""A data set of the hub is named, listed, fetched and imported with its splits."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox, QLineEdit, QPlainTextEdit

from app.pages.data.state import source_state
from app.pages.data.texts import dataset_facts
from app.pages.data.view import DataPage
from app.studio import Studio
from app.widgets.text.labels import Text
from engine.config.dataset import HubOrigin
from engine.data.datasets.store import open_dataset
from tests.app.asking import question
from tests.engine.hub.conftest import certificates, keys  # noqa: F401 - fixtures
from tests.engine.hub.conftest import hub as library_hub  # noqa: F401 - a fixture
from tests.engine.hub.fake_hub import Hub, Repo

PATIENCE = 60_000  # ms; a worker starts
NAME = "somebody/moods"
ROWS = "".join(f"a text with the number {n},{'good' if n % 2 else 'bad'}\n" for n in range(20))


@pytest.fixture
def hub(library_hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:  # noqa: F811
    """A hub for the workers of the window, set in their environment."""
    content = f"text,label\n{ROWS}".encode()
    files = {
        f"{kind}/{part}-{split}.csv": content
        for kind in ("film", "news")
        for part, split in (("a", "learn"), ("b", "check"))
    }
    configs = [
        {
            "config_name": kind,
            "data_files": [
                {"split": "train", "path": f"{kind}/a-*.csv"},
                {"split": "validation", "path": f"{kind}/b-*.csv"},
            ],
        }
        for kind in ("film", "news")
    ]
    library_hub.repos[f"datasets/{NAME}"] = Repo(files, card={"configs": configs})
    monkeypatch.setenv("HF_ENDPOINT", library_hub.address)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return library_hub


@pytest.fixture
def page(qtbot, studio: Studio) -> DataPage:
    page = DataPage(studio)
    qtbot.addWidget(page)
    page.resize(1280, 800)
    page.show()
    return page


@pytest.mark.usefixtures("in_threads")
def test_a_data_set_is_fetched_and_imported_with_its_splits(qtbot, page, hub, studio):
    page.list.hub_button.click()
    dialog = question(qtbot, "Get a data set")
    dialog.findChild(QLineEdit).setText(NAME)
    dialog.buttons["list"].click()
    consent = question(qtbot, "Contact")
    assert not hub.requests
    consent.buttons["contact"].click()
    subset = question(qtbot, "Choose a subset")
    box = subset.findChild(QComboBox)
    assert [box.itemText(n) for n in range(box.count())] == ["film", "news"]
    box.setCurrentIndex(1)
    subset.buttons["choose"].click()
    confirm = question(qtbot, "Download")
    files = confirm.findChild(QPlainTextEdit).toPlainText()
    assert "news/a-learn.csv" in files and "film" not in files
    message = " ".join(text.text() for text in confirm.findChildren(Text))
    assert "apache-2.0" in message and hub.repos[f"datasets/{NAME}"].sha[:12] in message
    confirm.buttons["download"].click()
    state = page.importing.state
    qtbot.waitUntil(lambda: bool(state.files) and not state.obstacle(), timeout=PATIENCE)
    assert [file.name for file in state.files] == ["a-learn.csv", "b-check.csv"]
    assert state.splits == ["train", "validation"] and state.name == "moods-news"
    with qtbot.waitSignal(state.imported, timeout=PATIENCE) as imported:
        state.start_import()
    spec = open_dataset(imported.args[0]).spec
    assert spec.hub is not None and (spec.hub.name, spec.hub.subset) == (NAME, "news")
    assert spec.rows["validation"] == 20
    qtbot.waitUntil(lambda: not list(studio.home.downloads.iterdir()))
    qtbot.waitUntil(lambda: page.state.sources.get(imported.args[0]) == "hub")
    facts = {name: value for name, value, *_ in dataset_facts(spec, imported.args[0], "hub")}
    assert facts["Source"].startswith(f"{NAME} news\nRevision ")
    assert facts["Source status"].startswith("Fetched from")


def test_a_refusal_is_shown_and_cancelling_ends_the_worker(qtbot, page, hub, studio):
    page.getting.plan("somebody/nothing")
    dialog = page.getting.dialog
    assert dialog is not None and dialog.isVisible()
    qtbot.waitUntil(lambda: bool(studio.notices.shown), timeout=PATIENCE)
    assert "no data set somebody/nothing" in studio.notices.shown[0].problem
    assert page.getting.dialog is None
    page.getting.plan(NAME)
    worker = page.getting.worker
    page.getting.dialog.reject()
    assert worker.is_finished() and page.getting.worker is page.getting.dialog is None


def test_cached_data_is_used_in_place(qtbot, page, hub, tmp_path):
    folder = tmp_path / "hub" / "datasets--somebody--moods" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text(f"text,label\n{ROWS}", encoding="utf-8")
    page.list.hub_button.click()
    dialog = question(qtbot, "Get a data set")
    box = dialog.findChild(QComboBox)
    box.setCurrentIndex(box.findText(NAME))
    assert not dialog.findChild(QLineEdit).isEnabled()
    dialog.buttons["list"].click()
    qtbot.waitUntil(lambda: bool(page.importing.state.files))
    state = page.importing.state
    assert state.files == [folder / "train.csv"] and not hub.requests
    qtbot.waitUntil(lambda: not state.obstacle(), timeout=PATIENCE)
    with qtbot.waitSignal(state.imported, timeout=PATIENCE) as imported:
        state.start_import()
    spec = open_dataset(imported.args[0]).spec
    assert spec.hub == HubOrigin(name=NAME, revision="abc")
    assert source_state(spec, {}) == "same"
    facts = {name: value for name, value, *_ in dataset_facts(spec, imported.args[0], "same")}
    assert facts["Source"] == f"{NAME}\nRevision abc"
    (folder / "train.csv").unlink()
    assert source_state(spec, {}) == "hub"

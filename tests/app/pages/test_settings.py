"""The Settings page: every choice takes effect immediately and is saved."""

import keyring
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit

from app import theme, translation
from app.pages.settings.about import precision_sentence, threads_sentence
from app.pages.settings.view import DEVICES, THEMES, SettingsPage
from app.studio import Studio
from app.widgets.dialogs import Question
from engine.system.precision import Speeds, ThreadSpeeds
from tests.app.accessible import assert_accessible
from tests.app.pages.train.conftest import write_model
from tests.engine.hub.conftest import Memory


@pytest.fixture
def page(qtbot, studio: Studio) -> SettingsPage:
    page = SettingsPage(studio)
    qtbot.addWidget(page)
    page.resize(1000, 900)
    page.show()
    return page


def test_the_theme_changes_immediately(qtbot, qapp, page, studio):
    controller = theme.ThemeController(qapp, "light")
    studio.settings.changed.connect(lambda _: controller.choose(studio.settings.preferences.theme))
    page.theme_choice.group.button(THEMES.index("dark")).click()
    assert studio.settings.preferences.theme == "dark" and theme.is_dark()
    studio.settings.set("theme", "light")
    assert page.theme_choice.choice() == THEMES.index("light") and not theme.is_dark()
    controller.deleteLater()


def test_a_language_is_offered_if_there_are_several(qtbot, page, studio, monkeypatch):
    names = [box.accessibleName() for box in page.findChildren(QComboBox)]
    assert "Language" not in names, "no option that does nothing"
    polish = translation.Language("pl", "Polski")
    monkeypatch.setattr(translation, "LANGUAGES", (*translation.LANGUAGES, polish))
    other = SettingsPage(studio)
    qtbot.addWidget(other)
    box = next(b for b in other.findChildren(QComboBox) if b.accessibleName() == "Language")
    box.setCurrentText("Polski")
    assert studio.settings.preferences.language == "pl"
    assert_accessible(other)


def test_preferences_are_saved(page, studio):
    page.device.setCurrentIndex(DEVICES.index("cpu"))
    page.explorer_device.setCurrentIndex(DEVICES.index("cuda"))
    page.threads.setValue(3)
    page.ask_on_close.click()
    page.stand_by.click()
    saved = studio.settings.preferences
    assert (saved.device, saved.explorer_device, saved.threads) == ("cpu", "cuda", 3)
    assert not saved.ask_on_close and not saved.stand_by
    studio.settings.set("ask_on_close", True)
    assert page.ask_on_close.isChecked(), "as if changed elsewhere"
    assert page.home.full_text() == str(studio.home.root)


def test_about_names_the_torch_build_and_every_version(qtbot, page):
    page.arrive()
    qtbot.waitUntil(page.about.torch.isVisible)
    assert page.about.torch.text().startswith("torch 2.")
    page.about.copy.click()
    copied = QGuiApplication.clipboard().text()
    for name in ("PySide6-Essentials 6.", "tokenizers 0.", "Python 3."):
        assert name in copied
    page.about.licences.click()
    assert page.about.texts is not None and page.about.texts.isVisible()
    assert "SIL OPEN FONT LICENSE" in page.about.texts.toPlainText().upper()
    assert_accessible(page)


def test_about_names_the_automatic_precision_and_the_fastest_threads():
    condition = "where that is faster for the model: here"
    times = "matrix multiplication is"
    for speeds, sentence in (
        (None, ""),
        (Speeds("a CPU"), "Trains in fp32: this CPU has no bf16 instructions."),
        (
            Speeds("a CPU", fp32=1e11, bf16=8e11),
            f"Trains in bf16 {condition} bf16 {times} 8.0 × as fast as fp32.",
        ),
        (
            Speeds("a GPU", fp32=1e13, fp16=3e13),
            f"Trains in fp16 {condition} fp16 {times} 3.0 × as fast as fp32.",
        ),
        (
            Speeds("a GPU", fp32=1e13, fp16=1.2e13),
            f"Trains in fp32: here fp16 {times} 1.2 × as fast as fp32.",
        ),
    ):
        assert precision_sentence(speeds) == sentence
    assert threads_sentence(None) == ""
    thread_speeds = ThreadSpeeds("a processor", 4, {"4": 1.2e11, "8": 1.1e11})
    assert threads_sentence(thread_speeds) == (
        "Trains with 4 thread(s). Measured: 120 GFLOP/s with 4, 110 GFLOP/s with 8."
    )


def test_models_are_used_in_place_and_the_token_is_in_the_keyring(qtbot, page, studio, tmp_path):
    write_model(tmp_path / "mine" / "little")
    with qtbot.waitSignal(studio.models_changed):
        page.external_models._set(str(tmp_path / "mine"))
    listed = {model.name: model for model in studio.models() if model.origin == "elsewhere"}
    assert listed["little"].path == tmp_path / "mine" / "little" and listed["little"].info
    assert page.external_models.folder.isVisible() and page.external_models.clear.isEnabled()
    page.external_models.clear.click()
    assert studio.settings.preferences.model_folder == ""
    page.external_models.allowed.click()
    assert studio.settings.preferences.hub_allowed
    before, memory = keyring.get_keyring(), Memory()
    keyring.set_keyring(memory)
    page.external_models.token.click()
    (dialog,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, Question)]
    qtbot.keyClicks(dialog.findChild(QLineEdit), "hf_secret")
    dialog.buttons["keep"].click()
    qtbot.waitUntil(lambda: list(memory.passwords.values()) == ["hf_secret"])
    keyring.set_keyring(before)
    assert "hf_secret" not in studio.settings._content().decode()
    assert_accessible(page)


def test_author_and_project_of_reports_and_the_coder_are_kept(qtbot, page, studio):
    for line, name in ((page.author, "author"), (page.project, "project"), (page.coder, "coder")):
        qtbot.keyClicks(line, f" My {name} ")
        line.editingFinished.emit()
        assert getattr(studio.settings.preferences, name) == f"My {name}"

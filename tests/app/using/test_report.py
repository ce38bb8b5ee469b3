"""The report of a run as HTML and PDF, from the window and from the command."""

import base64
import errno
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPdfWriter, QTextDocument
from PySide6.QtWidgets import QFileDialog

import app.__main__
from app.tasks import task_part
from app.using.report import as_html, as_pdf
from app.using.tab import UseTab
from engine.desktop.preferences import RunPreferences
from engine.documents.report import run_report
from engine.files import atomic_write
from engine.messages.events import Measured
from engine.results.store import predictions_file
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.glyphs import substituted_in
from tests.app.pdf import page_texts
from tests.app.pseudo import Pseudo, untranslated
from tests.engine.fine_tuned import FineTuned, copy_model

TABLES = 2  # of the pictures of a text classification
PAGES = re.compile(rb"/Type /Page\b")


class Images(HTMLParser):
    """SVG images of a page with the ids of their sections."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.images: list[tuple[str, bytes]] = []  # id of the section, SVG
        self._section = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "section":
            self._section = attributes["id"] or ""
        if tag == "img":
            prefix, _, content = (attributes["src"] or "").partition(",")
            assert prefix == "data:image/svg+xml;base64"
            self.images.append((self._section, base64.b64decode(content)))


@pytest.fixture(scope="module")
def model(tuned, tmp_path_factory):
    model = copy_model(tuned("text_classification"), tmp_path_factory.mktemp("model"))
    for step in (1, 2, 3):
        model.run.append(Measured(name="validation_accuracy", step=step, value=step / 10))
    return model


def open_tab(qtbot: Any, tab: UseTab, checkpoint: Path) -> UseTab:
    tab.show_model(checkpoint, "films")
    qtbot.waitUntil(lambda: tab.try_view is not None)
    return tab


def best_checkpoint(model: FineTuned) -> Path:
    return model.run.checkpoint(model.run.best_step() or 0)


def save_report(qtbot: Any, tab: UseTab, path: Path) -> None:
    """Press the button and choose a file."""
    qtbot.mouseClick(tab.report_button, Qt.MouseButton.LeftButton)
    dialog = tab.findChild(QFileDialog)
    dialog.fileSelected.emit(str(path))
    dialog.close()
    assert not tab.report_button.isEnabled() and "Saving" in tab.report_button.text()
    qtbot.waitUntil(lambda: not tab.report_saver.is_busy, timeout=20_000)
    assert tab.report_button.isEnabled() and "the report" in tab.report_button.text()


def test_the_report_has_every_picture_of_the_task_and_the_curves(qtbot, tab, model, tmp_path):
    path = tmp_path / "report.html"
    save_report(qtbot, open_tab(qtbot, tab, best_checkpoint(model)), path)
    page = path.read_text(encoding="utf-8")
    images = Images(page).images
    sections = [section for section, _ in images]
    assert sections.count("trained") == 2, "loss and metrics"
    assert page.count("<h3>") == TABLES
    assert sections.count("validation") == len(task_part("text_classification").pictures) - TABLES
    assert all(b"<svg" in drawing and b"<script" not in drawing for _, drawing in images)
    report, _ = run_report(model.run)
    assert report.title in page and report.sections[0].rows[0][1] in page
    assert page.index("Score of the validation rows") < page.index("Model and training")


def test_a_pdf_has_drawings_and_tables_of_text_with_the_score_first(
    qtbot, tab, model, tmp_path, studio
):
    path = tmp_path / "report.pdf"
    studio.settings.set("author", "Ada Lovelace")
    studio.settings.set("project", "Survey 2026")
    save_report(qtbot, open_tab(qtbot, tab, best_checkpoint(model)), path)
    content = path.read_bytes()
    assert content.startswith(b"%PDF") and len(PAGES.findall(content)) >= 3
    assert "Good or bad".encode("utf-16-be") in content
    assert b"/Subtype /Image" not in content
    pages = page_texts(content)
    report, _ = run_report(model.run)
    for text in ("Ada Lovelace", "Survey 2026", *report.sections[0].rows[0]):
        assert text.replace(" ", "") in pages[0].replace(" ", ""), text
    whole = "".join(pages)
    assert "\ufffd" not in whole
    assert "bert-studio train spec.json --into NEW_RUN" in whole
    for text in ("Confusion matrix", "Precision, recall and F1 per label", "Reliability diagram"):
        assert text in whole, "a figure or its table"
    assert "True label" in whole and "Gold" not in whole


def test_author_and_project_are_left_out_if_unknown(qapp, model):
    report, _ = run_report(model.run)
    signed = report.signed(RunPreferences(author="Ada <Lovelace>"))
    assert as_html(report, (), "en").count(b'class="made"') == 1
    page = as_html(signed, (), "en").decode("utf-8")
    assert page.count('class="made"') == 2 and "Ada &lt;Lovelace&gt;" in page


def test_the_texts_of_a_pdf_can_be_copied(qapp, model, monkeypatch):
    documents: list[QTextDocument] = []

    class Document(QTextDocument):
        def print_(self, writer: QPdfWriter) -> None:
            super().print_(writer)
            documents.append(self)

    monkeypatch.setattr("app.using.report.QTextDocument", Document)
    loaded, _ = run_report(model.run)
    as_pdf(loaded, (), "en")
    (document,) = documents
    assert "--" in document.toPlainText() and "(" in document.toPlainText()
    assert substituted_in(document) == ""


def test_the_suffix_follows_the_chosen_format(qtbot, tab, model):
    open_tab(qtbot, tab, best_checkpoint(model))
    assert_accessible(tab)
    assert_distinct_keys(tab)
    qtbot.mouseClick(tab.report_button, Qt.MouseButton.LeftButton)
    dialog = tab.findChild(QFileDialog)
    assert dialog.nameFilters() == ["HTML (*.html)", "PDF (*.pdf)"]
    assert dialog.defaultSuffix() == "html"
    dialog.filterSelected.emit("PDF (*.pdf)")
    assert dialog.defaultSuffix() == "pdf"
    dialog.close()


def test_only_a_run_has_a_report(qtbot, tab, model, tmp_path):
    assert tab.report_button.isHidden()
    open_tab(qtbot, tab, best_checkpoint(model))
    assert not tab.report_button.isHidden()
    shutil.copytree(best_checkpoint(model), tmp_path / "model")
    tab.show_model(tmp_path / "model", "a model")
    qtbot.waitUntil(tab.report_button.isHidden)
    assert tab.apply_button.isEnabled()
    open_tab(qtbot, tab, best_checkpoint(model))
    tab.show_model(None, "")
    assert tab.report_button.isHidden()


def test_a_failed_write_is_reported(qtbot, tab, model, tmp_path, studio, monkeypatch):
    errors: list[BaseException] = []
    monkeypatch.setattr(studio.notices, "show", errors.append)
    path = tmp_path / "reports" / "report.html"
    path.parent.mkdir()
    path.write_text("old")

    def fail(_: Path) -> None:
        raise OSError(errno.ENOSPC, "no space left", str(path))

    monkeypatch.setattr(atomic_write, "_flush", fail)
    save_report(qtbot, open_tab(qtbot, tab, best_checkpoint(model)), path)
    assert "full" in str(errors[0])
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


def test_a_run_without_results_writes_nothing(qtbot, tab, model, tmp_path, studio, monkeypatch):
    errors: list[BaseException] = []
    monkeypatch.setattr(studio.notices, "show", errors.append)
    file = predictions_file(model.run.results, "validation")
    content = file.read_bytes()
    file.unlink()
    try:
        save_report(qtbot, open_tab(qtbot, tab, best_checkpoint(model)), tmp_path / "report.pdf")
    finally:
        file.write_bytes(content)
    assert "no results to report" in str(errors[0])
    assert not (tmp_path / "report.pdf").exists()


def test_the_report_is_in_the_language_of_the_window(qapp, model):
    report, _ = run_report(model.run)
    language = Pseudo(qapp)
    qapp.installTranslator(language)
    try:
        page = as_html(report, (), "xx").decode("utf-8")
    finally:
        qapp.removeTranslator(language)
    texts = re.findall(r"<(?:h\d|p(?: [^>]*)?|title)>(.*?)</", page, re.DOTALL)
    texts += re.findall(r"<th [^>]*>(.*?)</th>", page.partition('id="repeat"')[0])
    assert len(texts) > 30
    allowed = re.compile(r"“[^”]*”|sentences.csv|BERT Studio|f1_macro|loss|^text$")
    assert [text for text in texts if untranslated(text, allowed)] == []


def test_the_report_command_draws_the_same_images(qtbot, tab, model, tmp_path, capsys):
    from_window, headless = tmp_path / "here.html", tmp_path / "there.html"
    save_report(qtbot, open_tab(qtbot, tab, best_checkpoint(model)), from_window)
    assert app.__main__.main(["report", str(model.run.path), "--out", str(headless)]) == 0
    assert "Saved as" in capsys.readouterr().out
    pages = [Images(file.read_text(encoding="utf-8")).images for file in (from_window, headless)]
    assert [section for section, _ in pages[0]] == [section for section, _ in pages[1]]
    assert "rows of sentences.csv" in headless.read_text(encoding="utf-8")
    assert app.__main__.main(["report", str(model.run.path), "--out", "report.doc"]) == 1
    assert ".html, .pdf" in capsys.readouterr().err

"""Saved figures: their drawing, caption and numbers."""

import csv
import io
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QMenu

from app.notices import Notices
from app.resources import FAMILY, mono_font
from app.settings import Settings
from app.theme import Role, print_color
from app.widgets.charts import figure
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.figure_menu import FORMATS, FigureButton
from engine.errors import StudioError
from tests.app.glyphs import substituted_by

NUMBERS = np.array([[0.25, 0.75], [1 / 3, 2 / 3]], dtype=np.float32)
RED, BLUE = QColor("#ff0000"), QColor("#0000ff")
TITLE, CAPTION = "Head 3 <b>&", "Model: tiny. Text: “50 %s, {0}”. 2026-11-21"


def paint(painter, size):
    """Red on the left, blue on the right, and a word."""
    half = size.width() / 2
    painter.fillRect(QRectF(0, 0, half, size.height()), RED)
    painter.fillRect(QRectF(half, 0, half, size.height()), BLUE)
    painter.setFont(figure.print_font(12))
    painter.drawText(QRectF(0, 0, half, 40), Qt.AlignmentFlag.AlignCenter, "##word")


def rows():
    return Table(
        ("from", "to", "weight"), [("a", 'b "c"', NUMBERS[0, 0]), ("a", "ü", NUMBERS[1, 0])]
    )


@pytest.fixture
def sample() -> Figure:
    return Figure("head-3", TITLE, CAPTION, QSize(600, 200), paint, NUMBERS, rows)


@pytest.fixture
def notices(qtbot) -> Notices:
    return Notices()


@pytest.fixture
def button(qtbot, sample, notices) -> FigureButton:
    button = FigureButton(lambda: sample, notices)
    qtbot.addWidget(button)
    return button


@pytest.mark.parametrize("scale", [1, 2])
def test_png_pixels_match_the_drawing(qapp, sample, scale):
    picture = QImage.fromData(figure.png(sample, scale))
    size = figure.sheet_size(sample)
    assert picture.size() == size * scale
    assert picture.text("Title") == TITLE
    assert picture.text("Description") == CAPTION
    left = figure.MARGIN + 100
    top = next(
        y for y in range(size.height()) if picture.pixelColor(left * scale, y * scale) == RED
    )
    for x, y, colour in ((100, 150, RED), (299, 199, RED), (301, 199, BLUE), (599, 1, BLUE)):
        point = QPoint((figure.MARGIN + x) * scale, (top + y) * scale)
        assert picture.pixelColor(point) == colour
    paper = picture.pixelColor(QPoint(scale, scale))
    assert paper == print_color(Role.SURFACE)


def test_svg_texts_are_not_outlines(qapp, sample):
    drawing = figure.svg(sample).decode("utf-8")
    assert "sans-serif" in drawing, "our font is not installed elsewhere"
    assert "<title>Head 3 &lt;b&gt;&amp;</title>" in drawing
    texts = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawing))
    assert "##word" in texts
    widths = re.findall(r'<text[^>]*textLength="([\d.]+)"[^>]*>([^<]*)</text>', drawing)
    assert len(widths) == drawing.count("<text") == 3, "as wide in another font"
    metrics = QFontMetricsF(figure.print_font(11))
    assert all(float(width) > metrics.horizontalAdvance("i") * len(text) for width, text in widths)
    assert "Head 3 &lt;b&gt;&amp;" in texts
    assert "50 %s, {0}" in texts
    size = figure.sheet_size(sample)
    assert f'viewBox="0 0 {size.width()} {size.height()}"' in drawing
    assert drawing.count('fill="#ff0000"') == 1


def test_labels_of_an_svg_are_centred_where_they_are(qapp):
    """librsvg ignores textLength, so that labels in a wider font extend to both sides."""

    def label(painter, size):
        painter.setFont(figure.print_font(12))
        painter.drawText(QRectF(0, 0, 100, 20), Qt.AlignmentFlag.AlignRight, "Costs")

    drawing = figure.svg(Figure("x", "", "word " * 100, QSize(100, 20), label)).decode("utf-8")
    width = QFontMetricsF(figure.print_font(12)).horizontalAdvance("Costs")
    middle = re.search(r'x="([\d.]+)" [^>]*text-anchor="middle"[^>]*>Costs', drawing)
    assert float(middle[1]) == pytest.approx(100 - width / 2, abs=0.5)
    assert 'text-anchor="start"' in drawing, "sentences begin where they did"


def test_a_figure_without_texts_is_the_drawing_alone(qapp, sample):
    bare = replace(sample, has_texts=False)
    assert figure.sheet_size(bare) == sample.size + QSize(2, 2) * figure.MARGIN
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg(bare).decode("utf-8"))
    assert texts == ["##word"]
    picture = QImage.fromData(figure.png(bare))
    assert picture.pixelColor(figure.MARGIN, figure.MARGIN) == RED


def test_the_choice_of_texts_is_remembered(qtbot, qapp, sample, notices, tmp_path):
    settings = Settings(tmp_path / "settings.json")
    settings.setParent(qapp)
    try:
        first, second = (FigureButton(lambda: sample, notices) for _ in range(2))
        for button in (first, second):
            qtbot.addWidget(button)
        first.menu().aboutToShow.emit()
        assert first.figure_menu.with_texts.isChecked()
        first.figure_menu.with_texts.trigger()
        second.menu().aboutToShow.emit()
        assert not second.figure_menu.with_texts.isChecked()
        second.actions_by_key["copy"].trigger()
        qtbot.waitUntil(lambda: bool(notices.shown), timeout=20_000)
        copied = QGuiApplication.clipboard().mimeData().data("image/svg+xml").data()
        assert copied.count(b"<text") == 1
    finally:
        settings.close()
        settings.setParent(None)


def test_a_pdf_is_one_page_of_the_sheet_size(qapp, sample):
    content = figure.pdf(sample)
    assert content.startswith(b"%PDF-")
    assert content.count(b"/Type /Page\n") == 1
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", content)
    size = figure.sheet_size(sample)
    assert float(box[1]) == pytest.approx(size.width() * 0.75, abs=1)
    assert float(box[2]) == pytest.approx(size.height() * 0.75, abs=1)
    streams = re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL)
    drawing = b"".join(_inflate(stream) for stream in streams)
    assert b"1 0 0 scn" in drawing  # red
    assert b"Tj" in drawing or b"TJ" in drawing  # texts, not outlines
    characters = b"".join(re.findall(rb"beginbfrange(.*?)endbfrange", content, re.DOTALL))
    assert b"<0020>" in characters and not re.search(rb"\[[^\]]*<0009>", characters)


def test_fonts_of_figures_have_a_glyph_for_each_character(qapp):
    """Others are lost when text is copied from a PDF."""
    assert substituted_by(QFont(FAMILY)), "the text shows the defect"
    for font in (figure.print_font(12), figure.print_font(12, bold=True), mono_font()):
        assert substituted_by(font) == ""


def _inflate(stream: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream)
    except zlib.error:
        return b""


def test_arrays_and_tables_are_saved_exactly(sample):
    assert np.array_equal(np.load(io.BytesIO(figure.npy(sample.array))), NUMBERS)
    cells = list(csv.reader(io.StringIO(figure.csv_text(rows()))))
    assert cells[0] == ["from", "to", "weight"]
    assert cells[1][1] == 'b "c"'
    assert np.float32(cells[2][2]) == NUMBERS[1, 0]
    table = Table(("token", "p"), [("=1+1", -0.5)])
    assert figure.csv_text(table).splitlines()[1] == "'=1+1,-0.5"
    assert figure.csv_text(table, raw=True).splitlines()[1] == "=1+1,-0.5"


def test_a_long_caption_is_complete_and_an_oversized_picture_refused(qapp, sample):
    long = Figure("x", "t", "word " * 400, QSize(100, 50), paint)
    assert figure.sheet_size(long).height() > 400
    drawing = figure.svg(long).decode("utf-8")
    assert drawing.count("word") >= 400
    large = Figure("x", "t", "", QSize(30_000, 50), paint)
    with pytest.raises(StudioError, match="too large"):
        figure.png(large)


@pytest.mark.parametrize("key", FORMATS)
def test_every_format_is_saved_with_a_notice(qtbot, button, notices, sample, tmp_path, key):
    path = tmp_path / f"kept.{FORMATS[key][0]}"
    button.save(key, path, sample)
    qtbot.waitUntil(lambda: bool(notices.shown), timeout=20_000)
    assert path.read_bytes() == FORMATS[key][1](sample) or key == "pdf"  # a PDF has a timestamp
    assert path.stat().st_size > 0
    assert str(path) in notices.shown[0].problem


def test_a_write_error_is_shown_with_advice(qtbot, button, notices, sample, tmp_path):
    button.save("png", tmp_path / "no folder" / "x.png", sample)
    qtbot.waitUntil(lambda: bool(notices.shown), timeout=20_000)
    assert notices.shown[0].is_error
    assert "x.png could not be written" in notices.shown[0].problem


def test_the_picture_and_its_numbers_are_copied(qtbot, button, notices):
    button.menu().aboutToShow.emit()
    button.actions_by_key["copy"].trigger()
    qtbot.waitUntil(lambda: bool(notices.shown), timeout=20_000)
    mime = QGuiApplication.clipboard().mimeData()
    assert mime.hasImage()
    assert mime.text() == CAPTION
    assert b"<svg" in mime.data("image/svg+xml").data()
    button.actions_by_key["copy numbers"].trigger()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text().startswith("from"), timeout=20_000)
    assert QGuiApplication.clipboard().text().splitlines()[0] == "from\tto\tweight"


def test_actions_on_missing_parts_are_disabled(qtbot, notices):
    figures = [None]
    button = FigureButton(lambda: figures[0], notices)
    qtbot.addWidget(button)
    button.menu().aboutToShow.emit()
    assert not any(action.isEnabled() for action in button.actions_by_key.values())
    figures[0] = Figure("x", "t", "", QSize(10, 10), paint)
    button.menu().aboutToShow.emit()
    enabled = {key for key, action in button.actions_by_key.items() if action.isEnabled()}
    assert enabled == {"copy", "png", "png2", "svg", "pdf"}


def test_a_right_click_opens_the_menu_and_a_save_dialog(qtbot, button, tmp_path, monkeypatch):
    label = QLabel("picture")
    qtbot.addWidget(label)
    button.offer_on(label)
    label.show()
    label.customContextMenuRequested.emit(QPoint(1, 1))
    menus = [w for w in QApplication.topLevelWidgets() if isinstance(w, QMenu) and w.isVisible()]
    assert [menu.actions() for menu in menus] == [button.menu().actions()]
    menus[0].close()
    monkeypatch.chdir(tmp_path)
    button.menu().aboutToShow.emit()
    button.actions_by_key["png2"].trigger()
    dialog = button.findChild(QFileDialog) or button.window().findChild(QFileDialog)
    assert dialog.selectedFiles()[0].endswith("head-3@2x.png")
    dialog.close()


def test_numbers_keep_the_precision_of_float32():
    values = np.random.default_rng(1).random(200).astype(np.float32)
    text = figure.csv_text(Table(("value",), [(float(value),) for value in values]))
    words = text.split()[1:]
    assert all(np.float32(word) == value for word, value in zip(words, values, strict=True))
    assert max(len(word.lstrip("0.").split("e")[0]) for word in words) <= 9

"""Head statistics of one text: against plain float64 sums, and in the window."""

import math
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage, QStandardItemModel
from PySide6.QtWidgets import QTableView

from app.pages.explore.panels.attention.heads import FIRST, HEAD, PADDING, PATTERN, HeadCellDelegate
from app.pages.explore.panels.attention.maps import read_mapped
from app.pages.explore.panels.attention.view import HEADS
from app.resources import mono_font
from app.widgets.tables import AT_LEFT, AT_RIGHT, apply_style
from engine.messages.explore.head_measures import KEYS, head_figures, pair_values
from tests.app.accessible import assert_accessible
from tests.engine.explore.conftest import known  # noqa: F401  # the same weights in transformers
from tests.engine.models.family_folders import OWN_NETWORKS

TOLERANCE = 1e-5
FAMILIES = pytest.mark.parametrize(  # the measures depend only on weights and tokens
    "known",
    ["bert", *(pytest.param(family, marks=pytest.mark.long) for family in OWN_NETWORKS)],
    indirect=True,
)


def reference_measures(weights: np.ndarray, tokens, head: tuple[int, int]) -> dict[str, float]:
    """Every measure computed directly from its definition."""
    alpha = weights[head].astype(np.float64)
    count = len(tokens)
    queries = [n for n, token in enumerate(tokens) if not token.special]
    sums = dict.fromkeys(KEYS, 0.0)
    offsets: dict[int, int] = {}
    for i in queries:
        entropy = -math.fsum(a * math.log(a) for a in alpha[i] if a > 0)
        sums["entropy"] += entropy
        sums["uniformity"] += entropy / math.log(count)
        offset = int(np.argmax(alpha[i])) - i
        offsets[offset] = offsets.get(offset, 0) + 1
        for j, (token, a) in enumerate(zip(tokens, alpha[i], strict=True)):
            query = tokens[i]
            kinds = {
                "distance": abs(i - j),
                "itself": i == j,
                "previous": j == i - 1,
                "next": j == i + 1,
                "first": token.special and j == 0,
                "separators": token.special and j > 0,
                "same": token.id == query.id and i != j,
                "other_text": token.segment != query.segment and not token.special,
                "punctuation": not token.special and token.text in (".", ",", "?"),
            }
            for key, fraction in kinds.items():
                sums[key] += a * fraction
    measures = {key: value / len(queries) for key, value in sums.items()}
    return measures | {"offset_share": max(offsets.values()) / len(queries)}


@FAMILIES
def test_every_measure_matches_its_definition(known):  # noqa: F811
    """With the attention of transformers, in float64."""
    encoded = known.encode_text("A quiet film, a film.", "Nobody laughs?")
    out = known.run(encoded, output_attentions=True)
    weights = np.stack([layer[0].numpy() for layer in out.attentions])
    measures = head_figures(weights, encoded.records)
    assert measures.values.shape == (*weights.shape[:2], len(KEYS))
    for head in np.ndindex(*weights.shape[:2]):
        expected = reference_measures(weights, encoded.records, head)
        for key in KEYS:
            close = pytest.approx(expected[key], rel=TOLERANCE, abs=TOLERANCE)
            assert measures.get(key)[head] == close, (key, head)
    assert measures.get("other_text").max() > 0.01 and measures.get("same").max() > 0.01
    pair = pair_values(weights, 2, 4)
    assert np.array_equal(pair, weights[:, :, 2, 4].astype(np.float64))


@FAMILIES
def test_layers_can_be_measured_separately(known):  # noqa: F811
    encoded = known.encode_text("A quiet film.")
    weights = np.random.default_rng(1).dirichlet(
        np.ones(len(encoded.records)), (3, 4, len(encoded.records))
    )
    weights = weights.astype(np.float32)
    all_layers = head_figures(weights, encoded.records).values
    parts = [head_figures(weights[n : n + 1], encoded.records).values for n in range(3)]
    assert np.array_equal(all_layers, np.concatenate(parts))


@pytest.fixture
def page(make_page, model):
    return make_page(model, "the cat sat on the mat")


def planted_weights(count: int) -> np.ndarray:
    """Three layers of two heads; head 2.2 attends to the previous token, 5 to 1."""
    rng = np.random.default_rng(5)
    weights = rng.dirichlet(np.full(count, 5.0), (3, 2, count))
    previous = np.eye(count, k=-1)
    previous[0, 0] = 1
    weights[1, 1] = (5 * previous + 1 / count) / 6
    return weights


def open_heads(page, explorer, wait):
    """The panel with the list of heads, for the planted attention."""
    view = page.bench.docks["attention"].panel
    page.bench.show_panel("attention")
    wait(lambda: bool(explorer.of_kind("attend")))
    wait(lambda: explorer.of_kind("attend")[-1].text == page.state.first.text)
    explorer.attend(explorer.of_kind("attend")[-1], planted_weights(len(page.state.first.tokens)))
    view.show_form(HEADS)
    wait(lambda: view.heads_table.rows.rowCount() == 6)
    return view


def test_the_head_of_the_previous_token_is_ranked_first(page, explorer, wait, qtbot):
    """Three actions: tab, view, column; the head is first in the list and the grid."""
    view = page.bench.docks["attention"].panel
    page.bench.show_panel("attention")  # 1
    wait(lambda: bool(explorer.of_kind("attend")))
    weights = planted_weights(len(page.state.first.tokens))
    explorer.attend(explorer.of_kind("attend")[-1], weights)
    qtbot.mouseClick(view.overview.list, Qt.MouseButton.LeftButton)  # 2
    assert view.forms.currentIndex() == HEADS and view.form.choice() == -1
    table = view.heads_table.table
    wait(lambda: table.model().rowCount() == 6)
    header = table.horizontalHeader()
    column = 2 + KEYS.index("previous")
    table.scrollTo(table.model().index(0, column))
    point = QPoint(header.sectionViewportPosition(column) + 12, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=point)  # 3
    first = [table.model().index(0, n).data() for n in range(table.model().columnCount())]
    assert first[0] == "2.2" and "previous" in first[1]
    assert view.overview.grid.tint is not None
    assert np.unravel_index(view.overview.grid.tint.argmax(), (3, 2)) == (1, 1)
    table.selectRow(0)
    assert (page.state.layer, page.state.head) == (1, 1)
    assert_accessible(view.heads_table)
    saved = view.figure()
    assert saved is not None and saved.table().rows[0][:2] == (2, 2)
    qtbot.mouseClick(view.form.group.button(0), Qt.MouseButton.LeftButton)
    assert view.overview.grid.tint is None and not view.overview.list.isChecked()


def column_texts(table: QTableView, column: int = 0) -> list[str]:
    return [table.model().index(n, column).data() for n in range(6)]


def selected_rows(table: QTableView) -> list[str]:
    return [index.data() for index in table.selectionModel().selectedRows()]


class Cells(QStandardItemModel):
    """Rows with and without texts, in the font and alignment of HeadsModel."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(4, len(texts))
        for row, column in np.ndindex(4, len(texts)):
            index = self.index(int(row), int(column))
            self.setData(index, "" if row % 2 else texts[column])
            self.setData(index, mono_font(), Qt.ItemDataRole.FontRole)
            alignment = AT_RIGHT if column >= FIRST else AT_LEFT
            self.setData(index, alignment, Qt.ItemDataRole.TextAlignmentRole)

    def text(self, row: int, column: int) -> str:
        return self.index(row, column).data()


def test_cells_are_painted_as_by_qt(qtbot, set_theme):
    """Same size and alignment as by Qt's delegate; truncated if there is no space."""
    width, texts = 90, ["12.12", "previous token (98 %)", "0.123"]

    def paint(custom: bool) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Cells with and without text, int [columns, height, width, 4]; selected and plain."""
        table, model = QTableView(), Cells(texts)
        qtbot.addWidget(table)
        table.setModel(model)
        apply_style(table, "Attention heads")
        if custom:
            table.setItemDelegate(HeadCellDelegate(model.text, FIRST, table))
        table.horizontalHeader().setDefaultSectionSize(width)
        table.resize(400, 240)
        with qtbot.waitExposed(table):
            table.show()

        def grab(selected: int, number: int) -> np.ndarray:
            table.selectRow(selected)
            table.clearFocus()
            image = table.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
            pixels = np.array(image.constBits()).reshape(image.height(), image.width(), 4)
            boxes = [table.visualRect(model.index(number, n)) for n in range(len(texts))]
            cells = [pixels[box.top() : box.bottom() + 1, box.left() :][:, :width] for box in boxes]
            return np.stack(cells).astype(int)

        return {"selected": (grab(0, 0), grab(1, 1)), "plain": (grab(0, 2), grab(0, 3))}

    for theme in ("light", "dark"):
        set_theme(theme)
        custom, by_qt = paint(True), paint(False)
        for kind in custom:
            background = custom[kind][1][:, 8, 8]
            assert (background == by_qt[kind][1][:, 8, 8]).all(), (theme, kind)
            ours, theirs = (
                np.abs(filled - empty).sum(-1) > 60 for filled, empty in (custom[kind], by_qt[kind])
            )
            assert_similar(ours, theirs, width)


def assert_similar(ours: np.ndarray, theirs: np.ndarray, width: int) -> None:
    """Text of the same size in the same position, bool [columns, height, width]."""
    for column in (HEAD, FIRST):
        for axis in (0, 1):
            first, other = (np.flatnonzero(image[column].any(axis)) for image in (ours, theirs))
            assert abs(np.ptp(first) - np.ptp(other)) <= 1, (column, axis)
        tops = [np.flatnonzero(image[column].any(1))[0] for image in (ours, theirs)]
        assert abs(tops[0] - tops[1]) <= 1, column
        filled = np.flatnonzero(ours[column].any(0))
        margin = width - 1 - filled[-1] if column >= FIRST else filled[0]
        assert PADDING - 1 <= margin <= PADDING + 2, column
    truncated = ours[PATTERN]
    assert truncated.any() and not truncated[:, -PADDING:].any()


@pytest.mark.skipif(not Path("/proc/self/smaps").is_file(), reason="needs Linux")
def test_attention_is_not_kept_in_memory_after_reading(tmp_path):
    path = tmp_path / "attention.bin"
    np.ones((4, 2, 64, 64), np.float32).tofile(path)
    weights = np.memmap(path, np.float32, "r", shape=(4, 2, 64, 64))

    def resident() -> int:
        """Resident KiB of the file."""
        _, _, entry = Path("/proc/self/smaps").read_text().partition(str(path))
        return int(entry.partition("Rss:")[2].split()[0])

    assert float(weights.sum()) == weights.size and resident() > 0
    assert read_mapped(lambda part: float(part.sum()), weights[1:]) == weights[1:].size
    assert resident() == 0


def test_columns_of_pairs_are_ranked_and_keep_their_width(page, explorer, wait, qtbot):
    """Picked pairs; then another text; then words of several tokens, numbers of tokens, and words
    that are not in the text.
    """
    view = open_heads(page, explorer, wait)
    header, rows = view.heads_table.table.horizontalHeader(), view.heads_table.rows
    header.resizeSection(4, 170)
    count = len(explorer.of_kind("attend"))
    page.state.set_texts("the cat sat")
    wait(lambda: len(explorer.of_kind("attend")) > count and page.state.is_settled)
    explorer.attend(explorer.of_kind("attend")[-1])
    page.state.pick(2)
    page.state.pick_target(1)  # another column, so all are rebuilt
    wait(lambda: rows.rowCount() == 6 and rows.keys[0] == "pair")
    assert header.sectionSize(5) == 170
    # ranked for a picked pair
    page.state.set_texts("the cat sat on the mat")
    wait(lambda: page.state.is_settled and len(page.state.first.tokens) == 8)
    view = open_heads(page, explorer, wait)
    page.state.pick(3)
    page.state.pick_target(2)
    table = view.heads_table.table
    wait(lambda: "sat" in str(table.model().headerData(2, Qt.Orientation.Horizontal)))
    assert table.model().index(0, 0).data() == "2.2"
    weights = view._state.maps.weights
    ranked = sorted(np.ndindex(3, 2), key=lambda head: -float(weights[(*head, 3, 2)]))
    heads = column_texts(table)
    assert heads == [f"{a + 1}.{b + 1}" for a, b in ranked]
    resets = []
    for signal in (table.model().layoutChanged, table.model().modelReset):
        signal.connect(lambda *_: resets.append(True))
    page.state.pick_target(4)
    assert not resets  # the same rows and columns with other numbers
    assert selected_rows(table) == ["1.1"]
    ranked = sorted(np.ndindex(3, 2), key=lambda head: -float(weights[(*head, 3, 4)]))
    heads = column_texts(table)
    assert heads == [f"{a + 1}.{b + 1}" for a, b in ranked]
    assert "“on”" in str(view.heads_table.note.text())
    # typed pairs
    page.state.set_texts("the cats sat on the mat")
    wait(lambda: page.state.is_settled and len(page.state.first.tokens) == 9)  # cat ##s
    view = open_heads(page, explorer, wait)
    heads, table = view.heads_table, view.heads_table.table
    heads.pairs.setFocus()
    qtbot.keyClicks(heads.pairs, "Cats > sat, 8 -> 3")
    name = table.model().headerData(2, Qt.Orientation.Horizontal)
    assert name == "Typed pairs" and view.heads.pairs() == ([((2, 3), (4,)), ((7,), (2,))], [])
    weights = np.asarray(view._state.maps.weights, dtype=np.float64)
    sums = weights[:, :, 2:4, 4].mean(-1) + weights[:, :, 7, 2]
    assert view.heads.values("pairs") == pytest.approx(sums, abs=1e-6)
    order = column_texts(table)
    ranked = sorted(np.ndindex(3, 2), key=lambda head: -sums[head])
    assert order == [f"{a + 1}.{b + 1}" for a, b in ranked]
    assert "cat##s → sat, mat → cat" in heads.note.text()
    assert view.overview.grid.tint is not None
    saved = view.figure()
    assert saved.array == pytest.approx(sums, abs=1e-6) and saved.table().header[3] == "Typed pairs"
    qtbot.keyClicks(heads.pairs, ", bird > sat, alone")
    assert "Not in the text: “bird”, “alone”." in heads.note.text()
    assert len(view.heads.pairs()[0]) == 2
    assert_accessible(heads)
    heads.pairs.clear()
    assert "pairs" not in view.heads.keys
    assert table.model().headerData(2, Qt.Orientation.Horizontal) != "Typed pairs"

"""Tokens: steps, rows and norms, unknown words and truncation."""

import io

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from app.library import describe_model
from app.pages.explore.panels.tokens.state import TokensState
from app.pages.explore.panels.tokens.table import make_figure
from app.pages.explore.panels.tokens.view import TokensView
from app.theme import Role, colour
from app.widgets.charts import figure
from engine.explore.embeddings import embed
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.app.accessible import assert_accessible
from tests.app.pages.explore.conftest import make_model

OTHER_WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "c", "##at", "sat")


@pytest.fixture
def state(explore, explorer) -> TokensState:
    return TokensState(explore, explorer)


@pytest.fixture
def view(qtbot, state, workshop) -> TokensView:
    view = TokensView(state, workshop.notices)
    qtbot.addWidget(view)
    view.resize(1100, 460)
    view.show()
    view.set_active(True)
    return view


@pytest.fixture
def settle(state, wait):
    """`settle()` waits until all changes are shown."""
    return lambda: wait(lambda: not (state._emit_timer.isActive() or state._steps_timer.isActive()))


@pytest.fixture
def answer(explorer, model, settle):
    """`answer()` answers the newest question; `tables`: the embeddings that the network has."""
    loaded = {}

    def send(number: int = -1, tables=("token", "position", "segment")):
        question = explorer.of_kind("embed")[number]
        checkpoint = loaded.setdefault(question.checkpoint, load(question.checkpoint))
        answer = embed(checkpoint, question)
        addends = tuple(addend for addend in answer.addends if addend.table in tables)
        answer = answer.model_copy(update={"addends": addends})
        explorer.answered.emit(answer)
        settle()
        return answer

    return send


def cells(view, row, side=0):
    rows = view.tables[side].rows
    return [rows.index(row, column).data() for column in range(rows.columnCount())]


def test_the_three_steps_are_shown(view, state, explore, wait, settle):
    explore.set_texts("The  CAT, unhappy")
    wait(lambda: explore.is_settled and state.steps[0] and len(state.steps[0][0].words) == 4)
    settle()
    assert view.flow.normalised.toPlainText() == "the  cat, unhappy"
    assert view.flow.words.toPlainText() == "the  |  cat  |  ,  |  unhappy"
    tokens = [token.text for token in view.flow.token_rows[0].shown]
    assert tokens == ["[CLS]", "the", "cat", "[UNK]", "un", "##happy", "[SEP]"]
    assert "longest tokens" in view.flow.helps[2].text()
    assert "4 word(s) · 7 token(s)" in view.flow.count.text()


def test_tokens_have_ids_immediately_and_norms_once_computed(
    qtbot, view, state, explore, answer, settle, qapp
):
    settle()
    assert cells(view, 2) == ["cat", "6", "0", "2", "…", "…", "…", "…", "…"]
    assert make_figure(view.tables[0].rows, state, 0) is None
    result = answer()
    norms = [*(addend.norms[2] for addend in result.addends), result.sums[2], result.outcome[2]]
    assert cells(view, 2) == ["cat", "6", "0", "2", *(f"{norm:.3f}" for norm in norms)]
    assert_accessible(view)
    view.resize(700, 460)
    qapp.processEvents()
    table = view.tables[0]
    assert table.viewport().height() >= 3 * table.rowHeight(0)
    assert view.halves.widget(0).height() > view.halves.widget(1).height()
    # the figure has every number
    saved = make_figure(view.tables[0].rows, state, 0)
    columns = [*(a.norms for a in result.addends), result.sums, result.outcome]
    expected = np.array(columns, np.float32).T
    assert np.array_equal(np.load(io.BytesIO(figure.npy(saved.array))), expected)
    table = saved.table()
    assert table.header[4:] == (
        *("norm of token", "norm of position", "norm of segment", "norm of sum", "norm of input"),
    )
    assert tuple(table.rows[2][:4]) == ("cat", 6, 0, 2)
    assert tuple(table.rows[2][4:]) == tuple(column[2] for column in columns)
    assert "Model: tiny." in saved.caption and "“the cat sat”" in saved.caption
    assert not QImage.fromData(figure.png(saved)).isNull()
    drawing = figure.svg(saved).decode()
    assert f"{result.sums[2]:.3f}" in drawing
    # DeBERTa and ModernBERT have token embeddings only; NomicBERT has segments, too
    state.queries[0].is_waiting = True
    for tables in (("token",), ("token", "segment")):
        result = answer(tables=tables)
        norms = [*(addend.norms[2] for addend in result.addends), result.sums[2], result.outcome[2]]
        assert cells(view, 2) == ["cat", "6", "0", "2", *(f"{norm:.3f}" for norm in norms)]
        rows = view.tables[0].rows
        names, tips = zip(*((c.title, c.meaning) for c in rows.columns), strict=True)
        assert names[4:] == (*(f"‖{table}‖" for table in tables), "‖sum‖", "‖input‖")
        assert "no position embeddings" in tips[3]
        saved = make_figure(view.tables[0].rows, state, 0)
        assert not QImage.fromData(figure.png(saved)).isNull()
        assert len(saved.table().header) == 4 + len(tables) + 2
        state.queries[0].is_waiting = True  # so that a second answer is accepted
    # picking and hovering work both ways
    table = view.tables[0]
    explore.pick(3)
    assert table.currentIndex().row() == 3
    point = table.visualRect(table.rows.index(1, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert explore.picked == 1
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert explore.picked == 2
    table.entered.emit(table.rows.index(1, 1))
    assert explore.hovered == 1
    # a masked word has the id of the mask
    explore.toggle_mask(2)
    answer()
    assert cells(view, 2)[:2] == ["[MASK]", "4"]
    table = view.tables[0]
    painted = table.itemDelegate()._text_color(table.rows.row(2), table.rows.index(2, 0))
    assert painted == colour(Role.ACCENT)


def test_texts_are_as_tall_as_their_lines_up_to_three(view, settle, qapp):
    settle()
    lines = []
    for width in (1100, 330, 1100):
        view.flow.normalised.setFixedWidth(width)
        view.flow.normalised.resize(width, view.flow.normalised.height())
        view.flow.normalised.show_lines(["the cat sat on the mat and saw the dog that sat there"])
        qapp.processEvents()
        lines.append(view.flow.normalised.height())
    assert lines[0] == lines[2] < lines[1]
    box = view.flow.words
    box.setFixedWidth(200)
    for count, scrolled in ((1, 0), (2, 0), (3, 0), (4, 1), (9, 6)):
        box.show_lines(["the"] * (count - 1) + ["cat" * 6])
        qapp.processEvents()
        assert not box.horizontalScrollBar().isVisible()
        assert box.verticalScrollBar().maximum() == scrolled
        blocks = [box.document().findBlockByNumber(number) for number in range(min(count, 3))]
        lines = sum(block.layout().boundingRect().height() for block in blocks)
        assert 0 <= box.viewport().height() - lines <= 2


def test_pairs_unknown_words_and_two_models_have_their_tokens(
    view, state, explore, home, wait, answer, settle
):
    # two models show their different tokens
    path = make_model(home.models / "other", Heads(mlm=True), OTHER_WORDS)
    explore.compare(describe_model("other", path, "imported"))
    wait(lambda: explore.is_settled)
    settle()
    assert not view.sides[1].isHidden()
    assert "5 tokens and 6 tokens." in view.difference.text()
    assert "cat – c ##at" in view.difference.text()
    answer(-1)
    assert cells(view, 2, 1)[:2] == ["c", "6"]
    explore.pick(2)
    assert view.tables[1].currentIndex().row() == 3
    view.tables[1].selectRow(4)
    assert explore.picked == 3
    explore.compare(None)
    settle()
    assert view.sides[1].isHidden()
    # a pair has two segments
    explore.set_texts("the cat", "a dog")
    wait(lambda: explore.is_settled and len(state.steps[0]) == 2)
    answer()
    rows = view.tables[0].rows.rows
    assert [row.token.segment for row in rows] == [0, 0, 0, 0, 1, 1, 1]
    assert view.flow.words.toPlainText() == "the  |  cat\na  |  dog"
    # unknown words are named and the truncated rest is quoted
    explore.set_texts("the <b>☃</b> %s cat ☃")
    wait(lambda: explore.is_settled and view.notes.isVisible())
    assert "Not in the vocabulary: “☃”." in view.notes.text()
    assert "only [UNK]" in view.notes.text()
    explore.set_texts("the cat sat on " * 20 + "mat")
    wait(lambda: explore.is_settled and explore.first.is_truncated)
    assert "Truncated to 32 tokens" in view.notes.text()
    assert "starts with “sat on the cat sat on the cat" in view.notes.text()
    assert len(view.tables[0].rows.rows) == 32


def test_only_a_visible_panel_asks(view, state, explore, explorer, wait):
    view.set_active(False)
    count = len(explorer.questions)
    explore.set_texts("a dog")
    wait(lambda: explore.is_settled)
    assert len(explorer.questions) == count
    assert state.steps[0][0].words != ("a", "dog")
    view.set_active(True)
    wait(lambda: state.steps[0][0].words == ("a", "dog"))
    assert explorer.questions[-1].text == "a dog"


def test_a_refusal_is_shown(view, explorer, settle):
    explorer.refuse(explorer.questions[-1], "The model gives numbers that are not finite.")
    settle()
    assert "not finite" in view.notes.text()

"""Words: masked positions and their predictions."""

import pytest
from PySide6.QtCore import Qt

from app.pages.explore.model_input import ModelInput
from app.pages.explore.panels.words.predictions import PairBar, difference
from app.pages.explore.panels.words.state import MAX_POSITIONS, WordsState
from app.pages.explore.panels.words.view import WordsView
from app.pages.explore.state import ExploreState
from app.pages.explore.strip import Strip, StripArea
from app.widgets.charts.bars import top_of_scale
from engine.messages.explore.text import LabelProbability


@pytest.fixture
def state(explore, explorer) -> WordsState:
    return WordsState(explore, explorer)


@pytest.fixture
def view(qtbot, state, workshop) -> WordsView:
    made = WordsView(state, workshop.notices)
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show()
    made.set_seen(True)
    return made


@pytest.fixture
def area(qtbot, explore: ExploreState) -> StripArea:
    made = StripArea(explore)
    qtbot.addWidget(made)
    made.resize(900, 120)
    made.show()
    return made


@pytest.fixture
def strip(area: StripArea) -> Strip:
    return area.strip


def middle(strip, number: int):
    return strip.boxes[number].center().toPoint()


def shown(view: WordsView) -> list[list[str]]:
    """The labels of every visible card."""
    cards = [card for card in view.predictions.cards if not card.isHidden()]
    return [[bar.label for bar in card.bars.shown] for card in cards]


def test_a_double_click_masks_the_word_and_asks(qtbot, view, state, strip, explore, explorer):
    qtbot.mouseDClick(strip, Qt.MouseButton.LeftButton, pos=middle(strip, 2))
    asked = explorer.asked[-1]
    assert (asked.kind, asked.text, asked.masked) == ("fill_mask", "the cat sat", (2,))
    explorer.fill(asked, "dog", "cat", "mat")
    assert shown(view) == [["dog", "cat", "mat"]]
    assert "“cat”" in view.predictions.cards[0].head.whole()
    assert "rank 2" in view.predictions.cards[0].verdict.whole()
    assert state.positions()[0].rank == 2
    assert state.positions()[0].actual == LabelProbability(label="cat", probability=0.01)
    qtbot.mouseDClick(strip, Qt.MouseButton.LeftButton, pos=middle(strip, 2))
    assert explore.first.masked == ()
    assert shown(view) == [["dog", "cat", "mat"]] or view.predictions.stack.currentIndex() == 1


def test_words_are_masked_with_the_keyboard(qtbot, view, strip, explore, explorer):
    strip.setFocus()
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return):
        qtbot.keyClick(strip, key)
    assert explore.picked == 2
    assert explorer.asked[-1].masked == (2,)
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Space):
        qtbot.keyClick(strip, key)
    assert explorer.asked[-1].masked == (1, 2)
    qtbot.keyClick(strip, Qt.Key.Key_End)
    assert explore.picked == 4


def test_up_and_down_go_to_the_row_above_and_below(qtbot, strip, explore, wait):
    explore.set_texts("the cat sat on the mat the dog sat on the cat")
    wait(lambda: explore.is_settled)
    strip.window().resize(260, 200)
    wait(lambda: strip.boxes[-1].top() > strip.boxes[0].top())
    explore.pick(0)
    qtbot.keyClick(strip, Qt.Key.Key_Down)
    assert strip.boxes[explore.picked].top() > strip.boxes[0].top()
    qtbot.keyClick(strip, Qt.Key.Key_Up)
    assert explore.picked == 0


def test_an_actual_word_beyond_the_predictions_is_below_them(view, explore, explorer):
    explore.toggle_mask(2)
    explorer.fill(explorer.asked[-1], "dog", "mat")
    last = view.predictions.cards[0].bars.shown[-1]
    assert (last.label, last.emphasised, last.apart) == ("cat", True, True)
    assert last.probability == pytest.approx(0.01)
    assert "rank 1,234" in view.predictions.cards[0].verdict.whole()


def test_a_late_answer_is_not_drawn(view, explore, explorer):
    explore.toggle_mask(2)
    explore.toggle_mask(1)
    early, late = explorer.asked
    explorer.fill(early, "old")
    assert all("old" not in labels for labels in shown(view))
    explorer.fill(late, "new")
    assert shown(view) == [["new", "the"], ["new", "cat"]]


def test_a_typed_mask_is_predicted(view, explore, explorer, wait):
    explore.set_texts("the [MASK] sat")
    wait(lambda: explore.is_settled)
    explorer.fill(explorer.asked[-1], "cat")
    assert shown(view) == [["cat"]]
    assert view.predictions.cards[0].head.whole() == "[MASK]"


def test_without_a_masked_word_nothing_is_asked_and_a_hint_is_shown(view, explorer):
    assert explorer.asked == []
    assert view.predictions.stack.currentIndex() == 1


def test_a_model_without_an_mlm_head_offers_the_starter_model(
    qtbot, view, explore, classifier, explorer, wait
):
    from app.library import describe_model

    explore.choose_model(describe_model("classes", classifier, "imported"))
    wait(lambda: explore.is_settled)
    explore.toggle_mask(2)
    assert view.stack.currentIndex() == 1
    assert explorer.asked == []
    button = view.findChildren(type(view.unmask))
    with qtbot.waitSignal(view._state.explore.model_wanted):
        next(b for b in button if "starter" in b.text()).click()


def test_a_refusal_is_shown_as_plain_text(view, explore, explorer):
    explore.toggle_mask(2)
    explorer.refuse(explorer.asked[-1], "This is <b>wrong</b>.")
    assert view.predictions.problem.title.text() == "This is <b>wrong</b>."
    assert view.predictions.problem.title.textFormat() == Qt.TextFormat.PlainText


def test_more_places_than_cards_are_counted(view, explore, explorer, wait):
    explore.set_texts("[MASK] " * (MAX_POSITIONS + 5))
    wait(lambda: explore.is_settled)
    explorer.fill(explorer.asked[-1], "cat")
    assert len(shown(view)) == MAX_POSITIONS
    assert f"{MAX_POSITIONS} of {MAX_POSITIONS + 5}" in view.predictions.note.whole()


def test_bars_are_described_in_words(view, explore, explorer):
    explore.toggle_mask(2)
    explorer.fill(explorer.asked[-1], "<b>", "%s\n", "dog")
    assert (
        view.predictions.cards[0]
        .bars.accessibleDescription()
        .startswith("<b> 50.0 %, %s  25.0 %, dog ")
    )


def test_the_card_of_the_selected_token_is_marked(view, explore, explorer):
    explore.toggle_mask(1)
    explore.toggle_mask(2)
    explorer.fill(explorer.asked[-1], "dog")
    explore.pick(2)
    assert [card.property("picked") for card in view.predictions.cards] == [False, True]


def test_the_strip_is_read_aloud(strip, explore):
    assert strip.accessibleDescription() == "[CLS] the cat sat [SEP]"
    explore.toggle_mask(2)
    explore.pick(2)
    assert strip.accessibleDescription() == "Token 3 of 5: cat, masked"


def test_strange_texts_are_painted_as_they_are(qtbot, strip, explore, wait):
    strange = ("<b> x </b> %s", "שלום שלום", "東京 😀", "\u202ethe\u202c cat", "the\x00cat\u200b")
    for text in strange:
        explore.set_texts(text)
        wait(lambda: explore.is_settled)
        assert len(strip.boxes) == len(explore.first.tokens)
        assert not strip.grab().isNull()
        joined = "".join(t.text.removeprefix("##") for t in explore.first.tokens if not t.special)
        for letter in "<>/%שםל東京😀":
            assert (letter in joined) == (letter in text)


def test_a_causal_model_says_that_it_predicts_from_the_left(view, explore, explorer):
    explore.toggle_mask(2)
    explore.toggle_mask(3)
    explorer.fill(explorer.asked[-1], "dog", causal=True)
    assert (
        "left-to-right" in view.predictions.note.whole()
        and "by itself" not in view.predictions.note.whole()
    )


def test_the_hint_names_the_model_s_own_mask(view, monkeypatch):
    assert "type [MASK] in the text" in view.predictions.nothing.text.text()
    monkeypatch.setattr(ModelInput, "mask", "<mask>")
    view.show_state()
    assert "type <mask> in the text" in view.predictions.nothing.text.text()


def test_bars_end_at_a_round_number_in_the_caption(view, explore, explorer):
    explore.toggle_mask(2)
    answer = explorer.fill(explorer.of_kind("fill_mask")[-1], "dog", "mat")
    assert max(one.probability for one in answer.predictions[0].ranked) == 0.5
    assert view.predictions.cards[0].bars.most == 0.5
    assert "from 0 to 50 %" in view.figure().caption
    assert [top_of_scale([p]) for p in (0.001, 0.03, 0.11, 0.51)] == [0.01, 0.05, 0.2, 1.0]


def test_a_saved_figure_is_exact(view, explore, explorer):
    explore.toggle_mask(2)
    asked = explorer.of_kind("fill_mask")[-1].model_copy(update={"exact": False})
    view.predictions.state.query._question = asked
    quick = explorer.fill(asked, "dog").model_copy(update={"computed": "bfloat16"})
    view.predictions.state.query.answer = quick
    assert view.figure() is None, "a fast answer is not saved"
    exact = explorer.of_kind("fill_mask")[-1]
    assert exact.exact and exact.number > asked.number
    assert view.figure() is None and explorer.of_kind("fill_mask")[-1] is exact, "asked once"
    explorer.fill(exact, "dog", "mat")
    table = view.figure().table()
    assert table.header[-1] == "precision"
    assert {row[-1] for row in table.rows} == {"fp32"}
    assert "bf16" not in view.figure().caption


def test_small_differences_have_a_sign():
    assert difference(PairBar("a", 0.042, 0.043)) == "+0.1"
    assert difference(PairBar("a", 0.042, 0.04199)) == "−0.0"

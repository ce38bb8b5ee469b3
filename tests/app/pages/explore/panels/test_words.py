"""Words: predictions at masks, candidates, logit lens, pseudo-perplexity and next sentence."""

import math

import pytest
import torch
from PySide6.QtCore import QPoint, Qt

from app.library import describe_model
from app.pages.explore.model_input import ModelInput
from app.pages.explore.panels.words.state import MAX_POSITIONS, WordsState
from app.pages.explore.panels.words.view import WordsView
from app.pages.explore.state import ExploreState
from app.pages.explore.strip import Strip, StripArea
from app.widgets.charts import figure as figures
from app.widgets.charts.bars import Bar, percentage, scale_end
from app.widgets.text.labels import visible
from app.widgets.text.numbers import decimal
from engine.explore import token_scores
from engine.messages.explore.text import LabelProbability
from engine.messages.explore.token_scores import perplexity
from engine.models.heads import Heads
from tests.app.pages.explore.conftest import WORDS, make_model

PREDICTIONS, CANDIDATES, LENS, PERPLEXITY = range(4)


@pytest.fixture
def state(explore, explorer) -> WordsState:
    return WordsState(explore, explorer)


@pytest.fixture
def view(qtbot, state, workshop) -> WordsView:
    view = WordsView(state, workshop.notices)
    qtbot.addWidget(view)
    view.resize(1000, 560)
    view.show()
    view.set_active(True)
    return view


@pytest.fixture
def area(qtbot, explore: ExploreState) -> StripArea:
    area = StripArea(explore)
    qtbot.addWidget(area)
    area.resize(900, 120)
    area.show()
    return area


@pytest.fixture
def strip(area: StripArea) -> Strip:
    return area.strip


def set_texts(explore, wait, *texts: str) -> None:
    explore.set_texts(*texts)
    wait(lambda: explore.is_settled)


def center(strip, number: int):
    return strip.boxes[number].center().toPoint()


def bar_labels(view: WordsView) -> list[list[str]]:
    """The labels of every visible card."""
    cards = [card for card in view.predictions.cards if not card.isHidden()]
    return [[bar.label for bar in card.bars.shown] for card in cards]


def test_up_and_down_move_between_rows(qtbot, strip, explore, wait):
    set_texts(explore, wait, "the cat sat on the mat the dog sat on the cat")
    strip.window().resize(260, 200)
    wait(lambda: strip.boxes[-1].top() > strip.boxes[0].top())
    explore.pick(0)
    qtbot.keyClick(strip, Qt.Key.Key_Down)
    assert strip.boxes[explore.picked].top() > strip.boxes[0].top()
    qtbot.keyClick(strip, Qt.Key.Key_Up)
    assert explore.picked == 0


def test_the_strip_is_accessible_and_paints_strange_texts_literally(strip, explore, qtbot, wait):
    assert strip.accessibleDescription() == "[CLS] the cat sat [SEP]"
    explore.toggle_mask(2)
    explore.pick(2)
    assert strip.accessibleDescription() == "Token 3 of 5: cat, masked"
    texts = ("<b> x </b> %s", "שלום שלום", "東京 😀", "\u202ethe\u202c cat", "the\x00cat\u200b")
    for text in texts:
        explore.set_texts(text)
        wait(lambda: explore.is_settled)
        assert len(strip.boxes) == len(explore.first.tokens)
        assert not strip.grab().isNull()
        joined = "".join(t.text.removeprefix("##") for t in explore.first.tokens if not t.special)
        for letter in "<>/%שםל東京😀":
            assert (letter in joined) == (letter in text)


def test_small_differences_have_a_sign():
    assert Bar("a", 0.042, second=0.043).difference == "+0.1"
    assert Bar("a", 0.042, second=0.04199).difference == "−0.0"


@pytest.fixture
def other(home):
    """Another model with the same vocabulary."""
    torch.manual_seed(5)
    path = make_model(home.models / "other", Heads(mlm=True, nsp=True))
    return describe_model("other", path, "imported")


def rows(table) -> list[list[str]]:
    model = table.model()
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def csv_rows(figure) -> list[list[str]]:
    """Rows of a figure's table, after drawing it as PNG and SVG."""
    assert figures.png(figure).startswith(b"\x89PNG") and b"<svg" in figures.svg(figure)
    return [line.split(",") for line in figures.csv_text(figure.table()).splitlines()]


def test_typed_words_are_scored_and_ranked(qtbot, view, explore, explorer, wait):
    set_texts(explore, wait, "the unhappy cat")
    explore.toggle_mask(2)
    view.show_part(CANDIDATES)
    assert explorer.of_kind("score_candidates") == [], "there are no words yet"
    qtbot.keyClicks(view.candidates.typed, "dog, cats,unhappys, dog, qqq,")
    qtbot.keyClick(view.candidates.typed, Qt.Key.Key_Return)
    question = explorer.of_kind("score_candidates")[-1]
    assert (question.first, question.last) == (2, 3)
    assert question.candidates == ("dog", "cats", "unhappys", "qqq")
    scored = {candidate.text: candidate for candidate in explorer.compute(question).candidates}
    cells = rows(view.candidates.user_table)
    order = sorted(("dog", "cats", "unhappys"), key=lambda word: -scored[word].log_probability)
    assert [row[0].split(" ")[0] for row in cells] == [*order, "qqq:"]
    assert any(row[0] == "unhappys = un ##happy ##s" for row in cells)
    for row, word in zip(cells, order, strict=False):
        assert row[2] == decimal(scored[word].log_probability, 2)
    assert "Not in the vocabulary" in cells[-1][0]
    assert len(csv_rows(view.figure())) == 4


def test_a_search_runs_on_request_or_automatically(view, explore, explorer, wait):
    set_texts(explore, wait, "the unhappy cat")
    explore.toggle_mask(2)
    view.show_part(CANDIDATES)
    assert explorer.of_kind("find_candidates") == []
    view.candidates.run.click()
    (question,) = explorer.of_kind("find_candidates")
    answer = explorer.compute(question)
    cells = rows(view.candidates.search_table)
    assert [row[0] for row in cells[:-1]] == [" ".join(c.tokens) for c in answer.candidates]
    assert cells[-1][0] == "typed: un ##happy"
    explore.toggle_mask(4)
    assert len(explorer.of_kind("find_candidates")) == 1, "another text needs another click"
    view.candidates.automatic.setChecked(True)
    explore.pick(4)
    assert [(q.first, q.last) for q in explorer.of_kind("find_candidates")[1:]] == [(2, 3), (4, 4)]


def test_adjacent_typed_masks_are_one_gap(state, explore, wait):
    set_texts(explore, wait, "the [MASK] [MASK] sat [MASK]")
    assert state.masked_span() == (2, 3)
    explore.pick(5)
    assert state.masked_span() == (5, 5)


def test_every_layer_has_a_prediction_and_a_click_selects_a_token(qtbot, view, explore, explorer):
    view.show_part(LENS)
    assert view.lens.stack.currentIndex() == 1
    explore.toggle_mask(2)
    explore.pick(3)
    question = explorer.of_kind("apply_lens")[-1]
    assert question.positions == (2, 3)
    applied = explorer.compute(question)
    grid = view.lens.grids[0]
    assert grid.applied == applied
    assert len(applied.layers) == 4
    point = grid.box(1, 0).center().toPoint()
    qtbot.mouseMove(grid, point + QPoint(3, 3))
    qtbot.mouseMove(grid, point)
    best = applied.layers[1].predictions[0].ranked[0]
    assert "layer 1" in view.lens.readout.full_text()
    assert (
        visible(f"“{best.label}” {percentage(best.probability)}") in view.lens.readout.full_text()
    )
    qtbot.mouseClick(grid, Qt.MouseButton.LeftButton, pos=point)
    assert explore.picked == 2
    table = csv_rows(view.figure())
    assert len(table) == 1 + 4 * 2 * 5
    best = applied.layers[0].predictions[0].ranked[0]
    assert float(table[1][4]) == pytest.approx(best.probability, rel=1e-8)


def test_scores_arrive_in_parts_and_can_be_stopped(view, explore, explorer, monkeypatch, wait):
    monkeypatch.setattr(token_scores, "SLICE", 7)  # one token at a time
    set_texts(explore, wait, "the cat sat on")
    view.show_part(PERPLEXITY)
    assert explorer.of_kind("score_tokens") == []
    view.pseudo_perplexity.run.click()
    answers = [explorer.compute(explorer.of_kind("score_tokens")[-1])]
    assert "1 of 4 tokens so far" in view.pseudo_perplexity.summary.text()
    assert len(rows(view.pseudo_perplexity.table)) == 1
    answers.append(explorer.compute(explorer.of_kind("score_tokens")[-1]))
    view.pseudo_perplexity.run.click()
    answers.append(explorer.compute(explorer.of_kind("score_tokens")[-1]))
    assert len(explorer.of_kind("score_tokens")) == 3, "nothing is asked after a stop"
    view.pseudo_perplexity.run.click()
    answers.append(explorer.compute(explorer.of_kind("score_tokens")[-1]))
    scores = [score for answer in answers for score in answer.scores]
    assert [question.start for question in explorer.of_kind("score_tokens")] == [0, 2, 3, 4]
    assert [score.position for score in scores] == [1, 2, 3, 4]
    assert decimal(perplexity(scores), 2) in view.pseudo_perplexity.summary.text()
    assert "so far" not in view.pseudo_perplexity.summary.text()
    for row, s in zip(rows(view.pseudo_perplexity.table), scores, strict=True):
        assert row[2:] == [
            percentage(math.exp(s.log_probability)),
            str(s.rank),
            decimal(s.log_probability, 2),
        ]
    assert not view.pseudo_perplexity.run.isEnabled()
    explore.toggle_mask(2)
    assert len(explorer.of_kind("score_tokens")) == 4, "masks do not change these scores"
    values = [float(row[2]) for row in csv_rows(view.figure())[1:]]
    assert values == pytest.approx([score.log_probability for score in scores], rel=1e-8)


def test_a_click_selects_a_token_while_others_wait(qtbot, view, explore, explorer, wait):
    view.show_part(PERPLEXITY)
    view.pseudo_perplexity.run.click()
    explorer.compute(explorer.of_kind("score_tokens")[-1])
    strip = view.pseudo_perplexity.strip
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=strip._boxes[2].center().toPoint())
    assert explore.picked == 2
    view.pseudo_perplexity.table.selectRow(2)
    assert explore.picked == 3
    set_texts(explore, wait, "the dog")
    assert view.pseudo_perplexity.summary.text() == "Not computed"
    assert len(explorer.of_kind("score_tokens")) == 1
    view.pseudo_perplexity.automatic.setChecked(True)
    explorer.compute(explorer.of_kind("score_tokens")[-1])
    set_texts(explore, wait, "the cat")
    assert explorer.of_kind("score_tokens")[-1].text == "the cat"
    view.show_part(PREDICTIONS)
    set_texts(explore, wait, "the mat")
    assert explorer.of_kind("score_tokens")[-1].text == "the cat", "the part is hidden"


def test_the_next_sentence_is_predicted_for_two_texts(view, explore, explorer, other, wait):
    assert view.next_sentences.isHidden()
    set_texts(explore, wait, "the cat sat", "on the mat")
    assert "no next-sentence" in view.next_sentences.labels[0].text()
    assert explorer.of_kind("predict_next_sentence") == []
    explore.choose_model(other)
    wait(lambda: explore.is_settled)
    answer = explorer.compute(explorer.of_kind("predict_next_sentence")[-1])
    assert percentage(answer.probability) in view.next_sentences.labels[0].text()
    assert view.next_sentences.gauges[0].value() == round(1_000 * answer.probability)


def test_beside_a_model_without_an_mlm_head_the_predictions_are_those_of_the_first(
    view, explore, explorer, classifier, wait
):
    explore.compare(describe_model("classes", classifier, "imported"))
    wait(lambda: explore.is_settled)
    explore.toggle_mask(2)
    explorer.compute(explorer.of_kind("fill_mask")[-1])
    text = "classes has no MLM head: the predictions are those of tiny."
    assert view.predictions.models.text() == text
    card = view.predictions.cards[0]
    assert card.bars.shown and all(bar.second is None for bar in card.bars.shown)
    assert card.bars.accessibleName() == "Predictions"


def test_two_models_are_compared_in_every_part(view, explore, explorer, other, wait):
    explore.compare(other)
    wait(lambda: explore.is_settled)
    explore.toggle_mask(2)
    done = 0
    while done < len(explorer.of_kind("fill_mask")):  # each is asked about the other's predictions
        explorer.compute(explorer.of_kind("fill_mask")[done])
        done += 1
    assert done <= 5
    options = {"top": 100, "number": 9_999}
    first, second = (
        explorer.compute(q.model_copy(update=options)) for q in explorer.of_kind("fill_mask")[:2]
    )
    card = view.predictions.cards[0]
    assert card.bars.accessibleName() == "Predictions of two models"
    by_model = [{p.label: p.probability for p in a.predictions[0].ranked} for a in (first, second)]
    assert len(by_model[0]) == len(WORDS)
    for bar in card.bars.shown:
        assert (bar.probability, bar.second) == (by_model[0][bar.label], by_model[1][bar.label])
    best = max(max(k.values()) for k in by_model)
    bar = card.bars.shown[0]
    assert max(bar.probability, bar.second) == best
    assert f"{bar.label} {percentage(bar.probability)}" in card.bars.accessibleDescription()
    assert bar.difference in card.bars.accessibleDescription()
    view.show_part(PERPLEXITY)
    view.pseudo_perplexity.run.click()
    ours, theirs = (explorer.compute(q) for q in explorer.of_kind("score_tokens")[-2:])
    cells = rows(view.pseudo_perplexity.table)
    difference = theirs.scores[0].log_probability - ours.scores[0].log_probability
    assert cells[0][-1].lstrip("+−±") == decimal(abs(difference), 2)
    assert view.pseudo_perplexity.summary.text().count("Pseudo-perplexity") == 2
    view.show_part(LENS)
    assert [grid.isHidden() for grid in view.lens.grids] == [False, False]
    for question in explorer.of_kind("apply_lens")[-2:]:
        explorer.compute(question)
    assert view.lens.grids[1].applied.positions == (2,)
    view.show_part(CANDIDATES)
    view.candidates.typed.setText("dog")
    view.candidates._on_typed()
    questions = explorer.of_kind("score_candidates")[-2:]
    scores = [explorer.compute(q).candidates[0].log_probability for q in questions]
    assert rows(view.candidates.user_table)[0][-1].lstrip("+−±") == decimal(
        abs(scores[1] - scores[0]), 2
    )


def test_only_the_visible_part_asks(view, explore, explorer):
    view.show_part(LENS)
    explore.toggle_mask(2)
    assert [question.kind for question in explorer.questions] == ["apply_lens"]
    view.set_active(False)
    explore.toggle_mask(1)
    assert len(explorer.questions) == 1
    view.set_active(True)
    assert explorer.questions[-1].masked == (1, 2)


def unmask(explore) -> None:
    """Start again with neither a mask nor a picked token."""
    for number in explore.first.masked:
        explore.toggle_mask(number)
    explore.pick(-1)


def test_masked_words_are_predicted(qtbot, view, state, strip, explore, explorer, monkeypatch):
    """By a double-click or the keyboard; without a mask, a hint is shown and nothing asked."""
    assert explorer.questions == []
    assert view.predictions.stack.currentIndex() == 1
    assert "type [MASK] in the text" in view.predictions.empty.text.text()
    with monkeypatch.context() as patch:
        patch.setattr(ModelInput, "mask", "<mask>")
        view.show_state()
    assert "type <mask> in the text" in view.predictions.empty.text.text()
    qtbot.mouseDClick(strip, Qt.MouseButton.LeftButton, pos=center(strip, 2))
    question = explorer.questions[-1]
    assert (question.kind, question.text, question.masked) == ("fill_mask", "the cat sat", (2,))
    explorer.fill(question, "dog", "cat", "mat")
    assert bar_labels(view) == [["dog", "cat", "mat"]]
    assert "“cat”" in view.predictions.cards[0].head.full_text()
    assert "rank 2" in view.predictions.cards[0].verdict.full_text()
    assert state.positions()[0].rank == 2
    assert state.positions()[0].actual == LabelProbability(label="cat", probability=0.01)
    qtbot.mouseDClick(strip, Qt.MouseButton.LeftButton, pos=center(strip, 2))
    assert explore.first.masked == ()
    assert bar_labels(view) == [["dog", "cat", "mat"]] or view.predictions.stack.currentIndex() == 1
    # with the keyboard
    strip.setFocus()
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return):
        qtbot.keyClick(strip, key)
    assert explore.picked == 2
    assert explorer.questions[-1].masked == (2,)
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Space):
        qtbot.keyClick(strip, key)
    assert explorer.questions[-1].masked == (1, 2)
    qtbot.keyClick(strip, Qt.Key.Key_End)
    assert explore.picked == 4
    # a low-ranked actual word is last and the selected card marked
    unmask(explore)
    explore.toggle_mask(2)
    explorer.fill(explorer.questions[-1], "dog", "mat")
    last = view.predictions.cards[0].bars.shown[-1]
    assert (last.label, last.emphasised, last.apart) == ("cat", True, True)
    assert last.probability == pytest.approx(0.01)
    assert "rank 1,234" in view.predictions.cards[0].verdict.full_text()
    explore.toggle_mask(1)
    explorer.fill(explorer.questions[-1], "dog")
    explore.pick(2)
    assert [card.property("picked") for card in view.predictions.cards] == [False, True]
    # a late answer is not drawn
    unmask(explore)
    explore.toggle_mask(2)
    explore.toggle_mask(1)
    early, late = explorer.questions[-2:]
    explorer.fill(early, "old")
    assert all("old" not in labels for labels in bar_labels(view))
    explorer.fill(late, "new")
    assert bar_labels(view) == [["new", "the"], ["new", "cat"]]


def test_predictions_are_described_and_saved_exactly(
    qtbot, view, explore, explorer, classifier, wait
):
    explore.toggle_mask(2)
    question = explorer.of_kind("fill_mask")[-1].model_copy(update={"exact": False})
    view.predictions.state.mask_queries[0]._question = question
    fast = explorer.fill(question, "dog").model_copy(update={"computed": "bfloat16"})
    view.predictions.state.mask_queries[0].answer = fast
    assert view.figure() is None, "a fast answer is not saved"
    exact = explorer.of_kind("fill_mask")[-1]
    assert exact.exact and exact.number > question.number
    assert view.figure() is None and explorer.of_kind("fill_mask")[-1] is exact, "asked once"
    explorer.fill(exact, "dog", "mat")
    table = view.figure().table()
    assert table.header[-1] == "precision"
    assert {row[-1] for row in table.rows} == {"fp32"}
    assert "bf16" not in view.figure().caption
    # bars end at a round number in the caption
    unmask(explore)
    explore.toggle_mask(2)
    answer = explorer.fill(explorer.of_kind("fill_mask")[-1], "dog", "mat")
    assert max(ranked.probability for ranked in answer.predictions[0].ranked) == 0.5
    assert view.predictions.cards[0].bars.maximum == 0.5
    assert "from 0 to 50 %" in view.figure().caption
    assert [scale_end([p]) for p in (0.001, 0.03, 0.11, 0.51)] == [0.01, 0.05, 0.2, 1.0]
    # they are described in words
    unmask(explore)
    explore.toggle_mask(2)
    explorer.fill(explorer.questions[-1], "<b>", "%s\n", "dog")
    assert (
        view.predictions.cards[0]
        .bars.accessibleDescription()
        .startswith("<b> 50.0 %, %s  25.0 %, dog ")
    )
    # the note names a causal model
    unmask(explore)
    explore.toggle_mask(2)
    explore.toggle_mask(3)
    explorer.fill(explorer.questions[-1], "dog", causal=True)
    assert (
        "left-to-right" in view.predictions.note.full_text()
        and "by itself" not in view.predictions.note.full_text()
    )
    # a refusal is shown as plain text
    unmask(explore)
    explore.toggle_mask(2)
    explorer.refuse(explorer.questions[-1], "This is <b>wrong</b>.")
    assert view.predictions.stack.problem.title.text() == "This is <b>wrong</b>."
    assert view.predictions.stack.problem.title.textFormat() == Qt.TextFormat.PlainText
    # a typed mask is predicted
    unmask(explore)
    set_texts(explore, wait, "the [MASK] sat")
    explorer.fill(explorer.questions[-1], "cat")
    assert bar_labels(view) == [["cat"]]
    assert view.predictions.cards[0].head.full_text() == "[MASK]"
    # masks without a card are counted
    set_texts(explore, wait, "[MASK] " * (MAX_POSITIONS + 5))
    explorer.fill(explorer.questions[-1], "cat")
    assert len(bar_labels(view)) == MAX_POSITIONS
    assert f"{MAX_POSITIONS} of {MAX_POSITIONS + 5}" in view.predictions.note.full_text()
    # without an MLM head, the starter is offered
    explore.choose_model(describe_model("classes", classifier, "imported"))
    wait(lambda: explore.is_settled)
    count = len(explorer.questions)
    explore.toggle_mask(2)
    assert view.stack.currentIndex() == 1
    assert len(explorer.questions) == count
    button = view.findChildren(type(view.unmask))
    with qtbot.waitSignal(view._state.explore.model_requested):
        next(b for b in button if "starter" in b.text()).click()

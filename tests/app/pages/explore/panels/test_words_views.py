"""Candidates, logit lens, pseudo-perplexity and next sentence, with the worker's numbers."""

import math

import pytest
import torch
from PySide6.QtCore import QPoint, Qt

from app.library import describe_model
from app.pages.explore.panels.words.state import WordsState
from app.pages.explore.panels.words.view import WordsView
from app.widgets.charts import figure as figures
from app.widgets.charts.bars import chance
from app.widgets.text.numbers import decimal
from engine.explore import pseudo_perplexity
from engine.messages.explore.pseudo_perplexity import perplexity
from engine.models.heads import Heads
from tests.app.pages.explore.conftest import WORDS, make_model

PREDICTIONS, CANDIDATES, LENS, PERPLEXITY = range(4)


@pytest.fixture
def state(explore, explorer) -> WordsState:
    return WordsState(explore, explorer)


@pytest.fixture
def view(qtbot, state, workshop) -> WordsView:
    made = WordsView(state, workshop.notices)
    qtbot.addWidget(made)
    made.resize(1000, 560)
    made.show()
    made.set_seen(True)
    return made


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


def saved(figure) -> list[list[str]]:
    """Rows of a figure's table, after drawing it as PNG and SVG."""
    assert figures.png(figure).startswith(b"\x89PNG") and b"<svg" in figures.svg(figure)
    return [line.split(",") for line in figures.csv_text(figure.table()).splitlines()]


def test_own_words_are_scored_as_a_whole_and_ranked(qtbot, view, explore, explorer):
    explore.set_texts("the unhappy cat")
    qtbot.waitUntil(lambda: explore.is_settled)
    explore.toggle_mask(2)
    view.show_part(CANDIDATES)
    assert explorer.of_kind("score_candidates") == [], "there are no words yet"
    qtbot.keyClicks(view.candidates.typed, "dog, cats,unhappys, dog, qqq,")
    qtbot.keyClick(view.candidates.typed, Qt.Key.Key_Return)
    asked = explorer.of_kind("score_candidates")[-1]
    assert (asked.first, asked.last) == (2, 3)
    assert asked.candidates == ("dog", "cats", "unhappys", "qqq")
    known = {one.text: one for one in explorer.truly(asked).candidates}
    shown = rows(view.candidates.own)
    order = sorted(("dog", "cats", "unhappys"), key=lambda word: -known[word].log_probability)
    assert [row[0].split(" ")[0] for row in shown] == [*order, "qqq:"]
    assert any(row[0] == "unhappys = un ##happy ##s" for row in shown)
    for row, word in zip(shown, order, strict=False):
        assert row[2] == decimal(known[word].log_probability, 2)
    assert "Not in the vocabulary" in shown[-1][0]
    assert len(saved(view.figure())) == 4


def test_a_search_runs_on_request_or_automatically(qtbot, view, explore, explorer):
    explore.set_texts("the unhappy cat")
    qtbot.waitUntil(lambda: explore.is_settled)
    explore.toggle_mask(2)
    view.show_part(CANDIDATES)
    assert explorer.of_kind("find_candidates") == []
    view.candidates.go.click()
    (asked,) = explorer.of_kind("find_candidates")
    answer = explorer.truly(asked)
    shown = rows(view.candidates.best)
    assert [row[0] for row in shown[:-1]] == [" ".join(one.tokens) for one in answer.found]
    assert shown[-1][0] == "typed: un ##happy"
    explore.toggle_mask(4)
    assert len(explorer.of_kind("find_candidates")) == 1, "another text needs another click"
    view.candidates.automatic.setChecked(True)
    explore.pick(4)
    assert [(one.first, one.last) for one in explorer.of_kind("find_candidates")[1:]] == [
        (2, 3),
        (4, 4),
    ]


def test_adjacent_typed_masks_are_one_gap(state, explore, wait):
    explore.set_texts("the [MASK] [MASK] sat [MASK]")
    wait(lambda: explore.is_settled)
    assert state.gap() == (2, 3)
    explore.pick(5)
    assert state.gap() == (5, 5)


def test_every_layer_has_its_prediction_and_a_click_selects_the_token(
    qtbot, view, explore, explorer
):
    view.show_part(LENS)
    assert view.lens.stack.currentIndex() == 1
    explore.toggle_mask(2)
    explore.pick(3)
    asked = explorer.of_kind("apply_lens")[-1]
    assert asked.positions == (2, 3)
    applied = explorer.truly(asked)
    grid = view.lens.grids[0]
    assert grid.applied == applied
    assert len(applied.layers) == 4
    place = grid.box(1, 0).center().toPoint()
    qtbot.mouseMove(grid, place + QPoint(3, 3))
    qtbot.mouseMove(grid, place)
    best = applied.layers[1].predictions[0].ranked[0]
    assert "layer 1" in view.lens.readout.whole()
    assert f"“{best.label}” {chance(best.probability)}" in view.lens.readout.whole()
    qtbot.mouseClick(grid, Qt.MouseButton.LeftButton, pos=place)
    assert explore.picked == 2
    table = saved(view.figure())
    assert len(table) == 1 + 4 * 2 * 5
    best = applied.layers[0].predictions[0].ranked[0]
    assert float(table[1][4]) == pytest.approx(best.probability, rel=1e-8)


def test_scores_arrive_in_parts_and_can_be_stopped(qtbot, view, explore, explorer, monkeypatch):
    monkeypatch.setattr(pseudo_perplexity, "SLICE", 7)  # one token at a time
    explore.set_texts("the cat sat on")
    qtbot.waitUntil(lambda: explore.is_settled)
    view.show_part(PERPLEXITY)
    assert explorer.of_kind("score_tokens") == []
    view.pseudo_perplexity.go.click()
    answers = [explorer.truly(explorer.of_kind("score_tokens")[-1])]
    assert "1 of 4 tokens so far" in view.pseudo_perplexity.summary.text()
    assert len(rows(view.pseudo_perplexity.table)) == 1
    answers.append(explorer.truly(explorer.of_kind("score_tokens")[-1]))
    view.pseudo_perplexity.go.click()
    answers.append(explorer.truly(explorer.of_kind("score_tokens")[-1]))
    assert len(explorer.of_kind("score_tokens")) == 3, "nothing is asked after a stop"
    view.pseudo_perplexity.go.click()
    answers.append(explorer.truly(explorer.of_kind("score_tokens")[-1]))
    places = [place for answer in answers for place in answer.scores]
    assert [one.start for one in explorer.of_kind("score_tokens")] == [0, 2, 3, 4]
    assert [place.position for place in places] == [1, 2, 3, 4]
    assert decimal(perplexity(places), 2) in view.pseudo_perplexity.summary.text()
    assert "so far" not in view.pseudo_perplexity.summary.text()
    for row, place in zip(rows(view.pseudo_perplexity.table), places, strict=True):
        assert row[2:] == [
            chance(math.exp(place.log_probability)),
            str(place.rank),
            decimal(place.log_probability, 2),
        ]
    assert not view.pseudo_perplexity.go.isEnabled()
    explore.toggle_mask(2)
    assert len(explorer.of_kind("score_tokens")) == 4, "what is hidden changes nothing here"
    written = [float(row[2]) for row in saved(view.figure())[1:]]
    assert written == pytest.approx([place.log_probability for place in places], rel=1e-8)


def test_another_text_is_scored_automatically_only_on_request(qtbot, view, explore, explorer):
    view.show_part(PERPLEXITY)
    view.pseudo_perplexity.go.click()
    explorer.truly(explorer.of_kind("score_tokens")[-1])
    explore.set_texts("the dog")
    qtbot.waitUntil(lambda: explore.is_settled)
    assert view.pseudo_perplexity.summary.text() == "Not computed"
    assert len(explorer.of_kind("score_tokens")) == 1
    view.pseudo_perplexity.automatic.setChecked(True)
    explorer.truly(explorer.of_kind("score_tokens")[-1])
    explore.set_texts("the cat")
    qtbot.waitUntil(lambda: explore.is_settled)
    assert explorer.of_kind("score_tokens")[-1].text == "the cat"
    view.show_part(PREDICTIONS)
    explore.set_texts("the mat")
    qtbot.waitUntil(lambda: explore.is_settled)
    assert explorer.of_kind("score_tokens")[-1].text == "the cat", "it is not seen"


def test_a_click_on_a_token_selects_it(qtbot, view, explore, explorer):
    view.show_part(PERPLEXITY)
    view.pseudo_perplexity.go.click()
    explorer.truly(explorer.of_kind("score_tokens")[-1])
    strip = view.pseudo_perplexity.strip
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=strip.box(2).center().toPoint())
    assert explore.picked == 2
    view.pseudo_perplexity.table.selectRow(2)
    assert explore.picked == 3


def test_the_next_sentence_is_predicted_for_two_texts(view, explore, explorer, other, wait):
    assert view.next_sentences.isHidden()
    explore.set_texts("the cat sat", "on the mat")
    wait(lambda: explore.is_settled)
    assert "no next-sentence" in view.next_sentences.labels[0].text()
    assert explorer.of_kind("predict_next_sentence") == []
    explore.choose_model(other)
    wait(lambda: explore.is_settled)
    answer = explorer.truly(explorer.of_kind("predict_next_sentence")[-1])
    assert chance(answer.probability) in view.next_sentences.labels[0].text()
    assert view.next_sentences.gauges[0].value == answer.probability


def test_two_models_are_compared_in_every_part(view, explore, explorer, other, wait):
    explore.compare(other)
    wait(lambda: explore.is_settled)
    explore.toggle_mask(2)
    done = 0
    while done < len(explorer.of_kind("fill_mask")):  # each is asked about the other's predictions
        explorer.truly(explorer.of_kind("fill_mask")[done])
        done += 1
    assert done <= 5
    whole = {"top": 100, "number": 9_999}
    first, second = (
        explorer.truly(one.model_copy(update=whole)) for one in explorer.of_kind("fill_mask")[:2]
    )
    card = view.predictions.cards[0]
    assert not card.pairs.isHidden() and card.bars.isHidden()
    known = [
        {one.label: one.probability for one in a.predictions[0].ranked} for a in (first, second)
    ]
    assert len(known[0]) == len(WORDS)
    for bar in card.pairs.shown:
        assert (bar.first, bar.second) == (known[0][bar.label], known[1][bar.label])
    best = max(max(k.values()) for k in known)
    assert max(card.pairs.shown[0].first, card.pairs.shown[0].second) == best
    assert card.pairs.shown[0].label in card.pairs.accessibleDescription()
    view.show_part(PERPLEXITY)
    view.pseudo_perplexity.go.click()
    ours, theirs = (explorer.truly(one) for one in explorer.of_kind("score_tokens")[-2:])
    shown = rows(view.pseudo_perplexity.table)
    apart = theirs.scores[0].log_probability - ours.scores[0].log_probability
    assert shown[0][-1].lstrip("+−±") == decimal(abs(apart), 2)
    assert view.pseudo_perplexity.summary.text().count("Pseudo-perplexity") == 2
    view.show_part(LENS)
    assert [grid.isHidden() for grid in view.lens.grids] == [False, False]
    for one in explorer.of_kind("apply_lens")[-2:]:
        explorer.truly(one)
    assert view.lens.grids[1].applied.positions == (2,)
    view.show_part(CANDIDATES)
    view.candidates.typed.setText("dog")
    view.candidates._on_typed()
    asked = explorer.of_kind("score_candidates")[-2:]
    both = [explorer.truly(one).candidates[0].log_probability for one in asked]
    assert rows(view.candidates.own)[0][-1].lstrip("+−±") == decimal(abs(both[1] - both[0]), 2)


def test_only_the_visible_part_asks(view, explore, explorer):
    view.show_part(LENS)
    explore.toggle_mask(2)
    assert [question.kind for question in explorer.asked] == ["apply_lens"]
    view.set_seen(False)
    explore.toggle_mask(1)
    assert len(explorer.asked) == 1
    view.set_seen(True)
    assert explorer.asked[-1].masked == (1, 2)

"""Vectors of one word in several texts, in the window."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.pages.explore.captions import source
from app.pages.explore.panels.vectors import view as vectors_view
from app.pages.explore.panels.vectors.view import make_figure
from app.widgets.charts import figure as figures
from engine.data.word_vectors.store import convert
from tests.app.accessible import assert_accessible


@pytest.fixture
def page(make_page, model):
    return make_page(model, "the cat sat on the mat")


def test_a_word_is_compared_between_texts(page, explorer, wait, qtbot):
    """Four actions: the panel, the word, the other texts, the layer."""
    view = page.bench.docks["vectors"].panel
    page.bench.show_panel("vectors")  # 1
    assert "Select a word" in view.note.text()
    page.state.pick(2)  # 2
    view.texts.setFocus()
    qtbot.keyClicks(view.texts, "a cat sat")  # 3
    QTest.keyClick(view.texts, Qt.Key.Key_Return)
    qtbot.keyClicks(view.texts, "a dog . Cat")
    QTest.keyClick(view.texts, Qt.Key.Key_Return)
    qtbot.keyClicks(view.texts, "a dog")
    wait(lambda: any(len(q.texts) == 4 for q in explorer.of_kind("compare_word")))
    question = explorer.of_kind("compare_word")[-1]
    assert (question.word, question.texts[0]) == ("cat", "the cat sat on the mat")
    answer = explorer.compute(question)
    assert [row[0][3:] for row in view.matrix.rows.rows] == [
        "the [cat] sat on the mat", "a [cat] sat", "a dog . [Cat]",
    ]  # fmt: skip
    assert "Without the word: 1 text(s)." in view.note.text()
    assert "at layer 3" in view.title.full_text()
    view.layers.setFocus()
    view.layers.selectRow(1)  # 4
    assert "at layer 1" in view.title.full_text()
    layer = answer.layers[1]
    assert view.matrix.rows.rows[1][1] == f"{layer.cosines[1][0]:.3f}"
    assert view.layers.rows.rows[1][1:4] == tuple(
        f"{value:.3f}" for value in (layer.mean, layer.random, layer.mean - layer.random)
    )
    assert_accessible(view)
    figure = make_figure(view._state)
    assert figure.array.shape == (4, 3, 3) and len(figure.table().rows) == 4 * 3
    qtbot.keyClicks(view.word, "bird")
    wait(lambda: explorer.of_kind("compare_word")[-1].word == "bird")
    explorer.refuse(explorer.of_kind("compare_word")[-1], "No text contains the word “bird”.")
    assert "No text contains the word “bird”." in view.note.text()


def compare_words(page, explorer, wait):
    """The panel with the cosines of “cat”."""
    view = page.bench.docks["vectors"].panel
    page.bench.show_panel("vectors")
    page.state.pick(2)
    wait(lambda: explorer.of_kind("compare_word"))
    explorer.compute(explorer.of_kind("compare_word")[-1])
    return view


def choose(view, key: str) -> None:
    view.view_choice.setFocus()
    while view.view_choice.currentData() != key:
        QTest.keyClick(view.view_choice, Qt.Key.Key_Down)


def test_nearest_words_in_texts_are_listed(page, choose_texts, explorer, workers, wait, qtbot):
    """Four actions: the texts, the word, Nearest in texts, Find; its size is shown first."""
    choose_texts(page, "a dog sat", "the mat", "the cat sat on the mat")
    view = compare_words(page, explorer, wait)
    choose(view, "words")
    wait(lambda: "about 352 B" in view.note.text())  # eleven words of 16 numbers, in 16 bits
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: view._state.near_words is not None and not view._state.work.is_running)
    assert workers.questions[-1].kind == "find_words" and view._state.near_words.vectors == 11
    rows = view.near_words.rows.rows
    assert len(rows) == 10, "the word itself is excluded"
    cosines = [float(row[2]) for row in rows]
    assert cosines == sorted(cosines, reverse=True)
    assert "Of 11 word(s) of" in view.note.text()
    figure = make_figure(view._state)
    assert figure.table().rows[0][1] == rows[0][0] and "Among the words of" in figure.caption
    view.near_words.setFocus()
    index = next(n for n, row in enumerate(rows) if row[1] == "1")
    view.near_words.selectRow(index)
    point = view.near_words.visualRect(view.near_words.model().index(index, 0)).center()
    view.layers.selectRow(0)
    assert "Find again" in view.note.text() and make_figure(view._state) is None
    qtbot.mouseDClick(view.near_words.viewport(), Qt.MouseButton.LeftButton, pos=point)
    QTest.keyClick(view.near_words, Qt.Key.Key_Return)
    assert page.text.toPlainText() == "a dog sat"


def test_nearest_tokens_belong_to_the_selected_occurrence(page, explorer, wait, qtbot):
    """Three actions: the word, Nearest tokens, a layer."""
    view = compare_words(page, explorer, wait)
    choose(view, "tokens")
    wait(lambda: explorer.of_kind("find_tokens"))
    question = explorer.of_kind("find_tokens")[-1]
    assert (question.text[question.start : question.end], question.layer) == ("cat", 3)
    answer = explorer.compute(question)
    assert view.near_tokens.isVisible()
    assert view.near_tokens.rows.rows[0] == (
        answer.tokens[0].token,
        f"{answer.tokens[0].cosine:.3f}",
    )
    assert "Cosines to all 31 rows" in view.note.text()
    assert view.title.full_text() == "Nearest at layer 3 to the [cat] sat on the mat"
    view.layers.setFocus()
    view.layers.selectRow(0)
    wait(lambda: explorer.of_kind("find_tokens")[-1].layer == 0)
    answer = explorer.compute(explorer.of_kind("find_tokens")[-1])
    figure = make_figure(view._state)
    assert figure.array.tolist() == pytest.approx([token.cosine for token in answer.tokens])
    assert figure.table().rows[0][:2] == (1, answer.tokens[0].token)
    assert figure.caption.endswith(source(page.state)) and b"cosine" in figures.svg(figure)
    explorer.refuse(explorer.of_kind("find_tokens")[-1], "Not to be had.")
    assert_accessible(view)
    qtbot.keyClicks(view.texts, "a cat sat")
    wait(lambda: any(len(q.texts) == 2 for q in explorer.of_kind("compare_word")))
    explorer.compute(explorer.of_kind("compare_word")[-1])
    view.matrix.setFocus()
    view.matrix.selectRow(1)
    wait(lambda: explorer.of_kind("find_tokens")[-1].text == "a cat sat")
    assert view.title.full_text().endswith("a [cat] sat")


@pytest.fixture
def animals(home, tmp_path) -> Path:
    """Imported word vectors, in lower case."""
    file = tmp_path / "animals.txt"
    file.write_text("cat 1 2 3\ndog 1 2 2\nmat -1 0 1\nsat 0 1 1\nbird 2 2 3\n")
    convert(file, home.vectors / "animals")
    return home.vectors / "animals"


def test_static_vectors_stand_beside_rows_and_occurrences(
    page, animals, explorer, wait, qtbot, studio
):
    """Three actions: the panel, a word, Static vectors; then an analogy is typed."""
    view = compare_words(page, explorer, wait)
    state = view._state.static
    wait(lambda: state.entries)
    choose(view, "static")
    wait(lambda: explorer.of_kind("relate_words"))
    question = explorer.of_kind("relate_words")[-1]
    assert (question.words, question.vectors, question.layer) == (("cat",), animals, 3)
    answer = explorer.compute(question)
    header = [column.title for column in view.static.near.rows.columns]
    assert header == ["animals", "Embedding rows", "1  the [cat] sat on …"]
    assert [row[0] for row in view.static.near.rows.rows[:2]] == ["0.980 dog", "0.972 bird"]
    token = answer.spaces[1].nearest[0]
    assert view.static.near.rows.rows[0][1] == f"{token.cosine:.3f} {token.token}"
    assert not view.static.cosines.isVisible() and "left out of the nearest" in view.note.text()
    qtbot.keyClicks(view.static.words, "Cat - mat + zebra")
    wait(lambda: len(explorer.of_kind("relate_words")[-1].words) == 3)
    question = explorer.of_kind("relate_words")[-1]
    assert (question.words, question.signs) == (("Cat", "mat", "zebra"), (1, -1, 1))
    explorer.compute(question)
    note = view.note.text()
    assert "Not in animals: “zebra”." in note and "Not in Embedding rows: “zebra”." in note
    assert "“Cat” is looked up as “cat”." in note and "In none of the texts: “zebra”." in note
    rows = view.static.cosines.rows.rows
    assert [row[0] for row in rows] == [
        "animals", "Embedding rows", "Embeddings", "Layer 1", "Layer 2", "Layer 3",
    ]  # fmt: skip
    assert rows[0][1:] == ("0.378", "–", "–") and make_figure(view._state) is None
    view.static.words.clear()
    qtbot.keyClicks(view.static.words, "cat + mat")
    QTest.keyClick(view.static.words, Qt.Key.Key_Return)
    answer = explorer.compute(explorer.of_kind("relate_words")[-1])
    assert "Layer 3" in [column.title for column in view.static.near.rows.columns]
    figure = make_figure(view._state)
    table = figure.table()
    assert table.header == ("space", "rank", "word", "cosine") and len(figure.array)
    assert ("animals", 0, "cat – mat", answer.spaces[0].cosines[0]) in table.rows
    assert figure.caption.endswith(source(page.state)) and b"dog" in figures.svg(figure)
    view.layers.selectRow(1)
    wait(lambda: explorer.of_kind("relate_words")[-1].layer == 1)
    assert_accessible(view)
    view.static.words.clear()
    qtbot.keyClicks(view.static.words, "cat +")
    wait(lambda: "Type one word" in view.note.text())


def test_word_vectors_are_requested_and_opened_from_the_models_page(
    page, animals, explorer, wait, qtbot, studio
):
    asked = []
    studio.navigate.connect(lambda key, argument: asked.append((key, argument)))
    page.arrive({"panel": "vectors", "vectors": animals})
    view = page.bench.docks["vectors"].panel
    wait(lambda: view.static.isVisible() and view.static.vectors.currentText() == "animals")
    qtbot.mouseClick(view.static.add, Qt.MouseButton.LeftButton)
    assert asked == [("models", {"import": "vectors"})]


def test_vectors_of_the_word_in_many_texts_are_saved(
    page, choose_texts, explorer, workers, wait, qtbot, tmp_path, monkeypatch
):
    """Two actions after the word: the button, and the name of the file."""
    choose_texts(page, "a cat sat", "the mat", "the cat sat on the cat")
    view = compare_words(page, explorer, wait)
    choose(view, "words")
    view.layers.selectRow(1)
    for name in ("cat.parquet", "cat.npy"):
        file = tmp_path / name
        monkeypatch.setattr(vectors_view, "ask_for_file", lambda *args, file=file: args[-1](file))
        view._state.saved = None
        qtbot.mouseClick(view.save_bar.run, Qt.MouseButton.LeftButton)
        wait(lambda: view._state.saved is not None and not view._state.saving.is_running)
        assert f"3 vector(s) of the word were written to {name}." in view.note.text()
    assert ".texts.csv" in view.note.text()
    assert (workers.questions[-1].layer, np.load(tmp_path / "cat.npy").shape) == (1, (3, 16))
    assert pq.read_table(tmp_path / "cat.parquet")["row"].to_pylist() == [1, 3, 3]
    view._state.set_word("dog")
    assert view._state.saved is None

"""Questions of researchers and teachers, each answered in at most six actions with mouse and keys.

A press of the mouse goes to the window, which gives it to the widget there, so what is covered or
cut cannot be used. What is asked is answered by the worker's own functions. A hand begins on the
page, with a text and a model.
"""

from operator import attrgetter
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QTabBar, QWidget

from app.library import describe_model
from app.pages.explore.view import ExplorePage
from app.widgets.navigation import WIDTH
from engine.config.dataset import Split
from engine.data.datasets.importing import import_dataset
from engine.data.formats.reading import recognise
from engine.models.checkpoint import load, write
from engine.models.heads import Heads
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.snapshots import snapshot_folder
from tests.app.pages.explore.conftest import make_model
from tests.app.pages.explore.test_over_training import night_run  # noqa: F401  # a run with snapshots

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier(0)
LABELS = ("negative", "neutral", "positive")
TEXTS = ("the cat sat on the mat", "a dog sat", "on the mat .", "a dog sat on a dog", "the mat",
         "unhappy cats", "the cat sat", "a mat")  # fmt: skip
MOST = 6
SMALLEST = (1100 - WIDTH, 700 - 36)  # px of the page in the smallest window


class Hand:
    """Uses the page as a person does, and counts."""

    def __init__(self, page: ExplorePage, explorer, wait) -> None:
        self.page, self._explorer, self._wait = page, explorer, wait
        self._answered = len(explorer.asked)
        self.actions = 0

    def click(self, widget: QWidget, place: QPoint | None = None, twice=False) -> None:
        """One action: a click, or a double-click, in the middle or at a point of a widget."""
        self.actions += 1
        press = QTest.mouseDClick if twice else QTest.mouseClick
        press(self.page.window().windowHandle(), LEFT, NONE, self.place(widget, place))

    def place(self, widget: QWidget, place: QPoint | None = None) -> QPoint:
        """In the window, in which nothing may cover it."""
        window = self.page.window()
        at = widget.mapTo(window, place or widget.rect().center())
        assert window.childAt(at) in (widget, *widget.findChildren(QWidget)), "it is covered or cut"
        return at

    def panel(self, key: str) -> QWidget:
        """One action: the tab of a panel."""
        title = self.page.bench.docks[key].windowTitle()
        for bar in self.page.bench.findChildren(QTabBar):
            for number in range(bar.count()):
                if bar.tabText(number).replace("&", "") == title:
                    self.click(bar, bar.tabRect(number).center())
        self.until(lambda: self.page.bench.is_visible(key))
        return self.page.bench.docks[key].panel

    def type(self, widget: QWidget, *lines: str) -> None:
        """One action: texts in a field."""
        self.click(widget)
        focused = QApplication.focusWidget()
        assert focused is widget
        for number, line in enumerate(lines):
            if number:
                QTest.keyClick(focused, Qt.Key.Key_Return)
            QTest.keyClicks(focused, line)

    def row(self, table: QAbstractItemView, number: int) -> None:
        """One action: a row of a table."""
        cell = table.visualRect(table.model().index(number, 0))
        self.click(table.viewport(), QPoint(max(cell.left(), 0) + 12, cell.center().y()))

    def header(self, table, section: int) -> None:
        """One action: the rows by a column."""
        table.scrollTo(table.model().index(0, section))
        header = table.horizontalHeader()
        point = QPoint(header.sectionViewportPosition(section) + 12, header.height() // 2)
        self.click(header.viewport(), point)

    def until(self, ready) -> None:
        """Answer the pending questions."""

        def answered() -> bool:
            questions = self._explorer.asked[self._answered :]
            self._answered += len(questions)
            newest = {(question.kind, question.side): question for question in questions}
            for question in newest.values():
                self._explorer.compute(question)
            return bool(ready())

        self._wait(answered)


@pytest.fixture
def model(home) -> Path:
    """It predicts tokens and knows three classes."""
    return make_model(home.models / "tiny", Heads(mlm=True, outputs=3), labels=LABELS)


@pytest.fixture
def hand(make_page, model, explorer, wait):
    used = Hand(make_page(model, TEXTS[0], SMALLEST), explorer, wait)
    yield used
    assert 0 < used.actions <= MOST


def choose_texts(hand: Hand, *lines: str) -> None:
    """Two actions: the panel Texts, and texts that are typed there."""
    hand.type(hand.panel("texts").typed, *lines)
    explore = hand.page.state
    hand.until(lambda: explore.chosen is not None and explore.chosen.count == len(lines))


def test_which_head_follows_coreference_in_a_conllu_file(hand, home, tmp_path):
    """Its column HEAD has the antecedent of a word, 0 if there is none."""
    row = "{}\t{}\t_\t{}\t_\t_\t{}\t_\t_\t_\n"
    words = ("a", "dog", "sat", "on", "the", "mat", "unhappy")
    file = tmp_path / "mine.conllu"
    file.write_text(
        "\n".join(
            "".join(row.format(n + 1, words[(n + k) % 7], "_", 2 * (n == 4)) for n in range(6))
            for k in range(6)
        )
        + "\n",
        encoding="utf-8",
    )
    source = recognise(file)
    import_dataset(
        "mine",
        {"all": file},
        source.reading,
        source.mapping,
        Split(validation=0, test=0),
        home.datasets / "mine" / "1",
    )
    view = hand.panel("texts")
    hand.until(lambda: view.source.count() == 2)
    hand.actions += 1
    view.source.setFocus()
    QTest.keyClick(view.source, Qt.Key.Key_Down)
    explore = hand.page.state
    hand.until(lambda: explore.chosen is not None and explore.chosen.count == 6)
    view = hand.panel("heads")
    hand.click(view.bar.run)
    hand.until(lambda: view.rows.rowCount() == 6 and not view._state.work.is_running)
    header, section = view.table.horizontalHeader(), view.rows.column_index("head dependent")
    seen = header.sectionViewportPosition(section) + header.sectionSize(section)
    assert seen <= header.viewport().width(), "it is in sight without scrolling"
    hand.header(view.table, section)
    hand.row(view.table, 0)
    right = view._state.interval("head dependent")[0]
    assert not any(key.startswith("tag ") for key in view._state.keys), "no word has a tag"
    assert (explore.layer, explore.head) == view.rows.row(0)
    assert right[explore.layer, explore.head] == right.max()
    assert "the best fixed offset, -3, has" in view.note.text()


def test_the_first_control_of_a_panel_is_visible_in_the_smallest_window(hand):
    """The tests of the panels count their actions."""
    choose_texts(hand, *TEXTS)
    runs = dict.fromkeys(("texts", "heads", "map", "difference"), "bar.run")
    others = {"attention": "overview.list", "vectors": "texts", "attribution": "controls.target"}
    for key, name in (runs | others).items():
        hand.place(attrgetter(name)(hand.panel(key)))
    hand.actions = MOST


def test_what_did_fine_tuning_change(hand, home, model, wait):
    loaded = load(model)
    for parameter in loaded.network.parameters():
        parameter.data.mul_(1.02)
    tuned = home.models / "zz-tuned"
    tuned.mkdir()
    write(tuned, loaded.network, loaded.tokenizer, loaded.labels)
    hand.page.read_models()
    wait(hand.page.compare.isEnabled)
    choose_texts(hand, *TEXTS)
    hand.click(hand.page.compare)
    hand.until(lambda: hand.page.state.is_compared and hand.page.state.is_settled)
    view = hand.panel("difference")
    hand.click(view.bar.run)
    hand.until(lambda: view._state.answer is not None and not view._state.work.is_running)
    assert describe_model("zz-tuned", tuned, "imported").path == hand.page.state.second.checkpoint
    assert view.grid.values.shape == (3, 2) and (view.grid.values > 0).all()
    assert len(view.texts.rows.rows) == len(TEXTS)


def test_what_was_learned_between_two_steps(make_page, explorer, wait, night_run):  # noqa: F811
    run = RunFolder(night_run.path)
    page = make_page(run.checkpoint(24), "a warm film and a good end", SMALLEST)
    wait(page.training_bar.isVisible)
    hand, bar = Hand(page, explorer, wait), page.training_bar
    film = next(n for n, token in enumerate(page.state.first.tokens) if "film" in token.text)
    hand.click(page.strip, page.strip.boxes[film].center().toPoint(), twice=True)
    hand.panel("words")
    hand.click(bar.slider, QPoint(round(bar.slider.to_x(1)), bar.slider.height() // 3))
    hand.until(lambda: bar.state.is_answered)
    hand.click(bar.compare_button)
    hand.until(lambda: bar.state.is_answered)
    hand.click(bar.slider, QPoint(round(bar.slider.to_x(6)), bar.slider.height() // 3))
    assert bar.status.text() == "Step 24 · computing …", "the panels show another step"
    hand.until(lambda: bar.state.is_answered)
    assert [side.checkpoint for side in page.state.both] == [
        snapshot_folder(run, 24),
        snapshot_folder(run, 1),
    ]
    words = page.bench.docks["words"].panel.predictions
    bars = words.cards[0].bars.shown
    assert bars and all(None not in (bar.probability, bar.second) for bar in bars)
    assert any(abs(bar.probability - bar.second) > 0.01 for bar in bars)
    assert all(f"Night, step {step}" in words.models.text() for step in (24, 1))
    assert hand.actions <= MOST
    bar.slider.setFocus()
    QTest.keyClick(bar.slider, Qt.Key.Key_Left)
    steps = [checkpoint_step(side.checkpoint) for side in page.state.both]
    assert steps == [16, 1], "the other step stays"

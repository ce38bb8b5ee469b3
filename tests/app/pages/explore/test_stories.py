"""Questions of researchers and teachers, each answered in at most six actions with mouse and keys.

Clicks go to the window, so a covered or clipped widget cannot be used. The worker's own functions
answer the questions. A `User` starts on the page, with a text and a model.
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
MAX_ACTIONS = 6
SMALLEST = (1100 - WIDTH, 700 - 36)  # px of the page in the smallest window


class User:
    """Uses the page as a person does, and counts."""

    def __init__(self, page: ExplorePage, explorer, wait) -> None:
        self.page, self._explorer, self._wait = page, explorer, wait
        self._answered = len(explorer.questions)
        self.actions = 0

    def click(self, widget: QWidget, point: QPoint | None = None, double=False) -> None:
        """One action: a click, or a double-click, in the middle or at a point of a widget."""
        self.actions += 1
        press = QTest.mouseDClick if double else QTest.mouseClick
        press(self.page.window().windowHandle(), LEFT, NONE, self.locate(widget, point))

    def locate(self, widget: QWidget, point: QPoint | None = None) -> QPoint:
        """Position in the window; nothing may cover it."""
        window = self.page.window()
        pos = widget.mapTo(window, point or widget.rect().center())
        assert window.childAt(pos) in (widget, *widget.findChildren(QWidget)), "covered or clipped"
        return pos

    def open_panel(self, key: str) -> QWidget:
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

    def click_row(self, table: QAbstractItemView, number: int) -> None:
        """One action: a row of a table."""
        cell = table.visualRect(table.model().index(number, 0))
        self.click(table.viewport(), QPoint(max(cell.left(), 0) + 12, cell.center().y()))

    def sort_by(self, table, section: int) -> None:
        """One action: sort by a column."""
        table.scrollTo(table.model().index(0, section))
        header = table.horizontalHeader()
        point = QPoint(header.sectionViewportPosition(section) + 12, header.height() // 2)
        self.click(header.viewport(), point)

    def until(self, ready) -> None:
        """Answer the pending questions."""

        def answer_pending() -> bool:
            questions = self._explorer.questions[self._answered :]
            self._answered += len(questions)
            newest = {(question.kind, question.side): question for question in questions}
            for question in newest.values():
                self._explorer.compute(question)
            return bool(ready())

        self._wait(answer_pending)


@pytest.fixture
def model(home) -> Path:
    """A model that predicts tokens and three classes."""
    return make_model(home.models / "tiny", Heads(mlm=True, outputs=3), labels=LABELS)


@pytest.fixture
def user(make_page, model, explorer, wait):
    new_user = User(make_page(model, TEXTS[0], SMALLEST), explorer, wait)
    yield new_user
    assert 0 < new_user.actions <= MAX_ACTIONS


def choose_texts(user: User, *lines: str) -> None:
    """Two actions: the panel Texts, and texts that are typed there."""
    user.type(user.open_panel("texts").typed, *lines)
    explore = user.page.state
    user.until(lambda: explore.chosen is not None and explore.chosen.count == len(lines))


def test_the_head_that_follows_coreference_is_found(user, home, tmp_path):
    """The HEAD column of the CoNLL-U file has the antecedent of a word, or 0."""
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
    view = user.open_panel("texts")
    user.until(lambda: view.source.count() == 2)
    user.actions += 1
    view.source.setFocus()
    QTest.keyClick(view.source, Qt.Key.Key_Down)
    explore = user.page.state
    user.until(lambda: explore.chosen is not None and explore.chosen.count == 6)
    view = user.open_panel("heads")
    user.click(view.bar.run)
    user.until(lambda: view.rows.rowCount() == 6 and not view._state.work.is_running)
    header, section = view.table.horizontalHeader(), view.rows.column_index("head dependent")
    right_edge = header.sectionViewportPosition(section) + header.sectionSize(section)
    assert right_edge <= header.viewport().width(), "visible without scrolling"
    user.sort_by(view.table, section)
    user.click_row(view.table, 0)
    agreement = view._state.interval("head dependent")[0]
    assert not any(key.startswith("tag ") for key in view._state.keys), "no word has a tag"
    assert (explore.layer, explore.head) == view.rows.row(0)
    assert agreement[explore.layer, explore.head] == agreement.max()
    assert "the best fixed offset, -3, has" in view.note.text()


def test_each_first_control_is_visible_and_fine_tuning_makes_differences(user, home, model, wait):
    """In the smallest window; the tests of the panels count their actions."""
    choose_texts(user, *TEXTS)
    runs = dict.fromkeys(("texts", "heads", "map", "difference"), "bar.run")
    others = {"attention": "overview.list", "vectors": "texts", "attribution": "controls.target"}
    for key, name in (runs | others).items():
        user.locate(attrgetter(name)(user.open_panel(key)))
    user.actions = 2  # the texts
    loaded = load(model)
    for parameter in loaded.network.parameters():
        parameter.data.mul_(1.02)
    tuned = home.models / "zz-tuned"
    tuned.mkdir()
    write(tuned, loaded.network, loaded.tokenizer, loaded.labels)
    user.page.read_models()
    wait(user.page.compare.isEnabled)
    user.click(user.page.compare)
    user.until(lambda: user.page.state.is_compared and user.page.state.is_settled)
    view = user.open_panel("difference")
    user.click(view.bar.run)
    user.until(lambda: view._state.answer is not None and not view._state.work.is_running)
    assert describe_model("zz-tuned", tuned, "imported").path == user.page.state.second.checkpoint
    assert view.grid.values.shape == (3, 2) and (view.grid.values > 0).all()
    assert len(view.texts.rows.rows) == len(TEXTS)


def test_two_steps_of_a_training_are_compared(make_page, explorer, wait, night_run):  # noqa: F811
    run = RunFolder(night_run.path)
    page = make_page(run.checkpoint(24), "a warm film and a good end", SMALLEST)
    wait(page.training_bar.isVisible)
    user, bar = User(page, explorer, wait), page.training_bar
    film = next(n for n, token in enumerate(page.state.first.tokens) if "film" in token.text)
    user.click(page.strip, page.strip.boxes[film].center().toPoint(), double=True)
    user.open_panel("words")
    user.click(bar.slider, QPoint(round(bar.slider.to_x(1)), bar.slider.height() // 3))
    user.until(lambda: bar.state.is_answered)
    user.click(bar.compare_button)
    user.until(lambda: bar.state.is_answered)
    user.click(bar.slider, QPoint(round(bar.slider.to_x(6)), bar.slider.height() // 3))
    assert bar.status.text() == "Step 24 · computing …", "the panels show another step"
    user.until(lambda: bar.state.is_answered)
    assert [side.checkpoint for side in page.state.both] == [
        snapshot_folder(run, 24),
        snapshot_folder(run, 1),
    ]
    words = page.bench.docks["words"].panel.predictions
    bars = words.cards[0].bars.shown
    assert bars and all(None not in (bar.probability, bar.second) for bar in bars)
    assert any(abs(bar.probability - bar.second) > 0.01 for bar in bars)
    assert all(f"Night, step {step}" in words.models.text() for step in (24, 1))
    assert user.actions <= MAX_ACTIONS
    bar.slider.setFocus()
    QTest.keyClick(bar.slider, Qt.Key.Key_Left)
    steps = [checkpoint_step(side.checkpoint) for side in page.state.both]
    assert steps == [16, 1], "the other step stays"

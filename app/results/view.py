"""What a model predicted: its score, pictures of it, and the rows behind them."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from app import background
from app.results.headline import Headline
from app.results.pictures import Pictures
from app.results.rows_view import RowsView
from app.results.state import ResultsState
from app.studio import Studio
from app.theme import SPACE
from app.widgets.buttons import Segments
from app.widgets.data_texts import split_title
from app.widgets.help import HelpButton, set_help
from app.widgets.page import EmptyState, Stack
from engine.data.columns.words import words_of
from engine.errors import StudioError
from engine.results.predictions import PredictionFacts, Predictions
from engine.spec.dataset import SPLITS

PICTURES_WIDTH = 96 * SPACE  # px
CONTENT, NONE, PROBLEM = range(3)

CheckpointOf = Callable[[PredictionFacts], Path | None]
"""The folder of the checkpoint that made predictions; None where it is gone."""


class ResultsView(QWidget):
    """The results of one run or model, as they lie in its folder of results."""

    def __init__(self, studio: Studio, checkpoint_of: CheckpointOf) -> None:
        super().__init__()
        self._studio, self._checkpoint_of = studio, checkpoint_of
        self._folder: Path | None = None
        self.kept: list[Path] = []
        self.state = ResultsState(studio.notices, self)
        self.headline = Headline(self.state)
        self.pictures = Pictures(self.state, studio.notices)
        self.rows = RowsView(self.state)
        self.parts = QWidget()
        self._parts: Segments | None = None
        self.none = EmptyState(
            "scan-search",
            self.tr("No results yet"),
            self.tr("When the run has finished, its predictions for the validation rows are here."),
        )
        self.problem = EmptyState("triangle-alert", self.tr("The results cannot be shown"), "")
        self.stack = Stack()
        for part in (self._content(), self.none, self.problem):
            self.stack.addWidget(part)
        self.stack.setCurrentIndex(NONE)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 3 * SPACE, 0, 0)
        column.addWidget(self.stack)
        set_help(self, "results")
        self.state.opened.connect(self._on_opened)
        self.state.exported.connect(self._on_exported)
        self.rows.explored.connect(self._on_explored)

    def show_folder(self, folder: Path) -> None:
        """Show the results in this folder, which are read off the window's thread."""
        self._folder = folder
        background.run(self, lambda: files_in(folder), self._on_kept, self._studio.notices.show)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _content(self) -> QWidget:
        self._head = QHBoxLayout()
        self._head.setSpacing(3 * SPACE)
        self._head.addWidget(self.headline, 1)
        self._head.addWidget(HelpButton("results"), 0, Qt.AlignmentFlag.AlignTop)
        splitter = QSplitter()
        splitter.addWidget(self.pictures)
        splitter.addWidget(self.rows)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([PICTURES_WIDTH, 10_000])
        splitter.setHandleWidth(4 * SPACE)
        splitter.setChildrenCollapsible(False)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addLayout(self._head)
        column.addWidget(splitter, 1)
        return content

    # ── what there is ────────────────────────────────────────────────────────────────────────

    def _on_kept(self, kept: list[Path]) -> None:
        if kept == self.kept:
            return
        self.kept = kept
        if self._parts is not None:
            self._parts.hide()
            self._parts.deleteLater()
            self._parts = None
        if not kept:
            self.stack.setCurrentIndex(NONE)
            return
        if len(kept) > 1:
            titles = [split_title(part) for part in SPLITS if any(p.stem == part for p in kept)]
            self._parts = Segments(titles, self.tr("Rows of the data set"))
            self._parts.choose(0)
            self._parts.chosen.connect(lambda number: self.state.open(self.kept[number]))
            self._head.insertWidget(1, self._parts, 0, Qt.AlignmentFlag.AlignTop)
        self.state.open(kept[0])

    def _on_opened(self) -> None:
        error = self.state.problem
        if error is None:
            self.stack.setCurrentIndex(CONTENT)
            return
        if not isinstance(error, StudioError):
            raise error
        self.problem.text.setText(f"{error.problem} {error.advice}".strip())
        self.stack.setCurrentIndex(PROBLEM)

    # ── what is done with rows ───────────────────────────────────────────────────────────────

    def _on_exported(self, path: Path) -> None:
        self._studio.notices.say(self.tr("Saved as {0}.").format(path))

    def _on_explored(self, place: int) -> None:
        """Open a row in Explore, with the model that predicted it and the wrong class."""
        predictions = self.state.predictions
        assert predictions is not None
        checkpoint = self._checkpoint_of(predictions.facts)
        if checkpoint is None:
            self._studio.notices.error(
                self.tr("The checkpoint that made these predictions is gone."),
                self.tr("Evaluate another checkpoint of the run, or open its best one."),
            )
            return
        texts = texts_of(predictions, place)
        predicted = predictions.table["predicted"][place].as_py()
        wanted = {"model": checkpoint, "panel": "predictions", "label": predicted, **texts}
        self._studio.go.emit("explore", wanted)


def texts_of(predictions: Predictions, place: int) -> dict[str, str | None]:
    """The text of a row and its second one, as Explore takes them."""
    mapping = predictions.facts.mapping
    second = mapping.pair or mapping.beginning

    def cell(column: str | None) -> str | None:
        there = column is not None and column in predictions.columns
        return predictions.cells(column)[place].as_py() if there and column else None

    text = cell(mapping.text) or ""
    if mapping.tags is not None:
        text = " ".join(words_of(text))
    return {"text": text, "pair": cell(second)}


def files_in(folder: Path) -> list[Path]:
    """The predictions in a folder of results, in the order of the parts of a data set."""
    files = (folder / f"{part}.parquet" for part in SPLITS)
    return [file for file in files if file.is_file()]

"""Dialogs of packets: what to hand out, and what taking packets in changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from app.theme import SPACE
from app.translation import tr, translated
from app.widgets import dialogs, layouts
from app.widgets.dialogs import Choice, Question
from app.widgets.forms.controls import ComboBox, SpinBox
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import Text, TextView, one_line, visible
from engine.config.codebook import Drawn
from engine.data.datasets.packets import coder_names, share_out
from engine.data.datasets.taking_in import TakenIn
from engine.errors import StudioError

ROWS, OVERLAP = 300, 100  # proposed, if there are so many
BOX_CHARACTERS = 36
LIST_HEIGHT = 40 * SPACE  # px

Suggested = Literal["", "labels", "model"]


@dataclass(frozen=True)
class Pool:
    """Rows to draw from."""

    title: str  # with {0} for their number
    rows: NDArray[np.int64]
    drawn: Drawn = "random"


@dataclass(frozen=True)
class HandOut:
    """Who codes which rows, and the suggestions that the coders see."""

    coders: tuple[str, ...]
    who: dict[int, tuple[str, ...]]
    drawn: Drawn
    chance: float
    suggested: Suggested


class HandOutFields(QWidget):
    """Coders, numbers of rows, and suggestions, with a sentence on what is drawn."""

    def __init__(
        self, pools: Sequence[Pool], reserved: NDArray[np.int64], has_labels: bool, model: str
    ) -> None:
        """Show the fields.

        Args:
            reserved: rows that are with coders, int64 [N], left out by default.
            model: name of the model that can suggest labels, “” for none.
        """
        super().__init__()
        self._pools, self._reserved = pools, reserved
        self.coders = QLineEdit()
        self.coders.setPlaceholderText(tr("Anna, Ben"))
        self.pool = ComboBox(tr("Draw from"), BOX_CHARACTERS)
        free = [int(np.isin(pool.rows, reserved, invert=True).sum()) for pool in pools]
        counts = zip(pools, map(numbers.count, free), strict=True)
        self.pool.addItems([pool.title.format(count) for pool, count in counts])
        self.again = QCheckBox(self.tr("Also draw the %Ln row(s) with coders", "", len(reserved)))
        most = max(len(pool.rows) for pool in pools)
        self.rows, self.overlap = SpinBox(), SpinBox()
        self.rows.setRange(1, most)
        self.rows.setValue(min(ROWS, free[0]))
        self.overlap.setRange(0, most)
        self.overlap.setValue(min(OVERLAP, self.rows.value()))
        self.suggested = ComboBox(tr("Suggestions"), BOX_CHARACTERS)
        self.suggested.addItem(tr("None: the coders see no label"), "")
        if has_labels:
            self.suggested.addItem(tr("The labels that rows have"), "labels")
        if model:
            self.suggested.addItem(tr("By the model {0}").format(one_line(model)), "model")
        self.sentence = Text("", "muted")
        self.sentence.setMinimumHeight(2 * self.sentence.fontMetrics().lineSpacing())
        self.ready: Callable[[bool], object] = lambda _: None
        grid = layouts.grid(parent=self, h_spacing=4 * SPACE, v_spacing=2 * SPACE, stretch=1)
        controls = (
            (tr("Coders"), self.coders),
            (tr("Draw from"), self.pool),
            ("", self.again),
            (tr("Rows for each coder"), self.rows),
            (tr("Of these, coded by all"), self.overlap),
            (tr("Suggestions"), self.suggested),
            ("", self.sentence),
        )
        for index, (name, control) in enumerate(controls):
            grid.addWidget(control, index, 1)
            if name:
                grid.addWidget(Text(name, "strong", wraps=False), index, 0)
                control.setAccessibleName(name)
        set_shown(self.again, len(reserved) > 0)
        self.coders.textChanged.connect(self.show_draw)
        self.pool.currentIndexChanged.connect(self.show_draw)
        self.again.toggled.connect(self.show_draw)
        self.rows.valueChanged.connect(self.show_draw)
        self.overlap.valueChanged.connect(self.show_draw)

    def chosen(self) -> HandOut:
        """The draw that the fields describe. Raises StudioError if it is impossible."""
        rows, coders, drawn = self._drawn_from, self._names(), self._pool.drawn
        who = share_out(rows, coders, self.rows.value(), self._overlap)
        chance = len(who) / len(rows) if drawn == "random" else 1.0
        return HandOut(coders, who, drawn, chance, self.suggested.currentData())

    def show_draw(self) -> None:
        """Show how many rows are drawn, or why they cannot be."""
        self.overlap.setEnabled("," in self.coders.text().replace(";", ","))
        try:
            chosen = self.chosen()
        except StudioError as error:
            self.sentence.setText(translated(error.phrase) if self.coders.text() else "")
            self.ready(False)
            return
        total = numbers.count(len(self._drawn_from))
        own = numbers.count(self.rows.value() - self._overlap)
        if len(chosen.coders) > 1:
            text = tr("{0} of {1} rows are drawn at random: {2} for all, and {3} for each coder.")
        else:
            text = tr("{0} of {1} rows are drawn at random.")
        drawn = numbers.count(len(chosen.who))
        self.sentence.setText(text.format(drawn, total, numbers.count(self._overlap), own))
        self.ready(True)

    @property
    def _pool(self) -> Pool:
        return self._pools[self.pool.currentIndex()]

    @property
    def _drawn_from(self) -> NDArray[np.int64]:
        """The rows to draw from, int64 [N]."""
        rows = self._pool.rows
        return rows if self.again.isChecked() else rows[~np.isin(rows, self._reserved)]

    @property
    def _overlap(self) -> int:
        return min(self.overlap.value(), self.rows.value())

    def _names(self) -> tuple[str, ...]:
        return coder_names(self.coders.text().replace(";", ",").split(","))


def ask_to_hand_out(
    owner: QWidget, fields: HandOutFields, hand_out: Callable[[HandOut], object]
) -> Question:
    """Ask who codes how many rows."""
    text = tr(
        "One file for all coders: they open it in this program under their names, code its rows, "
        "and send a file back."
    )
    choice = Choice("hand out", tr("Save &packet…"), "primary")
    title = tr("Hand rows out")
    question = dialogs.confirm(
        owner, title, text, choice, lambda: hand_out(fields.chosen()), [fields]
    )
    fields.ready = question.buttons["hand out"].setEnabled
    fields.show_draw()
    return question


def ask_to_take_in(
    owner: QWidget, found: TakenIn, number: int, take_in: Callable[[], object]
) -> Question:
    """Show what packets bring, and their conflicts; `number` is that of the new version."""
    lines = [translated(sentence) for sentence in found.sentences()]
    body: list[QWidget] = [Text("\n".join(map(visible, lines)), "body")]
    if found.conflicts:
        body.append(Text(tr("%Ln conflict(s)", len(found.conflicts)), "strong"))
        conflicts = TextView(tr("Conflicts"), mono=False, height=LIST_HEIGHT)
        conflicts.setPlainText("\n".join(conflict_lines(found)))
        body.append(conflicts)
    template = tr("Version {0} will be created, with a column for each coder; this one stays.")
    choice = Choice("take in", tr("&Take in"), "primary")
    return dialogs.confirm(
        owner, tr("Take codes in"), template.format(number), choice, take_in, body
    )


def conflict_lines(found: TakenIn) -> list[str]:
    """A line for each conflict, with the line of its row."""
    return [
        visible(
            translated(text)
            if row < 0
            else tr("Line {0}: {1}").format(numbers.count(line), translated(text))
        )
        for row, line, text in found.conflicts
    ]

"""Findings of the row checks in a list with a checkbox for each fix."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QWidget

from app.pages.data.importing.findings import FindingsState
from app.theme import SPACE, px
from app.translation import in_language, translated
from app.widgets import layouts
from app.widgets.forms.controls import ComboBox
from app.widgets.page import clear, scrolling
from app.widgets.text.labels import Text, plain_menu_text
from engine.data.checks import CHECKS
from engine.data.checks.check import Finding

FIX_WIDTH = 68 * SPACE  # px


class FindingsView(QWidget):
    """Checked fixes are applied together after the import, as a separate version."""

    def __init__(self, state: FindingsState) -> None:
        super().__init__()
        self._state = state
        self._shown: Sequence[Finding] | None = None
        self.note = Text("", "muted")
        self._grid = layouts.grid(
            h_spacing=4 * SPACE, v_spacing=3 * SPACE, stretch=1, margins=(0, 0, 2 * SPACE, 0)
        )
        self.boxes: list[tuple[QCheckBox, ComboBox | None]] = []
        layouts.column(scrolling(layouts.page(self.note, self._grid, layouts.STRETCH)), parent=self)

    def show_findings(self, findings: Sequence[Finding], note: str) -> None:
        """Show findings and a note; widgets of the same findings are kept."""
        self.note.setText(note)
        self.note.setVisible(bool(note))
        if self._shown is findings:
            self._update()
            return
        self._shown = findings
        clear(self._grid)
        self.boxes = []
        for row, finding in enumerate(findings):
            self._add(row, finding)
        self._update()

    def _add(self, row: int, finding: Finding) -> None:
        title = in_language(CHECKS[finding.check].title)
        texts = layouts.column(spacing=0)
        texts.addWidget(Text(title, "strong"))
        texts.addWidget(Text(translated(finding.sentence), "muted", selectable=True))
        self._grid.addLayout(texts, row, 1)
        box, choice = QCheckBox(), None
        titles = [plain_menu_text(translated(fix.title)) for fix in finding.fixes]
        if len(titles) > 1:
            choice = ComboBox(f"{title}: {self.tr('fix')}")
            choice.addItems(titles)
            choice.setFixedWidth(px(FIX_WIDTH))
            choice.activated.connect(partial(self._choose, row))
            self._grid.addWidget(choice, row, 2, Qt.AlignmentFlag.AlignTop)
        elif titles:
            self._grid.addWidget(Text(titles[0]), row, 2, Qt.AlignmentFlag.AlignTop)
        box.setAccessibleName(f"{title}: {', '.join(titles)}")
        box.setEnabled(bool(titles))
        box.clicked.connect(partial(self._choose, row))
        self._grid.addWidget(box, row, 0, Qt.AlignmentFlag.AlignTop)
        self.boxes.append((box, choice))

    def _choose(self, row: int, _: object = None) -> None:
        """Apply the chosen fix of a finding if its box is checked, and no other."""
        assert self._shown is not None
        finding, (box, choice) = self._shown[row], self.boxes[row]
        chosen = finding.fixes[0 if choice is None else choice.currentIndex()]
        self._state.choose(finding, chosen if box.isChecked() else None)

    def _update(self) -> None:
        for finding, (box, choice) in zip(self._shown or (), self.boxes, strict=True):
            names = [(finding.check, fix.name) for fix in finding.fixes]
            chosen = [n for n, name in enumerate(names) if name in self._state.chosen_fixes]
            box.setChecked(bool(chosen))
            if choice is not None and chosen:
                choice.setCurrentIndex(chosen[0])

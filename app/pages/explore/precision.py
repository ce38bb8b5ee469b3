"""Precision of the answers: exact or fast, and that of the last answer."""

from PySide6.QtWidgets import QCheckBox, QWidget

from app.explorer import Explorer
from app.pages.explore.state import ExploreState
from app.settings import Settings
from app.theme import SPACE
from app.widgets import layouts
from app.widgets.text.labels import Text, tooltip
from engine.messages.explore.fill_mask import MaskFilled
from engine.messages.explore.prediction import Predicted
from engine.messages.explore.text import PRECISIONS, PreciseAnswer
from engine.messages.question import Answer


class PrecisionSwitch(QWidget):
    """Check box for exact answers, stored in the settings, and a status text."""

    def __init__(
        self,
        explore: ExploreState,
        explorer: Explorer,
        settings: Settings,
    ) -> None:
        super().__init__()
        self._explore, self._settings = explore, settings
        self.said = Text("", "small", wraps=False)
        self.exact = QCheckBox(self.tr("E&xact (fp32)"))
        self.exact.setToolTip(
            tooltip(
                self.tr(
                    "Predictions in fp32. When off, a lower precision is used where it is faster "
                    "and agrees on built-in texts: every probability within 5 % of itself and "
                    "within 0.01, the same top five tokens. Attention, analyses and whatever is "
                    "saved are always exact."
                )
            )
        )
        self.exact.setChecked(settings.preferences.exact_answers)
        explore.set_exact(self.exact.isChecked())
        layouts.row(self.said, self.exact, parent=self, spacing=3 * SPACE)
        self.exact.toggled.connect(self._on_toggled)
        explore.model_changed.connect(lambda: self.said.setText(""))
        explorer.answered.connect(self._on_answer)

    def _on_toggled(self, exact: bool) -> None:
        self._settings.set("exact_answers", exact)
        self._explore.set_exact(exact)

    def _on_answer(self, answer: Answer) -> None:
        if isinstance(answer, MaskFilled | Predicted):
            self.said.setText(self._how(answer))

    def _how(self, answer: PreciseAnswer) -> str:
        if answer.computed != "float32":
            return self.tr("Fast ({0}).").format(PRECISIONS[answer.computed])
        match answer.why_exact:
            case "preparing":
                return self.tr("Exact (fp32); testing faster precisions.")
            case "none":
                return self.tr("Exact (fp32): no faster precision agrees.")
            case "device":
                return self.tr("Exact (fp32), as always on this device.")
            case "snapshot":
                return self.tr("Exact (fp32), as always with snapshots.")
        return self.tr("Exact (fp32).")

"""The texts of the window in the user's language; English needs only its plurals."""

import re

from PySide6.QtCore import QObject, QTranslator

PLURAL = re.compile(r"\((e?s)\)")  # “%Ln run(s)”, “%Ln class(es)”


class English(QTranslator):
    """The texts as they stand in the source, with the ending that their number asks for."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)

    def isEmpty(self) -> bool:
        return False

    def translate(
        self, context: str, source: str, disambiguation: str | None = None, number: int = -1
    ) -> str:
        if number < 0 or "(" not in source:
            return source
        return PLURAL.sub("" if number == 1 else r"\1", source)

"""First rows tokenized by a model. No widgets."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.data.importing.preview import Example, FilePreview, examples_of
from engine.config.dataset import Mapping
from engine.errors import StudioError
from engine.tokenizers.tokenizer import Tokenizer


class ExamplesState(QObject):
    """Signals:
    changed: `examples` or their `problem`.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model: Path | None = None  # model whose tokenizer is used
        self.examples: list[Example] = []
        self.problem = ""
        self.unknown = -1  # id of [UNK]
        self._preview: FilePreview | None = None
        self._mapping: Mapping | None = None
        self._tokenizers: dict[Path, Tokenizer] = {}
        self._working: background.Job | None = None

    def set_model(self, folder: Path | None) -> None:
        """Tokenize the examples with the model in this folder."""
        self.model = folder
        self._tokenize()

    def show(self, preview: FilePreview | None, mapping: Mapping | None) -> None:
        """Show the first rows of this file with these columns."""
        self._preview, self._mapping = preview, mapping
        self._tokenize()

    def clear(self) -> None:
        """Cancel and show nothing."""
        if self._working is not None:
            self._working.cancel()
        self._working, self._preview, self._mapping, self.examples = None, None, None, []

    def _tokenize(self) -> None:
        if self._working is not None:
            self._working.cancel()
            self._working = None
        preview, mapping, folder = self._preview, self._mapping, self.model
        if preview is None or mapping is None or folder is None:
            self.examples = []
            self.changed.emit()
            return
        known = self._tokenizers.get(folder)

        def work() -> tuple[Tokenizer, list[Example]]:
            tokenizer = known or Tokenizer.from_folder(folder)
            return tokenizer, examples_of(preview, mapping, tokenizer)

        def done(result: tuple[Tokenizer, list[Example]]) -> None:
            self._working = None
            self._tokenizers[folder], self.examples = result
            self.unknown, self.problem = result[0].unknown, ""
            self.changed.emit()

        self._working = background.run(self, work, done, self._on_failed)

    def _on_failed(self, error: BaseException) -> None:
        self._working = None
        if not isinstance(error, StudioError):
            raise error
        self.examples, self.problem = [], error.problem
        self.changed.emit()

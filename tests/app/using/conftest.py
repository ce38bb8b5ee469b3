"""The “Use it” tab in a window."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app import background
from app.studio import Studio
from app.using.tab import UseTab
from engine.messages.question import Question
from tests.app.pages.explore.conftest import FakeExplorer
from tests.app.threads import FakeWorkers


class ThreadedExplorer(FakeExplorer):
    """Answers every question in a thread."""

    def ask(self, question: Question) -> int:
        number = super().ask(question)
        emit = self.answered.emit
        FakeWorkers(self.scratch, self).start(self.questions[-1], emit, emit, on_partial=emit)
        return number


@pytest.fixture
def in_threads(in_threads: None, studio: Studio, tmp_path: Path) -> Iterator[None]:
    """Answer questions to one-time workers and the explorer in threads."""
    explorer, studio.explorer = studio.explorer, ThreadedExplorer(tmp_path / "scratch")
    yield
    background.finish()
    studio.explorer = explorer


@pytest.fixture
def tab(qtbot: Any, studio: Studio) -> Iterator[UseTab]:
    tab = UseTab(studio)
    qtbot.addWidget(tab)
    tab.resize(900, 640)
    tab.show()
    yield tab
    background.finish()

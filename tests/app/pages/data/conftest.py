"""A Data page on a fresh home with a small model, and files to import."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.pages.data.view import DataPage
from app.studio import Studio
from tests.app.pages.train.conftest import write_model

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(name, text)` creates a file and returns its path."""

    def write_file(name: str, text: str, encoding: str = "utf-8") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode(encoding))
        return file

    return write_file


@pytest.fixture
def reviews(write: Write) -> Path:
    """120 sentences with two labels; two of three are good."""
    rows = [
        f"the film was very {'good' if n % 3 else 'bad'} {n},{1 if n % 3 else 0}"
        for n in range(120)
    ]
    return write("reviews.csv", "sentence,label\n" + "\n".join(rows) + "\n")


@pytest.fixture
def duplicates(write: Write) -> Path:
    """40 sentences: one is duplicated, another has two labels."""
    rows = [f"the film {n} was very good,{n % 2}" for n in range(40)]
    return write("twice.csv", "\n".join(["sentence,label", *rows, rows[0], f"{rows[1][:-1]}0"]))


@pytest.fixture
def page(qtbot, studio: Studio) -> DataPage:
    """The page in a window, its lists read."""
    write_model(studio.home.models / "little")
    page = DataPage(studio)
    qtbot.addWidget(page)
    page.resize(1200, 800)
    page.show()
    page.arrive(None)
    qtbot.waitUntil(lambda: page.state.entries is not None and bool(page._models))
    return page


@pytest.fixture
def tagged(write: Write) -> Path:
    """40 sentences of tagged words, in IOBES."""
    sentence = "Ada\tB-person\nLovelace{0}\tE-person\nsaw\tO\nParis\tS-place\n"
    return write("names.conll", "\n".join(sentence.format(number or "") for number in range(40)))

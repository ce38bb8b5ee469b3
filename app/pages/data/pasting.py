"""Clipboard content pasted on the Data page, as files."""

from pathlib import Path

from PySide6.QtCore import QMimeData

from engine.files.atomic_write import write_file

FOLDER = "pasted"  # in the cache
SHOWN_LINES = 2_000  # characters used to detect a table


def copied_files(content: QMimeData) -> list[Path]:
    """Copied files."""
    return [Path(url.toLocalFile()) for url in content.urls() if url.isLocalFile()]


def file_with(text: str, cache: Path, name: str) -> Path:
    """New file with a pasted text; tabs make it a table."""
    suffix = ".tsv" if "\t" in text[:SHOWN_LINES] else ".txt"
    folder = cache / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    file, number = folder / f"{name}{suffix}", 2
    while file.exists():
        file, number = folder / f"{name} {number}{suffix}", number + 1
    write_file(file, text.encode("utf-8", errors="replace"))
    return file

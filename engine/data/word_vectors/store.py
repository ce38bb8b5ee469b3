"""Word vectors in the home folder: converted once, then mapped and never read whole.

A folder has facts.json, `vectors.npy` with float32 [V, D] as in the file, and words.arrow with one
row for each: the word, the norm of its vector, and `order`, the rows in the order of their words,
in which words are found by bisection. V words, D size of a vector.
"""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.data.word_vectors.facts import FACTS, damaged_error, read_facts
from engine.data.word_vectors.reading import examine, read
from engine.errors import BadFile
from engine.files.atomic_write import atomic_folder, check_free_space
from engine.files.regular_file import check_regular
from engine.messages.word_vectors import VectorFacts
from engine.phrases import phrase
from engine.progress import ProgressCallback, no_progress

VECTORS, WORDS = "vectors.npy", "words.arrow"
SLICE = 32_768  # vectors compared at a time
TINY = 1e-30  # a norm of zero gives cosines of zero


def convert(path: Path, into: Path, progress: ProgressCallback = no_progress) -> VectorFacts:
    """Convert a file to the mapped folder `into`, which appears whole or not at all.

    The first of equal words is kept, and words that are not UTF-8 are left out; the facts count
    both. `progress` gets words. Raises BadFile as `read`, and DiskFull.
    """
    layout = examine(path)
    check_free_space(into, layout.bytes)
    rows, norms = dict[str, None](), list[NDArray[np.float32]]()
    read_words, duplicates, not_utf8, first_not_utf8 = 0, 0, 0, 0
    with atomic_folder(into, has_manifest=False) as folder:
        with open(folder / VECTORS, "xb") as out:
            _write_header(out, 0, layout.size)
            for part in read(path, layout):
                kept = list[int]()
                for index, content in enumerate(part.words):
                    try:
                        word = content.decode("utf-8")
                    except UnicodeDecodeError:
                        not_utf8 += 1
                        first_not_utf8 = first_not_utf8 or part.first + index
                        continue
                    if word in rows:
                        duplicates += 1
                        continue
                    rows[word] = None
                    kept.append(index)
                vectors = part.vectors if len(kept) == len(part.words) else part.vectors[kept]
                norms.append(np.linalg.norm(vectors, axis=1))
                vectors.astype("<f4", copy=False).tofile(out)
                read_words += len(part.words)
                progress(read_words, max(read_words, layout.words))
            if not rows:
                raise BadFile(
                    path,
                    phrase("none of its words is valid UTF-8."),
                    phrase("Convert the file to UTF-8."),
                )
            out.seek(0)
            _write_header(out, len(rows), layout.size)
        words = pa.array(rows, pa.string())
        columns = {
            "word": words,
            "norm": np.concatenate(norms),
            "order": pc.array_sort_indices(words),
        }
        table = pa.table(columns)
        with (
            pa.OSFile(str(folder / WORDS), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as out,
        ):
            out.write_table(table)
        facts = VectorFacts(
            file=path.name,
            form="binary" if layout.is_binary else "text" if layout.has_header else "glove",
            words=len(rows),
            size=layout.size,
            duplicates=duplicates,
            not_utf8=not_utf8,
            first_not_utf8=first_not_utf8,
            has_capitals=any(word != word.lower() for word in rows),
            bytes=sum(file.stat().st_size for file in folder.iterdir()),
        )
        (folder / FACTS).write_text(facts.model_dump_json(), encoding="utf-8")
    return facts


def _write_header(out: BinaryIO, rows: int, size: int) -> None:
    """The header of a .npy, whose length does not depend on the number of rows."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, size)}
    np.lib.format.write_array_header_1_0(out, header)


class Looked(NamedTuple):
    """A word of the file: its row, and the word as the file has it."""

    row: int
    word: str


class WordVectors:
    """Mapped word vectors. Raises StudioError if the folder is missing or damaged."""

    def __init__(self, folder: Path) -> None:
        self.facts = read_facts(folder)
        try:
            table = pa.ipc.open_file(pa.memory_map(str(check_regular(folder / WORDS)))).read_all()
            self._words, norms, order = (table[name].chunk(0) for name in ("word", "norm", "order"))
            self._norms, self._order = norms.to_numpy(), order.to_numpy()
            self.vectors = np.load(check_regular(folder / VECTORS), mmap_mode="r")  # [V, D]
        except (OSError, ValueError, LookupError, pa.ArrowException) as error:
            raise damaged_error(folder) from error
        if self.vectors.shape != (len(self._words), self.facts.size):
            raise damaged_error(folder)

    def __len__(self) -> int:
        return len(self._words)

    def word(self, row: int) -> str:
        return str(self._words[row].as_py())

    def look_up(self, word: str) -> Looked | None:
        """Find a word: as it is written, else in lower case, else with “_” for spaces."""
        plain = (word, word.lower())
        for candidate in dict.fromkeys((*plain, *(text.replace(" ", "_") for text in plain))):
            place = bisect_left(
                self._order, candidate, key=lambda row: self._words[int(row)].as_py()
            )
            if place < len(self) and self.word(row := int(self._order[place])) == candidate:
                return Looked(row, candidate)
        return None

    def unit(self, row: int) -> NDArray[np.float32]:
        """The vector of a word with length 1, [D]."""
        unit: NDArray[np.float32] = self.vectors[row] / max(self._norms[row], TINY)
        return unit

    def cosines_to(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines of all words with a vector of length 1, float32 [V]."""
        cosines = np.empty(len(self), np.float32)
        for start in range(0, len(self), SLICE):
            part = slice(start, start + SLICE)
            cosines[part] = self.vectors[part] @ query / np.maximum(self._norms[part], TINY)
        return cosines


def combine(units: Sequence[NDArray[np.float32]], signs: Sequence[int]) -> NDArray[np.float32]:
    """The direction of a sum of unit vectors with signs, of length 1, [D]; it finds analogies
    (Levy and Goldberg 2014, §3, 3CosAdd)."""
    total = np.sum([sign * unit for sign, unit in zip(signs, units, strict=True)], axis=0)
    combined: NDArray[np.float32] = total / max(np.linalg.norm(total), TINY)
    return combined


def best(
    cosines: NDArray[np.float32], top: int, without: Sequence[int] = ()
) -> list[tuple[int, float]]:
    """The rows with the highest cosines, the highest first, except some rows; ties in order."""
    candidates = np.arange(len(cosines))
    if len(cosines) > (count := top + len(without)):
        lowest = np.partition(cosines, -count)[-count]
        candidates = np.flatnonzero(cosines >= lowest)
    order = candidates[np.argsort(-cosines[candidates], kind="stable")]
    chosen = [int(row) for row in order if row not in without]
    return [(row, float(cosines[row])) for row in chosen[:top]]

"""Corpora larger than memory: read and tokenised a little at a time, on any number of cores."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.config.dataset import SPLITS as ALL_PARTS
from engine.config.dataset import DatasetSpec, Mapping, Reading, Split
from engine.data.datasets.store import Dataset, StoredTexts, open_dataset
from engine.data.tokenized.dataset import GrowingArray, TokenizedDataset, tokenize_stream
from engine.errors import StudioError
from engine.files.atomic_write import sha256
from engine.runs.launch import environment
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.training import learn_vocabulary

SIZE = 24_000_000  # characters of the corpus
ROOM = SIZE / 2  # bytes by which memory may grow after the first quarter

WORK = """
import json, re, sys
from pathlib import Path
import psutil
from engine.data.tokenized.dataset import tokenize_stream
from engine.data.tokenized.sentence_pairs import tokenize_pairs
from engine.data.datasets.store import open_dataset
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import WordPiece

class Quick(Tokenizer):
    # the library holds nothing of what it has read, and takes most of the time
    def contents(self, texts, enough=None):
        return [[5] * (len(text) // 40) for text in texts]

def peak():  # getrusage knows the peak of the parent as well
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])

def told(done, total):
    global before
    if not before and done > total / 4:
        before = psutil.Process().memory_info().rss

data, out = map(Path, sys.argv[1:])
tokenizer = Quick(WordPiece(tokens=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a")))
dataset = open_dataset(data)
texts, taken = dataset.stream("train").texts, {}
before = 0
tokenize_stream(texts, tokenizer, 128, out / "stream", told, len(texts))
taken["stream"] = peak() - before
before = 0
tokenize_pairs(texts, tokenizer, 128, out / "pairs", 0.5, 1, told, len(texts))
taken["pairs"] = peak() - before
before = psutil.Process().memory_info().rss
texts = list(dataset.rows("train").texts)
taken["rows"] = peak() - before
print(json.dumps(taken))
"""

CUT = """
import sys
from pathlib import Path
from engine.data.tokenized.dataset import tokenize_stream
from engine.data.tokenized.sentence_pairs import tokenize_pairs
from engine.data.datasets.store import open_dataset
from engine.tokenizers.tokenizer import Tokenizer

data, vocabulary, out = map(Path, sys.argv[1:])
texts = open_dataset(data).stream("train").texts
tokenizer = Tokenizer.from_folder(vocabulary)
tokenize_stream(texts, tokenizer, 64, out / "stream")
tokenize_pairs(texts, tokenizer, 64, out / "pairs", 0.5, 1)
"""


def stored(folder: Path, texts: list[str], group: int, parts: list[str] | None = None) -> Dataset:
    """A data set of these texts, written without the way through a file of the user."""
    folder.mkdir()
    parts = parts or ["train"] * len(texts)
    columns = {"text": texts, "_line": list(range(1, len(texts) + 1)), "_split": parts}
    pq.write_table(pa.table(columns), folder / "data.parquet", row_group_size=group)
    spec = DatasetSpec(
        name="corpus",
        version=1,
        sources={"all": (folder,)},
        reading=Reading(format="text"),
        mapping=Mapping(text="text"),
        split=Split(),
        columns=("text",),
        rows={part: parts.count(part) for part in ALL_PARTS},
        fingerprint="f" * 64,
    )
    (folder / "spec.json").write_text(spec.model_dump_json(), encoding="utf-8")
    return open_dataset(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")
def test_memory_stays_bounded_whatever_the_size(tmp_path):
    line = "abcdefg " * 60
    texts = [f"{n} {line}.\n{line} {n}.\n{line}" for n in range(SIZE // 1_460)]
    stored(tmp_path / "corpus", texts, group=4_000)
    command = [sys.executable, "-c", WORK, str(tmp_path / "corpus"), str(tmp_path)]
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, check=True)
    expected = json.loads(done.stdout)
    assert expected.pop("rows") > SIZE, "all texts at once take more than their size"
    assert 0 < max(expected.values()) < ROOM, expected


def words(count: int) -> list[str]:
    """Documents of words that are several pieces."""
    random = np.random.default_rng(3)
    syllables = np.array(["ba", "do", "ki", "lu", "me", "ny"])
    return [
        "\n".join(
            " ".join("".join(random.choice(syllables, 3)) for _ in range(9)) + "." for _ in range(5)
        )
        for _ in range(count)
    ]


def test_the_number_of_threads_makes_no_difference(tmp_path):
    texts = words(300)
    stored(tmp_path / "corpus", texts, group=70)
    (tmp_path / "vocabulary").mkdir()
    Tokenizer(learn_vocabulary(texts, 60, True)).save(tmp_path / "vocabulary")
    result = []
    for threads in ("1", "4"):
        out = tmp_path / threads
        variables = {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": threads}
        folders = [str(tmp_path / "corpus"), str(tmp_path / "vocabulary"), str(out)]
        command = [sys.executable, "-c", CUT, *folders]
        subprocess.run(command, env=environment() | variables, check=True)
        files = sorted(file for file in out.rglob("*") if file.suffix in (".bin", ".npy"))
        result.append({str(file.relative_to(out)): sha256(file) for file in files})
    assert result[0] == result[1] and len(result[0]) == 11


def test_texts_from_the_disk_are_those_of_memory(tmp_path):
    texts = [f"text {n}" for n in range(1_000)]
    parts = [("train", "validation", "train", "test")[n % 4] for n in range(700)] + ["train"] * 300
    dataset = stored(tmp_path / "corpus", texts, 270, parts)
    for part in ALL_PARTS:
        there, by_row = dataset.stream(part).texts, dataset.rows(part).texts
        assert list(there) == list(by_row) == list(there) and len(there) == len(by_row)
        assert there[3] == by_row[3] and there[-1] == by_row[-1]
        assert there[5:90:7] == by_row[5:90:7] and there[-4:] == by_row[-4:]
        with pytest.raises(IndexError):
            there[len(by_row)]
    assert list(dataset.stream("train").texts)[-1] == "text 999"


def test_a_sample_is_drawn_from_all_over_the_part(tmp_path):
    texts = [f"{n}" for n in range(2_000)]
    parts = ["validation" if n < 100 else "train" for n in range(2_000)]
    result = stored(tmp_path / "corpus", texts, 100, parts).stream("train").texts
    assert isinstance(result, StoredTexts)
    some = [int(text) for text in result.sample(80, np.random.default_rng(0))]
    assert len(some) == len(set(some)) == 80 and min(some) >= 100
    assert len({number // 100 for number in some}) == 8
    assert result.sample(80, np.random.default_rng(0)) == [str(number) for number in some]


def test_a_part_that_is_none_is_damage(tmp_path):
    stored(tmp_path / "corpus", ["a", "b"], 2)
    table = pa.table({"text": ["a", "b"], "_line": [1, 2], "_split": ["train", "elsewhere"]})
    pq.write_table(table, tmp_path / "corpus" / "data.parquet")
    with pytest.raises(StudioError, match="damaged"):
        open_dataset(tmp_path / "corpus")


def test_a_grown_array_is_a_numpy_array(tmp_path):
    for count in (0, 1, 450_000):
        path = tmp_path / f"{count}.npy"
        with GrowingArray(path, np.int32) as file:
            for number in range(count):
                file.add(number)
        assert np.array_equal(np.load(path), np.arange(count, dtype=np.int32))


def test_packed_inputs_are_mapped_and_not_read(tmp_path):
    texts = words(20)
    tokenizer = Tokenizer(learn_vocabulary(texts, 60, True))
    tokenized = tokenize_stream(texts, tokenizer, 16, tmp_path / "tokenized")
    again = TokenizedDataset.open(tmp_path / "tokenized")
    held = [again._ids, again._offsets, again._splits]
    assert all(isinstance(array, np.memmap) for array in held)
    assert [again.length(n) for n in range(len(again))] == tokenized.lengths.tolist()

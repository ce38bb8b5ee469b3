"""Corpora larger than memory are read and tokenised in small parts, on any number of cores."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.config.dataset import SPLITS, DatasetSpec, Mapping, Reading, Split
from engine.data.datasets.store import Dataset, StoredTexts, open_dataset
from engine.data.tokenized.dataset import GrowingArray, TokenizedDataset, tokenize_stream
from engine.errors import StudioError
from engine.files.atomic_write import sha256
from engine.runs.launch import environment
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.training import learn_vocabulary

SIZE = 12_000_000  # characters of the corpus
MAX_GROWTH = SIZE / 2  # bytes by which memory may grow after the first quarter

MEASURE = """
import json, re, sys
from pathlib import Path
import psutil
from engine.data.tokenized.dataset import tokenize_stream
from engine.data.tokenized.sentence_pairs import tokenize_pairs
from engine.data.datasets.store import open_dataset
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import WordPiece

class Quick(Tokenizer):
    # the real one keeps no texts either, but takes most of the time
    def contents(self, texts, enough=None):
        return [[5] * (len(text) // 40) for text in texts]

def peak():  # getrusage includes the peak of the parent
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])

def note_memory(done, total):
    global before
    if not before and done > total / 4:
        before = psutil.Process().memory_info().rss

data, out = map(Path, sys.argv[1:])
tokenizer = Quick(WordPiece(tokens=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a")))
dataset = open_dataset(data)
texts, growth = dataset.stream("train").texts, {}
before = 0
tokenize_stream(texts, tokenizer, 128, out / "stream", note_memory, len(texts))
growth["stream"] = peak() - before
before = 0
tokenize_pairs(texts, tokenizer, 128, out / "pairs", 0.5, 1, note_memory, len(texts))
growth["pairs"] = peak() - before
before = psutil.Process().memory_info().rss
texts = list(dataset.rows("train").texts)
growth["rows"] = peak() - before
print(json.dumps(growth))
"""

TOKENIZE = """
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


def store(folder: Path, texts: list[str], group: int, splits: list[str] | None = None) -> Dataset:
    """Write a data set of these texts without importing a file."""
    folder.mkdir()
    splits = splits or ["train"] * len(texts)
    columns = {"text": texts, "_line": list(range(1, len(texts) + 1)), "_split": splits}
    pq.write_table(pa.table(columns), folder / "data.parquet", row_group_size=group)
    spec = DatasetSpec(
        name="corpus",
        version=1,
        sources={"all": (folder,)},
        reading=Reading(format="text"),
        mapping=Mapping(text="text"),
        split=Split(),
        columns=("text",),
        rows={split: splits.count(split) for split in SPLITS},
        fingerprint="f" * 64,
    )
    (folder / "spec.json").write_text(spec.model_dump_json(), encoding="utf-8")
    return open_dataset(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    line = "abcdefg " * 60
    texts = [f"{n} {line}.\n{line} {n}.\n{line}" for n in range(SIZE // 1_460)]
    store(tmp_path / "corpus", texts, group=2_000)
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "corpus"), str(tmp_path)]
    process = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, check=True)
    growth = json.loads(process.stdout)
    assert growth.pop("rows") > SIZE, "all texts in memory take more than their size"
    assert 0 < max(growth.values()) < MAX_GROWTH, growth


def documents(count: int) -> list[str]:
    """Documents whose words have several tokens."""
    rng = np.random.default_rng(3)
    syllables = np.array(["ba", "do", "ki", "lu", "me", "ny"])
    return [
        "\n".join(
            " ".join("".join(rng.choice(syllables, 3)) for _ in range(9)) + "." for _ in range(5)
        )
        for _ in range(count)
    ]


def test_files_are_equal_for_any_number_of_threads(tmp_path, monkeypatch):
    """This process uses one thread, another one four."""
    texts = documents(300)
    store(tmp_path / "corpus", texts, group=70)
    (tmp_path / "vocabulary").mkdir()
    Tokenizer(learn_vocabulary(texts, 60, True)).save(tmp_path / "vocabulary")
    result = []
    for threads in ("1", "4"):
        out = tmp_path / threads
        command = ["-c", str(tmp_path / "corpus"), str(tmp_path / "vocabulary"), str(out)]
        if threads == "1":
            monkeypatch.setattr(sys, "argv", command)
            exec(TOKENIZE, {})
        else:
            variables = {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": threads}
            command = [sys.executable, "-c", TOKENIZE, *command[1:]]
            subprocess.run(command, env=environment() | variables, check=True)
        files = sorted(file for file in out.rglob("*") if file.suffix in (".bin", ".npy"))
        result.append({str(file.relative_to(out)): sha256(file) for file in files})
    assert result[0] == result[1] and len(result[0]) == 11


def test_streamed_texts_equal_those_in_memory(tmp_path):
    texts = [f"text {n}" for n in range(1_000)]
    splits = [("train", "validation", "train", "test")[n % 4] for n in range(700)] + ["train"] * 300
    dataset = store(tmp_path / "corpus", texts, 270, splits)
    for split in SPLITS:
        streamed, by_row = dataset.stream(split).texts, dataset.rows(split).texts
        assert list(streamed) == list(by_row) == list(streamed) and len(streamed) == len(by_row)
        assert streamed[3] == by_row[3] and streamed[-1] == by_row[-1]
        assert streamed[5:90:7] == by_row[5:90:7] and streamed[-4:] == by_row[-4:]
        with pytest.raises(IndexError):
            streamed[len(by_row)]
    assert list(dataset.stream("train").texts)[-1] == "text 999"


def test_a_sample_is_drawn_from_the_whole_split(tmp_path):
    texts = [f"{n}" for n in range(2_000)]
    splits = ["validation" if n < 100 else "train" for n in range(2_000)]
    stream = store(tmp_path / "corpus", texts, 100, splits).stream("train").texts
    assert isinstance(stream, StoredTexts)
    sample = [int(text) for text in stream.sample(80, np.random.default_rng(0))]
    assert len(sample) == len(set(sample)) == 80 and min(sample) >= 100
    assert len({number // 100 for number in sample}) == 8
    assert stream.sample(80, np.random.default_rng(0)) == [str(number) for number in sample]


def test_an_unknown_split_is_refused_as_damage(tmp_path):
    store(tmp_path / "corpus", ["a", "b"], 2)
    table = pa.table({"text": ["a", "b"], "_line": [1, 2], "_split": ["train", "elsewhere"]})
    pq.write_table(table, tmp_path / "corpus" / "data.parquet")
    with pytest.raises(StudioError, match="damaged"):
        open_dataset(tmp_path / "corpus")


def test_a_growing_array_is_saved_as_a_numpy_file(tmp_path):
    for count in (0, 1, 450_000):
        path = tmp_path / f"{count}.npy"
        with GrowingArray(path, np.int32) as file:
            for number in range(count):
                file.add(number)
        assert np.array_equal(np.load(path), np.arange(count, dtype=np.int32))


def test_tokenized_files_are_memory_mapped(tmp_path):
    texts = documents(20)
    tokenizer = Tokenizer(learn_vocabulary(texts, 60, True))
    tokenized = tokenize_stream(texts, tokenizer, 16, tmp_path / "tokenized")
    opened = TokenizedDataset.open(tmp_path / "tokenized")
    arrays = [opened._ids, opened._offsets, opened._splits]
    assert all(isinstance(array, np.memmap) for array in arrays)
    assert [opened.length(n) for n in range(len(opened))] == tokenized.lengths.tolist()

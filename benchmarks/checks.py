"""Time and memory of the data checks.

Rows are sentences of 5 to 35 words with the word frequencies of English (Zipf); 2 % are copies,
2 % copies with another word, 1 % have another label. `--peer` also measures datasketch on 2,000 of
the texts: MinHash with as many permutations as here, and its index.
"""

import resource
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import harness

VOCABULARY = 30_000
PEER_ROWS = 2_000


def main(arguments: list[str]) -> None:
    parser = harness.parser("checks", __doc__)
    parser.add_argument("work", type=Path, help="folder for the rows, reused by the next call")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peer", action="store_true", help="measure datasketch too")
    options = parser.parse_args(arguments)
    with harness.work_folder(options.work) as work:
        path = work / f"rows-{options.rows}.parquet"
        if not path.exists():
            write(path, options.rows)
        if options.peer:
            measure_peer(path)
        measure(path, options.rows)


def write(path: Path, rows: int) -> None:
    random = np.random.default_rng(0)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    words = np.array([f"w{number}" for number in range(VOCABULARY)])
    lengths = random.integers(5, 36, rows)
    drawn = words[random.choice(VOCABULARY, lengths.sum(), p=weights / weights.sum())]
    texts = [" ".join(words_of_row) for words_of_row in np.split(drawn, np.cumsum(lengths)[:-1])]
    labels = random.choice(["good", "bad", "so-so"], rows)
    for row in random.choice(rows, rows // 20, replace=False):
        other = int(random.integers(rows))
        texts[row] = texts[other]
        match row % 5:
            case 0 | 1:
                labels[row] = labels[other]
            case 2 | 3:
                texts[row] += " " + words[row % VOCABULARY]
    table = pa.table({"text": texts, "label": labels, "_line": np.arange(rows)})
    pq.write_table(table, path, row_group_size=10_000, compression="zstd")


def measure(path: Path, rows: int) -> None:
    from engine.config.dataset import SPLITS, Mapping, Split
    from engine.data.checks import CHECKS
    from engine.data.checks.check_input import CheckInput
    from engine.data.checks.run import check_progress

    splits = np.random.default_rng(1).choice(3, rows, p=[0.8, 0.1, 0.1]).astype(np.int8)
    before = memory()
    began, cpu = time.perf_counter(), time.process_time()
    steps = check_progress(rows, lambda _done, _total: None, None)
    mapping = Mapping(text="text", label="label")
    data = CheckInput(path, mapping, splits, Split(), SPLITS, steps)
    print(f"{'reading':24}{time.perf_counter() - began:8.1f} s")
    for name, check in CHECKS.items():
        since = time.perf_counter()
        findings = check.find(data)
        counts = ", ".join(f"{finding.count:,}" for finding in findings)
        print(f"{name:24}{time.perf_counter() - since:8.1f} s   {counts}")
    print(f"{'all':24}{time.perf_counter() - began:8.1f} s", end=", ")
    print(f"{time.process_time() - cpu:.1f} s of CPU time,", end=" ")
    print(f"{(memory() - before) / 2**30:.2f} GiB more at the peak; bar 60 s for 1,000,000 rows")


def memory() -> int:
    """Peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure_peer(path: Path) -> None:
    from datasketch import MinHash, MinHashLSH

    from engine.data.checks.near_copies import BAND_ROWS, BANDS, SHINGLE_WORDS

    texts = pq.read_table(path, columns=["text"]).slice(0, PEER_ROWS).column(0).to_pylist()
    index = MinHashLSH(num_perm=BANDS * BAND_ROWS, params=(BANDS, BAND_ROWS))
    began = time.process_time()
    for number, text in enumerate(texts):
        words = text.split()
        ends = range(max(1, len(words) - SHINGLE_WORDS + 1))
        signature = MinHash(num_perm=BANDS * BAND_ROWS)
        signature.update_batch(
            {" ".join(words[end : end + SHINGLE_WORDS]).encode() for end in ends}
        )
        index.insert(number, signature)
    each = (time.process_time() - began) / len(texts)
    print(f"datasketch: {each * 1e6:.0f} s of CPU time for a million such texts")

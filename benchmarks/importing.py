"""How long the import of a large table takes, beside pyarrow alone, and what memory.

    python benchmarks/importing.py WORK [--rows 1000000] [--form csv|jsonl|jsonl.gz]

Writes a CSV, or JSON Lines, of so many rows (a number, a text of 15 to 45 words, one of three
labels), and in a process each: reads it with pyarrow and writes it as Parquet (zstd), which is what
pyarrow alone needs; imports it as the program does. Prints seconds of processor time and by the
clock, the peak of memory, and how long a page, a search, a filter and an order take in the result.
"""

import argparse
import gzip
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

LABELS = ("positive", "negative", "neutral")


def write_rows(file: Path, rows: int) -> None:
    chance = random.Random(1)
    words = [f"word{number}" for number in range(3_000)]
    packed = file.suffix == ".gz"
    with gzip.open(file, "wt", 6, "utf-8") if packed else open(file, "w", encoding="utf-8") as out:
        if file.suffix == ".csv":
            out.write("id,text,label\n")
        for number in range(rows):
            text = " ".join(chance.choices(words, k=chance.randint(15, 45))) + ", and so on"
            label = chance.choice(LABELS)
            row = {"id": number, "text": text, "label": label}
            line = f'{number},"{text}",{label}' if file.suffix == ".csv" else json.dumps(row)
            out.write(f"{line}\n")


def by_pyarrow(file: Path, into: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.json
    import pyarrow.parquet as pq

    reader: Any
    if file.suffix == ".csv":
        kinds = dict.fromkeys(("id", "text", "label"), pa.string())
        options = csv.ConvertOptions(column_types=kinds)
        quotes = csv.ParseOptions(newlines_in_values=True)
        reader = csv.open_csv(file, parse_options=quotes, convert_options=options)
    else:
        reader = pyarrow.json.open_json(pa.input_stream(str(file)))
    with pq.ParquetWriter(into / "rows.parquet", reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)


def by_program(file: Path, into: Path) -> None:
    from engine.config.dataset import Split
    from engine.data.datasets.importing import import_dataset
    from engine.data.formats.reading import recognise

    found = recognise(file)
    assert found.mapping is not None
    import_dataset("rows", {"all": file}, found.reading, found.mapping, Split(), into / "1")


def browse(into: Path) -> None:
    """How long the slowest of many pages takes; a search, a filter and an order, to the end."""
    from engine.data.datasets.sorting import column_ranks, sort_rows
    from engine.data.datasets.store import open_dataset

    dataset = open_dataset(into / "1")
    chance, slowest = random.Random(2), 0.0
    for _ in range(200):
        begin = time.perf_counter()
        dataset.page(chance.randrange(len(dataset) - 50), 50)
        slowest = max(slowest, time.perf_counter() - begin)
    print(f"slowest of 200 pages of 50 rows: {slowest * 1e3:.0f} ms")
    for name, wanted in (("search", {"text": "word2999"}), ("filter", {"label": "neutral"})):
        begin = time.perf_counter()
        rows = dataset.find(**wanted)
        print(f"{name}: {(time.perf_counter() - begin) * 1e3:.0f} ms, {len(rows):,} rows")
    rows = np.arange(len(dataset))
    for column in ("text", "id", "label"):
        begin = time.perf_counter()
        sort_rows(rows, column_ranks(dataset, column))
        print(f"sorted by {column}: {(time.perf_counter() - begin) * 1e3:.0f} ms")


WAYS = {"pyarrow": by_pyarrow, "program": by_program}


def measure(way: str, file: Path, into: Path) -> None:
    begin, used = time.perf_counter(), time.process_time()
    WAYS[way](file, into)
    used, wall = time.process_time() - used, time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{way}: {used:.1f} s of processor time, {wall:.1f} s by the clock, {peak:.0f} MB",
        flush=True,
    )
    if way == "program":
        browse(into)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--form", choices=("csv", "jsonl", "jsonl.gz"), default="csv")
    parser.add_argument("--way", choices=WAYS)
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    file = asked.work / f"rows-{asked.rows}.{asked.form}"
    if not file.exists():
        write_rows(file, asked.rows)
    if asked.way:
        into = asked.work / asked.way
        into.mkdir()
        measure(asked.way, file, into)
        shutil.rmtree(into)
        return
    print(f"{asked.rows:,} rows, {file.stat().st_size / 1e6:.0f} MB")
    for way in (*WAYS, *WAYS):
        command = [sys.executable, __file__, str(asked.work), "--rows", str(asked.rows)]
        subprocess.run([*command, "--form", asked.form, "--way", way], check=True)


if __name__ == "__main__":
    main()

"""Import of a large table (`table`), GUI pauses meanwhile (`window`), import of a model (`model`).

The table and the model (BERT base with random weights) are made in the folder WORK. `table`
compares with pyarrow, which reads the same file and writes Parquet (zstd). `window` imports on the
Data page, then scrolls, searches, sorts and filters; stacks of pauses over 50 ms are printed.
`model` drops a model folder on the Models page and opens it; before the drop a worker has
`--looking` seconds to load torch.
"""

import gzip
import json
import random
import resource
import shutil
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.harness import Pauses, print_row, wait_until

LABELS = ("positive", "negative", "neutral")
LONGEST_PART = 600.0  # s
PAUSE_LIMIT = 100  # ms, for scrolling, searching, sorting and filtering
MODEL_LIMIT = 3.0  # s


def main(arguments: list[str]) -> None:
    harness.run_part("importing", __doc__, PARTS, arguments)


def write_rows(file: Path, rows: int) -> None:
    """A number, a text of 15 to 45 words and one of three labels; CSV or JSON Lines by suffix."""
    rng = random.Random(1)
    words = [f"word{number}" for number in range(3_000)]
    packed = file.suffix == ".gz"
    with gzip.open(file, "wt", 6, "utf-8") if packed else open(file, "w", encoding="utf-8") as out:
        if file.suffix == ".csv":
            out.write("id,text,label\n")
        for number in range(rows):
            text = " ".join(rng.choices(words, k=rng.randint(15, 45))) + ", and so on"
            label = rng.choice(LABELS)
            row = {"id": number, "text": text, "label": label}
            line = f'{number},"{text}",{label}' if file.suffix == ".csv" else json.dumps(row)
            out.write(f"{line}\n")


# ── table ────────────────────────────────────────────────────────────────────────────────────


def table(arguments: list[str]) -> None:
    parser = harness.parser("importing table", "CPU time, time and peak memory of an import.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--form", choices=("csv", "jsonl", "jsonl.gz"), default="csv")
    parser.add_argument("--way", choices=WAYS, help="measure in this process")
    options = parser.parse_args(arguments)
    with harness.work_folder(options.work) as work:
        file = work / f"rows-{options.rows}.{options.form}"
        if not file.exists():
            write_rows(file, options.rows)
        if options.way:
            measure(options.way, file, work / options.way)
            return
        print(f"{options.rows:,} rows, {file.stat().st_size / 1e6:.0f} MB")
        for way in (*WAYS, *WAYS):
            command = ("-m", "benchmarks", "importing", "table", work, "--rows", options.rows)
            print(harness.run_python(*command, "--form", options.form, "--way", way), end="")


def measure(way: str, file: Path, into: Path) -> None:
    into.mkdir()
    wall, cpu = harness.timed(lambda: WAYS[way](file, into))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{way}: {cpu:.1f} s of CPU time, {wall:.1f} s by the clock, {peak:.0f} MB")
    if way == "program":
        browse(into)
    shutil.rmtree(into)


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

    result = recognise(file)
    assert result.mapping is not None
    import_dataset("rows", {"all": file}, result.reading, result.mapping, Split(), into / "1")


WAYS = {"pyarrow": by_pyarrow, "program": by_program}


def browse(into: Path) -> None:
    """Time of the slowest page, a search, a filter and sorting."""
    import numpy as np

    from engine.data.datasets.sorting import column_ranks, sort_rows
    from engine.data.datasets.store import open_dataset

    dataset, rng = open_dataset(into / "1"), random.Random(2)
    starts = [rng.randrange(len(dataset) - 50) for _ in range(200)]
    slowest = max(harness.timed(lambda s=s: dataset.page(s, 50))[0] for s in starts)
    print(f"slowest of 200 pages of 50 rows: {slowest * 1e3:.0f} ms")
    for name, query in (("search", {"text": "word2999"}), ("filter", {"label": "neutral"})):
        wall, _ = harness.timed(lambda query=query: dataset.find(**query))
        print(f"{name}: {wall * 1e3:.0f} ms")
    rows = np.arange(len(dataset))
    for column in ("text", "id", "label"):
        wall, _ = harness.timed(lambda c=column: sort_rows(rows, column_ranks(dataset, c)))
        print(f"sorted by {column}: {wall * 1e3:.0f} ms")


# ── window ───────────────────────────────────────────────────────────────────────────────────


class StackSampler(threading.Thread):
    """Counts the stacks of the GUI thread while it does not answer for 50 ms."""

    MIN_PAUSE, MAX_DEPTH = 0.05, 6  # s; frames

    def __init__(self, pauses: Pauses) -> None:
        super().__init__(daemon=True)
        self.stacks = Counter[str]()
        self._pauses, self._gui_thread = pauses, threading.get_ident()

    def run(self) -> None:
        while True:
            time.sleep(0.01)
            if time.perf_counter() - self._pauses.last <= self.MIN_PAUSE:
                continue
            lines, frame = list[str](), sys._current_frames().get(self._gui_thread)
            while frame is not None and len(lines) < self.MAX_DEPTH:
                lines.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
                frame = frame.f_back
            frame = None  # keeps no painter alive
            self.stacks[" < ".join(lines)] += 1


def window(arguments: list[str]) -> None:
    parser = harness.parser("importing window", "GUI pauses while a table is imported and used.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    work = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    file = work / f"rows-{options.rows}.csv"
    if not file.exists():
        write_rows(file, options.rows)
    with harness.work_folder() as home, harness.offscreen_window(home) as (_, main_window):
        longest = use_data_page(main_window, file, options.rows)
    worst = max(longest, key=longest.__getitem__)
    verdict = "held" if longest[worst] <= PAUSE_LIMIT else "not held"
    print(f"limit of {PAUSE_LIMIT} ms: {verdict}; longest pause {longest[worst]:.0f} ms ({worst})")


def use_data_page(main_window: Any, file: Path, rows: int) -> dict[str, float]:
    """Import a file and work with its rows; longest pause in ms of each part after the import."""
    from PySide6.QtTest import QTest

    from app.pages.data.dataset.state import Query

    main_window.go("data")
    page, pauses, longest = main_window.pages["data"], Pauses(), dict[str, float]()
    sampler = StackSampler(pauses)
    sampler.start()

    def part(
        name: str, is_done: Callable[[], object], act: Callable[[], object] | None = None
    ) -> None:
        pauses.reset()
        sampler.stacks.clear()
        end = time.perf_counter() + LONGEST_PART
        while not is_done() and time.perf_counter() < end:
            if act is not None:
                act()
            QTest.qWait(30)
        longest[name] = max(pauses.delays, default=0.0)
        print(f"{name}: {pauses.summary()}", flush=True)
        for stack, count in sampler.stacks.most_common(4):
            print(f"    {count} × {stack}", flush=True)

    state = page.importing.state
    page.import_from([file])
    part("opening and counting", lambda: state.count.collected is not None)
    if state.obstacle():
        sys.exit(state.obstacle())
    state.start_import()
    part("importing", lambda: page.dataset is not None)
    view = page.dataset

    def shown() -> int:
        return len(view.state.indices) if view.table.model() is not None else 0

    part("opening the data set", lambda: shown() == rows)
    longest.clear()
    bar = view.table.verticalScrollBar()

    def scroll(name: str, count: int) -> None:
        steps = iter(range(count))
        step = lambda: (bar.value() + bar.maximum() * 37 // 100) % max(bar.maximum(), 1)  # noqa: E731
        part(name, lambda: next(steps, None) is None, lambda: bar.setValue(step()))

    def sort(column: str) -> None:
        view.table.horizontalHeader().sectionClicked.emit(view.model.find_section(column))

        def is_sorted() -> bool:
            orders = view.state.orders
            return bool(orders) and orders[0].column == column and not view.state.is_searching

        part(f"sorting by {column}", is_sorted)

    scroll("scrolling", 120)
    view.search.setText("word2999")
    part("searching", lambda: 0 < shown() < rows)
    view.search.clear()
    part("clearing the search", lambda: shown() == rows)
    sort("text")
    sort("label")
    scroll("scrolling sorted rows", 40)
    view.state.search(Query("", None, "neutral", None))
    part("filtering", lambda: 0 < shown() < rows)
    return longest


# ── model ────────────────────────────────────────────────────────────────────────────────────


def model(arguments: list[str]) -> None:
    parser = harness.parser("importing model", "From a dropped BERT base (438 MB) to its page.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--looking", type=float, default=3.0, help="seconds before the drop")
    options = parser.parse_args(arguments)
    from PySide6.QtTest import QTest

    source, totals = base_model(options.work.absolute()), []
    with harness.work_folder() as home, harness.offscreen_window(home) as (studio, main_window):
        main_window.go("models")
        page, pauses = main_window.pages["models"], Pauses()
        heads = ("report, s", "page, s", "CPU time of the worker, s", "longest pause, ms")
        print(harness.table_head("round", *heads))
        for number in range(1, options.rounds + 1):
            main_window.go("models")
            QTest.qWait(round(1000 * options.looking))
            pauses.reset()
            cpu, began = children_cpu(), time.perf_counter()
            assert page.accept_drop([source])
            wait_until(lambda: not page.state.is_importing)
            if page.state.imported is None:
                sys.exit(str(page.state.problem))
            folder, reported = page.state.imported.folder, time.perf_counter() - began
            page.importing.opened.emit(folder)
            wait_until(lambda: page.model is not None and page.model.state.contents is not None)
            totals.append(time.perf_counter() - began)
            wait_until(lambda cpu=cpu: children_cpu() > cpu)  # the worker has ended
            spent, pause = children_cpu() - cpu, max(pauses.delays)
            print_row(
                number, f"{reported:.2f}", f"{totals[-1]:.2f}", f"{spent:.2f}", f"{pause:.0f}"
            )
            page.show_list()
            main_window.go("home")
            shutil.rmtree(folder)
            studio.models_changed.emit()
            QTest.qWait(1_000)
    middle = statistics.median(totals)
    verdict = "held" if middle <= MODEL_LIMIT else "not held"
    print(f"limit of {MODEL_LIMIT:.0f} s from drop to page: {verdict}; median {middle:.2f} s")


def base_model(work: Path) -> Path:
    from engine.config.families import FAMILIES
    from engine.files.shipped import minilm
    from engine.tokenizers.tokenizer import Tokenizer

    work.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_folder(minilm())
    return harness.random_model(work / "base", FAMILIES["bert"].spec(), tokenizer)


def children_cpu() -> float:
    """CPU seconds of ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


PARTS = {"table": table, "window": window, "model": model}

"""Checkpoint folders as libraries write them: read as they say, or refused by name.

Versions of transformers, sentence-transformers and PEFT write the folders and what they compute
with them, each in a virtual environment of its own in WORK, made by the first run; torch is that
of this interpreter. The program loads each folder, imports it, and loads the import: token ids,
outputs, predictions and facts must be equal to 1e-5 both times. What a folder leaves open must be
named in a note, which counts like a refusal.

With --code, the lines of code that the program hands out run on texts longer than the model, in
two versions of the library, which must print the same.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.harness import print_row, table_head
from engine.checkpoints.info import checkpoint_info
from engine.config.tasks.sentence_similarity import SentenceSimilarity
from engine.data.datasets.rows import Rows
from engine.documents.code import Example, transformers_code
from engine.errors import StudioError
from engine.messages.reports import CheckpointInfo
from engine.models.checkpoint import Checkpoint, import_checkpoint, load
from engine.models.outputs import named_outputs
from engine.serving.serving import Serving
from engine.tasks import task_in
from engine.tasks.predicting import Predictor
from engine.tasks.similarity import sentence_vectors

HERE = Path(__file__).parent
TOLERANCE = 1e-5  # of the largest number, at least of 1
KINDS = ("equal", "refused by name", "wrong")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
CODE_VERSIONS = (
    ("transformers 4.57.3", "transformers 5.24.0"),
    ("sentence-transformers 5.2.0", "sentence-transformers 6.2.0"),
)


class Writer(NamedTuple):
    """A version of a library: its script here, what is installed, and its environment variables.

    `loose`: installed without dependencies, since no wheels of those exist for this Python.
    """

    script: str
    packages: tuple[str, ...]
    loose: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


OLD = (
    *("numpy==1.26.4", "regex", "requests", "tqdm", "filelock", "packaging", "setuptools<81"),
    *("sacremoses==0.1.1", "six", "sentencepiece", "pyyaml", "tokenizers==0.13.3"),
)


OTHERS = (
    *("model2vec==0.7.0", "gguf==0.17.1", "spacy==3.8.18", "setfit==1.1.3"),
    *("sentence-transformers==5.2.0", "transformers==4.51.3"),
)


def old(number: str, *packages: str, tokenizers: str = "") -> Writer:
    """A transformers whose own requirements have no wheels for this Python."""
    variables = (("PRETENDED_TOKENIZERS", tokenizers),) if tokenizers else ()
    return Writer("transformers", (*OLD, *packages), (f"transformers=={number}",), variables)


def current(number: str) -> Writer:
    return Writer("transformers", (f"transformers=={number}",))


def sentences(number: str, transformers: str, *packages: str) -> Writer:
    own = f"sentence-transformers=={number}", f"transformers=={transformers}"
    return Writer("sentences", (*own, *packages))


def adapters(number: str, transformers: str) -> Writer:
    return Writer("adapters", (f"peft=={number}", f"transformers=={transformers}"))


WRITERS = {
    "transformers 2.2.2": old("2.2.2", "boto3"),
    "transformers 2.11.0": old("2.11.0"),
    "transformers 3.5.1": old("3.5.1", "protobuf<4", tokenizers="0.9.3"),
    "transformers 4.6.1": old("4.6.1", "huggingface-hub==0.0.8", tokenizers="0.10.3"),
    "transformers 4.20.1": old("4.20.1", "huggingface-hub==0.16.4", tokenizers="0.12.1"),
    "transformers 4.30.2": current("4.30.2"),
    "transformers 4.40.2": current("4.40.2"),
    "transformers 4.48.3": current("4.48.3"),
    "transformers 4.57.3": current("4.57.3"),
    "transformers 5.0.0": current("5.0.0"),
    "transformers 5.24.0": current("5.24.0"),
    "sentence-transformers 3.4.1": sentences("3.4.1", "4.46.3"),
    "sentence-transformers 4.1.0": sentences("4.1.0", "4.51.3"),
    "sentence-transformers 5.2.0": sentences("5.2.0", "4.57.3", "peft==0.18.0"),
    "sentence-transformers 6.2.0": sentences("6.2.0", "5.24.0"),
    "other libraries": Writer("others", OTHERS),
    "PEFT 0.10.0": adapters("0.10.0", "4.40.2"),
    "PEFT 0.15.2": adapters("0.15.2", "4.51.3"),
    "PEFT 0.21.2": adapters("0.21.2", "5.24.0"),
}


def main(arguments: list[str]) -> None:
    parser = harness.parser("folders", __doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", default="", help="writers whose name begins with this")
    parser.add_argument("--code", action="store_true", help="run the example code instead")
    options = parser.parse_args(arguments)
    work = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    if options.code:
        with tempfile.TemporaryDirectory(dir=work) as scratch:
            sys.exit(run_codes(work, Path(scratch)))
    print(table_head("writer", *KINDS))
    totals, problems = Counter[str](), []
    for name, writer in WRITERS.items():
        if not name.startswith(options.only):
            continue
        with tempfile.TemporaryDirectory(dir=work) as scratch:
            try:
                outcomes = list(compare(write(name, writer, work, Path(scratch) / "folders")))
            except (RuntimeError, subprocess.CalledProcessError) as error:
                outcomes = [("nothing was written", str(error))]
        counts = Counter(kind for _, kind in outcomes if kind in KINDS)
        wrong = [f"{name}, {folder}: {kind}" for folder, kind in outcomes if kind not in KINDS]
        counts["wrong"] = len(wrong)
        print_row(name, *(counts[kind] for kind in KINDS))
        totals += counts
        problems += wrong
    print_row("all", *(totals[kind] for kind in KINDS))
    sys.exit("\n".join(problems) or None)


def run_codes(work: Path, scratch: Path) -> str:
    """Run the example code of each task; returns the lines of what differs or fails."""
    problems = []
    print(table_head("versions", "tasks", "equal"))
    for first, second in CODE_VERSIONS:
        folder = write(second, WRITERS[second], work, scratch / second)
        pythons = [environment_of(name, WRITERS[name], work) for name in (first, second)]
        outcomes = {}
        for row in json.loads((folder / "made.json").read_text("utf-8")):
            if row["refused"] or row["base"] or not row["texts"]:
                continue
            path = folder / row["folder"]
            checkpoint = load(path)
            if not checkpoint.network.heads.outputs and not checkpoint.info.sentence:
                continue
            task = SentenceSimilarity() if checkpoint.info.sentence else task_in(checkpoint)
            if task.kind in outcomes:
                continue
            copy = scratch / "codes" / f"{second}-{task.kind}"
            import_checkpoint(path, copy)
            code = transformers_code(task, str(copy), _overlong(row["texts"][0]))
            outcomes[task.kind] = _same_output(code, pythons)
        equal = sum(not problem for problem in outcomes.values())
        print_row(f"{first}, {second}", len(outcomes), equal)
        problems += [
            f"{second}, {task}: {problem}" for task, problem in outcomes.items() if problem
        ]
    return "\n".join(problems)


def _overlong(text: str) -> Example:
    long = f"{text} " * 1_000
    return Example(long, long, text, long, (long, long))


def _same_output(code: str, pythons: list[tuple[Path, dict[str, str]]]) -> str:
    """The error of some code, or the difference of its outputs, of numbers above 1e-4."""
    printed = []
    for python, environment in pythons:
        command = [python, "-W", "ignore", "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
        printed.append(done.stdout)
    texts = [NUMBER.sub("#", output) for output in printed]
    numbers = [np.array([float(found) for found in NUMBER.findall(output)]) for output in printed]
    if texts[0] != texts[1] or not np.allclose(*numbers, atol=1e-4):
        return f"{printed[0]!r} and {printed[1]!r}"
    return "" if printed[0] else "nothing was printed"


def write(name: str, writer: Writer, work: Path, folder: Path) -> Path:
    """Let a library write its folders. Raises RuntimeError."""
    python, environment = environment_of(name, writer, work)
    script = HERE / f"write_{writer.script}.py"
    command = [python, "-W", "ignore", script, folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return folder


def environment_of(name: str, writer: Writer, work: Path) -> tuple[Path, dict[str, str]]:
    """The Python and the variables of a writer; its environment is made if it does not exist."""
    place = work / name.replace(" ", "-")
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        **dict(writer.variables),
    }
    packages = (f"torch=={version('torch')}", *writer.packages)
    installed, wanted = place / "installed.txt", "\n".join((*packages, *writer.loose))
    if not installed.is_file() or installed.read_text("utf-8") != wanted:
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        _share_torch(place)
        pip = [python, "-m", "pip", "install", "-q"]
        subprocess.run([*pip, *packages], check=True, env=environment)
        if writer.loose:
            subprocess.run([*pip, "--no-deps", *writer.loose], check=True, env=environment)
        installed.write_text(wanted, encoding="utf-8")
    return python, environment


def _share_torch(place: Path) -> None:
    """Let an environment see the torch of this interpreter, and no other package of it."""
    shared = place.parent / "torch"
    torch_files = distribution("torch")
    for name in {Path(file).parts[0] for file in torch_files.files or ()} - {"..", "__pycache__"}:
        if not (shared / name).exists():
            shared.mkdir(exist_ok=True)
            (shared / name).symlink_to(Path(str(torch_files.locate_file(name))).resolve())
    (packages,) = place.glob("Lib/site-packages" if os.name == "nt" else "lib/*/site-packages")
    (packages / "shared.pth").write_text(f"{shared}\n", encoding="utf-8")


def compare(folder: Path) -> Iterator[tuple[str, str]]:
    """The name and the outcome of each folder: one of KINDS, or what is wrong."""
    for row in json.loads((folder / "made.json").read_text("utf-8")):
        arrays = dict(np.load(folder / f"{row['folder']}.npz"))
        try:
            result = outcome(folder, row, arrays)
        except Exception as error:  # noqa: BLE001  # of the program
            result = f"{type(error).__name__}: {error}"
        yield row["folder"], result
    for problem in json.loads((folder / "failed.json").read_text("utf-8")):
        yield "not written", problem


def outcome(folder: Path, row: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    path, base = folder / row["folder"], folder / row["base"] if row["base"] else None
    try:
        loaded = load(path, base=base)
        if row["refused"]:
            Predictor(Serving(loaded))
    except StudioError as error:
        named = row["refused"] and row["refused"] in str(error)
        return "refused by name" if named else f"refused: {error}"
    if row["refused"] and any(row["refused"] in note for note in loaded.report.notes):
        return "refused by name"
    if row["refused"]:
        return f"read, but {row['refused']} was expected"
    problem = difference(loaded, row, arrays)
    if row["noted"]:
        has_note = any(row["noted"] in note for note in loaded.report.notes)
        if has_note == bool(problem):
            return "refused by name" if problem else "equal"
        return problem or f"a note with “{row['noted']}”, but equal ids"
    if problem:
        return problem
    if base is None and (problem := unlike(checkpoint_info(path), loaded.info)):
        return f"summary: {problem}"
    copy = folder / "imported"
    import_checkpoint(path, copy, base)
    again = load(copy)
    problem = difference(again, row, arrays) or unlike(again.info, loaded.info)
    shutil.rmtree(copy)
    return f"imported: {problem}" if problem else "equal"


def unlike(first: CheckpointInfo, second: CheckpointInfo) -> str:
    """The first fact in which two summaries differ, besides the size; empty for none."""
    one, other = (info.model_dump(exclude={"bytes"}) for info in (first, second))
    for facts in (one, other):
        facts["dtype"] = facts["dtype"].replace("float64", "float32")  # what is computed
        facts["sentence"] = {**(facts["sentence"] or {}), "prompt_tokens": 0}  # counted by loading
    return next((f"{k} {v}, not {other[k]}" for k, v in one.items() if v != other[k]), "")


def difference(loaded: Checkpoint, row: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """The difference from the writer's numbers; empty for none."""
    texts, pairs = row["texts"], row["pairs"]
    encoded = [
        loaded.tokenizer.encode(text, pair, loaded.max_length)
        for text, pair in zip(texts, pairs or [None] * len(texts), strict=True)
    ]
    ids = [one.ids for one in encoded]
    if row["ids"] and ids != row["ids"]:
        number = next(n for n, one in enumerate(ids) if one != row["ids"][n])
        return f"ids of {texts[number]!r}: {ids[number]} instead of {row['ids'][number]}"
    if row["labels"] and loaded.labels != tuple(row["labels"]):
        return f"labels {loaded.labels}"
    if "numbers" in arrays:
        if pairs is None:
            found = sentence_vectors(loaded, texts)
        else:
            records = Predictor(Serving(loaded)).predict(Rows(texts, pairs=pairs))
            found = np.array([_numbers(record) for record in records])
        return _apart("numbers", found, arrays["numbers"].reshape(found.shape))
    if problem := _outputs_apart(loaded, encoded, arrays):
        return problem
    if not row["activation"]:
        return ""
    predicted = Predictor(Serving(loaded)).predict(Rows(texts, pairs=pairs))
    found = np.array([_numbers(record) for record in predicted])
    return _apart("predictions", found, _activated(arrays["logits"], row["activation"]))


def _outputs_apart(loaded: Checkpoint, encoded: list[Any], arrays: dict[str, NDArray[Any]]) -> str:
    width = max(len(one.ids) for one in encoded)
    shape = len(encoded), width
    tokens = torch.full(shape, loaded.tokenizer.pad)
    segments, mask = torch.zeros(shape, dtype=torch.int64), torch.zeros(shape, dtype=torch.bool)
    for number, one in enumerate(encoded):
        part = number, slice(len(one.ids))
        tokens[part], segments[part] = torch.tensor(one.ids), torch.tensor(one.segments)
        mask[part] = True
    inputs = [tokens, segments, mask]
    if loaded.network.heads.scores_choices:
        inputs = [tensor[None] for tensor in inputs]
    with torch.inference_mode():
        found = {n: t.numpy() for n, t in named_outputs(loaded.network, *inputs).items()}
    real = mask.numpy()
    for name, expected in arrays.items():
        if name not in found:
            return f"no output {name}, but {sorted(found)}"
        ours = found[name]
        if ours.shape != expected.shape:
            return f"{name} has the shape {ours.shape} instead of {expected.shape}"
        per_token = expected.shape[:2] == real.shape and not loaded.network.heads.scores_choices
        keep = real if per_token else ...
        if problem := _apart(name, ours[keep], expected[keep]):
            return problem
    return ""


def _numbers(record: dict[str, Any]) -> list[float]:
    """The number of a prediction, or the probabilities of its labels in their order."""
    if "number" in record:
        return [record["number"]]
    return [value for name, value in record.items() if name.startswith("p(")]


def _activated(logits: NDArray[Any], name: str) -> NDArray[Any]:
    tensor = torch.from_numpy(logits)
    match name:
        case "softmax":
            return tensor.softmax(-1).numpy()
        case "sigmoid":
            return tensor.sigmoid().numpy()
    return logits


def _apart(name: str, ours: NDArray[Any], expected: NDArray[Any]) -> str:
    if ours.shape != expected.shape:
        return f"{name} have the shape {ours.shape} instead of {expected.shape}"
    apart = float(np.abs(ours - expected).max(initial=0))
    return (
        f"{name} differ by {apart:.2g}"
        if apart > TOLERANCE * max(1, np.abs(expected).max())
        else ""
    )

"""The explorer worker as a process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from engine import cores
from engine.errors import is_out_of_memory
from engine.messages.explore.attention import Attend, Attended
from engine.messages.explore.fill_mask import FillMask, MaskFilled
from engine.messages.explore.prediction import Predict, Predicted
from engine.messages.exporting import Export, Exported
from engine.messages.importing import Examine, Examined, Import, Imported
from engine.messages.question import Answer, Question, Refused, Working, parse_answer
from engine.worker.context import THREADS, use_threads


class Worker:
    """A running worker and its pipes."""

    def __init__(self, scratch: Path, code: str = "", **environment: str) -> None:
        start = (
            f"{code}\nfrom engine.worker.__main__ import main\nmain(['explore', {str(scratch)!r}])"
        )
        self.question: Question = FillMask(checkpoint=scratch, text="")
        self.process = subprocess.Popen(
            [sys.executable, "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        )

    def ask(self, question: Question) -> Answer:
        self.question = question
        self.write(question.line())
        return self.read()

    def write(self, line: bytes) -> None:
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read(self) -> Answer:
        return parse_answer(self.process.stdout.readline(), self.question)

    def end(self) -> tuple[int, str]:
        """Close the input; returns the exit code and stderr."""
        out, err = self.process.communicate(timeout=30)
        assert out == b""
        return self.process.returncode, err.decode()


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """Shared by the tests that leave it unchanged; it prints nothing, and exits in the end."""
    result = Worker(tmp_path_factory.mktemp("scratch"))
    yield result
    try:
        assert result.end() == (0, "")
    finally:
        result.process.kill()


def test_every_question_has_its_answer(worker, tiny_folder, tmp_path):
    filled = worker.ask(FillMask(number=1, checkpoint=tiny_folder, text="a [MASK] c"))
    attended = worker.ask(Attend(number=2, checkpoint=tiny_folder, text="a b"))
    classified = worker.ask(Predict(number=3, checkpoint=tiny_folder, text="a b"))
    examined = worker.ask(Examine(number=4, folder=tiny_folder))
    working = worker.ask(Import(number=5, folder=tiny_folder, into=tmp_path / "imported"))
    imported = worker.read()
    answers = [filled, attended, classified, examined, imported]
    kinds = [MaskFilled, Attended, Predicted, Examined, Imported]
    assert [type(answer) for answer in answers] == kinds
    assert [answer.to for answer in answers] == [1, 2, 3, 4, 5]
    assert isinstance(working, Working)
    assert np.load(attended.weights.path).shape == attended.weights.shape
    assert examined.info == imported.info
    assert (tmp_path / "imported" / "model.safetensors").is_file()


def test_an_export_reports_its_stages_before_the_result(worker, tiny_folder, tmp_path):
    into = tmp_path / "exported"
    answer = worker.ask(Export(number=3, checkpoint=tiny_folder, into=into))
    stages = []
    while isinstance(answer, Working):
        stages.append((answer.done, answer.total))
        answer = worker.read()
    assert stages == [(number, 4) for number in range(4)]
    assert isinstance(answer, Exported)
    assert (answer.to, answer.folder) == (3, into)
    assert answer.report.weights_equal
    repeated = worker.ask(Export(number=4, checkpoint=tiny_folder, into=into))
    assert isinstance(repeated, Refused)
    assert "already exists" in repeated.problem


LOUD = """
import os, time, torch, engine.explore.fill_mask as p
fill = p.fill_mask
def loud(model, question):
    print("printed", torch.get_num_threads(), flush=True)
    os.write(1, b"written")
    if question.text == "endless":
        time.sleep(600)
    return fill(model, question)
p.fill_mask = loud
"""


def test_a_worker_survives_failed_questions_and_exits_when_its_input_closes(tiny_folder, tmp_path):
    """Output of libraries stays out of its answers; its threads follow the settings."""
    worker = Worker(tmp_path, LOUD, BERT_STUDIO_THREADS="3", OMP_NUM_THREADS="2")
    missing = worker.ask(FillMask(number=1, checkpoint=tmp_path / "nothing", text="a [MASK]"))
    worker.write(b'{"kind": "no such kind", "number": 2}\n')
    unreadable = worker.read()
    worker.write(b"not even JSON\n")
    invalid = worker.read()
    valid = worker.ask(FillMask(number=4, checkpoint=tiny_folder, text="a [MASK]"))
    assert isinstance(missing, Refused)
    assert not missing.bug
    assert "Traceback" not in missing.problem + missing.advice
    assert isinstance(unreadable, Refused)
    assert (unreadable.to, unreadable.bug) == (2, True)
    assert "Traceback" in unreadable.details
    assert isinstance(invalid, Refused)
    assert isinstance(valid, MaskFilled)
    worker.write(FillMask(number=5, checkpoint=tiny_folder, text="endless").line())
    printed = b""
    while printed.count(b"printed 3\n") < 2:
        printed += worker.process.stderr.readline()
    assert b"written" in printed
    assert worker.end()[0] == 0, "in the middle of a computation"


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT to a process")
def test_ctrl_c_does_not_end_the_worker(worker, tiny_folder):
    worker.ask(FillMask(number=1, checkpoint=tiny_folder, text="a [MASK]"))
    worker.process.send_signal(signal.SIGINT)
    assert isinstance(worker.ask(FillMask(number=2, checkpoint=tiny_folder, text="a")), MaskFilled)


def test_threads_default_to_the_usable_cores(monkeypatch):
    monkeypatch.setattr(cores, "cpu_limit", lambda: 1.0)
    monkeypatch.delenv("OMP_NUM_THREADS")
    for setting, threads in (("3", 3), ("0", 1)):
        monkeypatch.setenv(THREADS, setting)
        use_threads()
        assert torch.get_num_threads() == threads


def test_lack_of_memory_is_not_a_bug():
    for error in (
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
    ):
        assert is_out_of_memory(error)
    assert not is_out_of_memory(ValueError("too little text"))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_huge_model_is_refused_and_the_worker_continues(worker, tiny_folder, tmp_path):
    config = json.loads((tiny_folder / "config.json").read_text())
    huge = tmp_path / "huge"
    huge.mkdir()
    for file in tiny_folder.iterdir():
        (huge / file.name).write_bytes(file.read_bytes())
    config |= {"hidden_size": 60_000, "intermediate_size": 200_000, "num_hidden_layers": 900}
    (huge / "config.json").write_text(json.dumps(config))
    refused = worker.ask(Examine(number=1, folder=huge))
    assert isinstance(refused, Refused)
    assert not refused.bug
    assert psutil.Process(worker.process.pid).memory_info().rss < 1_500_000_000
    assert isinstance(worker.ask(Examine(number=2, folder=tiny_folder)), Examined)


@pytest.mark.long
def test_an_old_published_checkpoint_is_imported_within_the_limit(worker, assets, tmp_path):
    into = tmp_path / "imported"
    source = assets / "models" / "rxnfp-bert-pretrained"
    worker.ask(Import(number=1, folder=source, into=into))
    imported = worker.read()
    assert isinstance(imported, Imported)
    assert imported.info.layers == 12
    question = FillMask(number=2, checkpoint=into, text="CCO.CC(=O)O>>CC(=O)O[MASK]C")
    assert worker.ask(question).predictions[0].ranked[0].label == "C"

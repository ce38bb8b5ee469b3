"""Every hostile folder is refused with one clear sentence, and its code never runs."""

import json
import os
import pickle
import random
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.checkpoints.info import checkpoint_info
from engine.errors import BadCheckpoint
from engine.models.checkpoint import examine, import_checkpoint, load
from engine.models.heads import Heads
from tests.engine.models import small
from tests.engine.models.hostile import CASES, Payload
from tests.often import times

REPOSITORY = Path(__file__).resolve().parents[3]

ALL_HEADS = Heads(mlm=True, nsp=True, outputs=3)


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    return small.folder(tmp_path_factory.mktemp("good") / "model", ALL_HEADS)


def test_an_unsafe_pickle_load_triggers_the_canary(tmp_path):
    """The payload works, so an absent canary means something."""
    for call in (os.system, exec):
        pickle.loads(pickle.dumps(Payload(tmp_path / "canary", call)))
        assert (tmp_path / "canary").exists()
        (tmp_path / "canary").unlink()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes and links")
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_folder_is_refused(good, tmp_path, name):
    spoil, message = CASES[name]
    folder = shutil.copytree(good, tmp_path / "model")
    folder = spoil(folder) or folder
    with pytest.raises(BadCheckpoint) as raised:
        load(folder)
    problem = raised.value.problem
    assert message in problem
    assert problem.isprintable()
    assert len(problem) <= 300
    assert problem.endswith(".")
    assert raised.value.advice.endswith(".")
    assert not (tmp_path / "canary").exists()

    with pytest.raises(BadCheckpoint):
        examine(folder)
    with suppress(BadCheckpoint):
        checkpoint_info(folder)
    with pytest.raises(BadCheckpoint):
        import_checkpoint(folder, tmp_path / "into")
    assert not (tmp_path / "into").exists()
    assert not (tmp_path / "canary").exists()


@times(60, 1_000)
def test_every_token_of_a_loaded_vocabulary_has_an_embedding(good, tmp_path, count):
    """Vocabulary, config and tensors of any sizes are refused, or every token can be embedded."""
    rng = random.Random(27)
    words = (good / "vocab.txt").read_text().split()
    tensors = load_file(good / "model.safetensors")
    embedding = "bert.embeddings.word_embeddings.weight"
    used, refusals = 0, list[tuple[str, int, int]]()
    folder = shutil.copytree(good, tmp_path / "model")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink()
    settings = json.loads((folder / "config.json").read_text())
    tried = set[tuple[int, int, int]]()
    for _ in range(count):
        pieces, rows = (rng.randint(len(words), len(words) + 6) for _ in range(2))
        size = rng.choice([pieces, rows, rows, rng.randint(6, 60)])
        if (pieces, rows, size) in tried:
            continue  # the same files as before
        tried.add((pieces, rows, size))
        extra = [f"more{n}" for n in range(pieces - len(words))]
        (folder / "vocab.txt").write_text("\n".join(words + extra) + "\n")
        (folder / "config.json").write_text(json.dumps(settings | {"vocab_size": size}))
        save_file(tensors | {embedding: torch.rand(rows, tensors[embedding].shape[1])},
                  folder / "model.safetensors")  # fmt: skip
        try:
            loaded = load(folder, Heads())
        except BadCheckpoint as error:
            refusals.append((error.problem, pieces, rows))
            continue
        used += 1
        ids = torch.arange(loaded.tokenizer.size)[:, None]
        assert loaded.network.encoder(ids, torch.zeros_like(ids)).last.isfinite().all()
    assert used > 5 and len(refusals) > 30
    for problem, pieces, rows in refusals:
        assert str(pieces) in problem or str(rows) in problem


@pytest.mark.parametrize("name", ["bin_code", "bin_code_old", "bin_code_raw", "bin_code_eval"])
def test_no_environment_variable_lets_code_run(good, tmp_path, monkeypatch, name):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    folder = shutil.copytree(good, tmp_path / "model")
    CASES[name][0](folder)
    with pytest.raises(BadCheckpoint, match="contains code"):
        load(folder)
    assert not (tmp_path / "canary").exists()


@pytest.mark.filterwarnings("ignore:Defining your `__torch_function__`")  # from torch, for a mutant
@times(40, 2_000)
@pytest.mark.parametrize("kind", ["safetensors", "zip", "old", "config", "evil"])
def test_a_mutant_is_loaded_or_refused(good, tmp_path, kind, count):
    folder = shutil.copytree(good, tmp_path / "model")
    path = folder / {"safetensors": "model.safetensors", "config": "config.json"}.get(
        kind, "pytorch_model.bin"
    )
    if kind == "evil":
        CASES["bin_code"][0](folder)
    elif path.suffix == ".bin":
        tensors = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        torch.save(tensors, path, _use_new_zipfile_serialization=kind == "zip")
    original = path.read_bytes()
    rng = random.Random(kind)
    problems = []
    for _ in range(count):
        mutant = bytearray(original)
        for _ in range(rng.randint(1, 4)):
            # mostly at either end, in the headers
            limit = rng.choice([200, 2_000, len(original)])
            index = rng.randrange(min(limit, len(original)))
            mutant[rng.choice([index, len(original) - 1 - index])] = rng.randrange(256)
        path.write_bytes(mutant[: len(mutant) - rng.choice([0, 0, 0, 1, 100])])
        try:
            load(folder)
        except BadCheckpoint as error:
            problems.append(error.problem)
    assert all(problem.isprintable() and len(problem) <= 300 for problem in problems)
    assert len(problems) > count // 10
    assert not (tmp_path / "canary").exists()


@times(20, 200)
def test_a_truncated_model_is_refused(good, tmp_path, count):
    """Truncated anywhere, as by an interrupted transfer, in either format."""
    tensors = load_file(good / "model.safetensors")
    rng = random.Random(9)
    for number in range(count):
        folder = shutil.copytree(good, tmp_path / str(number))
        path = folder / "model.safetensors"
        if number % 2:
            path.unlink()
            path = folder / "pytorch_model.bin"
            torch.save(tensors, path)
        os.truncate(path, rng.randrange(path.stat().st_size))
        with pytest.raises(BadCheckpoint) as raised:
            load(folder)
        assert raised.value.problem.isprintable() and len(raised.value.problem) <= 300
        shutil.rmtree(folder)


def test_a_folder_that_is_a_link_is_read(good, tmp_path):
    (tmp_path / "model").symlink_to(good)
    assert load(tmp_path / "model").report.loaded == load(good).report.loaded


def test_code_in_the_folder_is_never_imported(good, tmp_path, monkeypatch):
    folder = shutil.copytree(good, tmp_path / "model")
    for name in ("torch", "json", "modeling_bert", "__init__", "safetensors", "sitecustomize"):
        (folder / f"{name}.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(folder)
    for path in (folder, Path()):  # an imported file would exit
        assert load(path).report.loaded == load(good).report.loaded


def test_only_two_modules_read_pickles():
    """Nothing else does, not even a resume or an export. One of them reads no values."""
    pattern = re.compile(
        r"(?<!safetensors\.)torch\.load\(|pickle\.loads?\(|Unpickler|allow_pickle=True"
    )
    result = {
        path.relative_to(REPOSITORY).as_posix()
        for folder in ("app", "engine")
        for path in (REPOSITORY / folder).rglob("*.py")
        if pattern.search(path.read_text("utf-8"))
    }
    assert result == {"engine/checkpoints/pickles.py", "engine/models/pickled.py"}
    source = (REPOSITORY / "engine/models/pickled.py").read_text("utf-8")
    assert source.count("torch.load(") == source.count("weights_only=True)")

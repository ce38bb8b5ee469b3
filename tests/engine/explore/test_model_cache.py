"""Cache of loaded checkpoints."""

import shutil
import subprocess
import sys

import pytest
import torch

from engine.errors import StudioError
from engine.explore import model_cache
from engine.explore.limits import limited_memory
from engine.explore.model_cache import MAX_MODELS, ModelCache
from tests.engine.models.small import folder


def test_a_checkpoint_is_loaded_once(tiny_folder):
    cache = ModelCache()
    assert cache.take(tiny_folder) is cache.take(tiny_folder)


def test_a_checkpoint_that_changed_on_disk_is_reloaded(tmp_path, tiny_folder):
    path = tmp_path / "model"
    shutil.copytree(tiny_folder, path)
    cache = ModelCache()
    before = cache.take(path)
    shutil.rmtree(path)
    folder(path)
    after = cache.take(path)
    assert before is not after
    assert after.network.task is None


def test_the_least_recently_used_checkpoint_is_evicted(tmp_path, tiny_folder, monkeypatch):
    loaded = []
    load = model_cache.load
    monkeypatch.setattr(
        model_cache,
        "load",
        lambda path, tokenizer: loaded.append(path.name) or load(path, tokenizer=tokenizer),
    )
    cache, folders = ModelCache(), [tmp_path / str(number) for number in range(MAX_MODELS + 1)]
    for target in folders:
        shutil.copytree(tiny_folder, target)
    for target in (*folders[:MAX_MODELS], folders[0], folders[MAX_MODELS], folders[0], folders[1]):
        cache.take(target)
    assert loaded == [*(p.name for p in folders), folders[1].name]


def test_a_missing_device_is_reported(tiny_folder):
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(StudioError, match="“cuda”"):
        ModelCache("cuda").take(tiny_folder)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(StudioError):
        ModelCache().take(tmp_path / "nothing")


ALLOCATING_SCRIPT = """
import resource, sys
from pathlib import Path
from engine.explore import limits

limits.OVERHEAD = 300_000_000
before = resource.getrlimit(resource.RLIMIT_AS)
with limits.limited_memory(Path(sys.argv[1])):
    bytes(50_000_000)
    try:
        bytes(2_000_000_000)
    except MemoryError:
        print("refused")
assert resource.getrlimit(resource.RLIMIT_AS) == before
bytes(400_000_000)
print("free again")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits address space")
def test_memory_is_limited_only_inside_the_context(tmp_path):
    (tmp_path / "model.bin").write_bytes(bytes(1000))
    command = [sys.executable, "-c", ALLOCATING_SCRIPT, str(tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.split("\n")[:2] == ["refused", "free again"]


def test_limiting_memory_accepts_a_missing_folder(tmp_path):
    with limited_memory(tmp_path / "nothing"):
        assert not (tmp_path / "nothing").exists()

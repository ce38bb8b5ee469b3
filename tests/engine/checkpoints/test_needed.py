"""Only usable files of a hub repository are fetched."""

import hashlib
from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir

from engine.checkpoints.elsewhere import hub_cache, models_elsewhere
from engine.checkpoints.fit import direction_error, nsp_head_error
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.needed import TOKENIZERS, is_plain, select_files
from engine.config.families import FAMILIES
from engine.config.tasks import TASKS
from engine.config.tasks.pretraining import Pretraining
from engine.errors import BadCheckpoint
from engine.models.checkpoint import TOKENIZER_FILES, load
from tests.engine.models import small

BASE = ["config.json", "vocab.txt"]


def test_every_file_of_a_tokenizer_that_is_read_is_fetched():
    assert set(TOKENIZER_FILES) <= set(TOKENIZERS)


@pytest.mark.parametrize(
    "files, expected",
    [
        (["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (["pytorch_model.bin", "tf_model.h5", "flax_model.msgpack"], ["pytorch_model.bin"]),
        (
            ["model.safetensors.index.json", "model-00001-of-00001.safetensors"],
            ["model.safetensors.index.json", "model-00001-of-00001.safetensors"],
        ),
        (
            ["bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001", "graph.pbtxt"],
            ["bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"],
        ),
    ],
)
def test_the_preferred_format_of_weights_is_fetched(files, expected):
    assert select_files([*BASE, *files], "x") == [*BASE, *expected]


def test_the_missing_file_is_named():
    for files, expected in (
        (["vocab.txt", "model.safetensors"], "config.json"),
        (["config.json", "model.safetensors"], "vocabulary"),
        ([*BASE, "model.safetensors.index.json"], "weights"),
        ([*BASE, "tf_model.h5"], "TensorFlow 2"),
    ):
        with pytest.raises(BadCheckpoint, match=expected):
            select_files(files, "x/y")


@pytest.mark.parametrize(
    "name",
    ["", "../a", "/a", "a/../b", "a//b", ".git/config", "a\\b", "c:/a", "a\nb", "a" * 300, "a/b/c"],
)
def test_a_path_is_not_a_model_name(name):
    assert not is_plain(name)


def test_only_pretraining_depends_on_the_direction_of_its_base_model():
    for kind, task in TASKS.items():
        for causal in (False, True):
            problem = direction_error(task(kind=kind), "little", causal)
            assert bool(problem) == (kind == "pretraining" and causal), kind
    problem = direction_error(Pretraining(objective="clm"), "little", False)
    assert problem is not None and "little is bidirectional" in problem.problem
    assert direction_error(Pretraining(objective="clm"), "little", True) is None


def test_a_requested_nsp_head_is_refused_without_support():
    for family in FAMILIES.values():
        assert nsp_head_error(False, family) is None
        problem = nsp_head_error(True, family)
        assert bool(problem) != family.has_nsp_head
        assert problem is None or family.title in problem.problem


def write_to_cache(cache: Path, name: str, folder: Path) -> Path:
    """A model in the layout of the hub's cache: a snapshot of links into a store."""
    model = cache / f"models--{name.replace('/', '--')}"
    snapshot, blobs = model / "snapshots" / ("a" * 40), model / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("a" * 40)
    for file in folder.iterdir():
        blob = blobs / hashlib.sha256(file.read_bytes()).hexdigest()
        blob.write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(Path("..") / ".." / "blobs" / blob.name)
    return snapshot


def test_a_cached_model_is_listed_and_loaded_in_place(tmp_path):
    folder, cache = small.folder(tmp_path / "mine" / "tiny"), tmp_path / "hub"
    snapshot = write_to_cache(cache, "somebody/tiny", folder)
    (cache / "datasets--somebody--rows").mkdir()
    other = write_to_cache(cache, "somebody/gpt", folder)
    (other / "config.json").unlink()
    (other / "config.json").write_text('{"model_type": "gpt2"}')
    library = {repo.repo_id for repo in scan_cache_dir(cache).repos}
    result = models_elsewhere(tmp_path / "mine", cache)
    assert result == {"tiny": folder, "somebody/tiny": snapshot}
    assert set(result) - {"tiny"} <= library == {"somebody/tiny", "somebody/gpt"}
    assert checkpoint_info(snapshot) == checkpoint_info(folder)
    assert load(snapshot).info == load(folder).info
    assert models_elsewhere(None, tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    "environment, expected",
    [
        ({"HF_HUB_CACHE": "/a/b"}, "/a/b"),
        ({"HUGGINGFACE_HUB_CACHE": "/a/c", "HF_HOME": "/x"}, "/a/c"),
        ({"HF_HOME": "/x"}, "/x/hub"),
        ({"XDG_CACHE_HOME": "/y"}, "/y/huggingface/hub"),
    ],
)
def test_the_cache_location_follows_huggingface_hub(environment, expected):
    assert hub_cache(environment) == Path(expected)
    assert hub_cache({}) == Path.home() / ".cache" / "huggingface" / "hub"

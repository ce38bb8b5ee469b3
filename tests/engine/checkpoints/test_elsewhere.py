"""Models in the hub's cache and in a folder are used in place."""

import hashlib
from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir

from engine.checkpoints.elsewhere import hub_cache, models_elsewhere
from engine.checkpoints.info import checkpoint_info
from engine.models.checkpoint import load
from tests.engine.models import small


def cached(cache: Path, name: str, folder: Path) -> Path:
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


def test_a_cached_model_is_listed_and_loaded_in_place(tmp_path: Path) -> None:
    folder, cache = small.folder(tmp_path / "mine" / "tiny"), tmp_path / "hub"
    snapshot = cached(cache, "somebody/tiny", folder)
    (cache / "datasets--somebody--rows").mkdir()
    other = cached(cache, "somebody/gpt", folder)
    (other / "config.json").unlink()
    (other / "config.json").write_text('{"model_type": "gpt2"}')
    library = {repo.repo_id for repo in scan_cache_dir(cache).repos}
    found = models_elsewhere(tmp_path / "mine", cache)
    assert found == {"tiny": folder, "somebody/tiny": snapshot}
    assert set(found) - {"tiny"} <= library == {"somebody/tiny", "somebody/gpt"}
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
def test_the_cache_is_where_the_library_has_it(environment: dict[str, str], expected: str) -> None:
    assert hub_cache(environment) == Path(expected)
    assert hub_cache({}) == Path.home() / ".cache" / "huggingface" / "hub"

"""Files in the hub cache are traced to their data set and commit."""

from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir

from engine.config.dataset import HubOrigin, Split
from engine.data.datasets.importing import cached_origin, import_dataset
from tests.engine.data.importing import import_files

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def commit(tmp_path: Path) -> Path:
    """A snapshot folder as huggingface_hub lays it out: links to blobs."""
    folder = tmp_path / "datasets--somebody--moods"
    blobs, commit = folder / "blobs", folder / "snapshots" / COMMIT
    files = {
        "README.md": "---\nlanguage: en\nlicense: cc-by-4.0\n---\n# Moods\nlicense: none\n",
        "film/train.csv": "text,label\n" + "a film,good\nanother film,bad\n" * 10,
        "film/test.csv": "text,label\nsome film,good\n",
    }
    blobs.mkdir(parents=True)
    for number, (name, content) in enumerate(files.items()):
        (blobs / str(number)).write_text(content, encoding="utf-8")
        link = commit / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blobs / str(number))
    return commit


def test_name_and_commit_equal_those_of_huggingface_hub(commit):
    origin = cached_origin([commit / "film" / "train.csv", commit / "film" / "test.csv"])
    (repo,) = scan_cache_dir(commit.parents[2]).repos
    (revision,) = repo.revisions
    assert origin == HubOrigin(
        name=repo.repo_id, revision=revision.commit_hash, host="", licence="cc-by-4.0"
    )


def test_an_import_stores_its_hub_origin(commit, tmp_path):
    sources = {"train": commit / "film" / "train.csv", "test": commit / "film" / "test.csv"}
    spec = import_files(sources, tmp_path / "1").spec
    assert spec.hub is not None and (spec.hub.name, spec.hub.revision) == ("somebody/moods", COMMIT)
    origin = HubOrigin(name="a/b", revision="c", host="d")
    into = tmp_path / "2"
    spec = import_dataset("m", sources, spec.reading, spec.mapping, Split(), into, hub=origin)
    assert spec.hub == origin


def test_files_elsewhere_or_of_several_commits_have_no_origin(commit, tmp_path):
    other = commit.parent / "fedcba" / "train.csv"
    assert cached_origin([tmp_path / "train.csv"]) is None
    assert cached_origin([commit / "film" / "train.csv", tmp_path / "train.csv"]) is None
    assert cached_origin([commit / "film" / "train.csv", other]) is None
    assert cached_origin([tmp_path / "models--a--b" / "snapshots" / COMMIT / "a.csv"]) is None


@pytest.mark.parametrize("card", ["", "license: mit\n", "---\nlicense: mit\n"])
def test_the_licence_is_empty_if_the_card_has_none(commit, card):
    (commit / "README.md").unlink()
    (commit / "README.md").write_text(card, encoding="utf-8")
    origin = cached_origin([commit / "film" / "train.csv"])
    assert origin is not None and origin.licence == ""

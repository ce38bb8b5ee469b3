"""Files in the cache of the hub tell which data set they are, and of which commit."""

from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir

from engine.config.dataset import HubOrigin, Split
from engine.data.datasets.importing import cached_origin, import_dataset
from tests.engine.data.imported import imported

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def commit(tmp_path: Path) -> Path:
    """The folder of a commit as the hub's library lays it out: links to a store of files."""
    folder = tmp_path / "datasets--somebody--moods"
    store, commit = folder / "blobs", folder / "snapshots" / COMMIT
    files = {
        "README.md": "---\nlanguage: en\nlicense: cc-by-4.0\n---\n# Moods\nlicense: none\n",
        "film/train.csv": "text,label\n" + "a film,good\nanother film,bad\n" * 10,
        "film/test.csv": "text,label\nsome film,good\n",
    }
    store.mkdir(parents=True)
    for number, (name, content) in enumerate(files.items()):
        (store / str(number)).write_text(content, encoding="utf-8")
        link = commit / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(store / str(number))
    return commit


def test_name_commit_and_licence_are_those_that_the_hubs_library_reads(commit):
    origin = cached_origin([commit / "film" / "train.csv", commit / "film" / "test.csv"])
    (repo,) = scan_cache_dir(commit.parents[2]).repos
    (revision,) = repo.revisions
    assert origin == HubOrigin(
        name=repo.repo_id, revision=revision.commit_hash, host="", licence="cc-by-4.0"
    )


def test_an_import_keeps_it(commit, tmp_path):
    sources = {"train": commit / "film" / "train.csv", "test": commit / "film" / "test.csv"}
    spec = imported(sources, tmp_path / "1").spec
    assert spec.hub is not None and (spec.hub.name, spec.hub.revision) == ("somebody/moods", COMMIT)
    given_origin = HubOrigin(name="a/b", revision="c", host="d")
    into = tmp_path / "2"
    spec = import_dataset("m", sources, spec.reading, spec.mapping, Split(), into, hub=given_origin)
    assert spec.hub == given_origin


def test_files_elsewhere_and_of_several_commits_have_none(commit, tmp_path):
    other = commit.parent / "fedcba" / "train.csv"
    assert cached_origin([tmp_path / "train.csv"]) is None
    assert cached_origin([commit / "film" / "train.csv", tmp_path / "train.csv"]) is None
    assert cached_origin([commit / "film" / "train.csv", other]) is None
    assert cached_origin([tmp_path / "models--a--b" / "snapshots" / COMMIT / "a.csv"]) is None


@pytest.mark.parametrize(
    "card", ["", "---\nlicense: [a, b]\n---\n", "license: mit\n", "---\nlicense: mit\n"]
)
def test_a_card_that_states_no_licence(commit, card):
    (commit / "README.md").unlink()
    (commit / "README.md").write_text(card, encoding="utf-8")
    origin = cached_origin([commit / "film" / "train.csv"])
    assert origin is not None and origin.licence == ""

"""Data sets of the hub are fetched with their splits, by name, without scripts."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.cli import main
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.hub.datasets import Address, assign_splits, find_subsets, parse_address, plan
from engine.hub.download import download
from engine.hub.fetched import Fetched
from tests.engine.hub.fake_hub import TOKEN, Hub, Repo

NAME = "somebody/moods"
CSV = b"text,label\nA fine day outside,good\nA rainy day outside,bad\n"


def parquet(rows: int, start: int = 0) -> bytes:
    texts = [f"text number {n} of the rows" for n in range(start, start + rows)]
    table = pa.table({"text": texts, "label": ["good", "bad"] * (rows // 2)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


@pytest.fixture
def repo(hub: Hub) -> Repo:
    files = {
        "README.md": b"# Moods",
        "moods.py": b"raise SystemExit",
        "data/train-00000-of-00002.parquet": parquet(6),
        "data/train-00001-of-00002.parquet": parquet(4, 6),
        "data/validation-00000-of-00001.parquet": parquet(2, 20),
        "data/test_matched-00000-of-00001.parquet": parquet(4, 30),
        "data/unsupervised-00000-of-00001.parquet": parquet(2, 40),
    }
    splits = ("train", "validation", "test_matched", "unsupervised")
    patterns = [{"split": split, "path": f"data/{split}-*"} for split in splits]
    configs = [{"config_name": "default", "data_files": patterns}]
    hub.repos[f"datasets/{NAME}"] = Repo(files, card={"configs": configs})
    return hub.repos[f"datasets/{NAME}"]


def test_the_card_assigns_files_to_splits(hub, repo, tmp_path):
    planned = plan(Address(NAME), tmp_path)
    assert {split: len(names) for split, names in planned.splits.items()} == {
        "train": 2,
        "validation": 1,
        "test": 1,
    }
    assert planned.notes == ("Splits that are left out: “unsupervised”.",)
    assert planned.revision == repo.sha and planned.licence == "apache-2.0"
    assert planned.bytes == sum(len(repo.files[file.name]) for file in planned.files)
    assert not list(tmp_path.iterdir())
    hub.cut, hub.cuts = 700, 3
    folder, source = download(planned, tmp_path, lambda _: None, (0.0, 0.0))
    paths = {file.relative_to(folder).as_posix() for file in folder.rglob("*.*")} - {"source.json"}
    assert paths == {file.name for file in planned.files} and source.revision == repo.sha
    assert all((folder / name).read_bytes() == repo.files[name] for name in paths)
    fetched = Fetched.from_plan(planned, folder)
    assert list(fetched.sources) == ["train", "validation", "test"]
    assert fetched.main_file == folder / "data/train-00000-of-00002.parquet"


def test_an_imported_data_set_stores_its_hub_revision(hub, repo, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    assert main(["import", f"hub:{NAME}"]) == 0
    assert "10 train, 2 validation, 4 test" in capsys.readouterr().out
    spec = open_dataset(tmp_path / "home" / "datasets" / "moods" / "1").spec
    assert spec.hub is not None
    assert (spec.hub.name, spec.hub.revision) == (NAME, repo.sha)
    assert spec.mapping.label == "label"
    assert not list((tmp_path / "home" / "cache" / "downloads").iterdir())
    assert not any(path.endswith((".py", "README.md")) for _, path, _ in hub.requests)


def test_a_subset_must_be_chosen_without_a_default(hub, tmp_path, monkeypatch, capsys):
    files = {f"{kind}/{split}.csv": CSV for kind in ("news", "film") for split in ("train", "dev")}
    configs = [{"config_name": kind, "data_dir": kind} for kind in ("news", "film")]
    hub.repos[f"datasets/{NAME}"] = Repo(files, card={"configs": configs})
    planned = plan(Address(NAME), tmp_path)
    assert planned.files == () and planned.subsets == ("news", "film")
    planned = plan(Address(NAME, "film"), tmp_path)
    assert planned.splits == {"train": ("film/train.csv",), "validation": ("film/dev.csv",)}
    assert Fetched.from_plan(planned, tmp_path).name == "moods-film"
    with pytest.raises(StudioError, match="no subset “books”"):
        plan(Address(NAME, "books"), tmp_path)
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    assert main(["import", f"hub:{NAME}"]) == 1
    stderr = capsys.readouterr().err
    assert "several subsets" in stderr and "news, film" in stderr


@pytest.mark.parametrize(
    "files, expected",
    [
        (["train.csv", "test.csv"], {"default": {"train": ["train.csv"], "test": ["test.csv"]}}),
        (["a.jsonl.gz", "b.jsonl.gz"], {"default": {"rows": ["a.jsonl.gz", "b.jsonl.gz"]}}),
        (["en/train/0.parquet", "en/test/0.parquet", "de/train/0.parquet"],
         {"en": {"train": ["en/train/0.parquet"], "test": ["en/test/0.parquet"]},
          "de": {"train": ["de/train/0.parquet"]}}),
        (["data/train/a.json", "data/dev/a.json", "dataset_infos.json", "README.md"],
         {"data": {"train": ["data/train/a.json"], "validation": ["data/dev/a.json"]}}),
        (["moods.py", "README.md", ".gitattributes"], {}),
    ],
)  # fmt: skip
def test_without_a_card_splits_follow_from_file_names(files, expected):
    subsets = find_subsets(dict.fromkeys(files, 10), [])
    assert {name: subset.splits for name, subset in subsets.items()} == expected


@pytest.mark.parametrize(
    "data_files",
    [
        "data/*.csv",
        ["data/*.csv"],
        [{"split": "train", "path": "data/*.csv"}],
        [{"split": "train", "path": ["data/a.csv", "**/b.csv"]}],
        {"train": "data/?.csv"},
        [{"split": "train", "path": "./**"}],
    ],
)
def test_data_files_of_a_card_have_many_forms(data_files):
    files = {"data/a.csv": 1, "data/b.csv": 1, "odd/deep.py": 1}
    subsets = find_subsets(files, [{"config_name": "x", "data_files": data_files}])
    assert subsets["x"].splits == {"train": ["data/a.csv", "data/b.csv"]}


def test_an_invalid_card_is_ignored():
    odd = [{}, {"data_files": 7}, {"data_files": [None, 3, {"path": {}}]}, {"data_dir": "nowhere"}]
    assert set(find_subsets({"a.csv": 1}, odd)) == {"default"}


def test_a_split_of_another_name_becomes_training_rows():
    assert assign_splits({"test": ["a"]}) == ({"train": ["a"]}, [])
    assert assign_splits({"rows": ["a"], "test": ["b"]})[0] == {"train": ["a"], "test": ["b"]}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("owner/name", Address("owner/name")),
        ("hub:owner/name", Address("owner/name")),
        ("hub:owner/name/en", Address("owner/name", "en")),
        ("owner/name@refs/convert/parquet", Address("owner/name", "", "refs/convert/parquet")),
        ("imdb", Address("imdb")),
        ("owner/name/en@main", Address("owner/name", "en", "main")),
    ],
)
def test_addresses_are_parsed(text, expected):
    assert parse_address(text) == expected


def test_data_sets_that_cannot_be_fetched_are_refused(hub, tmp_path):
    hub.repos[f"datasets/{NAME}"] = Repo({"moods.py": b"", "README.md": b""})
    with pytest.raises(StudioError, match="only a loading script") as error:
        plan(Address(NAME), tmp_path)
    assert f"{NAME}@refs/convert/parquet" in error.value.advice
    hub.repos[f"datasets/{NAME}"] = Repo({"picture.png": b""})
    with pytest.raises(StudioError, match="no file that can be read"):
        plan(Address(NAME), tmp_path)
    with pytest.raises(StudioError, match="no data set somebody/nothing"):
        plan(Address("somebody/nothing"), tmp_path)
    with pytest.raises(StudioError, match="not the name of a data set"):
        parse_address("two words")
    gated = hub.repos[f"datasets/{NAME}"] = Repo({"train.csv": CSV}, gated=True)
    with pytest.raises(StudioError, match="is gated"):
        download(plan(Address(NAME), tmp_path), tmp_path, lambda _: None, ())
    gated.gated, gated.private = False, True
    with pytest.raises(StudioError, match="or it is private"):
        plan(Address(NAME), tmp_path)


def test_a_token_gives_access_to_private_data(hub, tmp_path, keys, monkeypatch):
    hub.repos[f"datasets/{NAME}"] = Repo({"train.csv": CSV}, private=True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert plan(Address(NAME), tmp_path).splits == {"train": ("train.csv",)}


def test_paths_outside_the_folder_are_not_fetched(hub, tmp_path):
    odd = {"../train.csv": CSV, "/etc/train.csv": CSV, ".hidden/train.csv": CSV, "ok/test.csv": CSV}
    hub.repos[f"datasets/{NAME}"] = Repo(odd)
    assert [file.name for file in plan(Address(NAME), tmp_path).files] == ["ok/test.csv"]


def test_cached_data_sets_are_listed(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "datasets--somebody--moods" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (tmp_path / "models--a--b" / "snapshots" / "abc").mkdir(parents=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert main(["import", "hub:"]) == 0
    assert capsys.readouterr().out == f"{NAME}: {folder}\n"

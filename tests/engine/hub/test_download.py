"""A model is downloaded completely and correctly despite faults, or not at all."""

import hashlib
import json
import logging
from pathlib import Path

import pytest
from huggingface_hub import constants

from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.source import read_source
from engine.errors import BadCheckpoint, DiskFull, StudioError
from engine.hub import client, token
from engine.hub.cost import estimate_cost
from engine.hub.download import download, plan
from engine.messages.hub import Planned
from engine.messages.question import Working
from tests.engine.hub.fake_hub import TOKEN, Hub, Repo
from tests.engine.models import small

NAME = "somebody/tiny-bert"
PAUSES = (0.0, 0.0, 0.0)
WEIGHTS = "model.safetensors"
CUT = 65_536  # bytes
MODULES = "sentence_transformers.models"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A model of 300 kB, and files that are never fetched."""
    spec = small.SPEC.model_copy(update={"hidden_size": 64, "intermediate_size": 256})
    folder = small.folder(tmp_path_factory.mktemp("hub") / "model", spec=spec)
    content = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert len(content[WEIGHTS]) > 4 * CUT
    other = ("pytorch_model.bin", "tf_model.h5", "modeling_bert.py", "model.pkl", "onnx/model.onnx")
    return {
        **content,
        "README.md": b"# Tiny\n",
        "LICENSE": b"Apache",
        **dict.fromkeys(other, b"something else"),
        "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
        "modules.json": json.dumps(
            [
                {"idx": 0, "name": "0", "path": "", "type": f"{MODULES}.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{MODULES}.Pooling"},
            ]
        ).encode(),
    }


@pytest.fixture
def repo(hub: Hub, files: dict[str, bytes]) -> Repo:
    hub.repos[NAME] = Repo(files)
    return hub.repos[NAME]


def download_files(planned: Planned, into: Path) -> dict[str, bytes]:
    """Download a model; returns its files, except the note of its source."""
    folder, _ = download(planned, into, lambda _: None, PAUSES)
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "source.json"
    }


def test_only_the_required_files_are_fetched_and_form_a_model(repo, files, tmp_path):
    planned = plan(NAME, "", tmp_path)
    result = download_files(planned, tmp_path)
    expected = {
        *("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json", "vocab.txt"),
        *("README.md", "LICENSE", "modules.json", "1_Pooling/config.json"),
        "special_tokens_map.json",
    } & set(files)
    assert set(result) == expected and WEIGHTS in result
    assert result == {name: files[name] for name in expected}
    assert planned.bytes == sum(map(len, result.values())) and planned.licence == "apache-2.0"
    folder = next(tmp_path.iterdir())
    assert checkpoint_info(folder).layers == small.SPEC.layers
    source = read_source(folder)
    assert source is not None
    assert (source.model, source.revision, source.files) == (NAME, repo.sha, planned.files)


def plan_requests(repo: Repo) -> list[str]:
    return [f"/api/models/{NAME}", f"/{NAME}/resolve/{repo.sha}/config.json"]


def test_a_plan_fetches_only_the_config_and_lists_the_files(hub, repo, tmp_path):
    planned = plan(NAME, "", tmp_path, rate=1e9)
    assert planned.host == hub.address.removeprefix("http://") and planned.disk_free > 0
    assert [path for _, path, _ in hub.requests] == plan_requests(repo)
    assert not list(tmp_path.iterdir())
    spec = small.SPEC.model_copy(update={"hidden_size": 64, "intermediate_size": 256})
    assert planned.cost == estimate_cost(spec, 1e9)


def test_a_network_that_cannot_be_loaded_is_refused_before_it_is_fetched(repo, tmp_path):
    config = json.loads(repo.files["config.json"])
    repo.files = {**repo.files, "config.json": json.dumps(config | {"hidden_size": 0}).encode()}
    with pytest.raises(BadCheckpoint, match="hidden_size"):
        plan(NAME, "", tmp_path)
    repo.files["config.json"] = b"[1, 2"
    with pytest.raises(BadCheckpoint, match=r"config\.json"):
        plan(NAME, "", tmp_path)
    repo.config = {"model_type": "gpt2"}
    with pytest.raises(StudioError, match="GPT-2"):
        plan(NAME, "", tmp_path)
    repo.config, repo.files = {}, {"config.json": b"{}", "vocab.txt": b""}
    with pytest.raises(StudioError, match="no weights"):
        plan(NAME, "", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", [1, 4_096, CUT, 3 * CUT + 17])
def test_a_broken_connection_is_resumed_each_time(hub, repo, files, tmp_path, cut):
    planned = plan(NAME, "", tmp_path)
    hub.cut, hub.cuts = cut, -1 if cut >= CUT else 40
    assert download_files(planned, tmp_path)[WEIGHTS] == files[WEIGHTS]
    ranges = [headers.get("range") for headers in hub.file_requests()]
    size = len(files[WEIGHTS])
    if cut >= CUT:
        steps = range(cut, size, cut)
        assert ranges == [None, *(f"bytes={offset}-" for offset in steps)]


def test_a_cancelled_download_continues_in_another_process(hub, repo, files, tmp_path):
    class Cancelled(BaseException):
        pass

    def cancel(update: Working) -> None:
        if update.done > 100_000:
            raise Cancelled

    planned = plan(NAME, "", tmp_path)
    hub.cut = CUT
    with pytest.raises(Cancelled):
        download(planned, tmp_path, cancel, PAUSES)
    hub.cut = None
    second = plan(NAME, "", tmp_path)
    assert 100_000 < second.fetched_bytes < planned.bytes
    hub.requests.clear()
    updates: list[Working] = []
    folder, _ = download(second, tmp_path, updates.append, PAUSES)
    assert (folder / WEIGHTS).read_bytes() == files[WEIGHTS]
    assert hub.file_requests()[0]["range"].startswith("bytes=")
    assert (
        updates[0].done >= second.fetched_bytes
        and updates[-1].done == updates[-1].total == planned.bytes
    )
    assert not list(folder.rglob("*.part"))


def test_a_second_download_requests_no_file(hub, repo, tmp_path):
    planned = plan(NAME, "", tmp_path)
    before = download_files(planned, tmp_path)
    hub.requests.clear()
    assert download_files(plan(NAME, "", tmp_path), tmp_path) == before
    assert [path for _, path, _ in hub.requests] == plan_requests(repo)


def test_a_server_without_ranges_sends_the_whole_file_again(hub, repo, files, tmp_path):
    hub.ignores_ranges, hub.cut, hub.cuts = True, CUT, 2
    assert download_files(plan(NAME, "", tmp_path), tmp_path)[WEIGHTS] == files[WEIGHTS]


@pytest.mark.parametrize("wrong", [1, 50])
def test_wrong_bytes_are_fetched_once_more_and_then_refused(hub, repo, files, tmp_path, wrong):
    planned = plan(NAME, "", tmp_path)
    hub.wrong = wrong
    if wrong == 1:
        assert download_files(planned, tmp_path)["config.json"] == files["config.json"]
        return
    with pytest.raises(StudioError, match=r"config\.json of .* has a wrong checksum after two"):
        download_files(planned, tmp_path)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_a_file_of_another_size_than_listed_is_refused(hub, repo, tmp_path):
    planned = plan(NAME, "", tmp_path)
    for size in (-1, 1):
        listed = [
            file.model_copy(update={"bytes": file.bytes + size if file.bytes > CUT else file.bytes})
            for file in planned.files
        ]
        other = planned.model_copy(update={"files": tuple(listed)})
        with pytest.raises(StudioError, match="another size than the hub reports"):
            download_files(other, tmp_path / str(size))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_requests_to_a_busy_hub_are_repeated(hub, repo, files, tmp_path, status):
    planned = plan(NAME, "", tmp_path)
    hub.refusals = [(status, {"Retry-After": "0"}), (status, {})]
    assert download_files(planned, tmp_path)[WEIGHTS] == files[WEIGHTS]


MESSAGES = {
    401: "does not accept your token",
    403: "lacks the permission",
    404: "no such file",
    429: "limits requests",
    503: r"internal error \(HTTP 503\)",
}


@pytest.mark.parametrize("status", MESSAGES)
def test_a_refusal_is_one_sentence(hub, repo, tmp_path, status):
    hub.refusals = [(status, {"Retry-After": "3600"})] * 9
    with pytest.raises(StudioError, match=MESSAGES[status]) as refusal:
        download_files(plan(NAME, "", tmp_path), tmp_path)
    assert refusal.value.advice


def test_an_unreachable_host_is_named(hub, repo, tmp_path):
    planned = plan(NAME, "", tmp_path)
    for host in hub.hosts:
        host.shutdown()
        host.server_close()
    with pytest.raises(StudioError, match=r"127\.0\.0\.1:\d+ cannot be reached") as refusal:
        download_files(planned, tmp_path)
    assert "drop the folder" in refusal.value.advice


def test_unknown_names_are_reported(hub, repo, tmp_path):
    for name, revision, message in (
        ("somebody/nothing", "", "no model somebody/nothing, or it is private"),
        (NAME, "v9", "no such revision"),
        ("a b", "", "is not the name of a model"),
    ):
        with pytest.raises(StudioError, match=message):
            plan(name, revision, tmp_path)


def test_gated_and_private_models_need_a_token(hub, repo, files, tmp_path):
    repo.gated = True
    with pytest.raises(StudioError, match="is gated"):
        download_files(plan(NAME, "", tmp_path), tmp_path)
    repo.private = True
    with pytest.raises(StudioError, match="or it is private"):
        plan(NAME, "", tmp_path)
    token.save_token(TOKEN)
    assert download_files(plan(NAME, "", tmp_path), tmp_path)[WEIGHTS] == files[WEIGHTS]
    assert hub.file_requests() and not any(
        "authorization" in request for request in hub.file_requests()
    )
    token.save_token("hf_badtoken")
    with pytest.raises(StudioError, match="token"):
        plan(NAME, "", tmp_path)


def test_the_planned_revision_is_downloaded(hub, repo, files, tmp_path):
    planned = plan(NAME, "", tmp_path)
    hub.repos[NAME] = Repo({**files, "config.json": b"{}"})
    with pytest.raises(StudioError, match="no such file"):
        download_files(planned, tmp_path)


def test_paths_outside_the_folder_are_not_fetched(hub, repo, files, tmp_path):
    evil = {"../vocab.txt": b"x", "/etc/vocab.txt": b"x", "a/b/config.json": b"x"}
    repo.files = {**files, **evil}
    assert not set(download_files(plan(NAME, "", tmp_path / "in"), tmp_path / "in")) & set(evil)
    assert [entry.name for entry in tmp_path.iterdir()] == ["in"]


def test_pickles_are_a_last_resort_and_noted(hub, repo, files, tmp_path):
    assert not plan(NAME, "", tmp_path).notes
    repo.files = {name: content for name, content in files.items() if name != WEIGHTS}
    planned = plan(NAME, "", tmp_path)
    assert planned.files[-1].name == "pytorch_model.bin" and "pickle" in planned.notes[0]
    shards = {f"model-{n:05}-of-00002.safetensors": files[WEIGHTS] for n in (1, 2)}
    repo.files |= {"model.safetensors.index.json": json.dumps({}).encode(), **shards}
    planned = plan(NAME, "", tmp_path)
    assert {file.name for file in planned.files} >= set(shards) and not planned.notes


def test_a_full_disk_is_reported_before_the_download(hub, repo, tmp_path):
    planned = plan(NAME, "", tmp_path)
    huge = [file.model_copy(update={"bytes": 10**17}) for file in planned.files]
    hub.requests.clear()
    with pytest.raises(DiskFull):
        download_files(planned.model_copy(update={"files": tuple(huge)}), tmp_path)
    assert not hub.requests


def test_files_show_the_family_that_an_old_config_does_not_state(hub, tmp_path):
    config = {"dim": 8, "n_layers": 1, "n_heads": 1, "hidden_dim": 8, "vocab_size": 9}
    others = dict.fromkeys(("vocab.txt", "pytorch_model.bin"), b"not fetched")
    hub.repos["somebody/old"] = Repo(
        {"config.json": json.dumps(config).encode(), **others}, config={}
    )
    assert plan("somebody/old", "", tmp_path).cost is not None


def test_a_search_describes_its_results(hub, repo, files):
    hub.repos["somebody/tiny-gpt"] = Repo(files, config={"model_type": "gpt2"}, gated=True)
    library = logging.getLogger("huggingface_hub")
    assert not library.isEnabledFor(logging.WARNING), "they would be printed before our messages"
    bert, gpt = client.search("tiny")
    assert (bert.name, bert.family, bert.licence, bert.is_loadable) == (
        NAME,
        "bert",
        "apache-2.0",
        True,
    )
    assert gpt.gated and not gpt.is_loadable and client.search("nowhere") == ()


def test_a_search_without_network_asks_once(hub, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(StudioError, match="cannot be reached"):
        client.search("tiny")
    assert not pauses


def test_the_offline_switch_of_the_library_is_respected(hub, repo, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(StudioError, match="HF_HUB_OFFLINE"):
        plan(NAME, "", tmp_path)
    assert not hub.requests


def test_checksums_are_git_blob_ids_or_sha256(hub, repo, tmp_path):
    sums = {file.name: file.sum for file in plan(NAME, "", tmp_path).files}
    weights = repo.files[WEIGHTS]
    assert sums[WEIGHTS] == f"sha256:{hashlib.sha256(weights).hexdigest()}"
    assert sums["LICENSE"] == "git:47cbf0292a0d752e82821a2c095387c785944193"  # of git hash-object


def test_a_token_is_stored_and_deleted(keys):
    token.save_token(f" {TOKEN}\n")
    assert token.read_token() == TOKEN and list(keys.passwords.values()) == [TOKEN]
    token.save_token("")
    token.save_token("")
    assert token.read_token() is None
    with pytest.raises(StudioError, match="not a token"):
        token.save_token("two words")

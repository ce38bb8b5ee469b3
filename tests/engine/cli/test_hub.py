"""The commands `get` and `push`, and the hub worker, against a real server."""

import shutil
import subprocess
from pathlib import Path

import pytest

from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.source import read_source
from engine.hub import token
from engine.hub.shelf import OFFERED
from engine.messages.hub import HubModelsFound, PlanDownload, Planned, SearchHub
from engine.messages.question import Refused, parse_answer
from engine.runs import launch
from tests.engine.hub.conftest import certificates, hub, keys
from tests.engine.hub.fake_hub import TOKEN, Hub, Repo
from tests.engine.models import small

__all__ = ["certificates", "hub", "keys"]  # fixtures
NAME = "somebody/tiny"


@pytest.fixture
def published(hub: Hub, tmp_path: Path) -> Repo:
    folder = small.folder(tmp_path / "published")
    hub.repos[NAME] = Repo({file.name: file.read_bytes() for file in folder.iterdir()})
    return hub.repos[NAME]


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # of the library
def test_a_model_is_downloaded_and_pushed(output, hub, published, home):
    home.make()
    hub.cut, hub.cuts = 2_000, 3
    printed = output("get", NAME)
    into = Path(printed.splitlines()[-1])
    assert into == home.models / "tiny" and "model.safetensors" in printed
    info, source = checkpoint_info(into), read_source(into)
    assert info.layers == small.SPEC.layers
    assert source is not None and source.revision == published.sha in printed
    assert not list(home.downloads.iterdir())
    token.save_token(TOKEN)
    assert (
        "(private)" in output("push", into, "me/tiny", "--dry-run") and "me/tiny" not in hub.repos
    )
    assert "me/tiny" in output("push", into, "me/tiny")
    assert hub.repos["me/tiny"].private and "README.md" in hub.pushed["me/tiny"]


def test_a_dry_run_and_the_list_fetch_nothing(output, refusal, hub, published, home):
    home.make()
    listed = output("get", NAME, "--dry-run")
    assert "model.safetensors" in listed and not home.downloads.exists()
    assert "GB of memory" in listed and "for 1,000 short texts" in listed
    hub.requests.clear()
    listed = output("get")
    assert all(entry.name in listed for entry in OFFERED) and not hub.requests
    assert NAME in output("get", "--search", "tiny")
    assert "no model somebody/nothing" in refusal("get", "somebody/nothing")


def test_the_worker_answers_without_torch(hub, published, tmp_path):
    environment = launch.environment() | {
        "HF_ENDPOINT": hub.address,
        "HF_HUB_OFFLINE": "0",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    pipe = subprocess.PIPE
    with subprocess.Popen(
        launch.worker("hub", str(tmp_path)),
        env=environment,
        cwd=launch.CODE,
        stdin=pipe,
        stdout=pipe,
    ) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        answers = []
        for question in (
            SearchHub(words="tiny", number=1),
            PlanDownload(model=NAME, folder=tmp_path / "down", number=2),
            PlanDownload(model="somebody/nothing", folder=tmp_path, number=3),
        ):
            worker.stdin.write(question.line())
            worker.stdin.flush()
            answers.append(parse_answer(worker.stdout.readline(), question))
        maps = Path(f"/proc/{worker.pid}/maps")
        loaded = maps.read_text() if maps.exists() else ""
        worker.stdin.close()
    search, planned, refused = answers
    assert [answer.to for answer in answers] == [1, 2, 3]
    assert isinstance(search, HubModelsFound) and [model.name for model in search.models] == [NAME]
    assert isinstance(planned, Planned) and planned.revision == published.sha
    assert isinstance(refused, Refused) and "no model" in refused.problem
    assert "libtorch" not in loaded


def test_a_folder_is_imported_among_the_models(output, tmp_path, monkeypatch):
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    folder = small.folder(tmp_path / "outer" / "model")
    cached = tmp_path / "models--me--model"
    shutil.copytree(folder, cached / "snapshots" / "0a1b")
    outer = tmp_path / "outer"
    sources = (
        (folder, "model"),
        (outer, "outer"),
        (folder, "model-2"),
        (cached, "models-me-model"),
    )
    for source, name in sources:
        printed = Path(output("import-model", source).strip())
        assert printed == tmp_path / "home" / "models" / name
        assert checkpoint_info(printed).layers == 2

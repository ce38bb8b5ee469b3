"""A checkpoint is uploaded completely, private, with its card; a dry run opens no connection."""

from pathlib import Path

import pytest

from engine.documents.card import model_card
from engine.errors import StudioError
from engine.hub import token
from engine.hub.push import CountedFile, UploadProgress, plan, push
from engine.messages.question import Working
from tests.engine.hub.fake_hub import TOKEN, Repo
from tests.engine.models import small

NAME = "me/tiny"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # the library


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = small.folder(tmp_path / "model")
    (folder / "optimizer.pt").write_bytes(b"not for others")
    (folder / "source.json").write_text("{}")
    (folder / "LICENSE").write_text("MIT License")
    return folder


def test_a_dry_run_sends_nothing_and_a_push_sends_what_it_listed(hub, checkpoint):
    token.save_token(TOKEN)
    planned, updates = plan(checkpoint, NAME, private=True), list[Working]()
    names = [file.name for file in planned.files]
    assert {"config.json", "model.safetensors", "README.md", "LICENSE"} <= set(names)
    assert not {"optimizer.pt", "source.json"} & set(names)
    assert planned.card == model_card(checkpoint, "hf") and planned.private
    assert not hub.requests
    done = push(checkpoint, NAME, private=True, emit=updates.append)
    sent = hub.pushed[NAME]
    assert {name: len(content) for name, content in sent.items()} == {
        file.name: file.bytes for file in planned.files
    }
    assert sent["README.md"].decode() == planned.card
    for name in ("config.json", "model.safetensors"):
        assert sent[name] == (checkpoint / name).read_bytes()
    assert hub.repos[NAME].private
    sending = [update for update in updates if update.total]
    assert [update.done for update in sending] == sorted(u.done for u in sending)
    assert sending[0].done < sending[-1].done == planned.bytes
    assert {update.total for update in sending} == {planned.bytes}
    assert done.address == f"{hub.address}/{NAME}" and done.revision == "c" * 40


def test_a_repeated_upload_is_counted_once(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1_000))
    updates = list[int]()
    with CountedFile(tmp_path / "file", UploadProgress(updates.append)) as file:
        while file.read(300):  # for its checksum
            pass
        assert not updates
        for _ in range(2):  # and sent twice
            file.seek(0)
            while file.read(400):
                pass
    assert updates == [400, 800, 1_000]


def test_a_private_push_to_a_public_model_is_refused(hub, checkpoint):
    token.save_token(TOKEN)
    hub.repos[NAME] = Repo({})
    with pytest.raises(StudioError, match="exists already and is public"):
        push(checkpoint, NAME, private=True, emit=lambda _: None)
    assert NAME not in hub.pushed
    push(checkpoint, NAME, private=False, emit=lambda _: None)
    assert "config.json" in hub.pushed[NAME]


def test_a_model_that_cannot_be_sent_is_reported(hub, checkpoint, tmp_path):
    with pytest.raises(StudioError, match="needs a token to receive") as refusal:
        push(checkpoint, NAME, private=True, emit=lambda _: None)
    assert "token" in refusal.value.advice
    for name, message in (("tiny", "names no owner"), ("a b/c", "not the name of a model")):
        with pytest.raises(StudioError, match=message):
            plan(checkpoint, name, private=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudioError, match="empty"):
        plan(tmp_path / "empty", NAME, private=True)

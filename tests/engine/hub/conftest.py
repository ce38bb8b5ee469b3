"""A hub on the loopback interface, and a keyring in memory."""

import ssl
from collections.abc import Iterator

import httpx2
import keyring
import pytest
from huggingface_hub import close_session, constants, set_client_factory
from huggingface_hub.utils._http import default_client_factory, hf_request_event_hook
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

from tests.engine.hub import fake_hub
from tests.engine.hub.fake_hub import Hub


class Memory(KeyringBackend):
    """A keyring backend in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.passwords.pop((service, username), None) is None:
            raise PasswordDeleteError("none")


@pytest.fixture
def keys() -> Iterator[Memory]:
    """An empty keyring."""
    before, memory = keyring.get_keyring(), Memory()
    keyring.set_keyring(memory)
    yield memory
    keyring.set_keyring(before)


@pytest.fixture(scope="session")
def certificates() -> ssl.SSLContext:
    """The certificates of the system, which take a quarter of a second to read."""
    return ssl.create_default_context()


@pytest.fixture
def hub(
    certificates: ssl.SSLContext, keys: Memory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hub]:
    """A fake hub that the library uses, as if set by HF_ENDPOINT."""
    with fake_hub.running() as hub:
        template = f"{hub.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nowhere/token")
        set_client_factory(
            lambda: httpx2.Client(
                event_hooks={"request": [hf_request_event_hook]},
                follow_redirects=True,
                timeout=None,
                verify=certificates,
            )
        )
        yield hub
        close_session()
        set_client_factory(default_client_factory)

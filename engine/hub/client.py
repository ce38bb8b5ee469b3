"""Access to the Hugging Face Hub through its library: host, token and errors.

Not imported by the window. Addresses, proxies and offline mode follow the environment variables of
the library: HF_ENDPOINT, HTTPS_PROXY, HF_HUB_OFFLINE. Files are transferred by plain HTTP, which
works with mirrors as well as with the hub.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx2

os.environ.setdefault("HF_HUB_DISABLE_XET", "1")  # read when the library is imported

from huggingface_hub import HfApi, constants, get_session, utils
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from engine.config.families import FAMILIES
from engine.errors import StudioError
from engine.files.untrusted import safe_name
from engine.hub import token
from engine.messages.hub import HubKind, HubModel
from engine.phrases import phrase

utils.disable_progress_bars()
utils.logging.get_logger("huggingface_hub").setLevel("ERROR")  # no warnings of repeated attempts

TIMEOUT = 30.0  # seconds without any data
CONNECT_TIMEOUT = 5.0  # seconds until a search has a connection
MAX_RESULTS = 40  # models per search
PROGRAM = "bert-studio"
OFFLINE_ADVICE = phrase(
    "Or fetch its files on another machine and drop the folder on the window of BERT Studio."
)


def api() -> HfApi:
    """The hub, with the user's token if there is one."""
    return HfApi(token=token.read_token(), library_name=PROGRAM)


def host() -> str:
    """The host name of the hub."""
    return urlsplit(constants.ENDPOINT).netloc or constants.ENDPOINT


def search(query: str) -> tuple[HubModel, ...]:
    """The models whose names match a query, most downloaded first.

    Asks once: `list_models` of the library would repeat a failed request for 23 seconds.

    Raises StudioError if the hub cannot be reached.
    """
    parameters: dict[str, str | int | list[str]] = {
        "search": query,
        "sort": "downloads",
        "limit": MAX_RESULTS,
        "expand": ["config", "downloads", "gated", "private", "tags"],
    }
    with hub_errors(query):
        response = get_session().get(
            f"{constants.ENDPOINT}/api/models",
            params=parameters,
            headers=utils.build_hf_headers(token=token.read_token(), library_name=PROGRAM),
            timeout=httpx2.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
        )
        utils.hf_raise_for_status(response)
    models = []
    for entry in response.json():
        family = str((entry.get("config") or {}).get("model_type") or "")
        models.append(
            HubModel(
                name=entry["id"],
                family=family,
                licence=get_licence(entry.get("tags") or []),
                downloads=entry.get("downloads") or 0,
                gated=bool(entry.get("gated")),
                private=bool(entry.get("private")),
                is_loadable=family in FAMILIES,
            )
        )
    return tuple(models)


def get_licence(tags: list[str]) -> str:
    """The licence of a model, “” if it has none."""
    return next((tag.removeprefix("license:") for tag in tags if tag.startswith("license:")), "")


@contextmanager
def hub_errors(model: str, repo: HubKind = "model") -> Iterator[None]:
    """Raise errors of the hub and of the network as StudioError."""
    try:
        yield
    except (HfHubHTTPError, HFValidationError, httpx2.HTTPError, ConnectionError) as error:
        raise explain_error(error, model, repo) from error


def explain_error(error: BaseException, model: str, repo: HubKind = "model") -> StudioError:
    """Explain an error of the library or of the network to a user who wants `model`, which may also
    be a data set."""
    name = safe_name(model)
    details = str(error)
    match error:
        case OfflineModeIsEnabled():
            return StudioError(
                "HF_HUB_OFFLINE is set, so the hub is not contacted.",
                "Unset it and start BERT Studio again.",
                details,
            )
        case HFValidationError() if repo == "dataset":
            return StudioError(
                "“{name}” is not the name of a data set on the hub.",
                "Names are written as owner/name, for instance stanfordnlp/sst2.",
                details,
                name=name,
            )
        case HFValidationError():
            return StudioError(
                "“{name}” is not the name of a model on the hub.",
                "Names are written as owner/model, for instance google-bert/bert-base-cased.",
                details,
                name=name,
            )
        case GatedRepoError():
            return StudioError(
                "{name} is gated: its owners ask for an agreement.",
                "Agree to their conditions on its page on the hub, then set your token under "
                "Settings.",
                details,
                name=name,
            )
        case RevisionNotFoundError():
            return StudioError(
                "{name} has no such revision.",
                "Use a branch, a tag or a commit of it, or leave the revision out.",
                details,
                name=name,
            )
        case RepositoryNotFoundError() if repo == "dataset":
            return StudioError(
                "The hub has no data set {name}, or it is private.",
                "Check the name. For a private data set, set your token under Settings.",
                details,
                name=name,
            )
        case RepositoryNotFoundError():
            return StudioError(
                "The hub has no model {name}, or it is private.",
                "Check the name. For a private model, set your token under Settings.",
                details,
                name=name,
            )
        case HfHubHTTPError():
            return _http_error(error.response.status_code, name, details)
        case httpx2.TimeoutException():
            problem = phrase("{host} does not answer.", host=host())
        case _:
            problem = phrase("{host} cannot be reached.", host=host())
    return StudioError(
        problem, phrase("Check the network and try again. ") + OFFLINE_ADVICE, details
    )


def _http_error(status: int, name: str, details: str) -> StudioError:
    match status:
        case 401:
            return StudioError(
                "The hub does not accept your token for {name}.",
                "Set another token under Settings, or remove the saved one.",
                details,
                name=name,
            )
        case 403:
            return StudioError(
                "Your token lacks the permission for this on {name}.",
                "Create a token with this permission on the hub, and set it under Settings.",
                details,
                name=name,
            )
        case 404:
            return StudioError(
                "The hub has no such file of {name}.",
                "Open its page on the hub, or choose another one.",
                details,
                name=name,
            )
        case 429:
            return StudioError(
                "The hub limits requests, and too many came from this address.",
                "Try again in a few minutes; with a token it allows more.",
                details,
            )
    return StudioError(
        "The hub reports an internal error (HTTP {status}).",
        phrase("Try again later. ") + OFFLINE_ADVICE,
        details,
        status=status,
    )

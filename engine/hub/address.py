"""Host name of the hub, without loading its library."""

import os
from urllib.parse import urlsplit

DEFAULT = "https://huggingface.co"


def host() -> str:
    """The host name of the hub, or of the mirror in HF_ENDPOINT."""
    address = os.environ.get("HF_ENDPOINT") or DEFAULT
    return urlsplit(address).netloc or address

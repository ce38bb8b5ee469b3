"""Host name of the hub, without loading its library."""

import os
from urllib.parse import urlsplit

USUAL = "https://huggingface.co"


def host() -> str:
    """The host name of the hub, or of the mirror in HF_ENDPOINT."""
    address = os.environ.get("HF_ENDPOINT") or USUAL
    return urlsplit(address).netloc or address

"""Whom the hub's library will ask, told without loading it."""

import os
from urllib.parse import urlsplit

USUAL = "https://huggingface.co"


def host() -> str:
    """The name of the hub's machine, or of the mirror that HF_ENDPOINT names."""
    address = os.environ.get("HF_ENDPOINT") or USUAL
    return urlsplit(address).netloc or address

"""The user's token for the hub, in the keyring of the system; never in a file of ours."""

from engine.errors import StudioError

SERVICE, ACCOUNT = "BERT Studio", "Hugging Face Hub"
MAX_LENGTH = 500  # characters


def read_token() -> str | None:
    """The stored token; None if there is none, and the library uses its usual places.

    None also on a system without a keyring.
    """
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(SERVICE, ACCOUNT)
    except (KeyringError, OSError):
        return None


def save_token(token: str) -> None:
    """Replace the stored token; an empty one deletes it.

    Raises StudioError if the system has no keyring, or it cannot be unlocked.
    """
    import keyring
    from keyring.errors import KeyringError, PasswordDeleteError

    token = token.strip()
    if len(token) > MAX_LENGTH or any(not 32 < ord(character) < 127 for character in token):
        raise StudioError(
            "This is not a token of the hub.",
            "Copy it whole from your settings on the hub; it begins with hf_.",
        )
    try:
        if token:
            keyring.set_password(SERVICE, ACCOUNT, token)
        else:
            keyring.delete_password(SERVICE, ACCOUNT)
    except PasswordDeleteError:
        return  # not stored
    except (KeyringError, OSError) as error:
        raise StudioError(
            "The keyring of this system cannot be used, so the token was not saved.",
            "Set it as the environment variable HF_TOKEN before you start BERT Studio.",
            str(error),
        ) from error

"""The user's token for the hub, in the keyring of the system; never in a file of ours."""

from engine.errors import StudioError
from engine.phrases import phrase

SERVICE, ACCOUNT = "BERT Studio", "Hugging Face Hub"
MAX_LENGTH = 500  # characters


def known() -> str | None:
    """The token that is kept; None: none is, and the library looks where it usually does.

    A system without a keyring has none.
    """
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(SERVICE, ACCOUNT)
    except (KeyringError, OSError):
        return None


def keep(token: str) -> None:
    """Keep it in place of the one before; an empty one is forgotten.

    Raises StudioError where the system has no keyring, or does not open it.
    """
    import keyring
    from keyring.errors import KeyringError, PasswordDeleteError

    token = token.strip()
    if len(token) > MAX_LENGTH or any(not 32 < ord(character) < 127 for character in token):
        raise StudioError(
            phrase("This is not a token of the hub."),
            phrase("Copy it whole from your settings on the hub; it begins with hf_."),
        )
    try:
        if token:
            keyring.set_password(SERVICE, ACCOUNT, token)
        else:
            keyring.delete_password(SERVICE, ACCOUNT)
    except PasswordDeleteError:
        return  # there was none
    except (KeyringError, OSError) as error:
        raise StudioError(
            phrase("The keyring of this system cannot be used, so the token was not saved."),
            phrase("Set it as the environment variable HF_TOKEN before you start BERT Studio."),
            str(error),
        ) from error

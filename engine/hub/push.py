"""Upload of a checkpoint to the hub, with a card; private by default."""

import io
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from huggingface_hub import CommitOperationAdd, constants
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils import validate_repo_id

from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.needed import select_files
from engine.checkpoints.source import CARD
from engine.documents.card import model_card
from engine.errors import StudioError
from engine.files.untrusted import plain_file, safe_name
from engine.hub import client
from engine.messages.hub import HubFile, Pushed, PushPlanned
from engine.messages.question import Working
from engine.phrases import phrase

MESSAGE = "Upload from BERT Studio"

Emit = Callable[[Working], object]


def plan(checkpoint: Path, model: str, private: bool) -> PushPlanned:
    """The files to upload, and the text of the card; no network access.

    Raises StudioError if the checkpoint cannot be read, or the name is invalid.
    """
    with client.hub_errors(model):
        validate_repo_id(model)
    if "/" not in model:
        raise StudioError(
            "“{name}” names no owner.",
            "Write the name of your account first: owner/model.",
            name=safe_name(model),
        )
    checkpoint_info(checkpoint)
    card = model_card(checkpoint, "hf")
    available = [file.name for file in checkpoint.iterdir() if file.is_file()]
    names = [name for name in select_files(available, checkpoint.name) if name != CARD]
    files = [
        HubFile(name=name, bytes=(checkpoint / name).stat().st_size)
        for name in names
        if plain_file(checkpoint, name) is not None
    ]
    files.append(HubFile(name=CARD, bytes=len(card.encode())))
    return PushPlanned(
        model=model, host=client.host(), private=private, files=tuple(files), card=card
    )


def push(checkpoint: Path, model: str, private: bool, emit: Emit) -> Pushed:
    """Create the repository if it does not exist, and upload all files as one commit.

    Raises StudioError if the hub refuses; also if a private repository is requested and the
    existing one is public.
    """
    planned = plan(checkpoint, model, private)
    api = client.api()
    with client.hub_errors(model):
        emit(Working(stage=phrase("Contacting {host}", host=planned.host)))
        try:
            api.create_repo(model, private=private, exist_ok=True)
        except HfHubHTTPError as error:
            if error.response.status_code == 401:
                raise StudioError(
                    "The hub needs a token to receive a model.",
                    "Set a token with write permission under Settings.",
                    str(error),
                ) from error
            raise
        if private and not api.model_info(model, timeout=client.TIMEOUT).private:
            raise StudioError(
                "{model} exists already and is public.",
                "Choose another name, or allow the model to be public.",
                model=safe_name(model),
            )
        emit(Working(stage=phrase("Computing the checksums")))
        sending, total = phrase("Sending the files"), planned.bytes
        sent = UploadProgress(
            lambda done: emit(Working(stage=sending, done=min(done, total), total=total))
        )
        with ExitStack() as opened:
            operations = []
            for file in planned.files:
                content: bytes | CountedFile = planned.card.encode()
                if file.name != CARD:
                    content = opened.enter_context(CountedFile(checkpoint / file.name, sent))
                operations.append(CommitOperationAdd(file.name, content))
            sent.add(len(planned.card.encode()))
            try:
                commit = api.create_commit(model, operations=operations, commit_message=MESSAGE)
            except RuntimeError as error:  # raised by the library if an upload fails
                if error.__cause__ is None:
                    raise
                raise error.__cause__ from None
    return Pushed(
        model=model, address=f"{constants.ENDPOINT}/{model}", revision=str(commit.oid or "")
    )


class UploadProgress:
    """Number of bytes sent of several files, possibly in parallel.

    `report` gets the sum, which never decreases.
    """

    def __init__(self, report: Callable[[int], object]) -> None:
        self._report, self._bytes, self._lock = report, 0, threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self._bytes += count
            self._report(self._bytes)


class CountedFile(io.BufferedReader):
    """A file that is read twice: for its checksum, then to be sent.

    Data that is read again after a network error is not counted again.
    """

    def __init__(self, path: Path, sent: UploadProgress) -> None:
        super().__init__(io.FileIO(path))
        self._sent, self._is_hashed, self._position = sent, False, 0

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        if self._is_hashed:
            self._count()
        elif not content:
            self._is_hashed = True
        return content

    def _count(self) -> None:
        position = self.tell()
        if position > self._position:
            added, self._position = position - self._position, position
            self._sent.add(added)

"""Download of a model or data set from the hub: list the files, fetch them, verify checksums.

Partial files are next to the final ones with the suffix PART, so a download that was cancelled,
killed or interrupted can be resumed, even days later. The revision is a commit, so the files belong
together even if the repository changes.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from huggingface_hub import get_session, hf_hub_url
from huggingface_hub.hf_api import DatasetInfo, ModelInfo, RepoSibling
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

from engine.checkpoints.config import get_family, parse_spec, with_family
from engine.checkpoints.needed import CONFIGS, is_pickled, select_files
from engine.checkpoints.source import write_source
from engine.errors import BadCheckpoint, StudioError
from engine.files.atomic_write import check_free_space
from engine.files.home import folder_name
from engine.files.regular_file import open_regular
from engine.files.untrusted import AGAIN, MAX_JSON, json_object, safe_name
from engine.hub import client, token
from engine.hub.cost import estimate_cost
from engine.messages.hub import HubFile, HubKind, Planned, Source
from engine.messages.question import Working
from engine.phrases import phrase

PART = ".part"  # suffix of incomplete files
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)  # seconds before retries without progress
MAX_PAUSE = 120.0  # seconds; if the hub asks for a longer pause, that is an error
REPORT_PAUSE = 0.1  # seconds between progress reports
BLOCK = 1 << 20  # bytes per read for a checksum
RETRY_STATUSES = (408, 429, 500, 502, 503, 504)  # of HTTP: retry later

Emit = Callable[[Working], object]


def plan(model: str, revision: str, folder: Path, rate: float | None = None) -> Planned:
    """Plan the download of `model` into a folder below `folder`.

    Fetches only its config, for the requirements of the model.

    Args:
        rate: of matrix products in fp32 here, operations per second; None: not known.

    Raises StudioError if the hub cannot be reached, or the model cannot be loaded here.
    """
    with client.hub_errors(model):
        info = client.api().model_info(
            model, revision=revision or None, files_metadata=True, timeout=client.TIMEOUT
        )
    if info.config:
        get_family({"model_type": "", **info.config})
    sizes = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    planned = plan_files(
        info, model, [sizes[name] for name in select_files(sizes, model)], folder, "model"
    )
    notes = [
        phrase(
            "The weights are a pickle ({name}). They are read with care: no code in them is run.",
            name=file.name,
        )
        for file in planned.files
        if is_pickled(file.name)
    ]
    config, file = _fetch_config(planned)
    cost = estimate_cost(parse_spec(with_family(config, sizes), file), rate)
    return planned.model_copy(update={"notes": tuple(notes[:1]), "cost": cost})


def _fetch_config(planned: Planned) -> tuple[dict[str, Any], str]:
    """The config of a model, and its file name."""
    file = next(file for file in planned.files if file.name in CONFIGS)
    if file.bytes > MAX_JSON:
        raise BadCheckpoint("{name} is far too large for such a file.", AGAIN, name=file.name)
    with TemporaryDirectory() as folder:
        path = Path(folder)
        _fetch(planned, file, path, _Progress(planned, path, lambda _: None), PAUSES[:2])
        return json_object(path, file.name) or {}, file.name


def plan_files(
    info: ModelInfo | DatasetInfo,
    name: str,
    siblings: Sequence[RepoSibling],
    folder: Path,
    repo: HubKind,
) -> Planned:
    """Plan the download of these files."""
    commit = info.sha or ""
    target = target_folder(folder, name, commit)
    files = tuple(map(_file, siblings))
    return Planned(
        name=name,
        hub_kind=repo,
        revision=commit,
        host=client.host(),
        licence=_licence(info),
        files=files,
        fetched_bytes=sum(_fetched_bytes(target, file) for file in files),
        disk_free=shutil.disk_usage(next(p for p in (target, *target.parents) if p.exists())).free,
    )


def target_folder(parent: Path, model: str, revision: str) -> Path:
    """Target folder of a model; each revision has its own."""
    return parent / f"{folder_name(model.replace('/', '--'))}-{folder_name(revision)[:12]}"


def download(
    planned: Planned, folder: Path, emit: Emit, pauses: tuple[float, ...] = PAUSES
) -> tuple[Path, Source]:
    """Carry out a planned download; returns the folder, in which every file is verified.

    Raises StudioError on failure; partial files remain for the next try.
    """
    target = target_folder(folder, planned.name, planned.revision)
    missing = planned.bytes - sum(_fetched_bytes(target, file) for file in planned.files)
    check_free_space(target / planned.name.rpartition("/")[2], missing)
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    progress = _Progress(planned, target, emit)
    for file in planned.files:
        _fetch(planned, file, target, progress, pauses)
    source = Source(
        model=planned.name,
        revision=planned.revision,
        host=planned.host,
        licence=planned.licence,
        fetched=datetime.now(UTC),
        files=planned.files,
    )
    write_source(target, source)
    return target, source


def _file(sibling: RepoSibling) -> HubFile:
    if sibling.lfs is not None:
        return HubFile(
            name=sibling.rfilename, bytes=sibling.lfs.size, sum=f"sha256:{sibling.lfs.sha256}"
        )
    blob = f"git:{sibling.blob_id}" if sibling.blob_id else ""
    return HubFile(name=sibling.rfilename, bytes=sibling.size or 0, sum=blob)


def _licence(info: ModelInfo | DatasetInfo) -> str:
    licence = client.get_licence(info.tags or [])
    card = getattr(info.card_data, "license", None)
    return licence or (card if isinstance(card, str) else "")


def _fetched_bytes(folder: Path, file: HubFile) -> int:
    complete, part = folder / file.name, _part_path(folder, file)
    fetched = next((path for path in (complete, part) if path.is_file()), None)
    return min(fetched.stat().st_size, file.bytes) if fetched is not None else 0


def _part_path(folder: Path, file: HubFile) -> Path:
    return folder / f"{file.name}{PART}"


class _Progress:
    """Reports the bytes of all files, at a limited rate."""

    def __init__(self, planned: Planned, folder: Path, emit: Emit) -> None:
        self._planned, self._folder, self._emit = planned, folder, emit
        self._reported = 0.0
        self._before = 0  # bytes of the earlier files

    def begin(self, file: HubFile) -> None:
        files = self._planned.files
        index = files.index(file)
        self._before = sum(file.bytes for file in files[:index])
        self._after = sum(_fetched_bytes(self._folder, file) for file in files[index + 1 :])

    def set_done(self, done: int, stage: str = "", always: bool = False) -> None:
        """Set the bytes of the current file."""
        now = time.monotonic()
        if stage or always or now - self._reported >= REPORT_PAUSE:
            self._reported = now
            self._emit(
                Working(
                    stage=stage or phrase("Fetching {name}", name=self._planned.name),
                    done=self._before + done + self._after,
                    total=self._planned.bytes,
                )
            )


def _fetch(
    planned: Planned, file: HubFile, folder: Path, progress: _Progress, pauses: tuple[float, ...]
) -> None:
    """Fetch one file; if its checksum is wrong, fetch it once more from the start."""
    target, part = folder / file.name, _part_path(folder, file)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    progress.begin(file)
    if target.is_file() and _is_intact(target, file):
        return
    target.unlink(missing_ok=True)
    for again in (False, True):
        _stream(planned, file, part, progress, pauses)
        if _is_intact(part, file):
            part.replace(target)
            progress.set_done(file.bytes, always=True)
            return
        part.unlink()
        if again:
            raise StudioError(
                "{file} of {model} has a wrong checksum after two downloads.",
                "The network may alter files. Try another one.",
                file=safe_name(file.name),
                model=safe_name(planned.name),
            )


def _stream(
    planned: Planned, file: HubFile, part: Path, progress: _Progress, pauses: tuple[float, ...]
) -> None:
    """Append to `part` until it has all bytes of `file`, reconnecting as needed."""
    waits = iter(pauses)
    while not part.exists() or _size(part) != file.bytes:
        done = _size(part)
        try:
            with client.hub_errors(planned.name, planned.hub_kind):
                _append(planned, file, part, done, progress)
        except StudioError as error:
            if _size(part) > done:
                waits = iter(pauses)  # progress was made: start over with short pauses
            pause = _pause(error, waits)
            if pause is None:
                raise
            progress.set_done(_size(part), phrase("Waiting for {host}", host=planned.host))
            time.sleep(pause)
        else:
            if not done < _size(part) <= file.bytes and file.bytes:
                raise _wrong_size_error(planned, file, part)


def _size(path: Path) -> int:
    """Bytes; 0 if there is no file."""
    return path.stat().st_size if path.exists() else 0


def _wrong_size_error(planned: Planned, file: HubFile, part: Path) -> StudioError:
    part.unlink(missing_ok=True)
    return StudioError(
        "{file} of {model} has another size than the hub reports.",
        "Try again; if this happens again, choose another one.",
        file=safe_name(file.name),
        model=safe_name(planned.name),
    )


def _pause(error: StudioError, waits: Iterator[float]) -> float | None:
    """Seconds to wait before the next try; None if retrying is useless."""
    cause = error.__cause__
    response = getattr(cause, "response", None)
    if response is not None and response.status_code not in RETRY_STATUSES:
        return None
    if response is None and not isinstance(cause, httpx2.TransportError):
        return None
    default = next(waits, None)
    if default is None:
        return None
    seconds = response.headers.get("Retry-After", "") if response is not None else ""
    if not seconds.isdecimal():
        return default
    return float(seconds) if float(seconds) <= MAX_PAUSE else None


def _append(planned: Planned, file: HubFile, part: Path, done: int, progress: _Progress) -> None:
    """Request the bytes from `done` on and append them.

    A token is sent to the hub only, not to the target of a redirect.
    """
    url = hf_hub_url(planned.name, file.name, repo_type=planned.hub_kind, revision=planned.revision)
    headers = build_hf_headers(token=token.read_token(), library_name=client.PROGRAM)
    headers["Accept-Encoding"] = "identity"  # bytes of the file are counted
    if done:
        headers["Range"] = f"bytes={done}-"
    stream = get_session().stream("GET", url, headers=headers, timeout=client.TIMEOUT)
    with stream as response:
        if done and response.status_code == 416:  # already complete
            raise _wrong_size_error(planned, file, part)
        hf_raise_for_status(response)
        continues = response.status_code == 206 and _starts_at(response, done)
        with part.open("ab" if continues else "wb") as out:
            for block in response.iter_bytes():
                out.write(block)
                progress.set_done(out.tell())
                if out.tell() > file.bytes:
                    return


def _starts_at(response: httpx2.Response, done: int) -> bool:
    """True if the response begins at the requested byte."""
    return response.headers.get("Content-Range", "").startswith(f"bytes {done}-")


def _is_intact(path: Path, file: HubFile) -> bool:
    """True if a file has the right size, and checksum if the hub has one."""
    size = path.stat().st_size
    if size != file.bytes:
        return False
    kind, _, expected = file.sum.partition(":")
    if not expected:
        return True
    digest = hashlib.sha256() if kind == "sha256" else hashlib.sha1(usedforsecurity=False)
    if kind == "git":
        digest.update(b"blob %d\0" % size)
    with open_regular(path) as content:
        while block := content.read(BLOCK):
            digest.update(block)
    return digest.hexdigest() == expected

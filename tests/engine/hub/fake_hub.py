"""Fake hub on the loopback interface: a real HTTP server with realistic faults.

It implements the requests of the library: metadata of a model with checksums of its files, search,
the files themselves with ETags and ranges, large ones by a redirect to a second host; and uploads.
Faults are set as attributes: broken connections, wrong bytes, refusals.
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = (".safetensors", ".bin", ".parquet")  # stored as LFS, and served by the other host
TOKEN = "hf_goodtoken"


@dataclass
class Repo:
    """A model or data set: its files by name, and its metadata."""

    files: dict[str, bytes]
    tags: list[str] = field(default_factory=lambda: ["license:apache-2.0"])
    config: dict[str, Any] = field(default_factory=lambda: {"model_type": "bert"})
    gated: bool = False
    private: bool = False
    card: dict[str, Any] = field(default_factory=dict)

    @property
    def sha(self) -> str:
        return hashlib.sha1(repr(sorted(self.files.items())).encode()).hexdigest()


class Hub:
    """Both hosts, their contents and faults, and the requests received."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}  # of data sets, “datasets/owner/name”
        self.cut: int | None = None  # bytes after which each response with a file breaks off
        self.cuts = -1  # number of broken responses; -1: all
        self.wrong = 0  # number of file responses with wrong bytes
        self.refusals: list[tuple[int, dict[str, str]]] = []  # of the next file responses
        self.ignores_ranges = False
        self.requests: list[tuple[str, str, dict[str, str]]] = []  # method, path, headers
        self.pushed: dict[str, dict[str, bytes]] = {}
        self.blobs: dict[str, bytes] = {}  # uploaded, by their SHA-256
        self.lock = threading.Lock()
        self.hosts = [ThreadingHTTPServer(("127.0.0.1", 0), self._handler(n)) for n in range(2)]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.hosts[0].server_port}"

    @property
    def blob_address(self) -> str:
        return f"http://127.0.0.1:{self.hosts[1].server_port}"

    def file_requests(self) -> list[dict[str, str]]:
        """The headers of each request for the bytes of a large file."""
        return [h for name, path, h in self.requests if name == "GET" and path.startswith("/blob")]

    def _handler(self, number: int) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16  # head and body in one packet, which avoids a delay

            def do_GET(self) -> None:
                _Answer(hub, self, number).get()

            def do_HEAD(self) -> None:
                _Answer(hub, self, number).get()

            def do_POST(self) -> None:
                _Answer(hub, self, number).post()

            def do_PUT(self) -> None:
                _Answer(hub, self, number).put()

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class _Answer:
    def __init__(self, hub: Hub, handler: BaseHTTPRequestHandler, number: int) -> None:
        self.hub, self.to, self.number = hub, handler, number
        parts = urlsplit(handler.path)
        self.path, self.query = unquote(parts.path), parse_qs(parts.query)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.headers = headers
        length = int(headers.get("content-length", 0))
        self.body = handler.rfile.read(length) if length else b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int(handler.rfile.readline(), 16):
                self.body += handler.rfile.read(size)
                handler.rfile.readline()
            handler.rfile.readline()
        if self.path != "/api/agent-harnesses":  # sent once a day, in some environments only
            with hub.lock:
                hub.requests.append((handler.command, self.path, headers))

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    def get(self) -> None:
        if self.number == 1:
            return self._blob()
        if self.path == "/api/models":
            return self._search()
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", self.path):
            return self._model(match[1], match[2])
        if match := re.fullmatch(r"/api/(datasets/[^/]+/[^/]+)(?:/revision/(.+))?", self.path):
            return self._model(match[1], match[2])
        if match := re.fullmatch(r"/((?:datasets/)?[^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.path):
            return self._file(*match.groups())
        return self._json(404, {"error": "nothing here"})

    def post(self) -> None:
        if self.headers.get("authorization") != f"Bearer {TOKEN}":
            return self._json(401, {"error": "Invalid username or password."})
        hub = self.hub
        report = json.loads(self.body) if self.body and b"\n" not in self.body.strip() else {}
        if self.path == "/api/repos/create":
            name = f"{report.get('organization') or 'me'}/{report['name']}"
            if name in hub.repos:
                return self._json(409, {"error": "exists", "url": f"{hub.address}/{name}"})
            private = bool(report.get("private") or report.get("visibility") == "private")
            hub.repos[name] = Repo({}, private=private)
            return self._json(200, {"url": f"{hub.address}/{name}", "name": name})
        if self.path == "/api/validate-yaml":  # of the card
            return self._json(200, {"errors": [], "warnings": []})
        if self.path.endswith("/preupload/main"):
            files = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                }
                for file in report["files"]
            ]
            return self._json(200, {"files": files})
        if self.path.endswith("/info/lfs/objects/batch"):
            objects = [
                {
                    **{key: file[key] for key in ("oid", "size")},
                    "actions": {"upload": {"href": f"{hub.blob_address}/upload/{file['oid']}"}},
                }
                for file in report["objects"]
            ]
            return self._json(200, {"transfer": "basic", "objects": objects})
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/commit/main", self.path):
            return self._commit(match[1])
        return self._json(404, {"error": "nothing here"})

    def put(self) -> None:
        oid = self.path.removeprefix("/upload/")
        assert hashlib.sha256(self.body).hexdigest() == oid
        self.hub.blobs[oid] = self.body
        self._send(200, b"")

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def _search(self) -> None:
        text = self.query["search"][0].casefold()
        result = [
            {
                "id": name,
                "downloads": 1000 - position,
                "gated": "manual" if repo.gated else False,
                "private": repo.private,
                "tags": repo.tags,
                "config": repo.config,
            }
            for position, (name, repo) in enumerate(self.hub.repos.items())
            if text in name.casefold()
        ]
        self._json(200, result[: int(self.query["limit"][0])])

    def _may_see(self, repo: Repo) -> bool:
        return not repo.private or self.headers.get("authorization") == f"Bearer {TOKEN}"

    def _find_repo(self, name: str) -> Repo | None:
        """The model if the client may see it; else sends the error."""
        authorization = self.headers.get("authorization")
        if authorization not in (None, f"Bearer {TOKEN}"):
            answer = {"X-Error-Message": "Invalid credentials in Authorization header"}
            self._json(401, {"error": answer["X-Error-Message"]}, answer)
            return None
        repo = self.hub.repos.get(name)
        if repo is None or not self._may_see(repo):
            self._json(401 if authorization is None else 404, {"error": "Repository not found"},
                       {"X-Error-Code": "RepoNotFound"})  # fmt: skip
            return None
        return repo

    def _model(self, name: str, revision: str | None) -> None:
        repo = self._find_repo(name)
        if repo is None:
            return None
        if revision not in (None, "main", repo.sha):
            return self._json(404, {"error": "?"}, {"X-Error-Code": "RevisionNotFound"})
        siblings = []
        for file, content in repo.files.items():
            entry: dict[str, Any] = {"rfilename": file, "size": len(content)}
            entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            if file.endswith(LARGE):
                sha = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"sha256": sha, "size": len(content), "pointerSize": 134}
            siblings.append(entry)
        answer = {
            "id": name,
            "sha": repo.sha,
            "private": repo.private,
            "gated": repo.gated,
            "tags": repo.tags,
            "config": repo.config,
            "cardData": repo.card,
            "siblings": siblings,
        }
        return self._json(200, answer)

    def _file(self, name: str, revision: str, file: str) -> None:
        repo = self._find_repo(name)
        if repo is None:
            return None
        if repo.gated and "authorization" not in self.headers:
            return self._json(401, {"error": "gated"}, {"X-Error-Code": "GatedRepo"})
        if revision not in ("main", repo.sha) or file not in repo.files:
            return self._json(404, {"error": "?"}, {"X-Error-Code": "EntryNotFound"})
        if file.endswith(LARGE):
            return self._send(302, b"", {"Location": f"{self.hub.blob_address}/blob/{name}/{file}"})
        return self._bytes(repo.files[file])

    def _blob(self) -> None:
        path = self.path.removeprefix("/blob/")
        name = next(name for name in self.hub.repos if path.startswith(f"{name}/"))
        self._bytes(self.hub.repos[name].files[path.removeprefix(f"{name}/")])

    def _bytes(self, content: bytes) -> None:
        hub = self.hub
        with hub.lock:
            refusal = hub.refusals.pop(0) if hub.refusals else None
            if wrong := hub.wrong > 0:
                hub.wrong -= 1
            breaks = hub.cut is not None and hub.cuts != 0
            if breaks:
                hub.cuts -= 1
        if refusal is not None:
            return self._json(refusal[0], {"error": "refused"}, refusal[1])
        etag = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "Accept-Ranges": "bytes"}
        begin, status = 0, 200
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        if match and not hub.ignores_ranges:
            begin, status = int(match[1]), 206
            if begin >= len(content):
                return self._send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            etag["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        part = content[begin:]
        if wrong:
            part = bytes(len(part))
        return self._send(status, part, etag, hub.cut if breaks else None)

    def _commit(self, name: str) -> None:
        files = self.hub.pushed.setdefault(name, {})
        for line in self.body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                files[value["path"]] = self.hub.blobs[value["oid"]]
        sha = "c" * 40
        address = f"{self.hub.address}/{name}/commit/{sha}"
        self._json(200, {"success": True, "commitOid": sha, "commitUrl": address, "hookOutput": ""})

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self._send(
            status,
            json.dumps(value).encode(),
            {"Content-Type": "application/json"} | (headers or {}),
        )

    def _send(
        self,
        status: int,
        content: bytes,
        headers: dict[str, str] | None = None,
        cut: int | None = None,
    ) -> None:
        handler = self.to
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content if cut is None else content[:cut])
        if cut is not None:
            handler.close_connection = True


@contextmanager
def running() -> Iterator[Hub]:
    """A hub that listens until the block ends."""
    hub = Hub()
    threads = [threading.Thread(target=host.serve_forever, args=(0.02,)) for host in hub.hosts]
    for thread in threads:
        thread.start()
    try:
        yield hub
    finally:
        for host in hub.hosts:
            host.shutdown()
            host.server_close()
        for thread in threads:
            thread.join()

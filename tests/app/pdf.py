"""The texts of a PDF of Qt, as a reader copies them: each glyph by its entry in `ToUnicode`."""

import re
import zlib
from collections.abc import Iterator

OBJECT = re.compile(rb"(\d+) 0 obj(.*?)endobj", re.DOTALL)
STREAM = re.compile(rb"stream\r?\n(.*)endstream", re.DOTALL)
FONT = re.compile(rb"/F(\d+) (\d+) 0 R")
RANGE = re.compile(
    rb"<([0-9A-Fa-f]{4})> <[0-9A-Fa-f]{4}> (?:\[(.*?)\]|<([0-9A-Fa-f]+)>)", re.DOTALL
)
SHOWN = re.compile(rb"/F(\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)> Tj|\[(.*?)\] ?TJ", re.DOTALL)
HEX = re.compile(rb"<([0-9A-Fa-f]+)>")


def page_texts(content: bytes) -> list[str]:
    """The characters of each page, in the order of painting, without line breaks."""
    objects = {int(number): body for number, body in OBJECT.findall(content)}
    characters = {
        name: dict(_characters(_stream(objects[int(unicode[1])])))
        for name, font in FONT.findall(content)
        if (unicode := re.search(rb"/ToUnicode (\d+) 0 R", objects.get(int(font), b"")))
    }
    pages = [body for body in objects.values() if re.search(rb"/Type /Page\b", body)]
    contents = [re.search(rb"/Contents (\d+) 0 R", page) for page in pages]
    return ["".join(_shown(_stream(objects[int(m[1])]), characters)) for m in contents if m]


def _shown(stream: bytes, characters: dict[bytes, dict[int, str]]) -> Iterator[str]:
    font: dict[int, str] = {}
    for name, single, several in SHOWN.findall(stream):
        if name:
            font = characters.get(name, {})
        for glyphs in [single] if single else HEX.findall(several):
            codes = (int(glyphs[n : n + 4], 16) for n in range(0, len(glyphs), 4))
            yield from (font.get(code, "\ufffd") for code in codes)


def _characters(cmap: bytes) -> Iterator[tuple[int, str]]:
    for first, several, single in RANGE.findall(cmap):
        texts = HEX.findall(several) if several else [single]
        for offset, text in enumerate(texts):
            yield int(first, 16) + offset, bytes.fromhex(text.decode()).decode("utf-16-be")


def _stream(body: bytes) -> bytes:
    found = STREAM.search(body)
    data = found[1] if found else b""
    try:
        return zlib.decompressobj().decompress(data)
    except zlib.error:
        return data
